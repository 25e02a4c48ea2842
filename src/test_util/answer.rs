use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

/// What an [`Upstream`](super::Upstream) answers: status, headers and body, and how the body ends.
///
/// ```
/// use http::StatusCode;
/// use tower_diagnose::test_util::{Answer, Ending};
///
/// let busy = Answer::new(StatusCode::TOO_MANY_REQUESTS)
///     .header("retry-after", "2")
///     .json(r#"{"message": "slow down"}"#);
/// // Says more than it gives: the body fails half-way.
/// let torn = Answer::new(StatusCode::OK).body("the first half").cut();
/// let endings: [Ending; 2] = [busy.into(), torn.into()];
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) rest: Rest,
}

/// What comes behind the bytes of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    End,
    /// The connection is closed where more was due.
    Cut,
    /// Nothing, and the connection stays open.
    Hangs,
}

impl Answer {
    /// Creates an answer without headers and with an empty body.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            rest: Rest::End,
        }
    }

    /// Adds a header.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[must_use]
    #[track_caller]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            panic!("{name:?} is no name of a header");
        };
        let Ok(value) = HeaderValue::from_str(value) else {
            panic!("{value:?} is no value of a header");
        };
        self.headers.append(name, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body, and labels it as JSON.
    #[must_use]
    pub fn json(mut self, body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.headers.insert(header::CONTENT_TYPE, json);
        self.body(body)
    }

    /// Ends the connection behind the bytes of the body, though more was announced: reading the body
    /// fails.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.rest = Rest::Cut;
        self
    }

    /// Sends nothing behind the bytes of the body, though more was announced: reading the body never
    /// comes to an end.
    #[must_use]
    pub fn hanging(mut self) -> Self {
        self.rest = Rest::Hangs;
        self
    }
}
