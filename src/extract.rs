//! What the server said, out of headers and the beginning of a body.

use http::{HeaderMap, StatusCode};

pub(crate) struct Extracted {
    pub message: Option<String>,
    pub code: Option<String>,
    pub text: Excerpt,
}

pub(crate) enum Excerpt {
    None,
    Omitted(&'static str),
    Text(String),
}

pub(crate) struct Rules {
    pub plain_text: bool,
}

pub(crate) fn extract(
    _status: StatusCode,
    _headers: &HeaderMap,
    prefix: &[u8],
    _complete: bool,
    rules: &Rules,
) -> Extracted {
    if prefix.trim_ascii_start().starts_with(b"<") {
        return Extracted {
            message: None,
            code: None,
            text: Excerpt::Omitted("html"),
        };
    }
    let text = String::from_utf8_lossy(prefix).into_owned();
    let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let get = |name: &str| Some(value.as_ref()?.get(name)?.as_str()?.to_owned());
    Extracted {
        message: get("message").or_else(|| rules.plain_text.then(|| text.clone())),
        code: get("code"),
        text: if text.is_empty() {
            Excerpt::None
        } else {
            Excerpt::Text(text)
        },
    }
}
