//! The texts of a diagnosis, in one block.

/// Texts that live as long as one another. Each of them alone would cost an allocation.
///
/// An empty text is none.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    /// Each text is UTF-8, but for the headers, of which that is asked only when somebody wants to see them.
    block: Vec<u8>,
    ends: [u32; COUNT],
}

const COUNT: usize = Text::Body as usize + 1;

/// Which text, in the order in which they stand. From the opening to the stand-in they are the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The rows of [`Head`](crate::headers::Head), until somebody asks for them.
    Headers,
    /// The line up to the server's words, if nothing in it needs to be cut.
    Opening,
    /// The server's own words, scrubbed and on one line.
    Message,
    /// What stands in the line where the server said nothing.
    StandIn,
    Code,
    RequestId,
    /// What is kept for the excerpt: the body as it came, maybe. Never printed.
    Body,
}

impl Texts {
    /// Of texts in the order of [`Text`], and of where in the block each of them ends.
    #[inline]
    pub(crate) fn new(block: Vec<u8>, ends: [usize; COUNT]) -> Self {
        Self {
            block,
            ends: ends.map(|end| end as u32),
        }
    }

    /// Adds a text. They come in the order of [`Text`]; one that is left out is none.
    pub(crate) fn put(&mut self, text: Text, piece: &[u8]) {
        self.block.extend_from_slice(piece);
        let end = self.block.len() as u32;
        let ends = self.ends.iter_mut().skip(text as usize);
        ends.for_each(|place| *place = end);
    }

    pub(crate) fn get(&self, text: Text) -> Option<&str> {
        shown(self.bytes(text))
    }

    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        let start = (text as usize).checked_sub(1);
        let start = start.and_then(|before| self.ends.get(before));
        self.range(start.copied().unwrap_or_default(), self.end(text))
    }

    /// Returns the line but for what follows the message, if it was written.
    #[inline]
    pub(crate) fn line(&self) -> Option<&str> {
        let [start, opening, end] =
            [Text::Headers, Text::Opening, Text::StandIn].map(|text| self.end(text));
        match opening > start {
            true => shown(self.range(start, end)),
            false => None,
        }
    }

    #[inline]
    fn end(&self, text: Text) -> u32 {
        self.ends.get(text as usize).copied().unwrap_or_default()
    }

    fn range(&self, start: u32, end: u32) -> &[u8] {
        let range = start as usize..end as usize;
        self.block.get(range).unwrap_or_default()
    }

    /// Returns the same without the message, and so without a line.
    pub(crate) fn without_message(&self) -> Self {
        let mut texts = Self::default();
        for kept in [Text::Headers, Text::Code, Text::RequestId, Text::Body] {
            texts.put(kept, self.bytes(kept));
        }
        texts
    }
}

fn shown(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text)
        .ok()
        .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_found_again_and_an_empty_one_is_none() {
        let mut texts = Texts::default();
        for (text, piece) in [
            (Text::Headers, "a: b"),
            (Text::Opening, "GET / failed: "),
            (Text::Message, "m"),
            (Text::RequestId, "ä"),
            (Text::Body, "body"),
        ] {
            texts.put(text, piece.as_bytes());
        }
        let found = |texts: &Texts| {
            [
                Text::Message,
                Text::StandIn,
                Text::Code,
                Text::RequestId,
                Text::Body,
                Text::Headers,
            ]
            .map(|text| texts.get(text).map(str::to_owned))
        };
        let expected = [Some("m"), None, None, Some("ä"), Some("body"), Some("a: b")]
            .map(|text| text.map(str::to_owned));
        assert_eq!(found(&texts), expected);
        assert_eq!(texts.line(), Some("GET / failed: m"));

        let without = texts.without_message();
        assert_eq!(found(&without)[1..], expected[1..]);
        assert_eq!((without.get(Text::Message), without.line()), (None, None));
        assert_eq!(found(&Texts::default()), [const { None }; 6]);
        assert_eq!(Texts::default().line(), None);
    }
}
