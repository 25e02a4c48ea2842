//! A bounded list of texts, each with the part of the request that it is about.

use crate::{
    json_made::Made,
    json_phrase::{LONGEST, holds, join},
};

/// How many texts are kept: as many as a line of the longest can hold.
const KEPT: usize = 100;

/// One text, and the path of what it is about; empty if that is unknown.
struct Entry<'a> {
    path: String,
    text: &'a str,
}

/// The texts of a list or a map of errors.
#[derive(Default)]
pub(crate) struct Entries<'a> {
    list: Vec<Entry<'a>>,
    /// The first code that came without a text.
    pub(crate) weak: Option<&'a str>,
    /// The first code that came with a text.
    pub(crate) code: Option<&'a str>,
}

impl<'a> Entries<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether there is neither a text nor a code.
    pub(crate) fn is_blank(&self) -> bool {
        self.list.is_empty() && self.weak.is_none() && self.code.is_none()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= KEPT
    }

    pub(crate) fn push(&mut self, path: &str, text: &'a str) {
        let known = |entry: &Entry<'_>| entry.path == path && entry.text == text;
        if !self.is_full() && !self.list.iter().any(known) {
            let path = path.to_owned();
            self.list.push(Entry { path, text });
        }
    }

    /// Takes over all that `other` has and this has not.
    pub(crate) fn append(&mut self, other: Self) {
        for Entry { path, text } in other.list {
            self.push(&path, text);
        }
        self.weak = self.weak.take().or(other.weak);
        self.code = self.code.take().or(other.code);
    }

    /// Takes over the codes of `other`, not its texts.
    pub(crate) fn adopt(&mut self, other: &mut Self) {
        self.weak = self.weak.take().or(other.weak.take());
        self.code = self.code.take().or(other.code.take());
    }

    /// Returns the texts, each with `path` before its own.
    pub(crate) fn under(&self, path: &str) -> Self {
        let mut under = Self::default();
        for entry in &self.list {
            under.push(&join(path, &entry.path), entry.text);
        }
        under
    }

    /// Returns the texts, all with `path` instead of their own.
    pub(crate) fn all_at(mut self, path: &str) -> Self {
        for entry in &mut self.list {
            path.clone_into(&mut entry.path);
        }
        self
    }

    /// Returns the texts in one: those of one path behind it, with commas; else with semicolons.
    pub(crate) fn join(self, made: &'a Made) -> Option<&'a str> {
        if let [only] = self.list.as_slice() {
            if only.path.is_empty() {
                return Some(only.text);
            }
        }
        let mut joined = String::new();
        self.write(&mut joined, |_| true);
        (!joined.is_empty()).then(|| made.keep(joined))
    }

    /// Returns `heading`, followed by those texts that it does not hold already.
    pub(crate) fn follow(self, heading: &'a str, made: &'a Made) -> &'a str {
        let held = |text: &str| holds(heading, text.trim_end_matches('.'));
        if self.list.iter().all(|entry| held(entry.text)) {
            return heading;
        }
        let mut joined = String::with_capacity(heading.len() + 64);
        joined.push_str(heading);
        // A sentence has its own full stop.
        joined.push_str(match heading.chars().next_back() {
            Some('.' | ':' | ';' | '!' | '?') => " ",
            _ => ": ",
        });
        self.write(&mut joined, |text| !held(text));
        made.keep(joined)
    }

    fn write(&self, out: &mut String, wanted: impl Fn(&str) -> bool) {
        let mut before: Option<&Entry<'_>> = None;
        for entry in self.list.iter().filter(|entry| wanted(entry.text)) {
            let same = before.filter(|before| before.path == entry.path);
            match (before, same) {
                (Some(_), Some(same)) if !same.path.is_empty() => out.push_str(", "),
                (Some(_), _) => out.push_str("; "),
                (None, _) => {}
            }
            if same.is_none() && !entry.path.is_empty() {
                out.push_str(&entry.path);
                out.push_str(": ");
            }
            out.push_str(entry.text);
            if out.len() > LONGEST {
                return;
            }
            before = Some(entry);
        }
    }
}
