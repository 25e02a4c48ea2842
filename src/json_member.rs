//! The members of an object of a JSON document, each read for what its name promises.

use crate::{
    json::Reader,
    json_entries::Entries,
    json_field::{Field, Rank, Slot, field},
    json_phrase::{aws_name, dotted, is_own_number, is_screaming, join, says_more, shorten},
    json_words::Words,
};

/// Nothing deeper than this is looked at.
const DEPTH_LIMIT: usize = 32;

/// What the strings among unknown members are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The document itself.
    Top,
    /// An object named `error`.
    Error,
    /// One error of a list: unknown strings are echoes.
    Item,
    /// A map from fields to texts: unknown strings are texts.
    Map,
    /// Either of them: unknown strings are texts if they are sentences and there is nothing else.
    Either,
}

impl<'a> Reader<'a> {
    /// Reads an object at whose bracket this stands. `path`: what it is about, as far as that is known.
    #[inline]
    pub(crate) fn object(&mut self, role: Role, path: &str, depth: usize) -> Words<'a> {
        let mut words = Words::default();
        self.members(&mut words, role, path, depth);
        words
    }

    /// As [`Reader::object`], into a place that is there already: it is too large to be moved for nothing.
    pub(crate) fn members(&mut self, words: &mut Words<'a>, role: Role, path: &str, depth: usize) {
        if depth >= DEPTH_LIMIT {
            return self.lexer.skip();
        }
        self.lexer.open();
        while let Some(key) = self.lexer.key() {
            let Some(first) = self.lexer.peek() else {
                return;
            };
            // What most errors are made of comes first, and what few have is read elsewhere.
            match (field(key), first) {
                (Field::Text(slot), b'"') => {
                    let text = self.string();
                    words.item |= text.is_some() && (role != Role::Map || !slot.is_weak());
                    if role == Role::Map && slot.is_weak() {
                        if let Some(text) = text {
                            words.more().fields.push(&join(path, key), text);
                        }
                    }
                    words.put(slot, text);
                }
                (Field::Error, b'"') => {
                    if let Some(text) = self.lexer.string() {
                        match says_more(text, self.status) {
                            true => words.put(Slot::Error, Some(text)),
                            false => self.vague(words, text),
                        }
                    }
                }
                (field, _) => self.member(words, role, path, depth, key, field),
            }
        }
    }

    #[inline(never)]
    fn member(
        &mut self,
        words: &mut Words<'a>,
        role: Role,
        path: &str,
        depth: usize,
        key: &'a str,
        field: Field,
    ) {
        let Some(first) = self.lexer.peek() else {
            return;
        };
        let within = depth + 1;
        match (field, first) {
            (Field::Skip | Field::TypeUrl | Field::Locations, _) => {
                words.graphql |= field == Field::Locations;
                words.typed |= field == Field::TypeUrl;
                self.lexer.skip();
            }
            (Field::Text(slot), b'{') if role == Role::Map && slot.is_weak() => {
                self.unknown(words, role, path, within, key, first);
            }
            (Field::Text(slot), b'[' | b'{') => {
                let mut texts = Entries::default();
                self.entries(Role::Map, "", within, &mut texts);
                if first == b'[' && (role == Role::Map || slot.is_weak()) {
                    words.named |= role != Role::Top;
                    words.add_fields(texts.under(&join(path, key)));
                }
                words.adopt_codes(&mut texts);
                words.put(slot, texts.join(self.made));
            }
            (Field::Error | Field::Fault, b'{') => {
                let mut inner = self.object(Role::Error, path, within);
                let slot = match field {
                    Field::Fault => Slot::Fault,
                    _ => Slot::ErrorObject,
                };
                let mut text = inner.text(false, self.made);
                if text.is_none() && !inner.mixed {
                    text = inner.take_fields().join(self.made);
                }
                words.put(slot, text.or_else(|| inner.spoken_code(Rank::Type)));
                words.adopt(&mut inner);
            }
            (Field::Error, b'[') => {
                let mut texts = Entries::default();
                self.entries(Role::Map, "", within, &mut texts);
                words.put(Slot::ErrorObject, texts.join(self.made));
            }
            (name @ (Field::Errors | Field::OtherErrors), b'"' | b'[' | b'{') => {
                let mut texts = Entries::default();
                match first {
                    b'{' => {
                        let mut map = self.object(Role::Map, path, within);
                        map.named |= map.has_fields_only();
                        map.finish(path, &mut texts, self.made);
                    }
                    _ => self.entries(Role::Map, path, within, &mut texts),
                }
                words.errors |= name == Field::Errors && !texts.is_empty();
                words.add_details(texts);
            }
            (Field::Issue, b'"') => {
                let text = self.lexer.string().unwrap_or_default();
                self.code(words, role, path, Rank::Type, key, text);
            }
            (Field::Details | Field::Issue, b'"' | b'[' | b'{') => {
                let mut texts = Entries::default();
                self.entries(Role::Either, path, within, &mut texts);
                words.add_details(texts);
            }
            (Field::Fields, b'{') => {
                let mut texts = Entries::default();
                self.entries(Role::Item, path, within, &mut texts);
                words.add_details(texts);
            }
            (Field::Constraints, b'{') => {
                let mut texts = Entries::default();
                self.entries(Role::Map, "", within, &mut texts);
                words.add_details(texts.all_at(path));
            }
            (Field::Embedded, b'{') if role == Role::Top => {
                let mut inner = self.object(Role::Error, path, within);
                words.errors |= inner.errors;
                words.add_details(inner.take_details());
            }
            (Field::Wrapper | Field::Code(Rank::Status), b'{')
                if role == Role::Top || role == Role::Error && key == "json" =>
            {
                let mut inner = self.object(Role::Error, path, within);
                if inner.is_strong() || inner.errors {
                    words.put(Slot::Wrapped, inner.text(false, self.made));
                    words.adopt(&mut inner);
                }
            }
            (Field::Extensions, b'{') => {
                words.graphql = true;
                let mut inner = self.object(Role::Item, path, within);
                words.adopt(&mut inner);
            }
            (Field::AwsType, b'"') => {
                if let Some(name) = self.lexer.string().and_then(aws_name) {
                    words.more().aws_type.get_or_insert(name);
                }
            }
            (Field::Lang, b'"') => {
                words.has_lang = true;
                self.lexer.skip();
            }
            (Field::Value, b'"') if role != Role::Top => words.more().value = self.string(),
            (Field::Code(rank), b'"') => {
                if let Some(text) = self.lexer.string() {
                    self.code(words, role, path, rank, key, text);
                }
            }
            (Field::Code(rank), b'-' | b'0'..=b'9') => {
                let number = self.lexer.scalar();
                words.has_status |= rank == Rank::Code && number == self.status.as_str();
                if rank == Rank::Code && is_own_number(number) {
                    words.put_code(Rank::Number, number);
                }
            }
            (Field::Resource, b'"') => words.more().resource = self.lexer.string(),
            (Field::Place { minor: true }, _) if self.graphql => self.lexer.skip(),
            (Field::Place { minor }, b'"' | b'[') => {
                self.place(words, role, path, depth, key, minor);
            }
            (_, first) => self.unknown(words, role, path, within, key, first),
        }
    }

    fn code(
        &self,
        words: &mut Words<'a>,
        role: Role,
        path: &str,
        rank: Rank,
        key: &str,
        text: &'a str,
    ) {
        if role == Role::Map && text.contains(' ') {
            if let Some(text) = self.useful(text) {
                words.named = true;
                words.more().fields.push(&join(path, key), text);
            }
            return;
        }
        // A status of the whole document tells success from failure, no more.
        let fits = match (rank, role) {
            (Rank::Status, Role::Top) => false,
            (Rank::Status, _) => is_screaming(text),
            // One with digits is that of the request, and another each time.
            (Rank::Type, _) if key == "id" => !text.bytes().any(|byte| byte.is_ascii_digit()),
            _ => true,
        };
        if let Some(code) = shorten(text).filter(|_| fits) {
            if is_own_number(code) || !code.bytes().all(|byte| byte.is_ascii_digit()) {
                words.put_code(rank, code);
            }
        }
    }

    /// Reads which part of the request it was about: a name, a pointer, or a list of steps.
    fn place(
        &mut self,
        words: &mut Words<'a>,
        role: Role,
        path: &str,
        depth: usize,
        key: &'a str,
        minor: bool,
    ) {
        if self.lexer.peek() == Some(b'"') {
            let Some(text) = self.lexer.string() else {
                return;
            };
            if matches!(role, Role::Top | Role::Error) {
                if minor && is_screaming(text) {
                    words.put_code(Rank::Type, text);
                } else {
                    words.mixed = true;
                }
                return;
            }
            if role == Role::Map {
                if let Some(text) = self.useful(text) {
                    words.named |= text.contains(' ');
                    words.more().fields.push(&join(path, key), text);
                }
            }
            if role == Role::Either && minor && text.contains(' ') {
                if let Some(text) = self.useful(text) {
                    words.more().sentences.push(&join(path, key), text);
                }
                return;
            }
            // A path may as well be that of the request.
            if !(minor && text.starts_with('/')) {
                words.put_place(minor, self.made.text(dotted(text)));
            }
            return;
        }
        let steps = self.lexer.clone();
        if matches!(key, "loc" | "path" | "expression") {
            let mut place = String::new();
            self.lexer.open();
            while self.lexer.element() {
                let step = match self.lexer.peek() {
                    Some(b'"') => self.lexer.string(),
                    Some(b'0'..=b'9') => Some(self.lexer.scalar()),
                    _ => {
                        self.lexer.skip();
                        None
                    }
                };
                if let Some(step) = step.filter(|_| place.len() < 200) {
                    place = join(&place, step);
                }
            }
            if !matches!(role, Role::Map | Role::Top) {
                words.put_place(minor, self.made.keep(place));
                return;
            }
            self.lexer = steps;
        }
        self.unknown(words, role, path, depth + 1, key, b'[');
    }

    /// Reads a member that may be a field of a form.
    fn unknown(
        &mut self,
        words: &mut Words<'a>,
        role: Role,
        path: &str,
        depth: usize,
        key: &str,
        first: u8,
    ) {
        let is_text = match first {
            b'[' => true,
            b'{' => role != Role::Error,
            b'"' => matches!(role, Role::Map | Role::Either),
            _ => false,
        };
        let is_text = is_text && !(role == Role::Top && field(key) == Field::Wrapper);
        // Beside a text that says what went wrong, no member is taken for a field.
        // What a typed detail links to is help, not a text.
        let is_text = is_text && !words.is_item() && !(words.typed && key == "links");
        if !is_text || !words.has_room_for_fields() || key.starts_with("$serde_json") {
            words.mixed |= matches!(first, b'"' | b'{') || role == Role::Either && first != b'n';
            self.lexer.skip();
            return;
        }
        if role == Role::Either && first == b'"' {
            match self.string() {
                // The text as such is about nothing in particular.
                Some(text) if key == "text" => words.more().sentences.push(path, text),
                Some(text) if text.contains(' ') => {
                    words.more().sentences.push(&join(path, key), text)
                }
                _ => words.mixed = true,
            }
            return;
        }
        let mut texts = Entries::default();
        if role == Role::Top && first == b'{' {
            // A form in a form, if it is lists all the way down.
            let alone = words.is_blank();
            let mut inner = self.object(Role::Item, &join(path, key), depth);
            if inner.named && !inner.mixed && !inner.is_item() {
                inner.finish(&join(path, key), &mut texts, self.made);
            } else if alone && inner.is_error(key) && self.lexer.peek() == Some(b'}') {
                // All there is: it is named after what went wrong.
                words.put(Slot::Wrapped, inner.text(false, self.made));
                words.adopt(&mut inner);
            }
            words.mixed |= texts.is_empty();
            words.named |= !texts.is_empty();
            words.add_fields(texts);
            return;
        }
        let inside = match role {
            Role::Map if first == b'{' => Role::Map,
            _ => Role::Item,
        };
        self.entries(inside, &join(path, key), depth, &mut texts);
        words.named |= !texts.is_empty();
        words.add_fields(texts);
    }

    /// Reads a value as texts: a string, an array of texts, an error or a map of them.
    fn entries(&mut self, role: Role, path: &str, depth: usize, out: &mut Entries<'a>) {
        match self.lexer.peek() {
            Some(b'"') => {
                if let Some(text) = self.string() {
                    out.push(path, text);
                }
            }
            Some(b'[') if depth < DEPTH_LIMIT => {
                self.lexer.open();
                while self.lexer.element() {
                    if out.is_full() {
                        self.lexer.skip();
                    } else {
                        self.entries(Role::Item, path, depth + 1, out);
                    }
                }
            }
            Some(b'{') => {
                self.object(role, path, depth).finish(path, out, self.made);
            }
            _ => self.lexer.skip(),
        }
    }
}
