//! The message inside a JSON document that may be cut, broken or hostile.
//!
//! One pass, no tree: every object is read into a [`Words`] of bounded size, which says what was
//! complete when the document ended, wherever it ended.

use http::StatusCode;

use crate::{
    json_entries::Entries,
    json_field::{Rank, Slot},
    json_lexer::Lexer,
    json_made::Made,
    json_member::Role,
    json_phrase::{clean, is_reason, says_more},
    json_words::Words,
};

/// How many times JSON may stand in a string of JSON.
const NESTING_LIMIT: u8 = 2;

/// What a document says.
#[derive(Default)]
pub(crate) struct Answer<'a> {
    /// The server's own words, trimmed, at most 4 KiB; never blank, never the reason phrase.
    pub(crate) message: Option<&'a str>,
    /// The server's own error code, which may be all that it says.
    pub(crate) code: Option<&'a str>,
    /// The type of an error of AWS, shortened to its name.
    pub(crate) aws_type: Option<&'a str>,
}

impl<'a> Answer<'a> {
    pub(crate) fn of(message: Option<&'a str>) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }
}

/// Reads the first value of `text`. `problem`: it is labelled as a problem document (RFC 9457). What has to
/// be made for it is kept in `made`.
pub(crate) fn read<'a>(
    text: &'a str,
    problem: bool,
    status: StatusCode,
    made: &'a Made,
) -> Answer<'a> {
    let mut answer = Answer::default();
    read_into(&mut answer, text, problem, status, made);
    answer
}

/// As [`read`], to where the answer is wanted: a text that is moved just after it was written keeps the
/// processor waiting.
pub(crate) fn read_into<'a>(
    answer: &mut Answer<'a>,
    text: &'a str,
    problem: bool,
    status: StatusCode,
    made: &'a Made,
) {
    Reader {
        lexer: Lexer::new(text, made),
        made,
        status,
        nesting: 0,
        graphql: false,
    }
    .answer_into(answer, problem);
}

/// As [`read`], of an answer of GraphQL with a good status.
pub(crate) fn read_graphql<'a>(text: &'a str, made: &'a Made) -> Answer<'a> {
    Reader {
        lexer: Lexer::new(text, made),
        made,
        status: StatusCode::OK,
        nesting: 0,
        graphql: true,
    }
    .answer(false)
}

/// Returns whether an unlabelled text is JSON, by how it begins: `[error] it broke` is not.
pub(crate) fn is_json(text: &str) -> bool {
    let made = Made::default();
    let mut lexer = Lexer::new(text, &made);
    match lexer.peek() {
        Some(b'"') => {
            lexer.skip();
            text.trim_end().len() == lexer.position() && text.trim_end().ends_with('"')
        }
        Some(b'{') => {
            lexer.open();
            matches!(lexer.peek(), None | Some(b'"' | b'}'))
        }
        Some(b'[') => {
            lexer.open();
            matches!(lexer.peek(), None | Some(b'"' | b'{' | b'[' | b']'))
        }
        _ => false,
    }
}

/// A document that is being read.
pub(crate) struct Reader<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) made: &'a Made,
    pub(crate) status: StatusCode,
    nesting: u8,
    /// Whether every error has for its `path` a place in the answer.
    pub(crate) graphql: bool,
}

impl<'a> Reader<'a> {
    fn answer(self, problem: bool) -> Answer<'a> {
        let mut answer = Answer::default();
        self.answer_into(&mut answer, problem);
        answer
    }

    /// Fills an answer in which nothing is said yet.
    fn answer_into(mut self, answer: &mut Answer<'a>, problem: bool) {
        match self.lexer.peek() {
            Some(b'{') => {
                let mut words = Words::default();
                self.members(&mut words, Role::Top, "", 0);
                conclude(&mut words, answer, problem, self.made);
            }
            Some(b'"') => answer.message = self.string(),
            Some(b'[') => *answer = self.array(),
            _ => {}
        }
    }

    /// Reads a document that is an array: its strings, or the first object that says something.
    #[inline(never)]
    fn array(&mut self) -> Answer<'a> {
        let mut answer = Answer::default();
        let mut texts = Entries::default();
        self.lexer.open();
        while self.lexer.element() {
            match self.lexer.peek() {
                Some(b'{') if texts.is_empty() => {
                    let mut first = Entries::default();
                    self.object(Role::Item, "", 1)
                        .finish("", &mut first, self.made);
                    answer.code = first.code.take();
                    let weak = first.weak.take();
                    answer.message = first.join(self.made);
                    if answer.message.is_none() {
                        answer.code = answer.code.or(weak);
                        answer.message = weak;
                    }
                    if answer.message.is_some() {
                        return answer;
                    }
                }
                Some(b'"') if !texts.is_full() => {
                    if let Some(text) = self.string() {
                        texts.push("", text);
                    }
                }
                _ => self.lexer.skip(),
            }
        }
        answer.message = texts.join(self.made);
        answer
    }

    /// Reads a string; `None` if it is cut or says nothing.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        let text = self.lexer.string()?;
        self.useful(text)
    }

    /// Returns `text` if it says something: not blank, not the reason phrase again, no HTML. JSON in
    /// it gives its own message.
    #[inline(always)]
    pub(crate) fn useful(&self, text: &'a str) -> Option<&'a str> {
        match says_more(text, self.status) {
            true => Some(text),
            false => self.cleaned(text),
        }
    }

    #[inline(never)]
    fn cleaned(&self, text: &'a str) -> Option<&'a str> {
        let text = self.made.text(clean(text, self.status)?);
        if !text.starts_with(['{', '[']) {
            return Some(text);
        }
        if self.nesting < NESTING_LIMIT {
            let inner = Reader {
                lexer: Lexer::new(text, self.made),
                made: self.made,
                status: self.status,
                nesting: self.nesting + 1,
                graphql: false,
            };
            let message = inner.answer(false).message;
            if message.is_some() {
                return message;
            }
        }
        // Brackets that hold no JSON are a person's.
        (!is_json(text)).then_some(text)
    }

    /// Reads an `error` that seems to say no more than the status does.
    #[inline(never)]
    pub(crate) fn vague(&self, words: &mut Words<'a>, text: &'a str) {
        // In small letters the reason phrase is a code.
        let is_code = text.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_code && is_reason(text, self.status) && !words.has(Slot::Error) {
            words.repeats_status = true;
            words.put(Slot::Error, Some(text));
        } else {
            let text = self.cleaned(text);
            words.put(Slot::Error, text);
        }
    }
}

/// Puts down what the document says as a whole.
#[inline(always)]
fn conclude<'a>(words: &mut Words<'a>, answer: &mut Answer<'a>, problem: bool, made: &'a Made) {
    let [weak, detail_code] = words.take_codes_of_details();
    let mut message = words.text(problem, made);
    let lists_only = !words.mixed && words.named;
    if message.is_none() && lists_only {
        message = words.take_fields().join(made);
    }
    answer.aws_type = words.take_aws_type();
    let mut code = None;
    if message.is_none() && answer.aws_type.is_none() {
        message = words.spoken_code(Rank::Code).or(weak);
        code = message;
    }
    answer.message = message;
    answer.code = words.take_code().or(detail_code).or(code);
}

#[cfg(test)]
#[path = "../tests/unit/json.rs"]
mod tests;

#[cfg(test)]
#[path = "../tests/unit/json_hostile.rs"]
mod hostile;
