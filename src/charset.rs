//! Bytes of a body to text, by label and by what they are.

use std::borrow::Cow;

/// What Windows-1252 has where Latin-1 has controls, from 0x80 on.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Returns the text that `bytes` are; `None` if they are none.
///
/// A byte-order mark wins over the label `charset`, and what is plainly UTF-8 over a label of Latin-1.
/// UTF-16 is known without a mark too. What is not UTF-8 is read as Windows-1252, unless it is
/// labelled or looks like UTF-8 with faults in it. A character that is cut at the end is dropped.
/// Text with a NUL, or with more than a tenth that cannot be printed, is none.
pub(crate) fn decode<'a>(bytes: &'a [u8], charset: Option<&str>) -> Option<Cow<'a, str>> {
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest, charset),
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        [0, first, 0, _, ..] | [0, first] if *first != 0 => {
            Cow::Owned(utf16(bytes, u16::from_be_bytes))
        }
        [first, 0, _, 0, ..] | [first, 0] if *first != 0 => {
            Cow::Owned(utf16(bytes, u16::from_le_bytes))
        }
        _ => match charset {
            Some(label) if is(label, "utf-16le") => Cow::Owned(utf16(bytes, u16::from_le_bytes)),
            Some(label) if is(label, "utf-16be") => Cow::Owned(utf16(bytes, u16::from_be_bytes)),
            _ => utf8(bytes, charset),
        },
    };
    is_printable(&text).then_some(text)
}

fn is(label: &str, name: &str) -> bool {
    label.eq_ignore_ascii_case(name)
}

fn utf8<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Cow::Borrowed(text),
        Err(error) => error,
    };
    if error.error_len().is_none() {
        let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
        // One odd byte at the end of nothing but ASCII may be Latin-1 as well as a cut.
        let is_cut = !whole.is_ascii() || !charset.is_some_and(is_latin);
        if is_cut {
            return String::from_utf8_lossy(whole);
        }
    }
    let is_utf8 = charset.is_some_and(|label| is(label, "utf-8") || is(label, "utf8"))
        || bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    if is_utf8 {
        return String::from_utf8_lossy(bytes);
    }
    let high = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    if high > bytes.len() / 3 && !charset.is_some_and(is_latin) {
        // Too many for a text in Latin letters: leave it to be found unprintable.
        return String::from_utf8_lossy(bytes);
    }
    Cow::Owned(bytes.iter().map(|byte| windows(*byte)).collect())
}

fn is_latin(label: &str) -> bool {
    [
        "iso-8859-1",
        "iso-8859-15",
        "iso8859-1",
        "iso_8859-1",
        "latin1",
        "latin-1",
        "windows-1252",
        "cp1252",
        "us-ascii",
        "ascii",
    ]
    .iter()
    .any(|name| is(label, name))
}

fn windows(byte: u8) -> char {
    let special = byte.checked_sub(0x80).map(usize::from);
    special
        .and_then(|at| WINDOWS.get(at).copied())
        .unwrap_or(char::from(byte))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| match *pair {
        [first, second] => unit([first, second]),
        _ => 0,
    });
    let mut text: String = char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    // Half of a pair at the end was cut there.
    if text.ends_with(char::REPLACEMENT_CHARACTER) {
        text.pop();
    }
    text
}

/// Returns whether `text` is for reading: no NUL, at most a tenth of it controls and replacements.
fn is_printable(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Without a branch in it this is done many bytes at a time, and most texts need no more.
    let (mut controls, mut highest) = (false, 0);
    for byte in bytes {
        controls |= *byte < b' ';
        highest |= *byte;
    }
    if !controls && highest < 0x80 {
        return true;
    }
    if bytes.contains(&0) {
        return false;
    }
    let is_odd = |c: &char| {
        c.is_control() && !matches!(c, '\t' | '\n' | '\r') || *c == char::REPLACEMENT_CHARACTER
    };
    text.chars().filter(is_odd).count() <= allowed(text.chars().count())
}

/// One fault is forgiven in the shortest text.
const fn allowed(length: usize) -> usize {
    if length < 20 { 1 } else { length / 10 }
}

#[cfg(test)]
#[path = "../tests/unit/charset.rs"]
mod tests;
