use std::{borrow::Cow, error::Error, time::Duration};

use http::{Method, StatusCode};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    cause::{cause, is_refusal},
    class::{ErrorClass, FaultDomain},
    classify::classify,
    diagnosis::{Diagnosed, Diagnosis, LINE_CAP},
    endpoint::Endpoint,
    error::{RetryError, TimeoutError, TimeoutScope, find},
    html,
    outcome::{Facts, Outcome},
    path::REDACTED,
    redact::scrub,
    secrets::Secrets,
    text::{one_line, width, write_cut},
};

/// An instance longer than this is left out: it is the caller's own path, and not worth its bytes.
const INSTANCE_CAP: usize = 1024;

/// What a caller may be told about a failure: a problem detail of [RFC 9457].
///
/// Serializes to `type`, `title`, `status`, `detail`, `instance`, `errorClass` and `faultDomain`. It holds
/// no host and no word that somebody else's server said.
///
/// [RFC 9457]: https://www.rfc-editor.org/rfc/rfc9457
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    outcome: Outcome,
    kind: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    detail: String,
    instance: Option<String>,
    retry_after: Option<Duration>,
}

impl Problem {
    /// Describes `error`, which is what became of a call of `endpoint`.
    ///
    /// `overload_wait` is what those are told to wait whom our own side had to turn away.
    pub(super) fn new(
        error: &(dyn Error + 'static),
        endpoint: &Endpoint,
        overload_wait: Duration,
    ) -> Self {
        let diagnosis = find::<Diagnosed>(error).map(Diagnosed::diagnosis);
        let facts = Facts {
            // Whoever retried is a client: what it waited for was an upstream.
            dispatched: find::<RetryError>(error).is_some(),
            ..Facts::default()
        };
        let outcome = classify(Some(error), &facts).unwrap_or(Outcome::new(
            ErrorClass::ProxyInternal,
            FaultDomain::Proxy,
            None,
        ));
        let detail = match diagnosis {
            Some(diagnosis) => line_of(diagnosis),
            None => line(error, endpoint, &outcome),
        };
        // Even of what we wrote ourselves: a path may hold what looks like a secret, and the reason of a
        // refusal a tag.
        let detail = without_tags(&one_line(&detail)).into_owned();
        let nothing_sent = Secrets::default();
        let detail = one_line(&scrub(&detail, &nothing_sent, None)).into_owned();
        let status = status(error, &outcome);
        Self {
            status,
            outcome,
            kind: Cow::Borrowed("about:blank"),
            title: None,
            detail,
            instance: instance(endpoint),
            retry_after: retry_after(&outcome, diagnosis, overload_wait),
        }
    }

    /// Returns the status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns how the failure was classified; its status is the upstream's, if one answered.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns the URI of the kind of problem: `about:blank` unless set.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the title: the status's reason phrase unless set.
    #[must_use]
    pub fn title(&self) -> &str {
        match &self.title {
            Some(title) => title,
            None => self.status.canonical_reason().unwrap_or("Error"),
        }
    }

    /// Returns what happened, on one line.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the path that was called, without query, if it may be told.
    #[must_use]
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }

    /// Returns what `Retry-After` says.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Sets the status. One below 400 would be no failure and is ignored.
    pub fn set_status(&mut self, status: StatusCode) {
        if status.as_u16() >= 400 {
            self.status = status;
        }
    }

    /// Sets the URI of the kind of problem.
    pub fn set_kind(&mut self, kind: impl Into<Cow<'static, str>>) {
        self.kind = kind.into();
    }

    /// Sets the title.
    pub fn set_title(&mut self, title: impl Into<Cow<'static, str>>) {
        self.title = Some(title.into());
    }

    /// Sets what happened. It goes to strangers as it is.
    pub fn set_detail(&mut self, detail: impl Into<String>) {
        self.detail = detail.into();
    }

    /// Sets what `Retry-After` says, in whole seconds rounded up; `None` leaves the header out.
    pub fn set_retry_after(&mut self, wait: Option<Duration>) {
        self.retry_after = wait;
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("title", self.title())?;
        map.serialize_entry("status", &self.status.as_u16())?;
        map.serialize_entry("detail", &self.detail)?;
        if let Some(instance) = &self.instance {
            map.serialize_entry("instance", instance)?;
        }
        map.serialize_entry("errorClass", &self.outcome.class())?;
        map.serialize_entry("faultDomain", &self.outcome.domain())?;
        map.end()
    }
}

fn status(error: &(dyn Error + 'static), outcome: &Outcome) -> StatusCode {
    let scope = find::<TimeoutError>(error).map(TimeoutError::scope);
    match outcome.class() {
        // It was the caller who kept us waiting.
        ErrorClass::Timeout | ErrorClass::Cancelled
            if matches!(
                scope,
                Some(TimeoutScope::RequestBodyIdle | TimeoutScope::RequestBodyTotal)
            ) =>
        {
            StatusCode::REQUEST_TIMEOUT
        }
        ErrorClass::Timeout if outcome.domain() == FaultDomain::Upstream => {
            StatusCode::GATEWAY_TIMEOUT
        }
        ErrorClass::Timeout => StatusCode::SERVICE_UNAVAILABLE,
        ErrorClass::ProxyPolicy if outcome.domain() == FaultDomain::Client => {
            StatusCode::BAD_REQUEST
        }
        ErrorClass::ProxyPolicy => StatusCode::SERVICE_UNAVAILABLE,
        ErrorClass::Cancelled => StatusCode::BAD_REQUEST,
        ErrorClass::Network => StatusCode::BAD_GATEWAY,
        // What an upstream said to us is not what we say to our caller: it refused our credentials
        // and our request, not the caller's. Only "not now" holds for both.
        ErrorClass::Http
        | ErrorClass::Auth
        | ErrorClass::Jsonrpc
        | ErrorClass::ToolError
        | ErrorClass::SessionTerminated => match outcome.status() {
            Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Some(StatusCode::GATEWAY_TIMEOUT) => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        },
        ErrorClass::ProxyInternal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn retry_after(
    outcome: &Outcome,
    diagnosis: Option<&Diagnosis>,
    overload_wait: Duration,
) -> Option<Duration> {
    match (outcome.class(), outcome.domain()) {
        (ErrorClass::ProxyPolicy, FaultDomain::Client) => None,
        (ErrorClass::ProxyPolicy, _) => Some(overload_wait),
        _ => diagnosis.and_then(Diagnosis::retry_after),
    }
}

/// The line of a diagnosis without what the upstream said and without its host.
fn line_of(diagnosis: &Diagnosis) -> String {
    let mut diagnosis = diagnosis.clone();
    diagnosis.texts = diagnosis.texts.without_message();
    if diagnosis.endpoint.method() == Method::CONNECT {
        diagnosis.endpoint = diagnosis.endpoint.with_path("upstream");
    }
    diagnosis.to_string()
}

/// The line of an error that nobody diagnosed.
fn line(error: &(dyn Error + 'static), endpoint: &Endpoint, outcome: &Outcome) -> String {
    let end = if is_refusal(error) {
        " (not sent)"
    } else if outcome.domain() == FaultDomain::Upstream {
        " (no response from server)"
    } else {
        ""
    };
    let opening = format!("{endpoint} failed: ");
    let mut line = opening.clone();
    let room = LINE_CAP.saturating_sub(width(&opening) + end.len());
    let cause = cause(error);
    let cause = without_tags(&cause);
    let cause = match cause.trim() {
        "" => "no error message",
        cause => cause,
    };
    // Writing to a `String` cannot fail.
    let _ = write_cut(&mut line, cause, room.max(1));
    line.push_str(end);
    line
}

/// Returns a text without the tags of HTML that are in it, which whoever reads it would take out too.
fn without_tags(text: &str) -> Cow<'_, str> {
    html::strip(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the caller's own path as a URI reference ([RFC 3986 §4.1]).
///
/// [RFC 3986 §4.1]: https://www.rfc-editor.org/rfc/rfc3986#section-4.1
fn instance(endpoint: &Endpoint) -> Option<String> {
    let path = endpoint.path();
    // Two slashes would make a host of the first segment.
    let is_path = path.starts_with('/') && !path.starts_with("//");
    (is_path && path.len() <= INSTANCE_CAP).then(|| path.replace(REDACTED, "%5Bredacted%5D"))
}
