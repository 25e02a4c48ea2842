//! The one line of a diagnosis, and the report of several.

use std::{
    fmt::{self, Write},
    sync::OnceLock,
};

use http::{Method, StatusCode};

use crate::{
    diagnosis::{Diagnosis, LINE_CAP},
    endpoint::Endpoint,
    path::REDACTED,
    scan,
    text::{copy_short, one_line, width, write_cut},
};

/// How many characters of a path stand in a line that has room for them.
const PATH_CAP: usize = 120;
/// A method is a token of any length; those in use are far shorter than this.
const METHOD_CAP: usize = 32;
/// What [`write_attempts`] writes at most.
const ATTEMPTS_LEN: usize = " [4294967295 attempts]".len();

/// Writes the line, at most `line_cap` characters of it.
///
/// The message is what gives way first, then the path. A cap that has no room even for what is left
/// then cuts the end.
pub(crate) fn write_line(out: &mut dyn Write, diagnosis: &Diagnosis) -> fmt::Result {
    let attempts = diagnosis.attempts;
    let room = match attempts {
        0 | 1 => 0,
        _ => ATTEMPTS_LEN,
    };
    // Most lines of answers fit as they were written.
    match diagnosis.texts.line() {
        Some(line) if line.len() + room <= diagnosis.line_cap => {
            out.write_str(line)?;
            write_attempts(out, attempts)
        }
        _ => write_pieces(out, diagnosis),
    }
}

/// Returns the line if it stands somewhere as it is.
#[inline]
pub(crate) fn standing(diagnosis: &Diagnosis) -> Option<&str> {
    let is_only = diagnosis.attempts <= 1;
    let line = diagnosis.texts.line().filter(|_| is_only)?;
    (line.len() <= diagnosis.line_cap).then_some(line)
}

/// Writes the line of an answer up to the message, for [`write_line`], from what stands there as it is.
#[inline]
pub(crate) fn open(line: &mut Vec<u8>, method: &Method, path: &[u8], status: Option<StatusCode>) {
    line.extend_from_slice(method.as_str().as_bytes());
    line.push(b' ');
    line.extend_from_slice(path);
    line.extend_from_slice(opening(status).as_bytes());
}

/// Returns whether the method and the path of an endpoint stand in the line as they are.
pub(crate) fn fits(endpoint: &Endpoint) -> bool {
    let (method, path) = (endpoint.method().as_str(), endpoint.path_bytes());
    method.len() <= METHOD_CAP && path.len() <= PATH_CAP && scan::is_graphic(path)
}

/// Writes the line from its pieces, each cut to the room that there is for it.
fn write_pieces(out: &mut dyn Write, diagnosis: &Diagnosis) -> fmt::Result {
    let message = Message::of(diagnosis);
    let cap = diagnosis.line_cap;
    // Most lines fit as they are, and go out in one piece.
    let mut short = Short::new();
    if message
        .write_whole(&mut short, diagnosis, PATH_CAP, usize::MAX)
        .is_ok()
    {
        // The message has room for one character at least.
        let least = usize::from(message.text.is_empty());
        if short.len + least <= cap {
            return out.write_str(short.as_str());
        }
    }

    let room = cap.saturating_sub(message.frame_width(diagnosis));
    let method = width(diagnosis.endpoint.method().as_str()).min(METHOD_CAP);
    // At least one character of the message's room is the ellipsis.
    let path_cap = room.saturating_sub(method + 1 + 1).clamp(1, PATH_CAP);
    let head = counted(|out| write_endpoint(out, &diagnosis.endpoint, path_cap))?;
    let message_cap = room.saturating_sub(head).max(1);
    if head <= room.saturating_sub(1) {
        return message.write_whole(out, diagnosis, path_cap, message_cap);
    }
    // Not even the frame fits.
    let mut limited = Limited::new(out, cap.saturating_sub(1));
    message.write_whole(&mut limited, diagnosis, path_cap, message_cap)?;
    if cap > 0 {
        out.write_char('…')
    } else {
        Ok(())
    }
}

fn write_endpoint(
    out: &mut (impl Write + ?Sized),
    endpoint: &Endpoint,
    path_cap: usize,
) -> fmt::Result {
    write_cut(out, endpoint.method().as_str(), METHOD_CAP)?;
    out.write_char(' ')?;
    write_path(out, endpoint, path_cap)
}

/// Writes the path on one line, cut to `cap` characters.
pub(crate) fn write_path(
    out: &mut (impl Write + ?Sized),
    endpoint: &Endpoint,
    cap: usize,
) -> fmt::Result {
    let path = endpoint.path();
    if scan::is_graphic(path.as_bytes()) {
        write_cut(out, path, cap)
    } else {
        write_cut(out, &one_line(path), cap)
    }
}

/// The path of an endpoint as the line has it.
#[derive(Debug)]
pub(crate) struct PrintedPath<'a>(pub(crate) &'a Endpoint);

impl fmt::Display for PrintedPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(f, self.0, PATH_CAP)
    }
}

/// What stands between the endpoint and the end of the line.
struct Message<'a> {
    text: &'a str,
    tail: &'static str,
}

impl<'a> Message<'a> {
    fn of(diagnosis: &'a Diagnosis) -> Self {
        if let Some(cause) = &diagnosis.cause {
            return Self {
                text: cause,
                tail: if diagnosis.not_sent {
                    " (not sent)"
                } else {
                    " (no response from server)"
                },
            };
        }
        let message = diagnosis.message();
        Self {
            text: message.unwrap_or_else(|| stand_in(diagnosis.status())),
            tail: "",
        }
    }

    /// Writes the line, with the path and the text cut to so many characters.
    fn write_whole(
        &self,
        out: &mut (impl Write + ?Sized),
        diagnosis: &Diagnosis,
        path_cap: usize,
        text_cap: usize,
    ) -> fmt::Result {
        write_endpoint(out, &diagnosis.endpoint, path_cap)?;
        out.write_str(opening(answered(diagnosis)))?;
        write_cut(out, self.text, text_cap)?;
        self.write_end(out, diagnosis)
    }

    fn write_end(&self, out: &mut (impl Write + ?Sized), diagnosis: &Diagnosis) -> fmt::Result {
        out.write_str(self.tail)?;
        write_attempts(out, diagnosis.attempts)
    }

    /// Returns the width of everything but the endpoint and the message itself.
    fn frame_width(&self, diagnosis: &Diagnosis) -> usize {
        counted(|out| {
            out.write_str(opening(answered(diagnosis)))?;
            self.write_end(out, diagnosis)
        })
        .unwrap_or_default()
    }
}

/// Returns the status of an answer.
fn answered(diagnosis: &Diagnosis) -> Option<StatusCode> {
    diagnosis.status().filter(|_| diagnosis.cause.is_none())
}

/// Returns what stands between the endpoint and the message; of an answer made once for each status.
fn opening(answered: Option<StatusCode>) -> &'static str {
    static OPENINGS: [OnceLock<Box<str>>; 1000] = [const { OnceLock::new() }; 1000];
    const UNANSWERED: &str = " failed: ";
    let Some(status) = answered else {
        return UNANSWERED;
    };
    // No status has more than three digits.
    let place = OPENINGS.get(usize::from(status.as_u16()));
    place.map_or(UNANSWERED, |place| {
        place.get_or_init(|| match status.canonical_reason() {
            Some(reason) => format!(
                " failed ({status_code} {reason}): ",
                status_code = status.as_str()
            )
            .into(),
            None => format!(" failed ({}): ", status.as_str()).into(),
        })
    })
}

/// Returns what stands in the line of an answer that says nothing.
pub(crate) fn stand_in(status: Option<StatusCode>) -> &'static str {
    let reason = status.and_then(|status| status.canonical_reason());
    reason.unwrap_or("no error message")
}

fn write_attempts(out: &mut (impl Write + ?Sized), attempts: u32) -> fmt::Result {
    match attempts {
        0 | 1 => Ok(()),
        attempts => write!(out, " [{attempts} attempts]"),
    }
}

/// Writes the report that `{:#}` gives: the line, then one aligned row for each thing known.
pub(crate) fn write_report(out: &mut dyn Write, diagnosis: &Diagnosis) -> fmt::Result {
    write_line(out, diagnosis)?;
    let mut row = |name: &str, value: fmt::Arguments<'_>| write!(out, "\n  {name:<10} {value}");
    row("endpoint", format_args!("{}", diagnosis.endpoint))?;
    row(
        "class",
        format_args!("{} (fault: {})", diagnosis.class(), diagnosis.domain()),
    )?;
    // A code that is all the server said stands in the line.
    let code = diagnosis
        .code()
        .filter(|code| diagnosis.message() != Some(code));
    if let Some(code) = code {
        row("code", format_args!("{code}"))?;
    }
    row(
        "delivery",
        format_args!(
            "{}{}",
            diagnosis.delivery(),
            if diagnosis.indeterminate {
                ", the request may have been applied"
            } else {
                ""
            }
        ),
    )?;
    match diagnosis.stop {
        Some(stop) => row(
            "attempts",
            format_args!("{}, then no more: {stop}", diagnosis.attempts),
        )?,
        None => row("attempts", format_args!("{}", diagnosis.attempts))?,
    }
    if let Some(timeout) = diagnosis.timeout {
        row("timeout", format_args!("{timeout:?}"))?;
    }
    if let Some(wait) = diagnosis.retry_after {
        row("retry", format_args!("after {wait:?}"))?;
    }
    if let Some(id) = diagnosis.request_id() {
        row("request id", format_args!("{id}"))?;
    }
    for (name, value) in diagnosis.headers().iter() {
        if value != REDACTED {
            row("header", format_args!("{name}: {value}"))?;
        }
    }
    if let Some(hint) = diagnosis.hint() {
        row("hint", format_args!("{}", one_line(hint)))?;
    }
    Ok(())
}

/// Counts the characters that `write` writes.
fn counted(write: impl FnOnce(&mut Count) -> fmt::Result) -> Result<usize, fmt::Error> {
    let mut count = Count(0);
    write(&mut count)?;
    Ok(count.0)
}

struct Count(usize);

impl Write for Count {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(width(text));
        Ok(())
    }
}

/// A line as long as most are, or a shorter one. Writing more than that fails.
struct Short {
    bytes: [u8; LINE_CAP],
    len: usize,
}

impl Short {
    const fn new() -> Self {
        Self {
            bytes: [0; LINE_CAP],
            len: 0,
        }
    }

    fn as_str(&self) -> &str {
        // Made of whole `str`s, so it is UTF-8.
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = self.bytes.get_mut(self.len..).unwrap_or_default();
        let place = rest.get_mut(..text.len()).ok_or(fmt::Error)?;
        copy_short(place, text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// Passes on as many characters as there is room for.
struct Limited<'a> {
    out: &'a mut dyn Write,
    room: usize,
}

impl<'a> Limited<'a> {
    fn new(out: &'a mut dyn Write, room: usize) -> Self {
        Self { out, room }
    }
}

impl Write for Limited<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text
            .char_indices()
            .nth(self.room)
            .map_or(text.len(), |(at, _)| at);
        let (kept, _) = text.split_at(end);
        self.room = self.room.saturating_sub(width(kept));
        self.out.write_str(kept)
    }
}

#[cfg(test)]
#[path = "../tests/unit/line.rs"]
mod tests;
