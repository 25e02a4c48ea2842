//! Text that stays on one line and under a cap, whatever went into it.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

use crate::scan;

/// How many combining marks in a row are kept: more than any language stacks, too few to draw over the
/// lines around.
const MARKS_CAP: usize = 4;

/// Returns whether `c` must not stand in a line: what breaks it, reorders it or hides in it.
///
/// C0 and C1 controls, the line and paragraph separators, the bidirectional controls, the byte-order
/// mark, and what nobody sees: zero-width spaces, invisible operators, annotations and tags. The
/// joiners stay, since scripts and emoji need them. ANSI sequences are more than one character:
/// [`one_line`] knows them.
pub(crate) const fn breaks_line(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}' | '\u{200f}'
        | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether `c` is part of a word: an ASCII letter, digit or underscore, or a letter of the
/// other scripts that put blanks between words.
pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || c == '_'
        || (('\u{c0}'..'\u{590}').contains(&c) && c.is_alphanumeric())
}

/// Returns `text` on one line: what breaks a line becomes a space, runs of space collapse, the ends
/// are trimmed.
///
/// Linear in the length of the text; a text that is on one line already is borrowed.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if is_plain_line(text) {
        return Cow::Borrowed(text);
    }
    let clean = clean_len(text);
    if clean == text.len() {
        return Cow::Borrowed(text);
    }
    let (clean, rest) = text.split_at(clean);
    let mut line = String::with_capacity(text.len());
    line.push_str(clean);
    let mut gap = false;
    let mut marks = 0;
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        if let Some(behind) = behind_sequence(c, chars.as_str()) {
            chars = behind.chars();
            gap = true;
        } else if c.is_whitespace() || breaks_line(c) {
            gap = true;
        } else {
            if gap && !line.is_empty() {
                line.push(' ');
            }
            marks = match is_mark(c) {
                true if gap => 1,
                true => marks + 1,
                false => 0,
            };
            gap = false;
            if marks <= MARKS_CAP {
                line.push(c);
            }
        }
    }
    Cow::Owned(line)
}

/// Returns whether `text` is printable ASCII with single spaces inside, as most texts are.
fn is_plain_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [first, rest @ ..] = bytes else {
        return true;
    };
    if scan::is_graphic(bytes) {
        return true;
    }
    // Without a branch in it this is done many bytes at a time.
    let is_single = || {
        !bytes.iter().zip(rest).fold(false, |found, (one, next)| {
            found | ((*one == b' ') & (*next == b' '))
        })
    };
    *first != b' ' && bytes.last() != Some(&b' ') && scan::is_printable(bytes) && is_single()
}

/// Returns how much of `text` can stay as it is: all of it, or up to a character in front of what
/// cannot.
fn clean_len(text: &str) -> usize {
    let mut settled = 0;
    let mut after_space = true;
    let mut marks = 0;
    for (at, c) in text.char_indices() {
        match c {
            ' ' if after_space => return settled,
            ' ' => {
                after_space = true;
                marks = 0;
            }
            '!'..='~' => {
                settled = at + 1;
                after_space = false;
                marks = 0;
            }
            _ if is_mark(c) => {
                marks += 1;
                if marks > MARKS_CAP {
                    return settled;
                }
                after_space = false;
            }
            _ if breaks_line(c) || c.is_whitespace() => return settled,
            _ => {
                settled = at + c.len_utf8();
                after_space = false;
                marks = 0;
            }
        }
    }
    if after_space { settled } else { text.len() }
}

/// Returns whether `c` is drawn onto the character before it.
const fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Returns what stands behind a terminal's control sequence (ECMA-48) that `c` begins; `None` if `c`
/// begins none.
fn behind_sequence(c: char, rest: &str) -> Option<&str> {
    match c {
        '\u{1b}' => Some(behind_escape(rest)),
        '\u{9b}' => Some(behind_parameters(rest)),
        // The strings of devices, of the system and of applications.
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
            Some(behind_string(rest).unwrap_or(rest))
        }
        _ => None,
    }
}

/// As `behind_sequence`, but stays in front of what a string holds: it is shown where no sequence is known.
pub(crate) fn behind_short_sequence(c: char, rest: &str) -> &str {
    match (c, rest.chars().next()) {
        ('\u{1b}', Some(']' | 'P' | 'X' | '^' | '_')) => rest,
        ('\u{1b}' | '\u{9b}', _) => behind_sequence(c, rest).unwrap_or(rest),
        _ => rest,
    }
}

fn behind_escape(rest: &str) -> &str {
    let mut chars = rest.chars();
    let Some(c) = chars.next() else {
        return rest;
    };
    let behind = chars.as_str();
    match c {
        '[' => behind_parameters(behind),
        // A string without an end is left alone, so that it cannot swallow the rest of the text.
        ']' | 'P' | 'X' | '^' | '_' => behind_string(behind).unwrap_or(rest),
        '(' | ')' | '*' | '+' | '#' | '%' => behind
            .strip_prefix(|c: char| c.is_ascii_graphic())
            .unwrap_or(behind),
        '@'..='Z' | '\\' | '=' | '>' | '7' | '8' | 'c' => behind,
        _ => rest,
    }
}

/// Passes over the parameters and the final character of a control sequence.
fn behind_parameters(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c| matches!(c, '\u{20}'..='\u{3f}'));
    rest.strip_prefix(|c| matches!(c, '\u{40}'..='\u{7e}'))
        .unwrap_or(rest)
}

/// Passes over a string and what ends it: BEL, or ST in either form. Another control means that it
/// has no end.
fn behind_string(rest: &str) -> Option<&str> {
    let (at, end) = rest.char_indices().find(|(_, c)| c.is_control())?;
    let behind = rest.get(at + end.len_utf8()..)?;
    match end {
        '\u{7}' | '\u{9c}' => Some(behind),
        '\u{1b}' => behind.strip_prefix('\\'),
        _ => None,
    }
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

/// Copies `from` to a place of the same length.
///
/// Most names and values of headers have between 4 and 32 bytes. Of those the first and the last half are
/// copied, which may overlap: half of what it takes to call for a copy of any length.
#[inline(always)]
pub(crate) fn copy_short(place: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(place, from),
        17..=32 => copy_ends::<16>(place, from),
        4..=7 => copy_ends::<4>(place, from),
        _ => place.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes, which are all there are.
#[inline(always)]
fn copy_ends<const N: usize>(place: &mut [u8], from: &[u8]) {
    if let (Some(place), Some(first)) = (place.first_chunk_mut::<N>(), from.first_chunk()) {
        *place = *first;
    }
    if let (Some(place), Some(last)) = (place.last_chunk_mut::<N>(), from.last_chunk()) {
        *place = *last;
    }
}

#[cfg(test)]
#[path = "../tests/unit/text.rs"]
mod tests;
