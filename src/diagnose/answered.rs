//! The diagnosis of an answer.

use std::{borrow::Cow, sync::OnceLock, time::Duration};

use http::{HeaderMap, Method, StatusCode, response::Parts};

use super::{call::Call, config::HintWith, peeked::Prefix};
use crate::{
    address::Address,
    class::{ErrorClass, FaultDomain},
    classify::classify,
    diagnosis::Diagnosis,
    endpoint::{Copied, Endpoint},
    excerpt::{Excerpt, From, Plan, kept_len},
    extract::{Extracted, Kind},
    headers::{Head, readable},
    hint::hint,
    line,
    outcome::{Delivery, Facts, Outcome},
    redact::Scrubber,
    retried::Retried,
    retry_after::retry_after,
    text::{cut, one_line},
    texts::Texts,
};

/// What a line takes beside the message, and room for a code.
const LINE_LEN: usize = 160;

/// How many bytes of a body are as good as all of what it says.
const SAID_LEN: usize = 256;

/// How many characters of a server's code are kept.
const CODE_CAP: usize = 120;

/// Returns how many bytes the texts take beside the headers, about, if so many of a body are read.
pub(super) fn room_beside(body: usize) -> usize {
    LINE_LEN + body.min(SAID_LEN) + kept_len(body)
}

impl Call<'_> {
    /// Puts together what is known of an answer.
    pub(super) fn answered(
        &self,
        parts: &Parts,
        head: Head<'_>,
        facts: Facts,
        extracted: &Extracted<'_>,
        prefix: &Prefix<'_>,
    ) -> Diagnosis {
        let (target, secrets) = (self.target, &self.sighted.secrets);
        let plain = target.plain();
        let name = match plain {
            Some(plain) if !self.may_rename() => Name::Plain(plain),
            _ => Name::Made(self.endpoint()),
        };
        // Of a plain URL there is nothing to be scrubbed.
        let mut scrubber = Scrubber::default();
        if plain.is_none() || !secrets.is_empty() {
            let address = match plain {
                Some(_) => Address::default(),
                None => target.address(),
            };
            scrubber = Scrubber::new(secrets, address);
        }
        if !prefix.is_complete || extracted.is_shortened() {
            scrubber = scrubber.of_cut_texts();
        }
        let retried = parts.extensions.get::<Retried>();
        let outcome = self.answered_outcome(parts.status, &facts);
        let delivery = retried.map_or(Delivery::Answered, Retried::delivery);
        let retry_after = head
            .has_wait
            .then(|| now_retry_after(&parts.headers))
            .flatten();
        let indeterminate = self.is_indeterminate(delivery);

        // Each text as it may be shown, one behind the other.
        let mut block = head.rows;
        if scrubber.may_find_in(&block) {
            scrub_rows(&mut block, &scrubber);
        }
        let headers_end = block.len();
        if name.fits_line() {
            line::open(&mut block, name.method(), name.path(), outcome.status());
        }
        let opening_end = block.len();
        if let Some(message) = extracted.answer.message {
            push_tidy(&mut block, &scrubber, message, usize::MAX);
        }
        let message_end = block.len();
        if extracted.answer.message.is_none() {
            block.extend_from_slice(line::stand_in(outcome.status()).as_bytes());
        }
        let line_end = block.len();
        if let Some(code) = extracted.answer.code {
            push_tidy(&mut block, &scrubber, code, CODE_CAP);
        }
        let code_end = block.len();
        if let Some(id) = head.request_id {
            push_tidy(&mut block, &scrubber, id, usize::MAX);
        }
        let id_end = block.len();
        let mut plan = Plan {
            from: match extracted.kind {
                Kind::None | Kind::Omitted(_) => From::Nothing,
                Kind::Json => From::Json,
                Kind::Plain => From::Plain,
            },
            cap: self.config.excerpt_cap,
            unread: prefix.unread,
        };
        plan.keep(extracted.text, &scrubber, &mut block);
        let ends = [
            headers_end,
            opening_end,
            message_end,
            line_end,
            code_end,
            id_end,
            block.len(),
        ];
        let diagnosis = Diagnosis {
            endpoint: name.into_endpoint(),
            outcome,
            texts: Texts::new(block, ends),
            excerpt: Excerpt::planned(plan),
            omitted: match extracted.kind {
                Kind::Omitted(what) => Some(what),
                Kind::None | Kind::Json | Kind::Plain => None,
            },
            hint: hint(
                outcome,
                indeterminate,
                retry_after,
                None,
                extracted.answer.code,
            ),
            cause: None,
            not_sent: false,
            delivery,
            attempts: retried.map_or(facts.requests, Retried::attempts).max(1),
            stop: retried.map(Retried::stop),
            timeout: None,
            retry_after,
            indeterminate,
            headers: OnceLock::new(),
            omitted_headers: head.omitted,
            line_cap: self.config.line_cap,
        };
        // Made where it is returned: it is too large to be moved for nothing.
        match &self.config.hint_with {
            None => diagnosis,
            Some(hook) => hinted(diagnosis, &**hook),
        }
    }

    fn answered_outcome(&self, status: StatusCode, facts: &Facts) -> Outcome {
        let outcome = classify(None, facts)
            // A status that only the user's own rule calls a failure.
            .unwrap_or(Outcome::new(
                ErrorClass::Http,
                FaultDomain::Upstream,
                Some(status),
            ));
        if !self.config.is_server {
            return outcome;
        }
        let domain = if status.is_server_error() {
            FaultDomain::Proxy
        } else if status.is_client_error() {
            FaultDomain::Client
        } else {
            // It said so itself.
            FaultDomain::Proxy
        };
        Outcome::new(outcome.class(), domain, Some(status))
    }
}

/// What was called, as it may be printed.
enum Name<'a> {
    /// As it was kept: short, and printable ASCII.
    Plain(&'a Copied),
    Made(Endpoint),
}

impl Name<'_> {
    fn method(&self) -> &Method {
        match self {
            Self::Plain(plain) => plain.method(),
            Self::Made(endpoint) => endpoint.method(),
        }
    }

    fn path(&self) -> &[u8] {
        match self {
            Self::Plain(plain) => plain.path(),
            Self::Made(endpoint) => endpoint.path_bytes(),
        }
    }

    fn fits_line(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Made(endpoint) => line::fits(endpoint),
        }
    }

    fn into_endpoint(self) -> Endpoint {
        match self {
            Self::Plain(plain) => Endpoint::from(*plain),
            Self::Made(endpoint) => endpoint,
        }
    }
}

/// Leaves nothing in the rows of what the request sent: a server may echo it in a value that is shown.
#[inline(never)]
fn scrub_rows(rows: &mut Vec<u8>, scrubber: &Scrubber<'_>) {
    let shown = readable(rows);
    rows.clear();
    rows.extend_from_slice(scrubber.scrub(&shown).as_bytes());
}

/// Lets a hook give the hint.
#[cold]
pub(super) fn hinted(mut diagnosis: Diagnosis, hook: &HintWith) -> Diagnosis {
    if let Some(hint) = hook(&diagnosis) {
        let is_blank = hint.trim().is_empty();
        diagnosis.hint = (!is_blank).then(|| hint.into());
    }
    diagnosis
}

#[expect(
    clippy::disallowed_methods,
    reason = "a date in a header is measured against the wall clock"
)]
fn now_retry_after(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers, std::time::SystemTime::now())
}

/// Writes a text without secrets and line breaks, and `cap` characters of it at most, with a `…` behind them
/// if there are more.
#[inline(always)]
fn push_tidy(block: &mut Vec<u8>, scrubber: &Scrubber<'_>, text: &str, cap: usize) {
    // One of no more bytes has no more characters either.
    if scrubber.is_harmless(text) && text.len() <= cap {
        block.extend_from_slice(text.as_bytes());
    } else {
        push_tidied(block, scrubber, text, cap);
    }
}

#[inline(never)]
fn push_tidied(block: &mut Vec<u8>, scrubber: &Scrubber<'_>, text: &str, cap: usize) {
    let scrubbed = scrubber.scrub(text);
    let line = match one_line(&scrubbed) {
        // What stood apart in it may be a secret now.
        Cow::Owned(line) => Cow::Owned(one_line(&scrubber.scrub(&line)).into_owned()),
        line @ Cow::Borrowed(_) => line,
    };
    let (kept, is_cut) = cut(&line, cap);
    block.extend_from_slice(kept.as_bytes());
    if is_cut {
        block.extend_from_slice("…".as_bytes());
    }
}
