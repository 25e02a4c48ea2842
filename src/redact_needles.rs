//! The tokens to look for in a server's words, made from what a request sent.

use std::borrow::Cow;

use crate::{
    address::Address,
    eight,
    harmless::{KINDS, Kind},
    path::{REDACTED, keeps},
    percent::{from_percent, is_unreserved, to_percent},
    secret_shape::is_boundary,
    secrets::{SHORTEST, Secrets, Sent},
};

/// From so many equal bytes on, it is the secret, whether or not the whole of it stands there.
const LONG: usize = 32;

/// From so many bytes on, the beginning of a secret at the very end of a text counts as one that was
/// cut off, even where nobody says that the text was cut.
const CUT: usize = 16;

/// Every form of every secret that a request sent, sorted.
///
/// Looking one place of a text up costs a binary search that compares less than [`LONG`] bytes a
/// step, or else finds a match that is as long as what it compared. So a search is linear in the
/// length of the text, whatever the secrets and the text.
pub(crate) struct Needles<'a> {
    sorted: Vec<Needle<'a>>,
    /// One bit for each byte that some needle starts with.
    firsts: [u64; 4],
    /// From so many bytes on, the beginning of a secret at the very end of a text is one that was cut.
    cut: usize,
}

struct Needle<'a> {
    text: Cow<'a, str>,
    /// The longest shorter needle, below [`LONG`], that this one starts with.
    shorter: Option<usize>,
}

impl<'a> Needles<'a> {
    pub(crate) const NONE: Self = Self {
        sorted: Vec::new(),
        firsts: [0; 4],
        cut: CUT,
    };

    /// Collects what was sent in headers, in the query and the userinfo, and in those segments of the
    /// path that look like secrets, if anything was.
    #[inline]
    pub(crate) fn of(secrets: &'a Secrets, address: Address<'a>) -> Option<Self> {
        match secrets.is_empty() && address.is_nothing() {
            true => None,
            false => Self::collected(secrets, address),
        }
    }

    #[inline(never)]
    fn collected(secrets: &'a Secrets, address: Address<'a>) -> Option<Self> {
        let mut found = Found(Vec::new());
        for sent in secrets.values() {
            found.header(&sent);
        }
        if !address.query.is_empty() {
            found.query(address.query);
        }
        if eight::has(address.authority.as_bytes(), b'@') {
            found.userinfo(address.authority);
        }
        if address.is_odd {
            found.path(address.path);
        }
        (!found.0.is_empty()).then(|| Self::sorted(found.0))
    }

    fn sorted(mut texts: Vec<Cow<'a, str>>) -> Self {
        texts.sort_unstable();
        texts.dedup();
        let mut firsts = [0; 4];
        let mut sorted: Vec<Needle<'a>> = Vec::with_capacity(texts.len());
        let mut open: Vec<usize> = Vec::new();
        for text in texts {
            if let Some(first) = text.bytes().next() {
                firsts[usize::from(first >> 6)] |= 1_u64 << (first & 63);
            }
            while open
                .last()
                .and_then(|last| sorted.get(*last))
                .is_some_and(|last| !text.starts_with(&*last.text))
            {
                open.pop();
            }
            let shorter = open.last().copied();
            if text.len() < LONG {
                open.push(sorted.len());
            }
            sorted.push(Needle { text, shorter });
        }
        Self {
            sorted,
            firsts,
            cut: CUT,
        }
    }

    /// Expects texts that were cut somewhere, maybe within a secret.
    pub(crate) fn expect_cut(&mut self) {
        self.cut = SHORTEST;
    }

    /// Returns whether a secret may start with `first`.
    #[inline]
    pub(crate) fn may_start(&self, first: u8) -> bool {
        self.firsts[usize::from(first >> 6)] & (1_u64 << (first & 63)) != 0
    }

    /// Returns whether a secret may stand in `bytes`, or in a text that is made of them by hiding some or by
    /// putting others in their place: at the start of a word, or behind what may be an escape. Of most it is told
    /// without a look at each byte.
    pub(crate) fn may_stand_in(&self, bytes: &[u8]) -> bool {
        if !eight::is_unescaped(bytes) {
            return true;
        }
        for (place, firsts) in (0_u8..).zip(self.firsts) {
            let mut left = firsts;
            while let Some(bit) = left.checked_ilog2() {
                left ^= 1 << bit;
                let first = place << 6 | bit as u8;
                if eight::has(bytes, first) && begins_word(bytes, first) {
                    return true;
                }
            }
        }
        false
    }

    /// Returns the end of the secret that starts at `at`, where a word may start.
    pub(crate) fn end_at(&self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let place = self.sorted.partition_point(|needle| *needle.text <= *rest);
        let before = place.checked_sub(1).and_then(|at| self.sorted.get(at));
        let behind = self.sorted.get(place);
        let shared = before
            .into_iter()
            .chain(behind)
            .map(|needle| shared(&needle.text, rest))
            .max()?;
        if shared >= LONG || (shared >= self.cut && shared == rest.len()) {
            let tail = rest.get(shared..)?;
            let word = tail.find(|c| !crate::text::is_word(c));
            let extra = if is_boundary(rest, shared) {
                0
            } else {
                word.unwrap_or(tail.len())
            };
            return Some(at + shared + extra);
        }
        // Every needle that `rest` starts with is the one before the place, or one that it starts with.
        let mut next = before;
        while let Some(needle) = next {
            let end = at + needle.text.len();
            if rest.starts_with(&*needle.text) && is_boundary(text, end) {
                return Some(end);
            }
            next = needle.shorter.and_then(|at| self.sorted.get(at));
        }
        None
    }
}

/// Returns whether a word begins with `first`, or it stands there and belongs to none.
fn begins_word(bytes: &[u8], first: u8) -> bool {
    let is_word = |byte: u8| KINDS[usize::from(byte)] == Kind::Word;
    let mut start = 0;
    while let Some(found) = bytes
        .get(start..)
        .and_then(|rest| eight::find(rest, first, first))
    {
        let at = start + found;
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if !(is_word(first) && before.is_some_and(|before| is_word(*before))) {
            return true;
        }
        start = at + 1;
    }
    false
}

/// Returns how many bytes, in whole characters, two texts start with alike.
fn shared(one: &str, other: &str) -> usize {
    let mut len = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    while !other.is_char_boundary(len) {
        len -= 1;
    }
    len
}

/// The needles as they are found, some of them twice.
struct Found<'a>(Vec<Cow<'a, str>>);

impl<'a> Found<'a> {
    fn header(&mut self, sent: &Sent<'a>) {
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
        if !eight::has(credentials.as_bytes(), b'=') {
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

    fn query(&mut self, query: &'a str) {
        for item in query.split(['&', ';']) {
            let value = item.split_once('=').map_or(item, |(_, value)| value);
            self.add(Cow::Borrowed(value));
            self.decoded(value);
        }
    }

    fn userinfo(&mut self, authority: &str) {
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

    fn path(&mut self, path: &'a str) {
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
#[path = "../tests/unit/redact_needles.rs"]
mod tests;
