//! A path that may be printed: segments that look like secrets are gone.

use std::borrow::Cow;

use crate::{harmless::is_harmless_path, secret_shape};

/// What stands for a secret in everything we print.
pub(crate) const REDACTED: &str = "[redacted]";

/// From so many characters on, a segment that mixes cases and digits is a secret.
const MIXED: usize = 24;

/// Returns `path` with every segment that looks like a secret replaced by `[redacted]`.
///
/// A Telegram-style `bot<digits>:<token>` keeps `bot`; of a JSON Web Token, a key with its maker's
/// prefix, and 24 characters or more that mix upper case, lower case and digits, nothing stays.
/// Nothing is allocated for a path without secrets.
pub(crate) fn redact_path(path: &str) -> Cow<'_, str> {
    if !path.split('/').any(|segment| keeps(segment).is_some()) {
        return Cow::Borrowed(path);
    }
    let mut redacted = String::with_capacity(path.len());
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            redacted.push('/');
        }
        match keeps(segment) {
            Some(kept) => {
                redacted.push_str(kept);
                redacted.push_str(REDACTED);
            }
            None => redacted.push_str(segment),
        }
    }
    Cow::Owned(redacted)
}

/// Returns whether `path` is printable ASCII without a query, and no segment can be a secret, by its length
/// and its first letters, as in most paths.
#[inline]
pub(crate) fn is_plain(path: &[u8]) -> bool {
    let are_short = || {
        path.split(|byte| *byte == b'/')
            .all(|segment| segment.len() < MIXED)
    };
    is_harmless_path(path) && (path.len() < MIXED || are_short())
}

/// Returns what may stay in front of the mark if `segment` looks like a secret, else `None`.
pub(crate) fn keeps(segment: &str) -> Option<&str> {
    let first = *segment.as_bytes().first()?;
    if is_bot_token(segment) {
        return segment.get(..3);
    }
    let is_secret = is_jwt(segment)
        || is_mixed(segment)
        || secret_shape::prefixed_key(first, segment).is_some();
    is_secret.then_some("")
}

/// `bot123456:AAF-…`: "bot" in any case, digits, a colon (or its percent-encoding), a token.
fn is_bot_token(segment: &str) -> bool {
    let Some(("bot" | "Bot" | "BOT", rest)) = segment.split_at_checked(3) else {
        return false;
    };
    let token = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    token.len() < rest.len()
        && [":", "%3A", "%3a"].iter().any(|colon| {
            token
                .strip_prefix(colon)
                .is_some_and(|token| !token.is_empty())
        })
}

/// `eyJ….….…`: three runs of base64url, the first of which opens a JSON object.
fn is_jwt(segment: &str) -> bool {
    segment.starts_with("eyJ") && segment.bytes().filter(|byte| *byte == b'.').count() >= 2
}

/// So many characters that mix upper case, lower case and digits. A UUID or a hex digest in mixed
/// case is an id all the same; a percent-encoded byte is one character, of no case.
fn is_mixed(segment: &str) -> bool {
    if segment.len() < MIXED {
        return false;
    }
    let (mut count, mut upper, mut lower, mut digit, mut is_hex) = (0, false, false, false, true);
    let mut bytes = segment.as_bytes();
    while let Some((&byte, rest)) = bytes.split_first() {
        bytes = match rest {
            [high, low, rest @ ..]
                if byte == b'%' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                rest
            }
            _ => rest,
        };
        upper |= byte.is_ascii_uppercase();
        lower |= byte.is_ascii_lowercase();
        digit |= byte.is_ascii_digit();
        is_hex &= byte.is_ascii_hexdigit() || byte == b'-';
        // The bytes behind the first one of a character do not count.
        count += usize::from(!(0x80..0xc0).contains(&byte));
    }
    count >= MIXED && upper && lower && digit && !is_hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_names_stay() {
        for (path, printed) in [
            ("/users/42/orders", "/users/42/orders"),
            (
                "/bot123456:AAF-SENTINELSENTINELSENTINELSENTINEL/sendMessage",
                "/bot[redacted]/sendMessage",
            ),
            ("/bot1%3Aabc/x", "/bot[redacted]/x"),
            ("/bottles/1:2", "/bottles/1:2"),
            ("/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "/[redacted]"),
            ("/hooks/T0aB1cD2eF3gH4iJ5kL6mN7o", "/hooks/[redacted]"),
            (
                "/items/123E4567-e89b-12d3-a456-426614174000",
                "/items/123E4567-e89b-12d3-a456-426614174000",
            ),
            (
                "/blobs/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
                "/blobs/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            ),
            (
                "/posts/how-we-moved-40-services-to-http-2",
                "/posts/how-we-moved-40-services-to-http-2",
            ),
            ("/bot/1:2", "/bot/1:2"),
            ("/bot1:", "/bot1:"),
            ("/keys/sk-test-SENTINEL", "/keys/[redacted]"),
            ("/keys/AKIASENTINEL/rotate", "/keys/[redacted]/rotate"),
            (
                "/caf%C3%A9-de-la-gare-du-nord/menu",
                "/caf%C3%A9-de-la-gare-du-nord/menu",
            ),
            (
                "/x/aB1%2FaB1%2FaB1%2FaB1%2FaB1",
                "/x/aB1%2FaB1%2FaB1%2FaB1%2FaB1",
            ),
            ("/x/aB1%2FaB1%2FaB1%2FaB1%2FaB1aB1aB1aB1", "/x/[redacted]"),
            ("/ÄÄÄÄÄÄÄÄÄÄaA1", "/ÄÄÄÄÄÄÄÄÄÄaA1"),
            ("*", "*"),
            ("", ""),
        ] {
            assert_eq!(redact_path(path), printed, "{path}");
        }
    }
}
