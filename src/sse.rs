//! The data of an event stream that is the body of an error.

use std::borrow::Cow;

/// No more events than this are looked at.
const EVENTS: usize = 8;

/// Returns the data of the first events, each with its lines joined ([HTML §9.2]).
///
/// An event that is cut counts as well: its document says what was complete.
///
/// [HTML §9.2]: https://html.spec.whatwg.org/multipage/server-sent-events.html
pub(crate) fn events(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut lines = lines(text);
    std::iter::from_fn(move || {
        let mut data: Option<Cow<'_, str>> = None;
        for line in lines.by_ref() {
            if let Some(value) = line.strip_prefix("data:") {
                let value = value.strip_prefix(' ').unwrap_or(value);
                match &mut data {
                    None => data = Some(Cow::Borrowed(value)),
                    // Grown in place: an event may have as many lines as the text.
                    Some(before) => {
                        let joined = before.to_mut();
                        joined.push('\n');
                        joined.push_str(value);
                    }
                }
            }
            if line.is_empty() && data.is_some() {
                break;
            }
        }
        data
    })
    .filter(|data| !data.trim().is_empty() && data != "[DONE]")
    .take(EVENTS)
}

/// Returns the lines, ended by CR LF, LF or CR alone.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some((line, behind)) = text.split_once(['\r', '\n']) else {
            return rest.take();
        };
        let is_pair = text.as_bytes().get(line.len()) == Some(&b'\r');
        let pair = behind.strip_prefix('\n').filter(|_| is_pair);
        rest = Some(pair.unwrap_or(behind));
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::events;

    #[test]
    fn joins_the_lines_of_an_event() {
        for (text, data) in [
            ("data: {\"a\":1}\n\n", vec!["{\"a\":1}"]),
            ("event: error\r\ndata: {\r\ndata: }\r\n\r\n", vec!["{\n}"]),
            (
                ": hello\n\ndata:x\n\ndata: z\n\nevent: e\ndata: y",
                vec!["x", "z", "y"],
            ),
            ("data: x\rdata: y\r\rdata: z\r\n\r\n", vec!["x\ny", "z"]),
            ("data: [DONE]\n\ndata:\n\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(events(text).collect::<Vec<_>>(), data, "{text:?}");
        }
    }
}
