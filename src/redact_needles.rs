//! The tokens to look for in a server's words, made from what a request sent.

use std::borrow::Cow;

use crate::{
    address::Address,
    harmless::{KINDS, Kind},
    redact_found::Found,
    scan,
    secret_shape::is_boundary,
    secrets::{SHORTEST, Secrets},
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
        let mut found = Found::default();
        for sent in secrets.values() {
            found.header(&sent);
        }
        if !address.query.is_empty() {
            found.query(address.query);
        }
        if scan::has(address.authority.as_bytes(), b'@') {
            found.userinfo(address.authority);
        }
        if address.is_odd {
            found.path(address.path);
        }
        let texts = found.into_texts();
        (!texts.is_empty()).then(|| Self::sorted(texts))
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
        if !scan::is_unescaped(bytes) {
            return true;
        }
        for (place, firsts) in (0_u8..).zip(self.firsts) {
            let mut left = firsts;
            while let Some(bit) = left.checked_ilog2() {
                left ^= 1 << bit;
                let first = place << 6 | bit as u8;
                if scan::has(bytes, first) && begins_word(bytes, first) {
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
        .and_then(|rest| scan::find(rest, first, first))
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

#[cfg(test)]
#[path = "../tests/unit/redact_needles.rs"]
mod tests;
