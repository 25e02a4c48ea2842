//! One walk through a text for the secrets in it.

use std::{borrow::Cow, ops::Range};

use crate::{
    harmless::{KINDS, Kind},
    path::{REDACTED, keeps},
    redact_named::{self, is_reference_end},
    redact_needles::Needles,
    secret_shape,
    text::{behind_short_sequence, is_word},
};

/// What at the end of a reference belongs to the sentence around it.
const TRAILING: [char; 11] = ['.', ',', ';', ':', '!', '?', '\'', ')', ']', '}', '*'];
/// What ends a segment of a path, beside what ends the whole reference.
const ENDS: [char; 11] = ['/', '?', '#', '\\', '\'', ',', ';', '(', ')', '[', ']'];

/// One walk through a text, from left to right, never back.
pub(crate) struct Pass<'p, 'a> {
    needles: &'p Needles<'p>,
    text: &'a str,
    bytes: &'a [u8],
    /// What is decided of the text up to `copied`; empty until something is found.
    out: String,
    copied: usize,
    at: usize,
    /// Where the word began that the walk is in.
    word: Option<usize>,
    /// Where the absolute URL ends that the walk is in, query and fragment included.
    url: Option<usize>,
    /// Where the path of that URL ends, or else the text.
    stop: usize,
}

impl<'p, 'a> Pass<'p, 'a> {
    pub(crate) fn new(needles: &'p Needles<'p>, text: &'a str) -> Self {
        Self {
            needles,
            text,
            bytes: text.as_bytes(),
            out: String::new(),
            copied: 0,
            at: 0,
            word: None,
            url: None,
            stop: text.len(),
        }
    }

    pub(crate) fn run(mut self) -> Cow<'a, str> {
        loop {
            self.skip();
            if self.at < self.stop {
                self.step();
            } else if let Some(end) = self.url.take() {
                self.replace(self.at, end, "");
                self.stop = self.bytes.len();
            } else {
                break;
            }
        }
        if self.copied == 0 && self.out.is_empty() {
            return Cow::Borrowed(self.text);
        }
        self.out.push_str(&self.text[self.copied..]);
        Cow::Owned(self.out)
    }

    /// Passes over what cannot mean anything, which is most of most texts.
    fn skip(&mut self) {
        let (mut at, mut word) = (self.at, self.word);
        let text = self.bytes.get(..self.stop).unwrap_or_default();
        while let Some(&byte) = text.get(at) {
            match KINDS[usize::from(byte)] {
                Kind::Word => {
                    if word.is_none() {
                        let next = self.bytes.get(at + 1).copied();
                        if secret_shape::may_start(byte, next) || self.needles.may_start(byte) {
                            break;
                        }
                        word = Some(at);
                    }
                    let rest = text.get(at + 1..).unwrap_or_default();
                    let is_word = |byte: &u8| KINDS[usize::from(*byte)] == Kind::Word;
                    at += 1 + rest.iter().take_while(|byte| is_word(byte)).count();
                }
                Kind::Sign | Kind::Wide => break,
                Kind::Space | Kind::Plain | Kind::Control => {
                    if self.needles.may_start(byte) {
                        break;
                    }
                    word = None;
                    at += 1;
                }
            }
        }
        (self.at, self.word) = (at, word);
    }

    /// Looks at a byte that may mean something.
    fn step(&mut self) {
        let Some(&byte) = self.bytes.get(self.at) else {
            return;
        };
        match KINDS[usize::from(byte)] {
            Kind::Word => {
                if !self.secret(secret_shape::secret_at(self.text, self.at, byte)) {
                    self.word = Some(self.at);
                    self.at += 1;
                }
            }
            Kind::Space | Kind::Plain | Kind::Control => {
                if !self.secret(None) {
                    self.word = None;
                    self.at += 1;
                }
            }
            Kind::Sign => {
                if !self.mark(byte) && !self.sent(byte) {
                    let word = self.word.take();
                    self.sign(byte, word);
                }
            }
            Kind::Wide => self.wide(byte),
        }
    }

    /// At a character beyond ASCII, which may be a letter.
    fn wide(&mut self, first: u8) {
        let c = self.text[self.at..].chars().next();
        let is_inside = self.word.is_some() && c.is_some_and(is_word);
        if !is_inside && self.sent(first) {
            return;
        }
        if c == Some('\u{9b}') {
            self.word = None;
            return self.control_sequence('\u{9b}', 2);
        }
        self.word = c.is_some_and(is_word).then(|| self.word.unwrap_or(self.at));
        self.at += c.map_or(1, char::len_utf8);
    }

    /// Replaces the secret that was sent and starts here with `first`, if one does.
    fn sent(&mut self, first: u8) -> bool {
        self.needles.may_start(first) && self.secret(None)
    }

    /// Passes over a `[redacted]` that stands there already.
    fn mark(&mut self, byte: u8) -> bool {
        let is_mark = byte == b'[' && self.starts_with(self.at, REDACTED);
        if is_mark {
            self.at += REDACTED.len();
            self.word = None;
        }
        is_mark
    }

    /// Replaces the secret that starts here, if one does: one that was sent, or one by its shape.
    fn secret(&mut self, shaped: Option<Range<usize>>) -> bool {
        let known = self.needles.end_at(self.text, self.at);
        let (start, end) = match (known, shaped) {
            (Some(end), Some(shaped)) if shaped.end >= end => {
                (shaped.start.min(self.at), shaped.end)
            }
            (Some(end), _) => (self.at, end),
            (None, Some(shaped)) => (shaped.start, shaped.end),
            (None, None) => return false,
        };
        self.replace(start, end, REDACTED);
        true
    }

    /// At a character that may begin or end what must not be shown.
    fn sign(&mut self, byte: u8, word: Option<usize>) {
        match byte {
            b':' if word.is_some() => self.authority(),
            b'/' if self.starts_with(self.at, "//") => self.relative(),
            b'/' => self.segment(),
            b'?' => self.query(),
            b':' => self.range(redact_named::member(self.text, self.copied, self.at)),
            b'=' => self.range(redact_named::parameter(self.text, word, self.at)),
            b'\\' => self.escape(),
            b'%' if self.hex(self.at + 1, 2) => self.at += 3,
            0x1b => self.control_sequence('\u{1b}', 1),
            _ => self.at += 1,
        }
    }

    /// At the colon of `scheme://`: drops the userinfo and finds the end of the URL.
    fn authority(&mut self) {
        let Some(slashes) = ["://", ":\\/\\/"]
            .into_iter()
            .find(|slashes| self.starts_with(self.at, slashes))
        else {
            self.at += 1;
            return;
        };
        let start = self.at + slashes.len();
        let end = self.url.unwrap_or_else(|| self.reference_end(start));
        let Some(rest) = self.text.get(start..end) else {
            self.at = start;
            return;
        };
        let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
        // A password may hold a raw slash: what should be a port is none then.
        let is_odd = authority.rsplit_once(':').is_some_and(|(_, port)| {
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) || port.ends_with(']');
            !is_port && !authority.contains('@')
        });
        let userinfo = match (is_odd && self.url.is_none(), authority.rfind('@')) {
            (true, _) => rest.rfind('@'),
            (false, found) => found,
        };
        self.at = start;
        if let Some(userinfo) = userinfo {
            self.replace(start, start + userinfo + 1, "");
        } else if is_odd && self.text[end..].chars().all(|c| TRAILING.contains(&c)) {
            // The text was cut off in front of the `@`.
            return self.replace(start, end, REDACTED);
        }
        if self.url.is_none() {
            let path = &self.text[self.at..end];
            self.stop = path.find(['?', '#']).map_or(end, |len| self.at + len);
            self.url = Some(end);
        }
    }

    /// At the two slashes of a reference without a scheme: drops `user:password@`.
    fn relative(&mut self) {
        let start = self.at + 2;
        let rest = &self.text[start..];
        let end = rest.find(|c| is_reference_end(c) || matches!(c, '/' | '?' | '#' | '\\'));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let userinfo = authority.rsplit_once('@').map(|(userinfo, _)| userinfo);
        match userinfo.filter(|userinfo| userinfo.contains(':')) {
            Some(userinfo) => self.replace(start, start + userinfo.len() + 1, ""),
            None => self.segment(),
        }
    }

    /// At a slash: a segment that looks like a secret goes.
    fn segment(&mut self) {
        self.at += 1;
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c| is_reference_end(c) || ENDS.contains(&c))
            .unwrap_or(rest.len());
        let segment = rest[..end].trim_end_matches(TRAILING);
        if let Some(kept) = keeps(segment) {
            self.replace(self.at + kept.len(), self.at + segment.len(), REDACTED);
        }
    }

    /// At a question mark: `?name=value` goes, up to the end of the reference.
    fn query(&mut self) {
        let behind = &self.text[self.at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.[]%$".contains(c);
        let name = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
        // A mark is no name, or what was none before it was set would be one behind it.
        let is_name = name > 0 && !behind[..name].contains(REDACTED);
        if is_name && behind[name..].starts_with('=') {
            self.replace(self.at, self.reference_end(self.at + 1), "");
        } else {
            self.at += 1;
        }
    }

    fn range(&mut self, range: Option<Range<usize>>) {
        self.at += 1;
        if let Some(range) = range {
            self.replace(range.start, range.end, REDACTED);
        }
    }

    /// Passes over a JSON escape: a word may start behind it.
    fn escape(&mut self) {
        self.at += match self.bytes.get(self.at + 1) {
            Some(b'n' | b'r' | b't' | b'b' | b'f') => 2,
            Some(b'u') if self.hex(self.at + 2, 4) => {
                let digits = self.text.get(self.at + 2..self.at + 6).unwrap_or_default();
                return match u32::from_str_radix(digits, 16) {
                    Ok(0x1b) => self.control_sequence('\u{1b}', 6),
                    Ok(0x9b) => self.control_sequence('\u{9b}', 6),
                    _ => self.at += 6,
                };
            }
            _ => 1,
        };
    }

    /// Passes over a terminal's sequence, of which `c` is the beginning, written with `len` bytes. A word
    /// may start behind it, and at each place in it where the terminal is none.
    fn control_sequence(&mut self, c: char, len: usize) {
        self.at += len;
        let rest = self.text.get(self.at..self.stop).unwrap_or_default();
        let end = self.at + rest.len() - behind_short_sequence(c, rest).len();
        while let (true, Some(&byte)) = (self.at < end, self.bytes.get(self.at)) {
            let shaped = secret_shape::secret_at(self.text, self.at, byte);
            if self.mark(byte) || self.secret(shaped) {
                return;
            }
            self.at += 1;
        }
    }

    /// Returns the end of a reference: of what has no blank, no quote and no angle bracket in it,
    /// less the punctuation of the sentence that it stands in.
    fn reference_end(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(c) = self.text[at..].chars().next() {
            let next = self.bytes.get(at + 1);
            let is_escape = c == '\\' && matches!(next, Some(b'/' | b'u'));
            if is_reference_end(c) || (c == '\\' && !is_escape) {
                break;
            }
            at += if is_escape { 2 } else { c.len_utf8() };
        }
        start + self.text[start..at].trim_end_matches(TRAILING).len()
    }

    fn hex(&self, start: usize, digits: usize) -> bool {
        self.bytes
            .get(start..start + digits)
            .is_some_and(|bytes| bytes.iter().all(u8::is_ascii_hexdigit))
    }

    fn starts_with(&self, at: usize, pattern: &str) -> bool {
        self.bytes
            .get(at..)
            .is_some_and(|rest| rest.starts_with(pattern.as_bytes()))
    }

    /// Puts `with` in the place of a range, and goes on behind it.
    fn replace(&mut self, start: usize, end: usize, with: &str) {
        self.word = None;
        self.at = end.max(self.at);
        if start >= end || &self.text[start..end] == with {
            return;
        }
        if self.out.is_empty() {
            self.out.reserve(self.text.len());
        }
        self.out.push_str(&self.text[self.copied..start]);
        self.out.push_str(with);
        self.copied = end;
    }
}
