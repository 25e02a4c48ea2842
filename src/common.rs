//! Methods and schemes that most requests have, in one byte each.

use http::{Method, Uri};

/// A method that has a name in RFC 9110 or RFC 5789, in one byte instead of the 24 of a [`Method`].
///
/// In the order of those in `http`, so that one is copied from the other and not looked up.
#[derive(Clone, Copy)]
pub(crate) enum Standard {
    Options,
    Get,
    Post,
    Put,
    Delete,
    Head,
    Trace,
    Connect,
    Patch,
}

impl Standard {
    pub(crate) fn of(method: &Method) -> Option<Self> {
        Some(match *method {
            Method::GET => Self::Get,
            Method::POST => Self::Post,
            Method::PUT => Self::Put,
            Method::DELETE => Self::Delete,
            Method::HEAD => Self::Head,
            Method::OPTIONS => Self::Options,
            Method::CONNECT => Self::Connect,
            Method::PATCH => Self::Patch,
            Method::TRACE => Self::Trace,
            _ => return None,
        })
    }

    pub(crate) fn method(self) -> &'static Method {
        match self {
            Self::Get => &Method::GET,
            Self::Post => &Method::POST,
            Self::Put => &Method::PUT,
            Self::Delete => &Method::DELETE,
            Self::Head => &Method::HEAD,
            Self::Options => &Method::OPTIONS,
            Self::Connect => &Method::CONNECT,
            Self::Patch => &Method::PATCH,
            Self::Trace => &Method::TRACE,
        }
    }
}

/// A scheme that most URIs have, in one byte.
#[derive(Clone, Copy)]
pub(crate) enum CommonScheme {
    Absent,
    Http,
    Https,
}

impl CommonScheme {
    pub(crate) fn of(uri: &Uri) -> Option<Self> {
        match uri.scheme_str() {
            None => Some(Self::Absent),
            Some("http") => Some(Self::Http),
            Some("https") => Some(Self::Https),
            Some(_) => None,
        }
    }

    pub(crate) fn named(scheme: &str) -> Option<Self> {
        match scheme {
            "" => Some(Self::Absent),
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "",
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}
