//! What a server says about when to come back.

use std::time::{Duration, SystemTime};

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{DATE, RETRY_AFTER},
};

/// Milliseconds, as several APIs send them beside or instead of `Retry-After`.
static RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// Returns the wait that a response asks for, if it asks for one.
///
/// `retry-after-ms` wins over `Retry-After` if it can be read. Of several values the largest that can
/// be read counts. Both forms of [RFC 9110 §10.2.3] are read: a number of seconds, and an HTTP date in
/// any of its three forms, which is measured from the response's own `Date`, or from `now` without one:
/// so the two clocks need not agree.
///
/// Missing, malformed, zero and past all mean `None`: the server gave no reason to wait. A number too
/// large to be represented is [`Duration::MAX`].
///
/// [RFC 9110 §10.2.3]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let wait = match largest(headers, &RETRY_AFTER_MS, milliseconds) {
        Some(wait) => wait,
        None => {
            let from = headers.get(DATE).and_then(date).unwrap_or(now);
            largest(headers, &RETRY_AFTER, |value| {
                seconds(value).or_else(|| date(value)?.duration_since(from).ok())
            })?
        }
    };
    (!wait.is_zero()).then_some(wait)
}

fn largest(
    headers: &HeaderMap,
    name: &HeaderName,
    read: impl Fn(&HeaderValue) -> Option<Duration>,
) -> Option<Duration> {
    headers.get_all(name).iter().filter_map(read).max()
}

fn text(value: &HeaderValue) -> Option<&str> {
    Some(value.to_str().ok()?.trim_matches([' ', '\t']))
}

fn date(value: &HeaderValue) -> Option<SystemTime> {
    httpdate::parse_http_date(text(value)?).ok()
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    Some(number(text(value)?)?.map_or(Duration::MAX, Duration::from_secs))
}

/// Whole milliseconds, or with a fraction, of which what is finer than a microsecond is dropped.
fn milliseconds(value: &HeaderValue) -> Option<Duration> {
    let (whole, fraction) = match text(value)?.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (text(value)?, "0"),
    };
    number(fraction)?;
    let thousandths = fraction
        .bytes()
        .chain(*b"00")
        .take(3)
        .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let whole = number(whole)?.map_or(Duration::MAX, Duration::from_millis);
    Some(whole.saturating_add(Duration::from_micros(thousandths)))
}

/// Reads a run of digits, and nothing else: no sign, no space. `Some(None)` is one too large.
fn number(text: &str) -> Option<Option<u64>> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())
}

#[cfg(test)]
#[path = "../tests/unit/retry_after.rs"]
mod tests;
