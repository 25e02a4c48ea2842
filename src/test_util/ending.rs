use bytes::Bytes;
use http::StatusCode;

use super::answer::Answer;
use crate::error::BoxError;

/// How a call to an [`Upstream`](super::Upstream) ends.
///
/// The comments tell what is made of each by a stack, and whether it was sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// An answer, good or failing.
    Answer(Answer),

    /// Nobody listens: `ECONNREFUSED`. Not sent.
    ConnectionRefused,
    /// The host has no address: `ENOTFOUND`. Not sent.
    NameNotFound,
    /// No connection came about in the system's time: `ETIMEDOUT`, a timeout. Not sent.
    ConnectTimedOut,
    /// The server's certificate or answer is not accepted: `TLS handshake failed`. Not sent.
    TlsHandshake,
    /// Over HTTP/2: the server resets the stream with `REFUSED_STREAM`. Not sent, for it says so.
    StreamRefused,
    /// Over HTTP/2: the server goes away and did not process this request. Not sent.
    GoneAway,

    /// The server reads the request, then closes the connection. It may have arrived.
    Closed,
    /// The server reads the request, then resets the connection: `ECONNRESET`. It may have arrived.
    Reset,
    /// Over HTTP/2: the connection ends while the request is on it. It may have arrived.
    Http2Closed,
    /// What comes back is not HTTP: `invalid response`. It may have arrived.
    InvalidResponse,
    /// There never is an answer. It may have arrived.
    Hangs,

    /// The service has no room: tower's load shed. Refused on our own side.
    Overloaded,
    /// A guard refuses: a [`Refused`](crate::Refused), `circuit open`. Refused on our own side.
    Refused,
    /// An [`InvalidArgument`](crate::InvalidArgument). Refused on our own side, the caller's fault.
    InvalidArgument,
    /// The request cannot be sent: the client is asked for a URI without a host.
    InvalidRequest,
    /// The request's own body fails while it is sent: the caller's fault.
    RequestBody,
    /// A limit of tower's has run out, without a wait: a timeout.
    Elapsed,
    /// An error of a type that nobody knows: `internal error`.
    Error(fn() -> BoxError),
    /// The service panics when its future is polled.
    Panics,
}

impl Ending {
    /// Returns an answer of this status, with an empty body.
    ///
    /// # Panics
    ///
    /// If `status` is none.
    #[must_use]
    #[track_caller]
    pub fn status(status: u16) -> Self {
        Answer::new(code(status)).into()
    }

    /// Returns an answer of this status, with a body of JSON.
    ///
    /// # Panics
    ///
    /// If `status` is none.
    #[must_use]
    #[track_caller]
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Answer::new(code(status)).json(body).into()
    }

    /// Returns one of every shape in which a call fails, to run a program against them all: first those
    /// without an answer, but for [`Hangs`](Self::Hangs) and [`Panics`](Self::Panics); then failing
    /// answers, among them those of protocols whose failures come with status 200, and bodies that
    /// fail or hang half-way.
    #[must_use]
    pub fn failures() -> Vec<Self> {
        let mut all = vec![
            Self::ConnectionRefused,
            Self::NameNotFound,
            Self::ConnectTimedOut,
            Self::TlsHandshake,
            Self::StreamRefused,
            Self::GoneAway,
            Self::Closed,
            Self::Reset,
            Self::Http2Closed,
            Self::InvalidResponse,
            Self::Overloaded,
            Self::Refused,
            Self::InvalidArgument,
            Self::InvalidRequest,
            Self::RequestBody,
            Self::Elapsed,
            Self::Error(|| "nobody knows this one".into()),
        ];
        for status in [
            400, 401, 403, 404, 407, 408, 409, 410, 422, 425, 429, 500, 501, 502, 503, 504, 529,
        ] {
            all.push(Self::json(
                status,
                r#"{"message":"the upstream's own words"}"#,
            ));
        }
        all.extend(FAILURES_WITH_200.map(|body| Self::json(200, body)));
        all.push(
            Answer::new(StatusCode::OK)
                .header("content-type", "application/grpc")
                .header("grpc-status", "14")
                .header("grpc-message", "the upstream's own words")
                .into(),
        );
        let half = Answer::new(StatusCode::OK).body("half of what was announced");
        all.push(half.clone().cut().into());
        all.push(half.hanging().into());
        all
    }
}

/// JSON-RPC, MCP, GraphQL and Slack.
const FAILURES_WITH_200: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the upstream's own words"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"the upstream's own words"}]}}"#,
    r#"{"data":null,"errors":[{"message":"the upstream's own words"}]}"#,
    r#"{"ok":false,"error":"channel_not_found"}"#,
];

#[track_caller]
fn code(status: u16) -> StatusCode {
    match StatusCode::from_u16(status) {
        Ok(status) => status,
        Err(_) => panic!("{status} is no status"),
    }
}

impl From<Answer> for Ending {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}
