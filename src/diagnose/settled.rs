//! When a body need not be read any further.

use http::{HeaderMap, header};

/// Follows the bytes of a body and knows when more of them would tell nothing new.
#[derive(Debug)]
pub(super) struct Settled {
    is_html: bool,
    is_encoded: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Only white space so far, or nothing.
    Start,
    /// A `<`, and too little after it to know what kind of document it is.
    Markup {
        len: usize,
        bytes: [u8; OPENING],
    },
    Json {
        depth: u32,
        in_string: bool,
        is_escaped: bool,
    },
    /// Anything else: read on.
    Other,
    Settled,
}

/// So many bytes tell HTML from XML: those of `<!doctype html`.
const OPENING: usize = 14;

impl Settled {
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let starts_with = |name, text: &str| {
            headers.get(name).is_some_and(|value| {
                let value = value.as_bytes().trim_ascii_start();
                value
                    .get(..text.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(text.as_bytes()))
            })
        };
        Self {
            is_html: starts_with(header::CONTENT_TYPE, "text/html"),
            is_encoded: headers.contains_key(header::CONTENT_ENCODING)
                && !starts_with(header::CONTENT_ENCODING, "identity"),
            state: State::Start,
        }
    }

    /// Takes the next bytes; each is looked at once.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            match &mut self.state {
                State::Start => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => {}
                    // Compressed, and truly so.
                    byte if self.is_encoded && !(0x20..0x7f).contains(byte) => {
                        self.state = State::Settled;
                    }
                    b'<' if self.is_html => self.state = State::Settled,
                    b'<' => {
                        self.state = State::Markup {
                            len: 0,
                            bytes: [0; OPENING],
                        };
                        continue;
                    }
                    b'{' | b'[' => {
                        self.state = State::Json {
                            depth: 1,
                            in_string: false,
                            is_escaped: false,
                        }
                    }
                    _ => self.state = State::Other,
                },
                State::Markup { len, bytes } => {
                    if let Some(place) = bytes.get_mut(*len) {
                        *place = byte.to_ascii_lowercase();
                        *len += 1;
                    }
                    if bytes == b"<!doctype html" || bytes.starts_with(b"<html") {
                        self.state = State::Settled;
                    } else if *len == OPENING {
                        self.state = State::Other;
                    }
                }
                State::Json {
                    depth,
                    in_string,
                    is_escaped,
                } => match byte {
                    _ if *is_escaped => *is_escaped = false,
                    b'\\' if *in_string => *is_escaped = true,
                    b'"' => *in_string = !*in_string,
                    b'{' | b'[' if !*in_string => *depth = depth.saturating_add(1),
                    b'}' | b']' if !*in_string => {
                        *depth = depth.saturating_sub(1);
                        if *depth == 0 {
                            self.state = State::Settled;
                        }
                    }
                    _ => {}
                },
                State::Other | State::Settled => return,
            }
            rest = after;
        }
    }

    /// Returns whether what was fed is all that is worth reading.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, State::Settled)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn settles(headers: &[(header::HeaderName, &'static str)], body: &[u8]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        let whole = {
            let mut settled = Settled::new(&headers);
            settled.feed(body);
            settled.is_settled()
        };
        let mut settled = Settled::new(&headers);
        for byte in body {
            settled.feed(std::slice::from_ref(byte));
        }
        assert_eq!(
            settled.is_settled(),
            whole,
            "depends on the cut of {body:?}"
        );
        whole
    }

    #[test]
    fn reads_on_exactly_while_there_is_something_to_learn() {
        let html = (header::CONTENT_TYPE, "Text/HTML; charset=utf-8");
        let gzip = (header::CONTENT_ENCODING, "gzip");
        let identity = (header::CONTENT_ENCODING, "identity");
        for (headers, body, expected) in [
            (vec![], &b""[..], false),
            (vec![], b"{\"message\": \"a}\"", false),
            (vec![], b"{\"message\": \"a}\"}", true),
            (vec![], b"{\"message\": \"\\\"}\"}", true),
            (vec![], b"\xef\xbb\xbf [{\"a\": []}]", true),
            (vec![], b"[{\"a\": [] }", false),
            (vec![], b"<!DOCTYPE html>", true),
            (vec![], b"\n<HTML lang", true),
            (vec![], b"<?xml version=\"1.0\"?>", false),
            (vec![], b"<Error><Code>", false),
            (vec![html.clone()], b"<b>", true),
            (vec![html], b"{\"a\":", false),
            (vec![gzip.clone()], b"\x1f\x8b", true),
            (vec![gzip], b"{\"a\":", false),
            (vec![identity], b"\x1f\x8b", false),
            (vec![], b"plain text", false),
        ] {
            assert_eq!(settles(&headers, body), expected, "{body:?}");
        }
    }
}
