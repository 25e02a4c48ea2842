use std::fmt::Write;

use crate::text::{breaks_line, width};

/// Room for the note at the end, whatever the number in it.
const NOTE_LEN: usize = 40;

/// Returns the first `cap` characters of a scrubbed body, and a note that says how many more there
/// are; `unread` bytes beyond `text` count as one each. Line breaks and tabs stay, other controls become spaces.
pub(super) fn excerpt(text: &str, cap: usize, unread: u64) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || cap == 0 {
        return None;
    }
    // The usual body is plain ASCII, and needs no look at each character.
    let is_plain = text
        .bytes()
        .all(|byte| matches!(byte, b'\n' | b'\r' | b'\t' | b' '..=b'~'));
    let end = if is_plain {
        text.len().min(cap)
    } else {
        text.char_indices()
            .nth(cap)
            .map_or(text.len(), |(at, _)| at)
    };
    let (kept, rest) = text.split_at(end);
    let rest = if is_plain { rest.len() } else { width(rest) };
    let more = (rest as u64).saturating_add(unread);
    let mut excerpt = String::with_capacity(kept.len() + if more > 0 { NOTE_LEN } else { 0 });
    if is_plain {
        excerpt.push_str(kept);
    } else {
        excerpt.extend(kept.chars().map(|c| match c {
            '\n' | '\r' | '\t' => c,
            c if breaks_line(c) => ' ',
            c => c,
        }));
    }
    if more > 0 {
        // Writing to a string does not fail.
        let _ = write!(excerpt, "… ({more} more chars)");
    }
    Some(excerpt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_so_many_characters_and_counts_the_rest() {
        for (text, cap, unread, expected) in [
            ("", 5, 0, None),
            (" \n", 5, 0, None),
            ("abc", 0, 0, None),
            ("abc", 3, 0, Some("abc")),
            ("abcd", 3, 0, Some("abc… (1 more chars)")),
            ("abc", 3, 7, Some("abc… (7 more chars)")),
            ("äöüß", 4, 0, Some("äöüß")),
            ("äöüß", 2, 1, Some("äö… (3 more chars)")),
            ("a\n\tb", 9, 0, Some("a\n\tb")),
            ("a\u{1b}[1mb\u{202e}ü", 9, 0, Some("a [1mb ü")),
        ] {
            assert_eq!(excerpt(text, cap, unread).as_deref(), expected, "{text:?}");
        }
    }
}
