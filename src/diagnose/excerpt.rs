use crate::text::{breaks_line, width};

/// Returns the first `cap` characters of a scrubbed body, and a note that says how many more there
/// are; `unread` bytes beyond `text` count as one each. Line breaks and tabs stay, other controls become spaces.
pub(super) fn excerpt(text: &str, cap: usize, unread: u64) -> Option<Box<str>> {
    let text = text.trim();
    if text.is_empty() || cap == 0 {
        return None;
    }
    let end = text
        .char_indices()
        .nth(cap)
        .map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at(end);
    let mut excerpt: String = kept
        .chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => c,
            c if breaks_line(c) => ' ',
            c => c,
        })
        .collect();
    let more = (width(rest) as u64).saturating_add(unread);
    if more > 0 {
        excerpt.push_str(&format!("… ({more} more chars)"));
    }
    Some(excerpt.into())
}
