//! The command line.

use std::fmt;

use http::{Method, Uri};

pub(crate) enum Arguments {
    Tour { json: bool },
    Call { call: Call, json: bool },
}

pub(crate) struct Call {
    pub method: Method,
    pub uri: Uri,
    pub body: String,
}

pub(crate) enum Problem {
    Method,
    Url,
    Scheme,
    Missing,
    TooMany,
    Option(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method => f.write_str("the method is not a valid HTTP method"),
            Self::Url => f.write_str("the URL is not valid"),
            Self::Scheme => f.write_str("the URL must start with http:// and name a host"),
            Self::Missing => f.write_str("a method needs a URL"),
            Self::TooMany => f.write_str("too many arguments"),
            Self::Option(option) => write!(f, "unknown option {option:?}"),
        }
    }
}

impl Arguments {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Problem> {
        let (options, words): (Vec<_>, Vec<_>) =
            arguments.partition(|argument| argument.starts_with("--"));
        if let Some(unknown) = options.iter().find(|option| *option != "--json") {
            return Err(Problem::Option(unknown.clone()));
        }
        let json = !options.is_empty();
        let mut words = words.into_iter();
        let Some(method) = words.next() else {
            return Ok(Self::Tour { json });
        };
        let method = method
            .to_ascii_uppercase()
            .parse()
            .map_err(|_| Problem::Method)?;
        let url = words.next().ok_or(Problem::Missing)?;
        let uri: Uri = url.parse().map_err(|_| Problem::Url)?;
        // The example speaks no TLS, so that it builds with nothing but Rust.
        if uri.scheme_str() != Some("http") || uri.host().is_none_or(str::is_empty) {
            return Err(Problem::Scheme);
        }
        let body = words.next().unwrap_or_default();
        if words.next().is_some() {
            return Err(Problem::TooMany);
        }
        Ok(Self::Call {
            call: Call { method, uri, body },
            json,
        })
    }
}
