//! A diagnosis as tools and agents read it.

use std::fmt;

use http::StatusCode;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    argument::InvalidArgument,
    class::{ErrorClass, FaultDomain},
    diagnosis::{Diagnosis, entry, millis},
    hint::hint,
    outcome::Outcome,
    text::one_line,
};

/// What went wrong with one call, as a structure for a tool's result.
///
/// Serializes to a flat map with camel-case keys: `error tool message status endpoint bodyExcerpt
/// timeoutMs hint errorClass faultDomain attempts retryAfterMs requestId indeterminate`. What is
/// absent is left out. Displays as that map in JSON.
///
/// ```
/// use tower_diagnose::ResponseExt;
///
/// fn tool_result<B>(response: &http::Response<B>) -> Option<String> {
///     Some(response.diagnosis()?.payload("resolve_comment").to_string())
/// }
/// # assert_eq!(tool_result(&http::Response::new(())), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    error: &'static str,
    tool: Box<str>,
    message: Box<str>,
    status: Option<u16>,
    endpoint: Box<str>,
    body_excerpt: Option<Box<str>>,
    timeout_ms: Option<u64>,
    hint: Option<Box<str>>,
    class: ErrorClass,
    domain: FaultDomain,
    attempts: u32,
    retry_after_ms: Option<u64>,
    request_id: Option<Box<str>>,
    indeterminate: bool,
}

impl Payload {
    pub(crate) fn new(diagnosis: &Diagnosis, tool: &str) -> Self {
        let error = kind(diagnosis);
        let url = format!("{:#}", diagnosis.endpoint());
        Self {
            error,
            tool: one_line(tool).into(),
            message: diagnosis.to_string().into(),
            status: diagnosis.status().map(|status| status.as_u16()),
            endpoint: if error == "timeout" {
                format!("{} {url}", diagnosis.endpoint().method()).into()
            } else {
                url.into()
            },
            body_excerpt: diagnosis.excerpt().map(Into::into).or_else(|| {
                let what = match diagnosis.omitted? {
                    "html" => "HTML",
                    "xml" => "XML",
                    what => what,
                };
                Some(format!("[{what} body omitted]").into())
            }),
            timeout_ms: diagnosis.timeout().map(millis),
            hint: diagnosis.hint().map(Into::into),
            class: diagnosis.class(),
            domain: diagnosis.domain(),
            attempts: diagnosis.attempts(),
            retry_after_ms: diagnosis.retry_after().map(millis),
            request_id: diagnosis.request_id().map(Into::into),
            indeterminate: diagnosis.is_indeterminate(),
        }
    }

    /// Returns the kind: `http` (answered), `timeout`, `client` (refused on our side, or a bad
    /// argument), `network` or `unknown`.
    #[must_use]
    pub fn error(&self) -> &'static str {
        self.error
    }

    /// Returns the name of the operation that made the call.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        StatusCode::from_u16(self.status?).ok()
    }

    /// Returns the absolute URL without userinfo and query, or the path where no more is known;
    /// after the method if the call timed out. Empty for an argument that was refused before there
    /// was a request.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the beginning of the body, or what kind of body was omitted.
    #[must_use]
    pub fn body_excerpt(&self) -> Option<&str> {
        self.body_excerpt.as_deref()
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// The tool's result where an argument was refused before there was a request.
///
/// ```
/// use tower_diagnose::{Payload, require_full_uuid};
///
/// let error = require_full_uuid("resolve_comment", "commentId", "12").unwrap_err();
/// let payload = Payload::from(&error);
/// assert_eq!(payload.error(), "client");
/// assert_eq!(payload.tool(), "resolve_comment");
/// assert_eq!(payload.hint(), Some("correct the argument: nothing was sent"));
/// ```
impl From<&InvalidArgument> for Payload {
    fn from(error: &InvalidArgument) -> Self {
        let (class, domain) = (ErrorClass::ProxyPolicy, FaultDomain::Client);
        Self {
            error: "client",
            tool: one_line(error.tool()).into(),
            message: error.to_string().into(),
            status: None,
            endpoint: Box::default(),
            body_excerpt: None,
            timeout_ms: None,
            hint: hint(Outcome::new(class, domain, None), false, None, None, None).map(Into::into),
            class,
            domain,
            attempts: 0,
            retry_after_ms: None,
            request_id: None,
            indeterminate: false,
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("error", self.error)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("message", &self.message)?;
        entry(&mut map, "status", self.status)?;
        let endpoint = (!self.endpoint.is_empty()).then_some(&self.endpoint);
        entry(&mut map, "endpoint", endpoint)?;
        entry(&mut map, "bodyExcerpt", self.body_excerpt())?;
        entry(&mut map, "timeoutMs", self.timeout_ms)?;
        entry(&mut map, "hint", self.hint())?;
        map.serialize_entry("errorClass", &self.class)?;
        map.serialize_entry("faultDomain", &self.domain)?;
        map.serialize_entry("attempts", &self.attempts)?;
        entry(&mut map, "retryAfterMs", self.retry_after_ms)?;
        entry(&mut map, "requestId", self.request_id.as_deref())?;
        entry(
            &mut map,
            "indeterminate",
            self.indeterminate.then_some(true),
        )?;
        map.end()
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

fn kind(diagnosis: &Diagnosis) -> &'static str {
    match diagnosis.class() {
        ErrorClass::Timeout => "timeout",
        _ if diagnosis.status().is_some() => "http",
        ErrorClass::Network => "network",
        ErrorClass::ProxyPolicy | ErrorClass::Cancelled => "client",
        ErrorClass::Auth
        | ErrorClass::Http
        | ErrorClass::Jsonrpc
        | ErrorClass::ToolError
        | ErrorClass::SessionTerminated => "http",
        ErrorClass::ProxyInternal if diagnosis.not_sent => "client",
        ErrorClass::ProxyInternal => "unknown",
    }
}
