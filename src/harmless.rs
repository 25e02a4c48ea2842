//! Texts and paths that cannot hold a secret, as most are told by one look at each byte.
//!
//! Four instructions a byte, of which only a shift and a move wait for the byte before; the exact way in
//! `redact_pass` costs many times as much.

use crate::secret_shape::begins;

/// Returns whether `text` is on one line and nothing in it has the shape of a secret. What it says yes to
/// would be left as it is; it may say no to what would be, too.
pub(crate) fn is_harmless(text: &str) -> bool {
    !matches!(TEXT.read(text.as_bytes()), REJECTED | AFTER_SPACE)
}

/// As [`is_harmless`], of a path in which no segment is long: printable ASCII, and no query behind it.
pub(crate) fn is_harmless_path(path: &[u8]) -> bool {
    PATH.read(path) != REJECTED
}

/// Which state follows a state, by the byte that is read: a word for each byte, in which the next state
/// stands where the state that it follows says. So a step is one shift, and no state is looked up.
struct Machine([u64; 256]);

/// The bits of a state. What it says is how many bits are before its own in each word.
const STATE: u64 = 0b11_1111;
const WIDTH: u32 = STATE.count_ones();

/// There is no way out of this one.
const REJECTED: u64 = 0;
/// A word may begin here, and no space may stand. Every text begins like this.
const AFTER_SPACE: u64 = REJECTED + WIDTH as u64;
/// A word may begin here.
const AFTER_SIGN: u64 = AFTER_SPACE + WIDTH as u64;
const IN_WORD: u64 = AFTER_SIGN + WIDTH as u64;
/// From here on one for each of [`BEGINNINGS`]: a word has begun with one of its letters.
const BEGUN: u64 = IN_WORD + WIDTH as u64;

/// The letters that a secret may begin with. There is no room for a state of each, so that some share one:
/// `ye` is suspicious because `be` is, as are a few more that hardly a word begins with.
const BEGINNINGS: [&[u8]; 6] = [b"bBy", b"d", b"ephnr", b"g", b"swS", b"Ax"];

static TEXT: Machine = Machine::new(false);
static PATH: Machine = Machine::new(true);

impl Machine {
    /// Returns the state behind `bytes`.
    #[inline(always)]
    fn read(&self, bytes: &[u8]) -> u64 {
        let Self(next) = self;
        // Only the lowest bits of a state count, for a shift as well.
        let last = bytes.iter().fold(AFTER_SPACE, |state, byte| {
            next[usize::from(*byte)].wrapping_shr(state as u32)
        });
        last & STATE
    }

    const fn new(is_path: bool) -> Self {
        let mut next = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let inside = follow(byte as u8, IN_WORD, is_path);
            let outside = follow(byte as u8, begun(byte as u8, is_path), is_path);
            let mut word = inside << IN_WORD | outside << AFTER_SIGN;
            if byte as u8 != b' ' {
                word |= outside << AFTER_SPACE;
            }
            let mut group = 0;
            while group < BEGINNINGS.len() {
                if !is_suspicious(BEGINNINGS[group], byte as u8, is_path) {
                    word |= inside << (BEGUN + group as u64 * WIDTH as u64);
                }
                group += 1;
            }
            next[byte] = word;
            byte += 1;
        }
        Self(next)
    }
}

/// Returns the state behind the first byte of a word.
const fn begun(first: u8, is_path: bool) -> u64 {
    let mut group = 0;
    while group < BEGINNINGS.len() {
        let mut letters = BEGINNINGS[group];
        while let [letter, rest @ ..] = letters {
            if *letter == first {
                return BEGUN + group as u64 * WIDTH as u64;
            }
            letters = rest;
        }
        group += 1;
    }
    let mut second = 0;
    while second < 0x80 {
        assert!(!is_suspicious(&[first], second, is_path));
        second += 1;
    }
    IN_WORD
}

/// Returns the state behind `byte`, which is `word` where that belongs to a word.
const fn follow(byte: u8, word: u64, is_path: bool) -> u64 {
    match KINDS[byte as usize] {
        _ if is_path && byte == b'/' => AFTER_SIGN,
        _ if is_path && (!byte.is_ascii_graphic() || byte == b'?') => REJECTED,
        _ if is_path => word,
        Kind::Word => word,
        Kind::Space => AFTER_SPACE,
        Kind::Plain => AFTER_SIGN,
        Kind::Sign | Kind::Control | Kind::Wide => REJECTED,
    }
}

/// Returns whether a secret may begin with one of these letters and this byte behind it.
const fn is_suspicious(letters: &[u8], second: u8, is_path: bool) -> bool {
    let mut left = letters;
    while let [first, rest @ ..] = left {
        // The token of a bot of Telegram's is one by its place.
        let is_bot = is_path && *first | 0x20 == b'b' && second | 0x20 == b'o';
        if second.is_ascii_alphabetic() && begins(*first, second) || is_bot {
            return true;
        }
        left = rest;
    }
    false
}

/// What a byte may mean for what must not be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A piece of a word, the start of which may be the start of a secret.
    Word,
    /// Ends a word and means no more.
    Plain,
    Space,
    Control,
    /// Means something: see `redact_pass`.
    Sign,
    /// A piece of a character beyond ASCII.
    Wide,
}

pub(crate) const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Wide; 256];
    let mut byte: u8 = 0;
    while byte < 0x80 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Kind::Word,
            b':' | b'/' | b'?' | b'=' | b'\\' | b'%' | b'[' | 0x1b => Kind::Sign,
            b' ' => Kind::Space,
            0..b' ' | 0x7f => Kind::Control,
            _ => Kind::Plain,
        };
        byte += 1;
    }
    kinds
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        path::{is_plain, redact_path},
        redact::scrub,
        secrets::Secrets,
        text::one_line,
    };

    fn assert_told_right(text: &str) {
        if is_harmless(text) {
            assert_eq!(scrub(text, &Secrets::default(), None), text);
            assert_eq!(one_line(text), text);
        }
        if is_plain(text.as_bytes()) {
            assert_eq!(redact_path(text), text);
        }
    }

    #[test]
    fn no_short_text_is_harmless_that_is_not_left_as_it_is() {
        let letters = "bBasykAK- (/:=\u{e9}o1";
        let letters: Vec<char> = letters.chars().collect();
        for number in 0..letters.len().pow(4) {
            let digit = |place: u32| letters[number / letters.len().pow(place) % letters.len()];
            assert_told_right(&(0..4).map(digit).collect::<String>());
        }
    }

    #[test]
    fn no_change_of_one_byte_makes_a_secret_harmless() {
        for secret in [
            "Bearer abcdefgh1",
            "basic dXNlcjpwYXNzd29yZA==",
            "eyJhbGciOiJIUzI1NiJ9.eyJz.c2ln",
            "AKIAABCDEFGHIJKL",
            "AIzaabcdefghijklmnopqrstuvwx",
            "SG.abcdefghijklmnopqrstuvwx",
            "github_pat_0123456789abcdef",
            "sk-0123456",
            "xoxb-01234567",
            "ya29.0123456789abcdef",
            "bot123456:AAF-abc",
            "T0aB1cD2eF3gH4iJ5kL6mN7o",
        ] {
            for before in ["", "see ", "a/", "(", "'", "-", "x"] {
                for at in 0..secret.len() {
                    for byte in 0..0x80_u8 {
                        let (start, end) = (&secret[..at], &secret[at..]);
                        let byte = char::from(byte);
                        assert_told_right(&format!("{before}{start}{byte}{end}"));
                        assert_told_right(&format!("{before}{start}{byte}{}", &end[1..]));
                    }
                }
            }
        }
    }
}
