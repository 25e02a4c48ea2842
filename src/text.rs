//! Text that stays on one line and under a cap, whatever went into it.

use std::fmt::{self, Write};

/// Returns whether `c` must not stand in a line: controls, and what breaks or reorders lines.
///
/// C0 and C1 controls, the line and paragraph separators, the bidirectional controls and the
/// byte-order mark. ANSI sequences are more than one character: [`one_line`] knows them.
pub(crate) const fn breaks_line(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}' | '\u{200f}'
        | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}')
}

/// Returns `text` on one line: what breaks a line becomes a space, runs of space collapse, the ends
/// are trimmed.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            skip_ansi(&mut chars);
            gap = true;
        } else if c == '\u{9b}' {
            skip_csi(&mut chars);
            gap = true;
        } else if c.is_whitespace() || breaks_line(c) {
            gap = true;
        } else {
            if gap && !line.is_empty() {
                line.push(' ');
            }
            gap = false;
            line.push(c);
        }
    }
    line
}

/// Returns whether [`one_line`] would leave `text` as it is.
pub(crate) fn is_one_line(text: &str) -> bool {
    let mut gap = true;
    for c in text.chars() {
        let is_space = c == ' ';
        if (is_space && gap) || (!is_space && (c.is_whitespace() || breaks_line(c))) {
            return false;
        }
        gap = is_space;
    }
    !gap || text.is_empty()
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Passes over what follows an ESC: a CSI or an OSC sequence, or the one character of a short one.
fn skip_ansi(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']') => {
            // An operating system command ends with BEL or ESC \; an unended one is left alone, so
            // that it cannot swallow the rest of the text.
            let mut ahead = chars.clone();
            ahead.next();
            while let Some(c) = ahead.next() {
                if c == '\u{7}' || (c == '\u{1b}' && ahead.next_if_eq(&'\\').is_some()) {
                    *chars = ahead;
                    return;
                }
            }
        }
        Some('(' | ')' | '*' | '+') => {
            chars.next();
            chars.next();
        }
        Some('@'..='_' | '='..='>' | '7'..='8' | 'c') => {
            chars.next();
        }
        _ => {}
    }
}

/// Passes over the parameters and the final character of a control sequence.
fn skip_csi(chars: &mut Chars<'_>) {
    while chars
        .next_if(|c| matches!(c, '\u{20}'..='\u{3f}'))
        .is_some()
    {}
    chars.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
}

/// Returns the number of characters (Unicode scalar values) of `text`.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns `text` if it has at most `cap` characters; else as many as leave room for the `…` that
/// the caller then appends.
pub(crate) fn cut(text: &str, cap: usize) -> (&str, bool) {
    // A text of no more bytes than the cap has no more characters either.
    if text.len() <= cap || text.char_indices().nth(cap).is_none() {
        return (text, false);
    }
    let end = text
        .char_indices()
        .nth(cap.saturating_sub(1))
        .map_or(text.len(), |(at, _)| at);
    (&text[..end], true)
}

/// Writes `text`, cut to `cap` characters with a `…` at the end if it was longer.
pub(crate) fn write_cut(out: &mut (impl Write + ?Sized), text: &str, cap: usize) -> fmt::Result {
    let (kept, is_cut) = cut(text, cap);
    out.write_str(kept)?;
    if is_cut && cap > 0 {
        out.write_char('…')?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_removes_what_breaks_a_line() {
        for (text, line) in [
            ("plain", "plain"),
            ("  two\r\n lines\t", "two lines"),
            ("\u{1b}[31mred\u{1b}[0m alert", "red alert"),
            ("\u{9b}1mbold", "bold"),
            ("title\u{1b}]0;owned\u{7}rest", "title rest"),
            ("title\u{1b}]0;not ended", "title ]0;not ended"),
            ("a\u{2028}b\u{2029}c", "a b c"),
            ("user\u{202e}txt.exe", "user txt.exe"),
            ("\u{feff}bom", "bom"),
            ("nul\u{0}\u{0}nul", "nul nul"),
            ("\n\n", ""),
        ] {
            assert_eq!(one_line(text), line, "{text:?}");
            assert_eq!(is_one_line(text), text == line, "{text:?}");
            assert!(is_one_line(line), "{line:?}");
        }
    }

    #[test]
    fn cut_counts_characters_and_keeps_room_for_the_ellipsis() {
        for (text, cap, kept) in [
            ("abc", 3, ("abc", false)),
            ("abcd", 3, ("ab", true)),
            ("äöüß", 4, ("äöüß", false)),
            ("äöüß", 3, ("äö", true)),
            ("abc", 1, ("", true)),
            ("abc", 0, ("", true)),
            ("", 0, ("", false)),
        ] {
            assert_eq!(cut(text, cap), kept, "{text:?} {cap}");
        }
    }
}
