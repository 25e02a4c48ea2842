//! The message inside a form-encoded error of OAuth ([RFC 6749 §5.2] in the wrong format).
//!
//! [RFC 6749 §5.2]: https://www.rfc-editor.org/rfc/rfc6749#section-5.2

use std::borrow::Cow;

use http::StatusCode;

use crate::{
    json_phrase::{clean, is_code},
    percent::decode,
};

/// Returns whether an unlabelled text is such a form.
pub(crate) fn is_form(text: &str) -> bool {
    let start = text.split(['=', '&']).next().unwrap_or_default();
    text.len() > start.len()
        && !text.contains(char::is_whitespace)
        && matches!(start, "error" | "error_description" | "error_code")
}

/// Returns message and code of the form `text`.
pub(crate) fn read(text: &str, status: StatusCode) -> (Option<String>, Option<String>) {
    let find = |name: &str| {
        let mut pairs = text
            .trim()
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let value = pairs.find_map(|(key, value)| {
            Some(decode(value, true)).filter(|value| key == name && !value.trim().is_empty())
        })?;
        clean(&value, status).map(Cow::into_owned)
    };
    let code = find("error");
    let described = find("error_description")
        .or_else(|| find("message"))
        .or_else(|| find("error_message"))
        .or_else(|| find("error_reason"));
    match (code, described) {
        (Some(code), Some(text)) if is_code(&code) && !text.contains(&*code) => {
            (Some(format!("{code}: {text}")), Some(code))
        }
        (Some(code), Some(text)) if is_code(&code) => (Some(text), Some(code)),
        (Some(code), None) if is_code(&code) => (Some(code.clone()), Some(code)),
        (Some(text), _) | (None, Some(text)) => (Some(text), None),
        (None, None) => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_errors_of_oauth() {
        for (text, message, code) in [
            (
                "error=invalid_grant&error_description=Code%20was+used",
                Some("invalid_grant: Code was used"),
                Some("invalid_grant"),
            ),
            ("error_description=gone&error=&x=y", Some("gone"), None),
            (
                "error=access_denied",
                Some("access_denied"),
                Some("access_denied"),
            ),
            ("error=a%zz%&b", Some("a%zz%"), None),
            ("error=%ff%fe", Some("\u{fffd}\u{fffd}"), None),
            ("access_token=SECRET&scope=a", None, None),
            ("", None, None),
            ("error", None, None),
        ] {
            let (found, found_code) = read(text, StatusCode::BAD_REQUEST);
            assert_eq!(found.as_deref(), message, "{text}");
            if code.is_some() {
                assert_eq!(found_code.as_deref(), code, "{text}");
            }
        }
    }
}
