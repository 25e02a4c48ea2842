//! Texts that are made while a document is read.

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
};

/// How many texts the first chunk holds; each of the others holds twice as many as the one before.
const FIRST: usize = 8;
/// More chunks than texts are kept in.
const CHUNKS: usize = 16;

/// So many texts are all that a document may have made.
const FULL: usize = 4096;

/// Holds the texts that do not stand in a document as they are: those that had escapes, and those put
/// together of others. Each lives as long as this, so that all texts are borrowed, and moved in two registers.
///
/// Nothing is allocated before the first.
#[derive(Debug, Default)]
pub(crate) struct Made {
    chunks: OnceCell<Box<[Chunk; CHUNKS]>>,
    count: Cell<usize>,
}

type Chunk = OnceCell<Box<[OnceCell<String>]>>;

impl Made {
    /// Returns `text`, which stays here if it was made.
    #[inline]
    pub(crate) fn text<'a>(&'a self, text: Cow<'a, str>) -> &'a str {
        match text {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => self.keep(text),
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.count.get()
    }

    /// Returns whether no text was made.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.get().is_none()
    }

    /// Returns whether what a document makes should no longer be kept. There is room for a few texts beyond.
    pub(crate) fn is_full(&self) -> bool {
        self.count.get() >= FULL
    }

    /// Keeps `text`.
    #[inline(never)]
    pub(crate) fn keep(&self, text: String) -> &str {
        let number = self.count.get();
        self.count.set(number + 1);
        // The chunks before the one of size `FIRST << chunk` hold `FIRST` less than that size.
        let chunk = (number / FIRST + 1).ilog2() as usize;
        let size = FIRST << chunk;
        let chunks = self.chunks.get_or_init(Box::default);
        let place = chunks.get(chunk).and_then(|chunk| {
            let slots = chunk.get_or_init(|| (0..size).map(|_| OnceCell::new()).collect());
            slots.get(number + FIRST - size)
        });
        place.map_or("", |place| place.get_or_init(|| text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_stays_where_it_is() {
        let made = Made::default();
        let number = |number: usize| format!("text {number}");
        let kept: Vec<&str> = (0..1000).map(|at| made.keep(number(at))).collect();
        for (at, text) in kept.into_iter().enumerate() {
            assert_eq!(text, number(at));
        }
        assert_eq!(made.text(Cow::Borrowed("a")), "a");
        assert_eq!(made.text(Cow::Owned("b".to_owned())), "b");
    }
}
