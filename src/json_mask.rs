//! A JSON text without what an excerpt may not show.

use std::borrow::Cow;

use crate::{json_field::is_hidden, json_lexer::Lexer, json_made::Made};

/// Returns `text` with everything hidden that an excerpt may not show: echoes of the request,
/// internals of the server, what is named like a secret. Ends soon after `limit` bytes of that, and
/// returns how far in `text` it came.
pub(crate) fn mask(text: &str, limit: usize) -> (Cow<'_, str>, usize) {
    let made = Made::default();
    let mut lexer = Lexer::new(text, &made);
    let mut masked = String::new();
    let mut copied = 0;
    let mut is_translated = false;
    while let Some(byte) = lexer.peek() {
        let ready = masked.len() + lexer.position().saturating_sub(copied);
        if ready >= limit {
            break;
        }
        if byte != b'"' {
            match byte {
                b'{' | b'}' | b'[' | b']' | b',' | b':' => lexer.open(),
                _ => {
                    lexer.scalar();
                }
            }
            continue;
        }
        let mut string = lexer.clone();
        lexer.skip();
        if lexer.peek() != Some(b':') {
            continue;
        }
        let Some(key) = string.string() else { break };
        // A value is what was submitted, unless it is a text in the language named before it.
        let hide = is_hidden(key) || key == "value" && !is_translated;
        is_translated = key == "lang";
        if !hide {
            continue;
        }
        lexer.open();
        // `null`, `true` and `false` say nothing of anybody.
        if !matches!(lexer.peek(), None | Some(b'n' | b't' | b'f')) {
            masked.push_str(text.get(copied..lexer.position()).unwrap_or_default());
            masked.push_str("\"[redacted]\"");
            lexer.skip();
            copied = lexer.position();
        }
    }
    let end = lexer.position();
    let rest = text.get(copied..end).unwrap_or_default();
    if copied == 0 {
        return (Cow::Borrowed(rest), end);
    }
    masked.push_str(rest);
    (Cow::Owned(masked), end)
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn hides_echoes_internals_and_secrets_and_nothing_else() {
        for (text, masked) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (
                r#"{"msg":"m","input":"pw"}"#,
                r#"{"msg":"m","input":"[redacted]"}"#,
            ),
            (
                r#"{"input": {"a":["x"]}, "b":2}"#,
                r#"{"input": "[redacted]", "b":2}"#,
            ),
            (
                r#"{"input":null,"debug":false}"#,
                r#"{"input":null,"debug":false}"#,
            ),
            (
                r#"[{"Client_Secret":"s"},{"token":7}]"#,
                r#"[{"Client_Secret":"[redacted]"},{"token":"[redacted]"}]"#,
            ),
            (
                r#"{"value":"v","lang":"en","value":"w"}"#,
                r#"{"value":"[redacted]","lang":"en","value":"w"}"#,
            ),
            (r#"["input","x"]"#, r#"["input","x"]"#),
            (r#"{"input":"cut off"#, r#"{"input":"[redacted]""#),
            (r#"{"\u0069nput":"pw"}"#, r#"{"\u0069nput":"[redacted]"}"#),
            (
                r#"{"http://schemas.example/2026/identity:token":"s"}"#,
                r#"{"http://schemas.example/2026/identity:token":"[redacted]"}"#,
            ),
            (r#"{"a":"b","#, r#"{"a":"b","#),
            ("", ""),
        ] {
            let whole = mask(text, usize::MAX);
            assert_eq!(whole, (masked.into(), text.len()), "{text}");
        }
    }
}
