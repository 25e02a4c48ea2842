//! A JSON text, read from left to right without trust: it may be cut, broken or hostile.
//!
//! More forgiving than a parser: raw line breaks and lone surrogates in strings, stray commas and
//! unknown literals are passed over, because a server that fails may fail at writing JSON too. What
//! cannot be read ends the text, as a cut would; what was read before stays read. No recursion here.

use crate::{json_made::Made, scan};

/// As much of one string as is kept; the rest is passed over.
const KEPT: usize = 4 * 1024;

/// A position in a JSON text.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    made: &'a Made,
}

impl<'a> Lexer<'a> {
    /// Reads `text`. Strings with escapes are kept in `made`.
    pub(crate) const fn new(text: &'a str, made: &'a Made) -> Self {
        Self { text, at: 0, made }
    }

    /// Returns the byte at which the next token begins, and moves there.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if *byte > b' ' => Some(*byte),
            _ => self.peek_on(),
        }
    }

    #[inline(never)]
    fn peek_on(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        // Controls pass as space.
        match rest.iter().position(|byte| *byte > b' ') {
            Some(gap) => {
                self.at += gap;
                rest.get(gap).copied()
            }
            None => {
                self.give_up();
                None
            }
        }
    }

    /// Returns where the next token begins, in bytes.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Passes over the bracket that [`Self::peek`] has seen.
    pub(crate) fn open(&mut self) {
        self.at += 1;
    }

    /// Ends the text here.
    pub(crate) fn give_up(&mut self) {
        self.at = self.text.len();
    }

    /// Returns the name of the next member of an object and stands before its value; `None` after
    /// the last.
    #[inline(always)]
    pub(crate) fn key(&mut self) -> Option<&'a str> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return None;
                }
                b'"' => {
                    let key = self.string()?;
                    if self.peek()? == b':' {
                        self.at += 1;
                        return Some(key);
                    }
                    break;
                }
                _ => break,
            }
        }
        self.give_up();
        None
    }

    /// Returns whether an array has another element, and stands before it.
    pub(crate) fn element(&mut self) -> bool {
        loop {
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return false;
                }
                Some(b'}' | b':') => {
                    self.give_up();
                    return false;
                }
                Some(_) => return true,
                None => return false,
            }
        }
    }

    /// Reads the string at whose opening quote this stands; `None` if it is cut.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        match self.plain_string() {
            Some(text) => Some(text),
            None => self.escaped_string(),
        }
    }

    /// Reads a string if it is plain text up to its closing quote.
    #[inline]
    fn plain_string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let rest = self.text.get(start..)?;
        let (text, end) = rest.split_at_checked(stop(rest.as_bytes())?)?;
        if end.as_bytes().first() != Some(&b'"') {
            return None;
        }
        self.at = start + text.len() + 1;
        Some(text)
    }

    #[inline(never)]
    fn escaped_string(&mut self) -> Option<&'a str> {
        self.at += 1;
        match self.escaped() {
            // Nobody writes so many; they are read, and say nothing.
            Some(_) if self.made.is_full() => Some(""),
            Some(text) => Some(self.made.keep(text)),
            None => {
                self.give_up();
                None
            }
        }
    }

    /// Reads a string with escapes from behind its opening quote to behind its closing one.
    fn escaped(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let length = stop(rest.as_bytes())?;
            let (plain, rest) = rest.split_at_checked(length)?;
            let kept = text.len() < KEPT;
            if kept {
                text.push_str(plain);
            }
            self.at += length + 1;
            let mut chars = rest.chars();
            if chars.next()? == '"' {
                return Some(text);
            }
            let escape = chars.next()?;
            self.at += escape.len_utf8();
            let c = match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => self.unicode()?,
                other => other,
            };
            if kept {
                text.push(c);
            }
        }
    }

    /// Reads the digits of a `\u`, and of a second one where the first is half of a pair.
    fn unicode(&mut self) -> Option<char> {
        let Some(first) = self.hex()? else {
            return Some(char::REPLACEMENT_CHARACTER);
        };
        if let Some(c) = char::from_u32(first) {
            return Some(c);
        }
        let before = self.at;
        let rest = self.text.get(self.at..)?;
        if let Some(digits) = rest.strip_prefix("\\u") {
            self.at = self.text.len() - digits.len();
            if let Some(second) = self.hex()? {
                let pair = [first, second].map(|half| u16::try_from(half).unwrap_or_default());
                if let Some(Ok(c)) = char::decode_utf16(pair).next() {
                    return Some(c);
                }
            }
            self.at = before;
        } else if rest.is_empty() || rest == "\\" {
            return None;
        }
        Some(char::REPLACEMENT_CHARACTER)
    }

    /// Reads four hexadecimal digits: `None` if they are cut, `Some(None)` if they are none.
    fn hex(&mut self) -> Option<Option<u32>> {
        if self.text.len() < self.at + 4 {
            return None;
        }
        let digits = self.text.get(self.at..self.at + 4);
        let value = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if value.is_some() {
            self.at += 4;
        }
        Some(value)
    }

    /// Reads a number or a literal, whatever it spells.
    pub(crate) fn scalar(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest
            .bytes()
            .position(|byte| byte <= b' ' || matches!(byte, b',' | b'}' | b']' | b':' | b'"'));
        match end {
            // No value begins like this.
            Some(0) => {
                self.give_up();
                ""
            }
            Some(end) => {
                self.at += end;
                rest.get(..end).unwrap_or_default()
            }
            // At the very end it may be cut: nobody knows its value.
            None => {
                self.give_up();
                ""
            }
        }
    }

    /// Passes over one value, however deep it is.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return,
                Some(b'"') => self.skip_string(),
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => self.at += 1,
                Some(_) => {
                    self.scalar();
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            match stop(rest) {
                Some(length) if rest.get(length) == Some(&b'"') => {
                    self.at += length + 1;
                    return;
                }
                // What an escape escapes is one byte at least; the rest of it is no quote.
                Some(length) => self.at += length + 2,
                None => {
                    self.give_up();
                    return;
                }
            }
        }
    }
}

/// Returns where the first quote or backslash is: what ends a string or a part of one.
///
/// Most of an answer is text, and this is where the time goes.
fn stop(bytes: &[u8]) -> Option<usize> {
    scan::find(bytes, b'"', b'\\')
}

#[cfg(test)]
#[path = "../tests/unit/json_lexer.rs"]
mod tests;
