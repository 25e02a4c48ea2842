//! Percent-encoding, to and fro.

use std::fmt::Write;

/// Percent-encodes all but what is unreserved ([RFC 3986 §2.3]) or `kept`.
///
/// [RFC 3986 §2.3]: https://www.rfc-editor.org/rfc/rfc3986#section-2.3
pub(crate) fn to_percent(text: &str, kept: &str, is_upper: bool) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if is_unreserved(byte) || kept.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // A string takes whatever is written.
            let _ = match is_upper {
                true => write!(encoded, "%{byte:02X}"),
                false => write!(encoded, "%{byte:02x}"),
            };
        }
    }
    encoded
}

pub(crate) const fn is_unreserved(byte: u8) -> bool {
    const UNRESERVED: [bool; 256] = {
        let mut bytes = [false; 256];
        let mut byte: u8 = 0;
        while byte < 0x80 {
            let is_mark = matches!(byte, b'-' | b'.' | b'_' | b'~');
            bytes[byte as usize] = byte.is_ascii_alphanumeric() || is_mark;
            byte += 1;
        }
        bytes
    };
    UNRESERVED[byte as usize]
}

/// Undoes percent-encoding, and in a form writes `+` as a space. What is no escape stays; what is no UTF-8
/// then is replaced.
pub(crate) fn decode(text: &str, is_form: bool) -> String {
    String::from_utf8(decoded(text, is_form))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Undoes percent-encoding; `None` if there is none, or no text in it.
pub(crate) fn from_percent(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    String::from_utf8(decoded(text, false)).ok()
}

fn decoded(text: &str, is_form: bool) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.as_bytes();
    while let Some((&byte, rest)) = bytes.split_first() {
        bytes = rest;
        match (byte, rest) {
            (b'%', [high, low, rest @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    decoded.push(high << 4 | low);
                    bytes = rest;
                }
                _ => decoded.push(byte),
            },
            (b'+', _) if is_form => decoded.push(b' '),
            _ => decoded.push(byte),
        }
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_reads_as_it_was() {
        for (text, kept, encoded) in [
            ("aZ0-._~", "", "aZ0-._~"),
            ("a/b+c=", "", "a%2Fb%2Bc%3D"),
            ("a/b+c=", "/", "a/b%2Bc%3D"),
            ("\u{20ac}", "", "%E2%82%AC"),
        ] {
            assert_eq!(to_percent(text, kept, true), encoded);
            assert_eq!(from_percent(encoded).unwrap_or(encoded.to_owned()), text);
            assert_eq!(
                from_percent(&to_percent(text, kept, false)).unwrap_or(text.to_owned()),
                text
            );
        }
    }
}
