//! What a server could repeat of what a request sent, in every form in which it might.

use std::borrow::Cow;

use crate::{
    path::{REDACTED, keeps},
    percent::{from_percent, is_unreserved, to_percent},
    scan,
    secrets::{SHORTEST, Sent},
};

/// The needles as they are found, some of them twice.
#[derive(Default)]
pub(crate) struct Found<'a>(Vec<Cow<'a, str>>);

impl<'a> Found<'a> {
    pub(crate) fn into_texts(self) -> Vec<Cow<'a, str>> {
        self.0
    }

    pub(crate) fn header(&mut self, sent: &Sent<'a>) {
        let (Sent::Cookie(bytes) | Sent::Value(bytes)) = sent;
        match std::str::from_utf8(bytes) {
            Ok(value) => self.value(value, matches!(sent, Sent::Cookie(_)), &Cow::Borrowed),
            // As a server that takes headers for Latin-1 gives it back.
            Err(_) => {
                let value: String = bytes.iter().copied().map(char::from).collect();
                let keep = |part: &str| Cow::Owned(part.to_owned());
                self.value(&value, matches!(sent, Sent::Cookie(_)), &keep);
            }
        }
    }

    /// Takes a header's value apart; `keep` makes of a part what can be kept.
    fn value<'v>(
        &mut self,
        value: &'v str,
        is_cookie: bool,
        keep: &dyn Fn(&'v str) -> Cow<'a, str>,
    ) {
        let value = value.trim();
        self.add(keep(value));
        if is_cookie {
            for cookie in value.split(';') {
                let cookie = cookie.split_once('=').map_or(cookie, |(_, value)| value);
                self.part(cookie, keep);
            }
            return;
        }
        let Some((scheme, credentials)) = value.split_once(' ') else {
            return;
        };
        let credentials = credentials.trim();
        self.add(keep(credentials));
        if scheme.eq_ignore_ascii_case("basic") {
            if let Some(pair) = from_base64(credentials) {
                self.pair(&pair);
            }
            return;
        }
        if !scan::has(credentials.as_bytes(), b'=') {
            return;
        }
        for parameter in credentials.split([',', ' ', ';']) {
            if let Some((name, value)) = parameter.split_once('=') {
                if !PUBLIC
                    .iter()
                    .any(|public| name.eq_ignore_ascii_case(public))
                {
                    self.part(value, keep);
                }
            }
        }
    }

    fn part<'v>(&mut self, part: &'v str, keep: &dyn Fn(&'v str) -> Cow<'a, str>) {
        let part = part.trim().trim_matches('"');
        self.add(keep(part));
        self.decoded(part);
    }

    pub(crate) fn query(&mut self, query: &'a str) {
        for item in query.split(['&', ';']) {
            let value = item.split_once('=').map_or(item, |(_, value)| value);
            self.add(Cow::Borrowed(value));
            self.decoded(value);
        }
    }

    pub(crate) fn userinfo(&mut self, authority: &str) {
        if let Some((userinfo, _)) = authority.rsplit_once('@') {
            self.pair(userinfo);
            if let Some(userinfo) = from_percent(userinfo) {
                self.pair(&userinfo);
            }
        }
    }

    /// Adds `user:password` and both its parts.
    fn pair(&mut self, pair: &str) {
        let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
        for part in [pair, user, password] {
            self.add(Cow::Owned(part.to_owned()));
        }
    }

    pub(crate) fn path(&mut self, path: &'a str) {
        for segment in path.split('/') {
            let Some(kept) = keeps(segment) else {
                continue;
            };
            self.add(Cow::Borrowed(segment));
            self.decoded(segment);
            let token = segment.get(kept.len()..).unwrap_or_default();
            if !kept.is_empty() {
                self.add(Cow::Borrowed(token));
                self.decoded(token);
                for colon in [":", "%3A", "%3a"] {
                    if let Some((_, token)) = token.split_once(colon) {
                        self.add(Cow::Borrowed(token));
                    }
                }
            }
        }
    }

    /// Adds what `value` reads as once its percent-encoding is undone.
    fn decoded(&mut self, value: &str) {
        if let Some(decoded) = from_percent(value) {
            self.add(Cow::Owned(decoded));
        }
        if value.contains('+') {
            let spaced = value.replace('+', " ");
            let spaced = from_percent(&spaced).unwrap_or(spaced);
            self.add(Cow::Owned(spaced));
        }
    }

    fn add(&mut self, value: Cow<'a, str>) {
        // Most credentials are of these, of which nobody escapes any.
        let is_plain = |byte| byte == b' ' || is_unreserved(byte);
        if value.len() >= SHORTEST && value.bytes().all(is_plain) {
            self.0.push(value);
            return;
        }
        // A mark that somebody set before us is no secret, and looking for it would never end.
        if value.chars().take(SHORTEST).count() < SHORTEST || value.contains(REDACTED) {
            return;
        }
        // As it stands in a piece of raw JSON, by the habits of several writers.
        if value.contains(['"', '\\', '/']) {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            self.0.push(Cow::Owned(escaped.replace('/', "\\/")));
            self.0.push(Cow::Owned(escaped));
        }
        if !value.is_ascii() || value.contains(['&', '<', '>', '=', '"', '\'', '+', '`']) {
            self.0.push(Cow::Owned(in_ascii(&value, "&<>", false)));
            self.0.push(Cow::Owned(in_ascii(&value, "&<>='", false)));
            self.0.push(Cow::Owned(in_ascii(&value, "&<>\"'+`", true)));
        }
        // One with a blank is a scheme or a list, whose parts are looked for as well.
        if !value.bytes().all(is_unreserved) && !value.contains(' ') {
            for (kept, is_upper) in [("", true), ("", false), ("/", true)] {
                self.0.push(Cow::Owned(to_percent(&value, kept, is_upper)));
            }
        }
        self.0.push(value);
    }
}

/// The parameters of a credential that are no secret.
const PUBLIC: &[&str] = &["realm", "uri", "algorithm", "signedheaders", "scope"];

/// Escapes what is not ASCII, and what is `special`, as `\u` and four digits.
fn in_ascii(text: &str, special: &str, is_upper: bool) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match c {
            '"' if !special.contains(c) => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            _ if c.is_ascii() && !special.contains(c) => escaped.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let digits = if is_upper {
                        format!("\\u{unit:04X}")
                    } else {
                        format!("\\u{unit:04x}")
                    };
                    escaped.push_str(&digits);
                }
            }
        }
    }
    escaped
}

/// Undoes base64 of either alphabet, padded or not; `None` if it is none. Bytes that are no UTF-8 are
/// read as Latin-1.
fn from_base64(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let mut bits: u32 = 0;
    let mut count = 0;
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits & 0xffff) << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push(u8::try_from(bits >> count & 0xff).unwrap_or_default());
        }
    }
    match String::from_utf8(decoded) {
        Ok(text) => Some(text),
        Err(error) => Some(error.into_bytes().into_iter().map(char::from).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_undone() {
        for (encoded, text) in [
            ("a%20b", Some("a b")),
            ("%C3%BC", Some("ü")),
            ("%FF", None),
            ("100%", Some("100%")),
            ("%zz%4", Some("%zz%4")),
            ("none", None),
        ] {
            assert_eq!(from_percent(encoded).as_deref(), text, "{encoded}");
        }
        for (encoded, text) in [
            ("dTpw", Some("u:p")),
            ("dTpwdw==", Some("u:pw")),
            ("dTpwdw", Some("u:pw")),
            ("dTr_", Some("u:ÿ")),
            ("not base64!", None),
            ("", Some("")),
        ] {
            assert_eq!(from_base64(encoded).as_deref(), text, "{encoded}");
        }
    }
}
