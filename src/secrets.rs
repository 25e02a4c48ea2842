//! Which secrets a request sent, remembered in one block.

use std::{fmt, mem};

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::noted::Noted;

/// A value with fewer characters than this is no secret that could be told from a word.
pub(crate) const SHORTEST: usize = 8;

/// How many bytes of credentials are remembered for one call. A request that carries more makes the
/// server's words unshowable: see [`Secrets::is_over_cap`].
const CAP: usize = 32 * 1024;

/// The same for one that is alone, and has neither a kind nor an end.
const ONLY_CAP: usize = CAP - 2;

/// What ends an entry. No header value can contain it.
const END: u8 = b'\n';

/// What an entry starts with.
const COOKIE: u8 = b'c';
const VALUE: u8 = b'v';

/// The credentials that one request sent, so that a failing answer can be searched for them.
///
/// Taken on the success path, so it is one heap block of raw bytes, or nothing for a request without
/// credentials; it is cut into tokens only when a call has failed. Never printed.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// `None`: there are none. Empty: there were more than the cap. Without an [`END`] at its end: the one
    /// value that there is, and no cookie.
    block: Option<Box<[u8]>>,
}

impl Secrets {
    /// Remembers the values of headers that are credentials by their name, that are marked
    /// sensitive, or that `extra` names.
    #[cfg(test)]
    pub(crate) fn of(headers: &HeaderMap, extra: &[HeaderName]) -> Self {
        Sighted::of(headers, extra).secrets
    }

    /// Remembers the one credential that most requests have, if they have any.
    #[inline(always)]
    fn only(value: &HeaderValue) -> Self {
        match value.len() {
            1..=ONLY_CAP => Self {
                block: Some(value.as_bytes().into()),
            },
            _ => Self::over_cap(),
        }
    }

    fn over_cap() -> Self {
        Self {
            block: Some(Box::default()),
        }
    }

    #[inline(never)]
    fn copied(headers: &HeaderMap, extra: &[HeaderName], size: usize) -> Self {
        if size > CAP {
            return Self::over_cap();
        }
        let mut block = Vec::with_capacity(size);
        for (name, value) in headers {
            let kind = Kind::of(name);
            if is_secret(kind, name, value, extra) {
                block.push(if kind == Kind::Cookie { COOKIE } else { VALUE });
                block.extend_from_slice(value.as_bytes());
                block.push(END);
            }
        }
        Self {
            block: Some(block.into_boxed_slice()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.block.is_none()
    }

    /// Returns whether the request carried more credentials than are remembered. Nothing that the
    /// server says can then be shown, since it may be one of those forgotten.
    pub(crate) fn is_over_cap(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.is_empty())
    }

    /// Returns what was remembered, value by value.
    pub(crate) fn values(&self) -> impl Iterator<Item = Sent<'_>> {
        let block = self.block.as_deref().unwrap_or_default();
        let (only, entries) = match block.last() {
            None | Some(&END) => (None, block),
            Some(_) => (Some(Sent::Value(block)), &[][..]),
        };
        let entries = entries.split(|byte| *byte == END);
        let sent = entries.filter_map(|entry| match entry.split_first()? {
            (&COOKIE, bytes) => Some(Sent::Cookie(bytes)),
            (_, bytes) => Some(Sent::Value(bytes)),
        });
        only.into_iter().chain(sent)
    }
}

/// What one look at the headers of a request finds.
#[derive(Clone, Default)]
pub(crate) struct Sighted {
    pub(crate) secrets: Secrets,
    pub(crate) noted: Noted,
}

impl Sighted {
    /// As [`Sighted::look`], in one that is returned.
    #[inline]
    pub(crate) fn of(headers: &HeaderMap, extra: &[HeaderName]) -> Self {
        let mut sighted = Self::default();
        sighted.look(headers, extra);
        sighted
    }

    /// Looks at each header once, its name included, and allocates nothing if there are no credentials. Of one
    /// that has not looked yet, and where it stays: a call is not to pay for moving it.
    #[inline(always)]
    pub(crate) fn look(&mut self, headers: &HeaderMap, extra: &[HeaderName]) {
        match extra.is_empty() {
            true => self.look_for_one(headers),
            false => self.look_for_more(headers, extra),
        }
    }

    /// Takes some 20 instructions for an ordinary header. What is more than one `authorization` is left to
    /// [`Sighted::look_at`]: this loop calls nothing, and has all that it needs in registers.
    #[inline(never)]
    fn look_for_one(&mut self, headers: &HeaderMap) {
        let mut only = None;
        let mut rest = headers.iter();
        while let Some((name, value)) = rest.next() {
            match *name {
                header::AUTHORIZATION if only.is_none() && value.len() >= SHORTEST => {
                    only = Some(value);
                }
                _ if value.is_sensitive() || Kind::may_matter(name) => {
                    return self.look_at(only, (name, value), rest, headers, &[]);
                }
                _ => {}
            }
        }
        if let Some(value) = only {
            self.remember(Secrets::only(value));
        }
    }

    /// As [`Sighted::look_for_one`], for those who have names of their own.
    #[inline(never)]
    fn look_for_more(&mut self, headers: &HeaderMap, extra: &[HeaderName]) {
        let mut rest = headers.iter();
        if let Some(first) = rest.next() {
            self.look_at(None, first, rest, headers, extra);
        }
    }

    /// Looks at the header `next` and those behind it. Of those before, `only` is a credential.
    #[inline(never)]
    fn look_at<'a>(
        &mut self,
        mut only: Option<&'a HeaderValue>,
        mut next: (&'a HeaderName, &'a HeaderValue),
        mut rest: header::Iter<'a, HeaderValue>,
        headers: &HeaderMap,
        extra: &[HeaderName],
    ) {
        // How many bytes it takes to remember them.
        let mut size = only.map_or(0, |value| value.len() + 2);
        loop {
            let (name, value) = next;
            let kind = Kind::of(name);
            match kind {
                Kind::Session => self.noted.note_session(),
                Kind::IdempotencyKey => self.noted.note_key(value),
                Kind::Ordinary | Kind::Credential | Kind::Cookie => {}
            }
            if is_secret(kind, name, value, extra) {
                only = (size == 0 && kind != Kind::Cookie).then_some(value);
                size = size.saturating_add(value.len()).saturating_add(2);
            }
            match rest.next() {
                Some(header) => next = header,
                None => break,
            }
        }
        match (size, only) {
            (0, _) => {}
            (_, Some(value)) => self.remember(Secrets::only(value)),
            (_, None) => self.remember(Secrets::copied(headers, extra, size)),
        }
    }

    /// Remembers `secrets`, the first: there are none yet to be dropped.
    #[inline(always)]
    fn remember(&mut self, secrets: Secrets) {
        mem::forget(mem::replace(&mut self.secrets, secrets));
    }
}

/// The header by which a request belongs to a session.
pub(crate) const MCP_SESSION_ID: &str = "mcp-session-id";

/// The header that makes a write repeatable. Its value is no secret.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// One value of a credential, as it was sent.
pub(crate) enum Sent<'a> {
    /// `name=value` pairs, joined by `; `.
    Cookie(&'a [u8]),
    /// Anything else.
    Value(&'a [u8]),
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.block {
            None => "Secrets(none)",
            Some(_) => "Secrets([redacted])",
        })
    }
}

#[inline(always)]
fn is_secret(kind: Kind, name: &HeaderName, value: &HeaderValue, extra: &[HeaderName]) -> bool {
    let is_meant = matches!(kind, Kind::Credential | Kind::Cookie)
        || value.is_sensitive()
        || extra.contains(name);
    is_meant && value.len() >= SHORTEST
}

/// What a header is to us, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ordinary,
    /// It carries a credential.
    Credential,
    /// It carries credentials with names of their own.
    Cookie,
    /// It is [`MCP_SESSION_ID`].
    Session,
    /// It makes a write repeatable.
    IdempotencyKey,
}

impl Kind {
    /// Returns whether [`Kind::of`] may find anything but an ordinary name. The names that most requests
    /// have are numbers to the compiler, and it takes no look at their letters to tell them; of others the
    /// last four letters are enough.
    #[inline(always)]
    fn may_matter(name: &HeaderName) -> bool {
        match *name {
            header::ACCEPT
            | header::ACCEPT_CHARSET
            | header::ACCEPT_ENCODING
            | header::ACCEPT_LANGUAGE
            | header::CACHE_CONTROL
            | header::CONNECTION
            | header::CONTENT_ENCODING
            | header::CONTENT_LENGTH
            | header::CONTENT_TYPE
            | header::DATE
            | header::EXPECT
            | header::HOST
            | header::IF_MATCH
            | header::IF_MODIFIED_SINCE
            | header::IF_NONE_MATCH
            | header::ORIGIN
            | header::PRAGMA
            | header::RANGE
            | header::REFERER
            | header::TE
            | header::TRANSFER_ENCODING
            | header::USER_AGENT
            | header::VIA => false,
            header::AUTHORIZATION | header::COOKIE => true,
            _ => {
                let last = name.as_str().as_bytes().last_chunk();
                last.is_some_and(|last| ENDINGS & place(u32::from_ne_bytes(*last)) != 0)
            }
        }
    }

    #[inline]
    fn of(name: &HeaderName) -> Self {
        match Self::may_matter(name) {
            true => Self::that_matters(name),
            false => Self::Ordinary,
        }
    }

    #[inline(always)]
    fn that_matters(name: &HeaderName) -> Self {
        match *name {
            header::AUTHORIZATION => Self::Credential,
            header::COOKIE => Self::Cookie,
            _ => Self::named(name.as_str()),
        }
    }

    /// Decided by how the name ends: `authorization`, `proxy-authorization`, `cookie`, and whatever else
    /// ends in `-token`, `-key`, `_key`, `secret`, `password`, `signature`, `credentials`, `-auth` or `-jwt`. Most
    /// names are told apart by their last four letters, read as one number.
    #[inline(never)]
    fn named(text: &str) -> Self {
        if text == IDEMPOTENCY_KEY {
            return Self::IdempotencyKey;
        }
        let name = text.as_bytes();
        let Some(last) = name.last_chunk() else {
            return Self::Ordinary;
        };
        let is_credential = match u32::from_ne_bytes(*last) {
            N_ID if name == MCP_SESSION_ID.as_bytes() => return Self::Session,
            OKIE if name.ends_with(b"cookie") => return Self::Cookie,
            OKEN | OKIE | CRET | WORD | AUTH | JWT => true,
            TION => name.ends_with(b"authorization"),
            KEY | OLD_KEY | IKEY => is_secret_key(name),
            TURE => name.ends_with(b"signature"),
            IALS => name.ends_with(b"credentials"),
            _ => false,
        };
        match is_credential {
            true => Self::Credential,
            false => Self::Ordinary,
        }
    }
}

const OKEN: u32 = u32::from_ne_bytes(*b"oken");
const OKIE: u32 = u32::from_ne_bytes(*b"okie");
const CRET: u32 = u32::from_ne_bytes(*b"cret");
const WORD: u32 = u32::from_ne_bytes(*b"word");
const AUTH: u32 = u32::from_ne_bytes(*b"auth");
const JWT: u32 = u32::from_ne_bytes(*b"-jwt");
const TION: u32 = u32::from_ne_bytes(*b"tion");
const KEY: u32 = u32::from_ne_bytes(*b"-key");
const OLD_KEY: u32 = u32::from_ne_bytes(*b"_key");
const IKEY: u32 = u32::from_ne_bytes(*b"ikey");
const TURE: u32 = u32::from_ne_bytes(*b"ture");
const IALS: u32 = u32::from_ne_bytes(*b"ials");
const N_ID: u32 = u32::from_ne_bytes(*b"n-id");

/// The places of all of these.
const ENDINGS: u64 = {
    let all = [
        OKEN, OKIE, CRET, WORD, AUTH, JWT, TION, KEY, OLD_KEY, IKEY, TURE, IALS, N_ID,
    ];
    let (mut places, mut left) = (0, all.as_slice());
    while let [ending, rest @ ..] = left {
        places |= place(*ending);
        left = rest;
    }
    places
};

/// Returns one bit of 64 for four letters. The number is one of those by which the endings share eight
/// bits, and none of the names that requests usually have shares one with them.
const fn place(letters: u32) -> u64 {
    1 << (u32::from_le(letters).wrapping_mul(0x8f62_8577) >> 26)
}

/// Returns whether a name that ends in `key` is that of a credential: some keys only name things.
fn is_secret_key(name: &[u8]) -> bool {
    ![
        IDEMPOTENCY_KEY.as_bytes(),
        b"sec-websocket-key",
        b"surrogate-key",
        b"cache-key",
        b"partition-key",
        b"routing-key",
    ]
    .iter()
    .any(|ordinary| name.ends_with(ordinary))
}

#[cfg(test)]
#[path = "../tests/unit/secrets.rs"]
mod tests;
