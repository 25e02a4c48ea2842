//! The texts of a diagnosis, in one block.

/// Texts that live as long as one another. Each of them alone would cost an allocation.
///
/// An empty text is none.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    block: Box<str>,
    ends: [usize; COUNT],
}

const COUNT: usize = Text::Body as usize + 1;

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The server's own words, scrubbed and on one line.
    Message,
    Code,
    RequestId,
    /// The body as it came, until an excerpt is made of it. Never printed.
    Body,
}

impl Texts {
    /// Copies the texts, in the order of [`Text`].
    pub(crate) fn new(texts: [&str; COUNT]) -> Self {
        let mut end = 0;
        Self {
            block: texts.concat().into(),
            ends: texts.map(|text| {
                end += text.len();
                end
            }),
        }
    }

    pub(crate) fn get(&self, text: Text) -> Option<&str> {
        let place = text as usize;
        let start = place
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = start.copied().unwrap_or_default();
        let text = self.block.get(start..*self.ends.get(place)?)?;
        (!text.is_empty()).then_some(text)
    }

    /// Returns the same without one of them.
    pub(crate) fn without(&self, text: Text) -> Self {
        let all = [Text::Message, Text::Code, Text::RequestId, Text::Body];
        Self::new(all.map(|kept| match kept == text {
            true => "",
            false => self.get(kept).unwrap_or_default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_found_again_and_an_empty_one_is_none() {
        let texts = Texts::new(["m", "", "ä", "body"]);
        let found = |texts: &Texts| {
            [Text::Message, Text::Code, Text::RequestId, Text::Body]
                .map(|text| texts.get(text).map(str::to_owned))
        };
        let expected =
            [Some("m"), None, Some("ä"), Some("body")].map(|text| text.map(str::to_owned));
        assert_eq!(found(&texts), expected);
        assert_eq!(found(&texts.without(Text::Message))[1..], expected[1..]);
        assert_eq!(texts.without(Text::Message).get(Text::Message), None);
        assert_eq!(found(&Texts::default()), [None, None, None, None]);
    }
}
