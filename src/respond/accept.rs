use http::{HeaderMap, header::ACCEPT};

/// How a problem is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Text,
}

impl Format {
    /// Returns what the sender of these headers accepts ([RFC 9110 §12.5.1]): text only if it accepts
    /// text and no JSON. One who accepts neither, or says nothing, gets JSON.
    ///
    /// [RFC 9110 §12.5.1]: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut json = Preference::default();
        let mut text = Preference::default();
        for value in headers.get_all(ACCEPT) {
            // What is not text names no type that we know.
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let accepted = parts.all(|parameter| !is_zero_weight(parameter));
                if is_json(name) {
                    json.note(3, accepted);
                } else if name.eq_ignore_ascii_case("application/*") {
                    json.note(2, accepted);
                } else if name.eq_ignore_ascii_case("text/plain") {
                    text.note(3, accepted);
                } else if name.eq_ignore_ascii_case("text/*") {
                    text.note(2, accepted);
                } else if name == "*/*" {
                    json.note(1, accepted);
                    text.note(1, accepted);
                }
            }
        }
        if text.accepted && !json.accepted {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// What the most precise range that covers a type says of it.
#[derive(Default)]
struct Preference {
    precision: u8,
    accepted: bool,
}

impl Preference {
    fn note(&mut self, precision: u8, accepted: bool) {
        if precision > self.precision {
            *self = Self {
                precision,
                accepted,
            };
        } else if precision == self.precision {
            self.accepted |= accepted;
        }
    }
}

/// Whoever reads JSON can read a problem.
fn is_json(name: &str) -> bool {
    ["application/problem+json", "application/json"]
        .iter()
        .any(|json| name.eq_ignore_ascii_case(json))
}

/// `q=0`, `q=0.`, `q=0.000`.
fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, weight)| {
        name.trim().eq_ignore_ascii_case("q")
            && weight.trim().starts_with('0')
            && weight.trim().chars().all(|c| matches!(c, '0' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_for_those_who_accept_nothing_else() {
        for (accept, format) in [
            (&[][..], Format::Json),
            (&[""], Format::Json),
            (&["*/*"], Format::Json),
            (&["text/plain"], Format::Text),
            (&["Text/Plain; charset=utf-8"], Format::Text),
            (&["text/*"], Format::Text),
            (&["text/html, text/plain;q=0.1"], Format::Text),
            (&["text/plain, */*;q=0.1"], Format::Json),
            (&["text/plain, application/json"], Format::Json),
            (&["text/plain", "application/problem+json"], Format::Json),
            (&["text/plain, application/*"], Format::Json),
            (&["text/plain, application/json;q=0"], Format::Text),
            (
                &["text/plain, */*, application/problem+json;q=0.000"],
                Format::Text,
            ),
            (&["text/plain;q=0"], Format::Json),
            (&["*/*, text/plain;q=0"], Format::Json),
            (&["text/html"], Format::Json),
            (&["image/png, ,;q=,q"], Format::Json),
            (&["text/html,application/xhtml+xml,*/*;q=0.8"], Format::Json),
        ] {
            let headers = accept
                .iter()
                .map(|value| (ACCEPT, value.parse().unwrap()))
                .collect();
            assert_eq!(Format::of(&headers), format, "{accept:?}");
        }
    }
}
