//! The beginning of a body, as far as it may be shown.

use std::{borrow::Cow, fmt::Write, sync::OnceLock};

use crate::{
    address::Address,
    json_mask::mask,
    redact::Scrubber,
    secrets::Secrets,
    text::{breaks_line, width},
};

/// Room for the note at the end, whatever the number in it.
const NOTE_LEN: usize = 40;

/// How many bytes behind the cut are looked at, since a secret may begin before it.
const MARGIN: usize = 1024;

/// A body with more bytes than this is not kept, but made showable at once.
const KEPT: usize = 2 * 1024;

/// What of a longer one is shown, about.
const SHOWN: usize = 540;

/// The beginning of a body, without secrets. Few ask for it, so that of a short one is made when
/// somebody does; until then whoever holds this keeps the body as it came.
#[derive(Clone, Default)]
pub(crate) struct Excerpt {
    plan: Plan,
    shown: OnceLock<Option<Box<str>>>,
}

/// What is asked of an excerpt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) from: From,
    /// So many characters at most.
    pub(crate) cap: usize,
    /// So many bytes are beyond the text; they count as one character each.
    pub(crate) unread: u64,
}

/// What an excerpt is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum From {
    #[default]
    Nothing,
    Json,
    Plain,
    /// It is made already.
    Shown,
}

/// Returns how many bytes [`Plan::keep`] writes of a body, about.
pub(crate) fn kept_len(body: usize) -> usize {
    if body > KEPT { SHOWN } else { body }
}

impl Plan {
    /// Writes what must be kept of `text` for the excerpt, or the excerpt if that cannot wait.
    #[inline(always)]
    pub(crate) fn keep(&mut self, text: &str, scrubber: &Scrubber<'_>, kept: &mut Vec<u8>) {
        // What the request sent is not kept for this: where any of it may be echoed, nothing waits.
        if text.len() > KEPT || scrubber.may_find_in(text.as_bytes()) {
            keep_shown(*self, text, scrubber, kept);
            self.from = From::Shown;
        } else {
            kept.extend_from_slice(text.as_bytes());
        }
    }
}

impl Excerpt {
    #[inline]
    pub(crate) const fn planned(plan: Plan) -> Self {
        Self {
            plan,
            shown: OnceLock::new(),
        }
    }

    /// Returns the excerpt; `kept` is what had to be kept for it.
    pub(crate) fn get<'a>(&'a self, kept: Option<&'a str>) -> Option<&'a str> {
        if self.plan.from == From::Shown {
            return kept;
        }
        let shown = self.shown.get_or_init(|| {
            let nothing_sent = Secrets::default();
            let scrubber = Scrubber::new(&nothing_sent, Address::default());
            show(kept?, self.plan, &scrubber)
        });
        shown.as_deref()
    }
}

#[inline(never)]
fn keep_shown(plan: Plan, text: &str, scrubber: &Scrubber<'_>, kept: &mut Vec<u8>) {
    if let Some(shown) = show(text, plan, scrubber) {
        kept.extend_from_slice(shown.as_bytes());
    }
}

fn show(text: &str, plan: Plan, scrubber: &Scrubber<'_>) -> Option<Box<str>> {
    let Plan { from, cap, unread } = plan;
    if cap == 0 || from == From::Nothing {
        return None;
    }
    let text = text.trim();
    let width_of_one = if text.is_ascii() { 1 } else { 4 };
    let limit = cap.saturating_mul(width_of_one).saturating_add(MARGIN);
    let (masked, end) = if from == From::Json {
        mask(text, limit)
    } else {
        (Cow::Borrowed(text), text.len())
    };
    let (window, beyond) = masked.split_at(floor(&masked, limit));
    let beyond = width(beyond).saturating_add(width(text.get(end..).unwrap_or_default()));
    let scrubbed = scrubber.scrub(window);
    let text = match beyond {
        0 => scrubbed.trim(),
        _ => scrubbed.trim_start(),
    };
    cut(text, cap, unread.saturating_add(beyond as u64))
}

/// Returns the largest end of a character that is no larger than `limit`.
fn floor(text: &str, limit: usize) -> usize {
    if limit >= text.len() {
        return text.len();
    }
    let ends = (0..=limit).rev();
    ends.into_iter()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

/// Returns the first `cap` characters, and a note that says how many more there are beside the
/// `unread`. Line breaks and tabs stay, other controls become spaces.
fn cut(text: &str, cap: usize, unread: u64) -> Option<Box<str>> {
    if text.is_empty() {
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
    Some(excerpt.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, is_json: bool, cap: usize, unread: u64) -> Option<String> {
        let nothing_sent = Secrets::default();
        let scrubber = Scrubber::new(&nothing_sent, Address::default());
        let from = if is_json { From::Json } else { From::Plain };
        let mut plan = Plan { from, cap, unread };
        let mut kept = Vec::new();
        plan.keep(text, &scrubber, &mut kept);
        let excerpt = Excerpt::planned(plan);
        let kept = String::from_utf8(kept).unwrap();
        let kept = Some(&*kept).filter(|kept| !kept.is_empty());
        let shown = excerpt.get(kept).map(str::to_owned);
        assert_eq!(excerpt.clone().get(kept), shown.as_deref());
        shown
    }

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
            for is_json in [false, true] {
                let shown = of(text, is_json, cap, unread);
                assert_eq!(shown.as_deref(), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn a_long_body_is_counted_whole_and_looked_at_in_part() {
        for unit in ["a ", "ä "] {
            let text = unit.repeat(8 * 1024);
            let count = text.trim().chars().count() - 500;
            let excerpt = of(&text, false, 500, 1);
            let note = format!("… ({} more chars)", count + 1);
            assert!(excerpt.unwrap().ends_with(&note), "{unit}");
        }
        let echo = format!(r#"{{"input":"{}","message":"m"}}"#, "x".repeat(9_000));
        assert_eq!(
            of(&echo, true, 500, 0).as_deref(),
            Some(r#"{"input":"[redacted]","message":"m"}"#)
        );
    }

    #[test]
    fn a_secret_is_gone_whether_it_was_made_at_once_or_later() {
        for filler in [0, 4_000] {
            let text = format!("Bearer abc123.def {}", "x ".repeat(filler));
            let excerpt = of(&text, false, 20, 0);
            assert!(excerpt.unwrap().starts_with("Bearer [redacted]"));
        }
    }
}
