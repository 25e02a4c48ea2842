//! What is known of a call: its outcome, the facts behind it, whether it was delivered, whether it
//! may be repeated.

use http::{Extensions, Method, Request, StatusCode};

use crate::{
    class::{AuditClass, ErrorClass, FaultDomain},
    extensions::extension,
    names::names,
    retry_marks::Marks,
};

/// How a failed call ended: the class, whose fault it was, and the status if one came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    class: ErrorClass,
    domain: FaultDomain,
    status: Option<StatusCode>,
}

impl Outcome {
    /// Creates an outcome.
    #[must_use]
    pub const fn new(class: ErrorClass, domain: FaultDomain, status: Option<StatusCode>) -> Self {
        Self {
            class,
            domain,
            status,
        }
    }

    /// Returns the kind of the failure.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }

    /// Returns whose fault it was.
    #[must_use]
    pub const fn domain(&self) -> FaultDomain {
        self.domain
    }

    /// Returns the status of the answer, if there was one.
    #[must_use]
    pub const fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Returns the class for an audit log. Every outcome has one.
    #[must_use]
    pub const fn audit_class(&self) -> AuditClass {
        match self.class {
            ErrorClass::Network => AuditClass::UpstreamUnavailable,
            ErrorClass::Timeout => AuditClass::UpstreamTimeout,
            ErrorClass::Http => match self.status {
                Some(status) if matches!(status.as_u16(), 502..=504) => {
                    AuditClass::UpstreamUnavailable
                }
                _ => AuditClass::UpstreamError,
            },
            ErrorClass::Jsonrpc
            | ErrorClass::ToolError
            | ErrorClass::SessionTerminated
            | ErrorClass::Auth => AuditClass::UpstreamError,
            ErrorClass::ProxyPolicy => match self.domain {
                FaultDomain::Client => AuditClass::Validation,
                FaultDomain::Upstream | FaultDomain::Proxy => AuditClass::Internal,
            },
            ErrorClass::Cancelled => AuditClass::Cancelled,
            ErrorClass::ProxyInternal => AuditClass::Internal,
        }
    }
}

/// What was seen of a call, as far as [`classify`](crate::classify) needs it.
///
/// Start from [`Facts::default`] and set what is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The inner client was called at least once.
    pub dispatched: bool,
    /// How many attempts were begun.
    pub requests: u32,
    /// How many of them were answered.
    pub responses: u32,
    /// The status of the last attempt; cleared when an attempt begins.
    pub last_status: Option<StatusCode>,
    /// The caller dropped the call before it ended.
    pub caller_cancelled: bool,
    /// The request carried `mcp-session-id`.
    pub mcp_session: bool,
    /// The answer was a JSON-RPC, GraphQL or Slack error.
    pub jsonrpc_error: bool,
    /// The answer was the result of a tool, marked as failed.
    pub tool_failure: bool,
    /// The `grpc-status` of the answer, if it had one. 0 is success.
    pub grpc_status: Option<u32>,
}

/// Whether a request reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Delivery {
    /// It provably did not: repeating it is safe, whatever its method.
    NotSent,
    /// It may have. A write may have been applied.
    Unknown,
    /// It did: the server answered.
    Answered,
}

names!(Delivery, "a delivery", {
    NotSent => "not_sent",
    Unknown => "unknown",
    Answered => "answered",
});

impl Delivery {
    /// Returns what is known of several attempts together: the least certain of them.
    ///
    /// One attempt that may have arrived makes the whole unknown; else one answer makes it answered.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Answered, _) | (_, Self::Answered) => Self::Answered,
            (Self::NotSent, Self::NotSent) => Self::NotSent,
        }
    }
}

/// Whether repeating a request is safe, by what it asks for ([RFC 9110 §9.2]).
///
/// Insert it as a request extension to declare what the method does not say.
///
/// [RFC 9110 §9.2]: https://www.rfc-editor.org/rfc/rfc9110#section-9.2
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Idempotency {
    /// It changes nothing.
    Safe,
    /// Doing it twice is the same as doing it once.
    Idempotent,
    /// Doing it twice may differ from doing it once.
    NotIdempotent,
}

names!(Idempotency, "an idempotency", {
    Safe => "safe",
    Idempotent => "idempotent",
    NotIdempotent => "not_idempotent",
});

impl Idempotency {
    /// Returns what holds for `request`: the declared extension; else the method; else an
    /// `Idempotency-Key` header that is not empty, which makes a write idempotent.
    ///
    /// Methods that RFC 9110 does not define are not idempotent.
    #[must_use]
    #[inline]
    pub fn of<B>(request: &Request<B>) -> Self {
        Self::declared(request.extensions())
            .unwrap_or_else(|| Self::undeclared(request.method(), || Marks::of(request.headers())))
    }

    /// Returns what holds for a request that declares nothing, by its method and, for a write, by what
    /// its headers say.
    #[inline]
    pub(crate) fn undeclared(method: &Method, marks: impl FnOnce() -> Marks) -> Self {
        match *method {
            Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE => Self::Safe,
            Method::PUT | Method::DELETE => Self::Idempotent,
            _ if marks().has_idempotency_key => Self::Idempotent,
            _ => Self::NotIdempotent,
        }
    }

    /// Returns what the caller declared by an extension, if anything.
    #[inline]
    pub(crate) fn declared(extensions: &Extensions) -> Option<Self> {
        extension(extensions).copied()
    }

    /// Returns whether a request of this kind may be sent again although it may have arrived.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Self::Safe | Self::Idempotent)
    }
}
