//! What one object of an error document says: its texts by rank, its details, its codes.

use crate::{
    json_entries::Entries,
    json_field::{Rank, Slot},
    json_made::Made,
    json_phrase::{holds, is_code, join},
};

/// What an object says, as far as it has been read.
#[derive(Default)]
pub(crate) struct Words<'a> {
    said: [Option<&'a str>; Slot::COUNT],
    /// Whether some of the details came from `errors`, which may speak for themselves.
    pub(crate) errors: bool,
    /// Whether one of the fields has a name that can be nothing else.
    pub(crate) named: bool,
    /// Whether there is something that is no list of texts.
    pub(crate) mixed: bool,
    /// Whether a text was said that can be no field of a form.
    pub(crate) item: bool,
    pub(crate) has_lang: bool,
    /// Whether `error` is the reason phrase as a code: it says nothing alone.
    pub(crate) repeats_status: bool,
    /// Whether it is an error of GraphQL, whose `path` is a place in the answer.
    pub(crate) graphql: bool,
    /// Whether it is one of Google's typed details, whose `reason` is a code.
    pub(crate) typed: bool,
    /// Whether its code is the status of the answer.
    pub(crate) has_status: bool,
    place: Option<(bool, &'a str)>,
    code: Option<(Rank, &'a str)>,
    /// Most objects have none of these, and need not even a place for them.
    more: Option<Box<More<'a>>>,
}

/// What few objects have.
#[derive(Default)]
pub(crate) struct More<'a> {
    /// What `errors`, `details` and the like say.
    pub(crate) details: Entries<'a>,
    /// Members that are fields of a form, each with its texts.
    pub(crate) fields: Entries<'a>,
    /// Unknown strings that may be texts of fields, if there is nothing else.
    pub(crate) sentences: Entries<'a>,
    pub(crate) resource: Option<&'a str>,
    pub(crate) aws_type: Option<&'a str>,
    pub(crate) value: Option<&'a str>,
}

impl<'a> Words<'a> {
    /// Makes a place for what few objects have.
    pub(crate) fn more(&mut self) -> &mut More<'a> {
        self.more.get_or_insert_default()
    }

    /// Takes what few objects have, if there is any of it.
    fn take<T>(&mut self, take: impl FnOnce(&mut More<'a>) -> T) -> Option<T> {
        self.more.as_deref_mut().map(take)
    }

    pub(crate) fn take_details(&mut self) -> Entries<'a> {
        let details = self.take(|more| std::mem::take(&mut more.details));
        details.unwrap_or_default()
    }

    /// Takes the codes that came with the details, those without a text first.
    pub(crate) fn take_codes_of_details(&mut self) -> [Option<&'a str>; 2] {
        self.take(|More { details, .. }| [details.weak.take(), details.code.take()])
            .unwrap_or_default()
    }

    pub(crate) fn take_fields(&mut self) -> Entries<'a> {
        let fields = self.take(|more| std::mem::take(&mut more.fields));
        fields.unwrap_or_default()
    }

    pub(crate) fn take_aws_type(&mut self) -> Option<&'a str> {
        self.take(|more| more.aws_type.take()).flatten()
    }

    pub(crate) fn has_room_for_fields(&self) -> bool {
        !self.more.as_ref().is_some_and(|more| more.fields.is_full())
    }

    pub(crate) fn add_details(&mut self, details: Entries<'a>) {
        if !details.is_blank() {
            self.more().details.append(details);
        }
    }

    /// Takes over the codes of `texts`, not the texts.
    pub(crate) fn adopt_codes(&mut self, texts: &mut Entries<'a>) {
        if texts.weak.is_some() || texts.code.is_some() {
            self.more().details.adopt(texts);
        }
    }

    pub(crate) fn add_fields(&mut self, fields: Entries<'a>) {
        if !fields.is_blank() {
            self.more().fields.append(fields);
        }
    }

    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.said.get(slot as usize).is_some_and(Option::is_some)
    }

    /// Keeps `text` if it is the first in its place.
    #[inline]
    pub(crate) fn put(&mut self, slot: Slot, text: Option<&'a str>) {
        if let Some(place @ None) = self.said.get_mut(slot as usize) {
            *place = text;
        }
    }

    fn take_said(&mut self, slot: Slot) -> Option<&'a str> {
        self.said.get_mut(slot as usize).and_then(Option::take)
    }

    /// Keeps `code` if it is better than what there is.
    pub(crate) fn put_code(&mut self, rank: Rank, code: &'a str) {
        if self.code.as_ref().is_none_or(|(known, _)| rank < *known) {
            self.code = Some((rank, code));
        }
    }

    /// Takes over the codes of an object inside, which knows better.
    pub(crate) fn adopt(&mut self, inner: &mut Self) {
        if let Some(code) = inner.code.take() {
            self.code = Some(code);
        }
        if let Some(aws_type) = inner.take_aws_type() {
            self.more().aws_type.get_or_insert(aws_type);
        }
    }

    /// Returns a code that is more than a mere type.
    pub(crate) fn own_code(&self) -> Option<&'a str> {
        let (rank, code) = self.code.as_ref()?;
        (*rank != Rank::Type).then_some(*code)
    }

    /// Returns the best code; an `error` that is one and was not said counts.
    pub(crate) fn take_code(&mut self) -> Option<&'a str> {
        if let Some(code) = self.take_said(Slot::Error).filter(|error| is_code(error)) {
            self.put_code(Rank::Code, code);
        }
        self.code.take().map(|(_, code)| code)
    }

    /// Returns a code that may stand in for a text, of no worse rank than `worst`.
    pub(crate) fn spoken_code(&self, worst: Rank) -> Option<&'a str> {
        let (rank, code) = self.code.as_ref()?;
        (*rank <= worst && *rank != Rank::Number).then_some(*code)
    }

    /// Returns whether there is a text that can be no field of a form.
    pub(crate) fn is_item(&self) -> bool {
        self.item || self.is_strong() || self.has_lang && self.has_value()
    }

    /// Returns whether all that was said has names of fields of a form rather than of an error's texts.
    pub(crate) fn has_fields_only(&self) -> bool {
        let of_form = |slot| matches!(slot, Slot::Description | Slot::Other);
        let said = |slot: &Slot| self.has(*slot);
        self.code.is_none()
            && SLOTS
                .iter()
                .filter(|slot| said(slot))
                .all(|slot| of_form(*slot))
    }

    /// Returns whether nothing was said yet, nor anything read that says nothing.
    pub(crate) fn is_blank(&self) -> bool {
        let nothing = self.code.is_none() && self.more.is_none() && !self.mixed;
        nothing && self.said.iter().all(Option::is_none)
    }

    /// Returns whether an object named `key` is an error rather than what the call was about: it has a
    /// code, or a name to tell by.
    pub(crate) fn is_error(&self, key: &str) -> bool {
        let key = key.to_ascii_lowercase();
        let is_named = ["error", "fault", "exception"].map(|name| key.contains(name));
        let is_coded = self.has_status || self.own_code().is_some();
        self.is_strong() && (is_coded || is_named.contains(&true))
    }

    fn has_value(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.value.is_some())
    }

    /// Returns whether there is a text by a name that only errors have.
    pub(crate) fn is_strong(&self) -> bool {
        SLOTS
            .into_iter()
            .filter(|slot| *slot != Slot::Error || !self.repeats_status)
            .any(|slot| self.has(slot) && !slot.is_weak())
    }

    /// Keeps which part of the request it was about; a minor place gives way to another.
    pub(crate) fn put_place(&mut self, minor: bool, place: &'a str) {
        let worse = |(known, _): &(bool, &str)| *known && !minor;
        if !place.is_empty() && self.place.as_ref().is_none_or(worse) {
            self.place = Some((minor, place));
        }
    }

    /// Ends an object that is one error of a list, or a map of them, at `path`.
    pub(crate) fn finish(mut self, path: &str, out: &mut Entries<'a>, made: &'a Made) {
        let details = self.take_details();
        if let (false, Some(more)) = (self.mixed, self.more.as_deref_mut()) {
            if !more.sentences.is_empty() {
                more.fields.append(std::mem::take(&mut more.sentences));
                self.named = true;
            }
        }
        if self.named && !self.is_item() {
            out.append(details);
            out.append(self.take_fields());
            return;
        }
        if self.typed {
            let reason = self.take_said(Slot::Reason);
            out.weak = out.weak.take().or(reason);
        }
        let text = self.heading(false, false, made);
        let place = self.whole_place(path, made);
        // A mere type tells errors of a list apart, not the answer from others.
        let own_code = self.own_code();
        let code = self.code.take().map(|(_, code)| code);
        match (text, place, code) {
            // A text that names the place itself needs no path before it.
            (Some(text), Some(place), _) if path.is_empty() && holds(text, place) => {
                out.push("", text);
            }
            (Some(text), Some(place), _) => out.push(place, text),
            (Some(text), None, _) => out.push(path, text),
            (None, Some(place), Some(code)) if details.is_empty() => {
                out.push("", made.keep(format!("{place} {code}")));
            }
            (None, _, Some(_)) => out.weak = out.weak.take().or(code),
            (None, _, None) if details.is_empty() => out.append(self.take_fields()),
            (None, _, None) => {}
        }
        out.code = out.code.take().or(own_code);
        out.append(details);
    }

    /// Returns the place with what it is in before it: `Label.name`.
    fn whole_place(&mut self, path: &str, made: &'a Made) -> Option<&'a str> {
        let (minor, place) = self.place.take()?;
        if minor && self.graphql {
            return None;
        }
        if let Some(resource) = self.more.as_ref().and_then(|more| more.resource) {
            return Some(made.keep(join(resource, place)));
        }
        if path.is_empty() {
            return Some(place);
        }
        Some(made.keep(match path.ends_with(place) {
            true => path.to_owned(),
            false => join(path, place),
        }))
    }

    /// Returns what the object says, with its details behind it. Codes stay.
    pub(crate) fn text(&mut self, problem: bool, made: &'a Made) -> Option<&'a str> {
        if self.more.is_none() && !self.named {
            return self.heading(problem, false, made);
        }
        let details = self.take_details();
        if problem && self.errors && !details.is_empty() {
            return details.join(made);
        }
        let before_map = !self.mixed && self.named && !self.is_item() && details.is_empty();
        if before_map {
            return self.take_fields().join(made);
        }
        match self.heading(problem, self.errors && !details.is_empty(), made) {
            Some(heading) => Some(details.follow(heading, made)),
            None => details.join(made),
        }
    }

    /// Returns the first text; `errors` stand before those that come after it.
    fn heading(&mut self, problem: bool, errors: bool, made: &'a Made) -> Option<&'a str> {
        if self.has_lang {
            if let Some(value) = self.take(|more| more.value.take()).flatten() {
                return Some(value);
            }
        }
        if problem {
            if let Some(text) = self
                .take_said(Slot::Detail)
                .or_else(|| self.take_said(Slot::Title))
            {
                return Some(text);
            }
        }
        for slot in SLOTS {
            if errors && slot == Slot::Detail {
                return None;
            }
            let Some(text) = self.take_said(slot) else {
                continue;
            };
            if slot != Slot::Error || !is_code(text) {
                return Some(text);
            }
            // A bare code: the text beside it says what it means.
            let beside = SLOTS
                .into_iter()
                .filter(|slot| *slot > Slot::Error)
                .find_map(|slot| self.take_said(slot));
            if self.repeats_status && beside.is_none() {
                self.put(slot, Some(text));
                return None;
            }
            self.put_code(Rank::Code, text);
            // A word may be part of any sentence.
            let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase());
            let says = |beside: &str| match is_word {
                true => beside.starts_with(text),
                false => beside.contains(text),
            };
            return Some(match beside {
                Some(beside) if says(beside) => beside,
                Some(beside) => made.keep(format!("{text}: {beside}")),
                None => text,
            });
        }
        None
    }
}

/// All places for texts, in the order in which they are asked.
const SLOTS: [Slot; Slot::COUNT] = [
    Slot::Message,
    Slot::ErrorObject,
    Slot::Error,
    Slot::ErrorDescription,
    Slot::ErrorMessages,
    Slot::Detail,
    Slot::Title,
    Slot::Reason,
    Slot::Msg,
    Slot::UpperMessage,
    Slot::ErrorMessage,
    Slot::Description,
    Slot::Fault,
    Slot::Other,
    Slot::Wrapped,
];
