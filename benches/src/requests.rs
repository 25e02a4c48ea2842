//! Requests as callers build them: fresh each time, because a template that is cloned over and over
//! hides what the first clone of a value costs.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;

pub type Body = Full<Bytes>;

/// The body of `H10` and `P9`.
pub const JSON: &str =
    r#"{"module":"billing","enabled":true,"limits":{"rate":100,"burst":20},"owner":"ops"}"#;

const STANDARD: [HeaderName; 10] = [
    header::ACCEPT,
    header::ACCEPT_CHARSET,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::CACHE_CONTROL,
    header::CONNECTION,
    header::CONTENT_TYPE,
    header::PRAGMA,
    header::REFERER,
    header::USER_AGENT,
];

/// What a client keeps and puts into every request.
pub struct Configured {
    /// Scheme and authority.
    base: String,
    agent: HeaderValue,
    tenant: HeaderValue,
}

impl Default for Configured {
    fn default() -> Self {
        Self::new("http://api.example:8080")
    }
}

impl Configured {
    #[must_use]
    pub fn new(base: &str) -> Self {
        let configured = Self {
            base: base.to_owned(),
            agent: fresh("client/1"),
            tenant: fresh("tenant-7"),
        };
        // The first clone allocates; a client that runs has made it long ago.
        drop((configured.agent.clone(), configured.tenant.clone()));
        configured
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// GET without headers.
    H0,
    /// PUT with ten headers, one of them an idempotency key, and 80 bytes of JSON.
    H10,
    /// The same as a POST without the key.
    P9,
    /// GET with an `authorization` header and nothing else.
    Auth,
    /// GET with ten headers of static values.
    Static10,
    /// GET with ten headers whose names and values were made for it.
    Owned10,
}

impl Shape {
    pub const ALL: [Self; 6] = [
        Self::H0,
        Self::H10,
        Self::P9,
        Self::Auth,
        Self::Static10,
        Self::Owned10,
    ];

    /// Those that the tables have a column for.
    pub const TABLED: [Self; 4] = [Self::H0, Self::H10, Self::P9, Self::Auth];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::H0 => "H0",
            Self::H10 => "H10",
            Self::P9 => "P9",
            Self::Auth => "Auth",
            Self::Static10 => "Static10",
            Self::Owned10 => "Owned10",
        }
    }

    #[must_use]
    pub fn build(self, configured: &Configured, number: u64) -> Request<Body> {
        let mut request = Request::new(Full::default());
        match self {
            Self::H0 => *request.uri_mut() = Uri::from_static("/api/modules"),
            Self::Auth => {
                *request.uri_mut() = Uri::from_static("/api/modules");
                let token = format!("Bearer token-of-some-length-{number:016x}");
                request
                    .headers_mut()
                    .insert(header::AUTHORIZATION, fresh(&token));
            }
            Self::H10 | Self::P9 => {
                *request.uri_mut() = Uri::try_from(settings(configured, number)).unwrap();
                let headers = request.headers_mut();
                if self == Self::H10 {
                    fill_h10(headers, configured, number);
                    *request.method_mut() = Method::PUT;
                } else {
                    fill(headers, configured, number);
                    *request.method_mut() = Method::POST;
                }
                *request.body_mut() = Full::new(Bytes::from(JSON.to_owned()));
            }
            Self::Static10 => {
                *request.uri_mut() = Uri::from_static("/api/modules");
                for name in STANDARD {
                    let value = HeaderValue::from_static("a value of some length");
                    request.headers_mut().insert(name, value);
                }
            }
            Self::Owned10 => {
                *request.uri_mut() = Uri::from_static("/api/modules");
                for header in 0..10 {
                    let value = fresh(&format!("a value of {number:016x}"));
                    let name = custom(&format!("x-header-{header}"));
                    request.headers_mut().insert(name, value);
                }
            }
        }
        request
    }
}

/// A header that a client keeps and puts into every request.
#[must_use]
pub fn configured_header(number: usize) -> (HeaderName, HeaderValue) {
    let header = (
        custom(&format!("x-header-{number}")),
        fresh("a value of some length, configured"),
    );
    // As in `Configured`.
    drop(header.clone());
    header
}

/// A GET with these headers, the values of every other of which may be made for it.
#[must_use]
pub fn with_headers(
    headers: &[(HeaderName, HeaderValue)],
    are_fresh: bool,
    number: u64,
) -> Request<Body> {
    let mut request = Request::new(Full::default());
    *request.uri_mut() = Uri::from_static("/api/modules");
    for (index, (name, value)) in headers.iter().enumerate() {
        let value = if are_fresh && index % 2 == 1 {
            fresh(&format!("a value of some length, {number:010}"))
        } else {
            value.clone()
        };
        request.headers_mut().insert(name.clone(), value);
    }
    request
}

/// The URL of `H10` and `P9`.
#[must_use]
pub fn settings(configured: &Configured, number: u64) -> String {
    let base = &configured.base;
    format!("{base}/api/modules/{number:08}/settings")
}

/// A value that was never cloned: its first clone allocates.
fn fresh(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap()
}

/// A name of nobody's standard, given as text, as most callers give it.
fn custom(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).unwrap()
}

/// The headers of `H10`.
pub fn fill_h10(headers: &mut HeaderMap, configured: &Configured, number: u64) {
    fill(headers, configured, number);
    let key = fresh(&format!("key-{number:016x}"));
    headers.insert(custom("idempotency-key"), key);
}

/// Five static values, two of the configuration, two made for this request.
fn fill(headers: &mut HeaderMap, configured: &Configured, number: u64) {
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    headers.insert(header::USER_AGENT, configured.agent.clone());
    headers.insert(custom("x-tenant"), configured.tenant.clone());
    headers.insert(
        custom("x-request-id"),
        fresh(&format!("0e6f1c52-{number:012x}")),
    );
    headers.insert(custom("x-trace"), fresh(&format!("{number:032x}")));
}
