//! What a secret looks like when nobody says that it is one.

use std::ops::Range;

use crate::text::is_word;

/// Returns whether [`secret_at`] may find something where a word starts with these two bytes: most words
/// are told by them.
#[inline]
pub(crate) fn may_start(first: u8, second: Option<u8>) -> bool {
    second.is_some_and(|second| begins(first, second))
}

/// As [`may_start`], of two bytes.
#[inline]
pub(crate) const fn begins(first: u8, second: u8) -> bool {
    SECONDS[first as usize] & bit(second) != 0
}

/// By the first byte of a word, a bit for each second byte of what [`secret_at`] looks for.
const SECONDS: [u32; 256] = {
    let mut seconds = [0; 256];
    let mut first: u8 = 0;
    while first < 0x80 {
        let mut left = prefixes(first);
        while let [(prefix, _), rest @ ..] = left {
            seconds[first as usize] |= bit(prefix.as_bytes()[1]);
            left = rest;
        }
        first += 1;
    }
    // `Bearer`, `Basic` and `eyJ`.
    seconds[b'b' as usize] |= bit(b'e') | bit(b'a');
    seconds[b'B' as usize] |= bit(b'e') | bit(b'a');
    seconds[b'e' as usize] |= bit(b'y');
    seconds
};

/// Of a letter the same in either case; other bytes share theirs with some letter.
const fn bit(byte: u8) -> u32 {
    1 << (byte & 31)
}

/// Returns the secret that `text` holds where a word starts at `at` with the byte `first`, by its shape
/// alone: a scheme and what follows it (`Bearer …`, `Basic …`), a JSON Web Token, or a key by its maker's
/// prefix.
///
/// The range may start behind `at`: the word `Bearer` itself stays.
pub(crate) fn secret_at(text: &str, at: usize, first: u8) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let found = match first {
        b'b' | b'B' => after_scheme(rest)?,
        b'e' if rest.starts_with("eyJ") => 0..json_web_token(rest)?,
        _ => 0..prefixed_key(first, rest)?,
    };
    Some(at + found.start..at + found.end)
}

/// The makers' prefixes, by first letter, each with the fewest characters that follow in a real key.
const fn prefixes(first: u8) -> &'static [(&'static str, usize)] {
    match first {
        b'A' => &[("AKIA", 8), ("ASIA", 12), ("AIza", 20)],
        b'S' => &[("SG.", 20)],
        b'd' => &[("dop_v1_", 16)],
        b'g' => &[
            ("ghp_", 16),
            ("gho_", 16),
            ("ghu_", 16),
            ("ghs_", 16),
            ("ghr_", 16),
            ("github_pat_", 16),
            ("glpat-", 12),
        ],
        b'h' => &[("hf_", 16)],
        b'n' => &[("npm_", 16)],
        b'p' => &[("pypi-", 16)],
        b'r' => &[("rk_live_", 8), ("rk_test_", 8)],
        b's' => &[("sk-", 6), ("sk_live_", 8), ("sk_test_", 8), ("shpat_", 16)],
        b'w' => &[("whsec_", 12)],
        b'x' => &[
            ("xoxb-", 8),
            ("xoxp-", 8),
            ("xoxa-", 8),
            ("xoxs-", 8),
            ("xoxe-", 8),
            ("xapp-", 8),
        ],
        b'y' => &[("ya29.", 16)],
        _ => &[],
    }
}

/// Returns the length of a key with a known prefix at the start of `rest`.
pub(crate) fn prefixed_key(first: u8, rest: &str) -> Option<usize> {
    prefixes(first).iter().find_map(|(prefix, fewest)| {
        let body = rest.strip_prefix(prefix)?;
        // A key shown masked (`sk-ab*****yz`) is still a part of the key.
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*');
        // What follows a dot may be the next thing, as in a file's name.
        let first = body.bytes().take_while(|byte| is_key(*byte)).count();
        (first >= *fewest).then(|| prefix.len() + run(body, is_key))
    })
}

/// Returns the length of a JSON Web Token, or of another base64 text that opens a JSON object, at the
/// start of `rest`.
fn json_web_token(rest: &str) -> Option<usize> {
    let len = run(rest, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'=' | b'*')
    });
    let token = rest.get(..len)?;
    (len >= 24 || (len >= 12 && token.contains('.'))).then_some(len)
}

/// Returns how many bytes at the start of `text` are `allowed`, or dots between two such bytes.
fn run(text: &str, allowed: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(&byte) = bytes.get(end) {
        let is_inner_dot = byte == b'.' && bytes.get(end + 1).is_some_and(|next| allowed(*next));
        if !allowed(byte) && !is_inner_dot {
            break;
        }
        end += 1;
    }
    end
}

/// What people write after `Bearer` and `Basic` when they mean no credential.
#[rustfmt::skip]
const ORDINARY: &[&str] = &[
    "access", "api", "apikey", "assertion", "auth", "authenticate", "authenticated",
    "authentication", "authorization", "based", "cannot", "certificate", "challenge",
    "challenges", "client", "configuration", "could", "credential", "credentials", "denied",
    "error", "expected", "expects", "expired", "failed", "fails", "failure", "flow", "format",
    "found", "from", "grant", "grants", "have", "header", "headers", "http", "https", "info",
    "information", "invalid", "issuer", "jwt", "key", "keys", "ldap", "malformed", "mechanism",
    "method", "methods", "missing", "must", "needs", "oauth", "oauth2", "only", "opaque",
    "operation", "password", "permission", "permissions", "prefix", "provided", "realm",
    "rejected", "required", "revoked", "saml", "schema", "scheme", "schemes", "security",
    "should", "string", "supported", "that", "this", "token", "tokens", "type", "types",
    "unsupported", "user", "username", "users", "validation", "value", "when", "with",
];

/// Returns the credential that follows the scheme at the start of `rest`.
fn after_scheme(rest: &str) -> Option<Range<usize>> {
    let (scheme, mut behind) = rest
        .split_at_checked(6)
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .or_else(|| {
            rest.split_at_checked(5)
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        })?;
    let is_basic = scheme.len() == 5;
    // `Bearer token abc123`: a noun may stand between.
    for nouns in 0..2 {
        let credential = credential(behind)?;
        let word = behind.get(credential.clone())?;
        let is_secret = if is_ordinary(word) {
            false
        } else if nouns > 0 {
            word.len() >= 8
                && !is_plain(word)
                && !word.bytes().all(|byte| byte.is_ascii_uppercase())
        } else if is_plain(word) {
            // No user and password are plain letters in base64; a token may be.
            !is_basic && word.len() > 3 && !word.contains(['-', '/'])
        } else {
            word.len() >= 4
        };
        if is_secret {
            let offset = rest.len() - behind.len();
            return Some(offset + credential.start..offset + credential.end);
        }
        if !["token", "auth", "key", "credential", "credentials"]
            .iter()
            .any(|noun| word.eq_ignore_ascii_case(noun))
        {
            return None;
        }
        behind = behind.get(credential.end..)?;
    }
    None
}

/// Returns where the word behind a scheme stands: separators first, then everything that is no end.
fn credential(behind: &str) -> Option<Range<usize>> {
    let bytes = behind.as_bytes();
    let mut start = 0;
    while start < 8 {
        match bytes.get(start)? {
            b' ' | b'\t' | b':' | b'=' | b'"' | b'\'' | b'<' | b'`' | b'+' => start += 1,
            b'%' if behind[start..].starts_with("%20") => start += 3,
            _ => break,
        }
    }
    if start == 0 {
        return None;
    }
    let run = behind.get(start..)?;
    if is_challenge(run) {
        return None;
    }
    let end = run.find(is_credential_end).unwrap_or(run.len());
    let word = run[..end].trim_end_matches(['.', ':', '!', '?']);
    (!word.is_empty()).then_some(start..start + word.len())
}

/// Returns whether a parameter of a challenge (`Bearer realm="api"`) stands where a credential would.
fn is_challenge(word: &str) -> bool {
    [
        "realm=",
        "scope=",
        "error=",
        "error_",
        "charset=",
        "resource_metadata=",
    ]
    .iter()
    .any(|parameter| word.starts_with(parameter))
}

fn is_credential_end(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '\\'
        )
}

/// Returns whether `word` is words: small letters behind at most one capital each, joined by hyphens
/// or slashes, and no longer than words are.
fn is_plain(word: &str) -> bool {
    word.split(['-', '/']).all(|part| {
        let small = part.strip_prefix(|c: char| c.is_ascii_uppercase());
        part.len() < 20
            && small
                .unwrap_or(part)
                .bytes()
                .all(|byte| byte.is_ascii_lowercase())
    })
}

fn is_ordinary(word: &str) -> bool {
    ORDINARY
        .iter()
        .any(|ordinary| word.eq_ignore_ascii_case(ordinary))
}

/// Returns whether a word may start or end at `at`: the characters on its two sides are not both part
/// of one word.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    !(behind.chars().next().is_some_and(is_word) && before.chars().next_back().is_some_and(is_word))
}
