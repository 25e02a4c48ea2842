use std::{fmt, sync::Arc};

use http::{Extensions, HeaderMap, Method, StatusCode, header::CONTENT_TYPE, response::Parts};
use http_body::SizeHint;

use super::{
    answered::{hinted, room_beside},
    config::Config,
    layer::DiagnoseLayer,
    peeked::Prefix,
};
use crate::{
    call::CallRecorder,
    diagnosis::Diagnosis,
    endpoint::Endpoint,
    extract::{Extracted, Rules},
    grpc,
    headers::Head,
    hint::hint,
    json::Answer,
    json_made::Made,
    outcome::{Delivery, Facts, Idempotency},
    protocol::{Protocol, inspect, is_labelled},
    protocol_found::Found,
    rare::Rare,
    redact::Scrubber,
    remembered::Remembered,
    secrets::Sighted,
    target::Target,
};

/// What is known of a call, so that its failure can be told. It borrows from the future of the call, where
/// each part has a place of its own: a struct of them would be moved there as a whole, part by part.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) config: &'a Arc<Config>,
    pub(super) target: &'a Target,
    pub(super) sighted: &'a Sighted,
    pub(super) brought: &'a Brought,
}

/// The same, kept elsewhere.
pub(crate) struct Kept {
    config: Arc<Config>,
    remembered: Remembered,
    brought: Brought,
}

impl Kept {
    /// The call of a client whose request somebody else remembers.
    pub(crate) fn recalled(
        layer: &DiagnoseLayer,
        (remembered, idempotency, recorder): (Remembered, Idempotency, Option<CallRecorder>),
    ) -> Self {
        Self {
            config: Arc::clone(&layer.config),
            remembered,
            brought: Brought {
                recorder: recorder.into(),
                idempotency: Some(idempotency),
                #[cfg(feature = "axum")]
                matched_path: None,
            },
        }
    }

    pub(super) fn call(&self) -> Call<'_> {
        Call {
            config: &self.config,
            target: &self.remembered.target,
            sighted: &self.remembered.sighted,
            brought: &self.brought,
        }
    }
}

/// What a request brings along in its extensions. Nothing, as a rule.
#[derive(Clone, Default)]
pub(super) struct Brought {
    pub(super) recorder: Rare<CallRecorder>,
    idempotency: Option<Idempotency>,
    #[cfg(feature = "axum")]
    matched_path: Option<axum::extract::MatchedPath>,
}

impl Brought {
    pub(super) fn by(extensions: &Extensions, is_server: bool) -> Self {
        let mut brought = Self::default();
        brought.look(extensions, is_server);
        brought
    }

    #[inline(never)]
    pub(super) fn look(
        &mut self,
        extensions: &Extensions,
        #[cfg_attr(not(feature = "axum"), expect(unused_variables))] is_server: bool,
    ) {
        *self = Self {
            recorder: CallRecorder::of(extensions).cloned().into(),
            idempotency: Idempotency::declared(extensions),
            #[cfg(feature = "axum")]
            matched_path: match is_server {
                true => extensions.get().cloned(),
                false => None,
            },
        };
    }
}

/// What of an answer is to be read before it is handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing: it is fine, as far as we were told to look.
    Nowhere,
    /// It failed. `reads` is whether its body may be read.
    Failing { reads: bool },
    /// The body may tell of a failure.
    IntoBody,
    /// The headers or the trailers may tell of a failure.
    AtTrailers,
}

impl Call<'_> {
    pub(super) fn keep(self) -> Kept {
        Kept {
            config: Arc::clone(self.config),
            remembered: Remembered {
                target: self.target.clone(),
                sighted: self.sighted.clone(),
            },
            brought: self.brought.clone(),
        }
    }

    /// Decides what to read of an answer.
    pub(super) fn look(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        size_hint: &SizeHint,
    ) -> Look {
        let has_body = !matches!(*self.target.method(), Method::HEAD | Method::CONNECT)
            && !status.is_informational()
            && status != StatusCode::NO_CONTENT
            && status != StatusCode::NOT_MODIFIED;
        if self.config.is_failure(status) {
            return Look::Failing {
                reads: has_body && self.config.body_cap > 0,
            };
        }
        if let (true, Some(recorder)) = (status.as_u16() >= 400, &*self.brought.recorder) {
            recorder.accepted();
        }
        if self.config.protocols.is_empty() || !has_body {
            return Look::Nowhere;
        }
        if self.config.protocols.contains(Protocol::Grpc) && has_grpc_status(headers) {
            return Look::AtTrailers;
        }
        let is_within_cap = size_hint
            .exact()
            .is_some_and(|len| len > 0 && len <= self.config.body_cap as u64);
        if is_within_cap && is_labelled(self.config.protocols, headers) {
            return Look::IntoBody;
        }
        Look::Nowhere
    }

    /// Returns whether a server's failing answer was diagnosed before, by the client of an upstream.
    /// Tells the log of it.
    pub(super) fn keeps_diagnosis(&self, extensions: &Extensions) -> bool {
        match extensions.get::<Diagnosis>() {
            Some(diagnosis) if self.config.is_server => {
                self.log(diagnosis);
                true
            }
            _ => false,
        }
    }

    /// Puts the diagnosis of an answer whose status is a failure into its extensions, and tells the log.
    pub(super) fn fail(&self, parts: &mut Parts, prefix: &Prefix<'_>) {
        let rules = Rules {
            plain_text: self.config.plain_text,
        };
        let (bytes, is_complete) = (prefix.bytes, prefix.is_complete);
        let room = room_beside(bytes.len());
        let head = Head::read(&parts.headers, &self.config.redacted, room);
        let made = Made::default();
        let mut extracted = Extracted::default();
        extracted.read(parts.status, head.labels, bytes, is_complete, &rules, &made);
        let facts = self.facts_of(parts.status);
        // Straight into its place: it is too large to be moved for nothing.
        let diagnosis = self.answered(parts, head, facts, &extracted, prefix);
        parts.extensions.insert(diagnosis);
        if self.config.log.is_on() {
            self.log_answer(&parts.extensions, prefix.bytes);
        }
    }

    /// Puts a diagnosis into the extensions of a response, and tells the log.
    pub(super) fn tell(&self, extensions: &mut Extensions, diagnosis: Diagnosis) {
        self.log(&diagnosis);
        extensions.insert(diagnosis);
    }

    #[inline(never)]
    fn log_answer(&self, extensions: &Extensions, bytes: &[u8]) {
        let Some(diagnosis) = extensions.get::<Diagnosis>() else {
            return;
        };
        if self.config.log.wants_bodies() {
            let body = String::from_utf8_lossy(bytes);
            let scrubber = self.scrubber();
            self.config.log.emit_body(diagnosis, &scrubber.scrub(&body));
        }
        self.log(diagnosis);
    }

    /// Diagnoses an answer whose body reports a failure, if it does.
    pub(super) fn inspected(&self, parts: &Parts, prefix: &Prefix<'_>) -> Option<Diagnosis> {
        if !prefix.is_complete {
            return None;
        }
        let found = inspect(self.config.protocols, &parts.headers, prefix.bytes)?;
        Some(self.reported(parts, found))
    }

    /// Diagnoses an answer whose headers report a failure, if they do.
    pub(super) fn in_headers(&self, parts: &Parts) -> Option<Diagnosis> {
        let found = grpc::failure(&parts.headers)?;
        Some(self.reported(parts, found))
    }

    fn reported(&self, parts: &Parts, found: Found) -> Diagnosis {
        let mut facts = self.facts_of(parts.status);
        found.note(&mut facts);
        let extracted = Extracted {
            answer: Answer {
                code: found.code.as_deref(),
                ..Answer::of(found.message.as_deref())
            },
            ..Extracted::default()
        };
        let head = Head::read(&parts.headers, &self.config.redacted, room_beside(0));
        self.answered(parts, head, facts, &extracted, &Prefix::EMPTY)
    }

    fn facts_of(&self, status: StatusCode) -> Facts {
        let seen = self.brought.recorder.as_ref().map(CallRecorder::snapshot);
        Facts {
            dispatched: true,
            last_status: Some(status),
            mcp_session: self.sighted.noted.has_mcp_session(),
            ..seen.unwrap_or_default()
        }
    }

    pub(super) fn is_indeterminate(&self, delivery: Delivery) -> bool {
        delivery == Delivery::Unknown && !self.idempotency().is_repeatable()
    }

    fn idempotency(&self) -> Idempotency {
        let method = self.target.method();
        let has_key = || self.sighted.noted.has_idempotency_key();
        let declared = self.brought.idempotency;
        declared.unwrap_or_else(|| Idempotency::undeclared(method, has_key))
    }

    /// Completes a diagnosis by what follows from the rest of it.
    pub(super) fn complete(&self, mut diagnosis: Diagnosis) -> Diagnosis {
        diagnosis.indeterminate = self.is_indeterminate(diagnosis.delivery);
        diagnosis.hint = hint(
            diagnosis.outcome,
            diagnosis.indeterminate,
            diagnosis.retry_after,
            diagnosis.cause.as_deref(),
            diagnosis.code(),
        );
        match &self.config.hint_with {
            None => diagnosis,
            Some(hook) => hinted(diagnosis, &**hook),
        }
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.printed(self.target.endpoint())
    }

    /// Returns whether [`Call::printed`] may change anything.
    #[inline]
    pub(super) fn may_rename(&self) -> bool {
        #[cfg(feature = "axum")]
        if self.brought.matched_path.is_some() {
            return true;
        }
        self.config.path_with.is_some()
    }

    /// Lets whoever knows better have a say in what is printed.
    pub(super) fn printed(&self, endpoint: Endpoint) -> Endpoint {
        #[cfg(feature = "axum")]
        let endpoint = match &self.brought.matched_path {
            Some(matched) => endpoint.with_path(matched.as_str()),
            None => endpoint,
        };
        match &self.config.path_with {
            Some(hook) => match hook(&endpoint) {
                Some(path) => endpoint.with_path(&path),
                None => endpoint,
            },
            None => endpoint,
        }
    }

    pub(super) fn scrubber(&self) -> Scrubber<'_> {
        Scrubber::new(&self.sighted.secrets, self.target.address())
    }

    pub(super) fn log(&self, diagnosis: &Diagnosis) {
        self.config.log.emit(diagnosis);
    }

    /// Tells the log and the record of a failure that came after the response was handed on.
    pub(super) fn note_late(&self, diagnosis: &Diagnosis) {
        if let Some(recorder) = &*self.brought.recorder {
            recorder.attempt_failed(Some(diagnosis.outcome()), Delivery::Answered);
        }
        self.log(diagnosis);
    }

    /// Returns whether anybody would hear of a failure after the response was handed on.
    pub(super) fn is_watched(&self) -> bool {
        self.brought.recorder.is_some() || self.config.log.is_on()
    }
}

/// Returns whether the status of gRPC comes in the headers or the trailers of this response. That of
/// gRPC-Web comes in its body, as a rule.
fn has_grpc_status(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| {
        let kind = kind.as_bytes();
        let (start, rest) = kind.split_at_checked("application/grpc".len())?;
        start
            .eq_ignore_ascii_case(b"application/grpc")
            .then_some(rest)
    });
    match kind {
        Some(rest) if rest.starts_with(b"-web") => headers.contains_key("grpc-status"),
        Some(_) => true,
        None => false,
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&self.target).finish()
    }
}
