//! Texts and paths that cannot hold a secret, as most are told by one look at each byte.
//!
//! Six instructions a byte; the exact way in `redact_pass` costs several times as many.

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

/// Which state follows a state, by the byte that is read.
struct Machine([[u8; 256]; STATES]);

/// There is no way out of this one.
const REJECTED: u8 = 0;
/// A word may begin here, and no space may stand. Every text begins like this.
const AFTER_SPACE: u8 = 1;
/// A word may begin here.
const AFTER_SIGN: u8 = 2;
const IN_WORD: u8 = 3;
/// From here on one for each letter that a secret may begin with: a word has begun with it.
const BEGUN: u8 = 4;

/// More than are needed, so that no number has to be tested.
const STATES: usize = 32;

static TEXT: Machine = Machine::new(false);
static PATH: Machine = Machine::new(true);

impl Machine {
    #[inline(always)]
    fn read(&self, bytes: &[u8]) -> u8 {
        let Self(next) = self;
        bytes.iter().fold(AFTER_SPACE, |state, byte| {
            next[usize::from(state) % STATES][usize::from(*byte)]
        })
    }

    const fn new(is_path: bool) -> Self {
        let mut next = [[REJECTED; 256]; STATES];
        let mut states = BEGUN;
        let mut first = 0;
        while first < 256 {
            let mut begun = IN_WORD;
            let mut second = 0;
            while second < 256 {
                let is_rejected = is_suspicious(first as u8, second as u8, is_path);
                if is_rejected && begun == IN_WORD {
                    begun = states;
                    states += 1;
                }
                second += 1;
            }
            // Where a word has begun with this byte.
            while begun != IN_WORD && second > 0 {
                second -= 1;
                if !is_suspicious(first as u8, second as u8, is_path) {
                    next[begun as usize][second] = follow(second as u8, IN_WORD, is_path);
                }
            }
            next[IN_WORD as usize][first] = follow(first as u8, IN_WORD, is_path);
            next[AFTER_SIGN as usize][first] = follow(first as u8, begun, is_path);
            if first as u8 != b' ' {
                next[AFTER_SPACE as usize][first] = follow(first as u8, begun, is_path);
            }
            first += 1;
        }
        Self(next)
    }
}

/// Returns the state behind `byte`, which is `word` where that belongs to a word.
const fn follow(byte: u8, word: u8, is_path: bool) -> u8 {
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

/// Returns whether a secret may begin with these two bytes.
const fn is_suspicious(first: u8, second: u8, is_path: bool) -> bool {
    match is_path {
        false => begins(first, second),
        // The token of a bot of Telegram's is one by its place.
        true => {
            second != b'/' && begins(first, second) || first | 0x20 == b'b' && second | 0x20 == b'o'
        }
    }
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
