//! A limit of time that one request brings along.

use std::time::Duration;

/// A request extension: the limit of time for the head of this call's response, in place of the
/// configured one.
///
/// Zero means "already expired"; [`Duration::MAX`] means none, as does everything above 30 years. In a
/// [`ClientStack`](crate::ClientStack) it replaces the limit on the whole call, not that on one attempt.
/// Limits on bodies are not touched.
///
/// ```
/// use std::time::Duration;
///
/// use http::Request;
/// use tower_diagnose::RequestTimeout;
///
/// let limit = RequestTimeout(Duration::from_secs(120));
/// let request = Request::get("/reports").extension(limit).body(())?;
/// assert_eq!(request.extensions().get(), Some(&limit));
/// # Ok::<_, http::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimeout(pub Duration);
