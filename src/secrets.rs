//! Which secrets a request sent, remembered in one block.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// A value with fewer characters than this is no secret that could be told from a word.
pub(crate) const SHORTEST: usize = 8;

/// How many bytes of credentials are remembered for one call. A request that carries more makes the
/// server's words unshowable: see [`Secrets::is_over_cap`].
const CAP: usize = 32 * 1024;

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
    /// `None`: there are none. Empty: there were more than the cap.
    block: Option<Box<[u8]>>,
}

impl Secrets {
    /// Remembers the values of headers that are credentials by their name, that are marked
    /// sensitive, or that `extra` names.
    ///
    /// One pass over the map and no allocation if there are none.
    #[cfg(test)]
    pub(crate) fn of(headers: &HeaderMap, extra: &[HeaderName]) -> Self {
        Self::remember(headers, extra, &Sighted::in_headers(headers, extra))
    }

    /// Remembers what a [look at the headers](Sighted::in_headers) has found.
    #[inline]
    pub(crate) fn remember(
        headers: &HeaderMap,
        extra: &[HeaderName],
        sighted: &Sighted<'_>,
    ) -> Self {
        match (sighted.size, sighted.first) {
            (0, _) => Self { block: None },
            (size, Some((name, value))) if size == value.len() + 2 => Self::only(name, value),
            (size, _) => Self::copied(headers, extra, size),
        }
    }

    /// Remembers the one credential that most requests have, if they have any.
    #[inline(never)]
    fn only(name: &str, value: &HeaderValue) -> Self {
        if value.len() + 2 > CAP {
            return Self::over_cap();
        }
        let mut block = Vec::with_capacity(value.len() + 2);
        write(&mut block, name, value);
        Self {
            block: Some(block.into_boxed_slice()),
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
            let text = name.as_str();
            if is_secret(Kind::of(text), name, value, extra) {
                write(&mut block, text, value);
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
        self.block
            .as_deref()
            .unwrap_or_default()
            .split(|byte| *byte == END)
            .filter_map(|entry| match entry.split_first()? {
                (&COOKIE, bytes) => Some(Sent::Cookie(bytes)),
                (_, bytes) => Some(Sent::Value(bytes)),
            })
    }
}

/// Writes one entry.
#[inline(always)]
fn write(block: &mut Vec<u8>, name: &str, value: &HeaderValue) {
    let is_cookie = name.ends_with("cookie");
    block.push(if is_cookie { COOKIE } else { VALUE });
    block.extend_from_slice(value.as_bytes());
    block.push(END);
}

/// What one look at the headers of a request finds.
#[derive(Default)]
pub(crate) struct Sighted<'a> {
    /// How many bytes it takes to remember the credentials.
    pub(crate) size: usize,
    /// The first of them.
    first: Option<(&'a str, &'a HeaderValue)>,
    pub(crate) has_mcp_session: bool,
}

impl<'a> Sighted<'a> {
    /// Looks at each header once, its name included: some 33 instructions for an ordinary one.
    pub(crate) fn in_headers(headers: &'a HeaderMap, extra: &[HeaderName]) -> Self {
        let mut sighted = Self::default();
        let has_extra = !extra.is_empty();
        for (name, value) in headers {
            let is_meant = has_extra || value.is_sensitive();
            if is_meant || (!is_common(name) && Kind::may_matter(name.as_str())) {
                sighted.look(name, value, extra);
            }
        }
        sighted
    }

    #[inline(never)]
    fn look(&mut self, name: &'a HeaderName, value: &'a HeaderValue, extra: &[HeaderName]) {
        let text = name.as_str();
        let kind = Kind::of(text);
        if is_secret(kind, name, value, extra) {
            self.first.get_or_insert((text, value));
            self.size = self.size.saturating_add(value.len()).saturating_add(2);
        }
        self.has_mcp_session |= kind == Kind::Session;
    }
}

/// The header by which a request belongs to a session.
pub(crate) const MCP_SESSION_ID: &str = "mcp-session-id";

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

#[inline]
fn is_secret(kind: Kind, name: &HeaderName, value: &HeaderValue, extra: &[HeaderName]) -> bool {
    let is_meant = kind == Kind::Credential
        || value.is_sensitive()
        || (!extra.is_empty() && extra.contains(name));
    is_meant && value.len() >= SHORTEST
}

/// What a header is to us, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ordinary,
    /// It carries a credential.
    Credential,
    /// It is [`MCP_SESSION_ID`].
    Session,
}

impl Kind {
    /// Returns whether [`Kind::of`] may find anything but an ordinary name, by the last four letters alone.
    #[inline]
    fn may_matter(name: &str) -> bool {
        let last = name.as_bytes().last_chunk();
        last.is_some_and(|last| ENDINGS & place(u32::from_ne_bytes(*last)) != 0)
    }

    /// Decided by how the name ends: `authorization`, `proxy-authorization`, `cookie`, and whatever else
    /// ends in `-token`, `-key`, `secret`, `password`, `signature`, `credentials`, `-auth` or `-jwt`. Most
    /// names are told apart by their last four letters, read as one number.
    #[inline(always)]
    fn of(name: &str) -> Self {
        let name = name.as_bytes();
        let Some(last) = name.last_chunk() else {
            return Self::Ordinary;
        };
        let is_credential = match u32::from_ne_bytes(*last) {
            OKEN | OKIE | CRET | WORD | AUTH | JWT => true,
            TION => name.ends_with(b"authorization"),
            KEY | IKEY => is_secret_key(name),
            TURE => name.ends_with(b"signature"),
            IALS => name.ends_with(b"credentials"),
            N_ID if name == MCP_SESSION_ID.as_bytes() => return Self::Session,
            _ => false,
        };
        if is_credential {
            Self::Credential
        } else {
            Self::Ordinary
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
const IKEY: u32 = u32::from_ne_bytes(*b"ikey");
const TURE: u32 = u32::from_ne_bytes(*b"ture");
const IALS: u32 = u32::from_ne_bytes(*b"ials");
const N_ID: u32 = u32::from_ne_bytes(*b"n-id");

/// The places of all of these.
const ENDINGS: u64 = {
    let all = [
        OKEN, OKIE, CRET, WORD, AUTH, JWT, TION, KEY, IKEY, TURE, IALS, N_ID,
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
    1 << (u32::from_le(letters).wrapping_mul(0x3b6b_d0a5) >> 26)
}

/// Returns whether a name is one of those that most requests have and that are no credential's. They are
/// numbers to the compiler: one test of a bit tells them all, without a look at their letters.
#[inline(always)]
fn is_common(name: &HeaderName) -> bool {
    matches!(
        *name,
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
            | header::VIA
    )
}

/// Returns whether a name that ends in `key` is that of a credential: some keys only name things.
fn is_secret_key(name: &[u8]) -> bool {
    ![
        b"idempotency-key".as_slice(),
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
