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

const COUNT: usize = Text::Headers as usize + 1;

/// Which text. The first three, one behind the other, are the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The line up to the server's words, if nothing in it needs to be cut.
    Opening,
    /// The server's own words, scrubbed and on one line.
    Message,
    /// What stands in the line where the server said nothing.
    StandIn,
    Code,
    RequestId,
    /// The body as it came, until an excerpt is made of it. Never printed.
    Body,
    /// The rows of [`Head`](crate::headers::Head), until somebody asks for them.
    Headers,
}

impl Texts {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            block: Vec::with_capacity(bytes),
            ends: [0; COUNT],
        }
    }

    /// Adds a text. They come in the order of [`Text`]; one that is left out is none.
    #[inline(always)]
    pub(crate) fn add(&mut self, text: Text, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.block);
        let end = self.block.len() as u32;
        self.ends
            .iter_mut()
            .skip(text as usize)
            .for_each(|place| *place = end);
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, text: Text, piece: &str) {
        self.add(text, |block| block.extend_from_slice(piece.as_bytes()));
    }

    pub(crate) fn get(&self, text: Text) -> Option<&str> {
        shown(self.bytes(text))
    }

    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        let ends = |place: usize| self.ends.get(place).copied().unwrap_or_default();
        let place = text as usize;
        let start = place.checked_sub(1).map_or(0, ends);
        self.range(start, ends(place))
    }

    /// Returns the line but for what follows the message, if it was written.
    #[inline]
    pub(crate) fn line(&self) -> Option<&str> {
        let [opening, _, end, ..] = self.ends;
        (opening > 0).then(|| shown(self.range(0, end))).flatten()
    }

    fn range(&self, start: u32, end: u32) -> &[u8] {
        let range = start as usize..end as usize;
        self.block.get(range).unwrap_or_default()
    }

    /// Returns the same without the message, and so without a line.
    pub(crate) fn without_message(&self) -> Self {
        let mut texts = Self::with_capacity(self.block.len());
        for kept in [Text::Code, Text::RequestId, Text::Body, Text::Headers] {
            texts.add(kept, |block| block.extend_from_slice(self.bytes(kept)));
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
        let mut texts = Texts::with_capacity(0);
        for (text, piece) in [
            (Text::Opening, "GET / failed: "),
            (Text::Message, "m"),
            (Text::RequestId, "ä"),
            (Text::Body, "body"),
        ] {
            texts.put(text, piece);
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
        let expected = [Some("m"), None, None, Some("ä"), Some("body"), None]
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
