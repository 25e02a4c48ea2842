//! How long the server asks to wait.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

pub(crate) fn retry_after(headers: &HeaderMap, _now: SystemTime) -> Option<Duration> {
    let seconds: u64 = headers.get("retry-after")?.to_str().ok()?.parse().ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}
