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
    let end = text
        .char_indices()
        .nth(cap)
        .map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at(end);
    let more = (width(rest) as u64).saturating_add(unread);
    let mut excerpt = String::with_capacity(kept.len() + if more > 0 { NOTE_LEN } else { 0 });
    excerpt.extend(kept.chars().map(|c| match c {
        '\n' | '\r' | '\t' => c,
        c if breaks_line(c) => ' ',
        c => c,
    }));
    if more > 0 {
        // Writing to a string does not fail.
        let _ = write!(excerpt, "… ({more} more chars)");
    }
    Some(excerpt)
}
