//! Requests as callers build them: fresh each time, because a template that is cloned over and over
//! hides what the first clone of a value costs.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;

pub type Body = Full<Bytes>;

const JSON: &str =
    r#"{"module":"billing","enabled":true,"limits":{"rate":100,"burst":20},"owner":"ops"}"#;

/// What a client keeps and puts into every request.
pub struct Configured {
    agent: HeaderValue,
    tenant: HeaderValue,
}

impl Configured {
    pub fn new() -> Self {
        let configured = Self {
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
}

impl Shape {
    pub const ALL: [Self; 4] = [Self::H0, Self::H10, Self::P9, Self::Auth];

    pub fn name(self) -> &'static str {
        match self {
            Self::H0 => "H0",
            Self::H10 => "H10",
            Self::P9 => "P9",
            Self::Auth => "Auth",
        }
    }

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
                let uri = format!("http://api.example:8080/api/modules/{number:08}/settings");
                *request.uri_mut() = Uri::try_from(uri).unwrap();
                *request.method_mut() = if self == Self::H10 {
                    Method::PUT
                } else {
                    Method::POST
                };
                let headers = request.headers_mut();
                fill(headers, configured, number);
                if self == Self::H10 {
                    let key = fresh(&format!("key-{number:016x}"));
                    headers.insert(custom("idempotency-key"), key);
                }
                *request.body_mut() = Full::new(Bytes::from(JSON.to_owned()));
            }
        }
        request
    }
}

/// A value that was never cloned: its first clone allocates.
fn fresh(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap()
}

/// A name of nobody's standard, given as text, as most callers give it.
fn custom(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).unwrap()
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
