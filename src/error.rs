//! The errors that we make, and how to look into those of others.

use std::{error::Error, fmt, io, sync::Arc, time::Duration};

use crate::{endpoint::Endpoint, names::names, retried::Retried};

/// Any error, boxed. The same type as tower's.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A chain longer than this is not walked to its end: an error may lie about its source.
const CHAIN_LIMIT: usize = 64;

/// Walks an error and everything below it.
///
/// `io::Error::source` skips the error that the `io::Error` was made from, an `Arc` skips what it
/// holds, and `h2::Error` has no source at all; this walk sees what is there.
pub(crate) fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| below(*error)).take(CHAIN_LIMIT)
}

fn below<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(inner) = own::<io::Error>(error).and_then(io::Error::get_ref) {
        return Some(inner);
    }
    if let Some(inner) = own::<h2::Error>(error).and_then(h2::Error::get_io) {
        return Some(inner);
    }
    if may_hold(error) || size_of_val(error) == size_of::<Arc<dyn Error>>() {
        if let Some(inner) = in_one::<Arc<dyn Error + Send + Sync>>(error) {
            return Some(&**inner);
        }
        if let Some(inner) = in_one::<Arc<dyn Error>>(error) {
            return Some(&**inner);
        }
    }
    error.source()
}

/// Returns `error` as an `E`, if it is one, inside up to three boxes and `Arc`s: `Box<E>` and `Arc<E>`
/// are errors of their own type, whose source is that of `E`, so that a walk passes `E` by.
pub(crate) fn own<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    if !may_hold(error) {
        return error.downcast_ref();
    }
    in_two::<E>(error)
        .or_else(|| in_two::<Box<E>>(error).map(|error| &**error))
        .or_else(|| in_two::<Arc<E>>(error).map(|error| &**error))
}

/// Returns whether `error` may be a `Box` or an `Arc` of another: it is of their size, and not one of
/// those which are so by chance and common. So that most are compared with one type instead of 27.
fn may_hold(error: &(dyn Error + 'static)) -> bool {
    size_of_val(error) == size_of::<Box<()>>()
        && !error.is::<io::Error>()
        && !error.is::<hyper::Error>()
}

fn in_two<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    in_one::<E>(error)
        .or_else(|| in_one::<Box<E>>(error).map(|error| &**error))
        .or_else(|| in_one::<Arc<E>>(error).map(|error| &**error))
}

fn in_one<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    error
        .downcast_ref::<E>()
        .or_else(|| error.downcast_ref::<Box<E>>().map(|error| &**error))
        .or_else(|| error.downcast_ref::<Arc<E>>().map(|error| &**error))
}

/// Finds the first `E` in `error` or anywhere below it, through sources, boxes, `Arc`s and what an
/// `io::Error` was made from.
///
/// A [`BoxError`] is no error itself: pass what it holds, `find::<Refused>(&*error)`.
///
/// ```
/// use std::io;
/// use tower_diagnose::{Refused, find};
///
/// let error = io::Error::other(Refused::new("circuit open"));
/// assert_eq!(find::<Refused>(&error).unwrap().reason(), "circuit open");
/// ```
#[must_use]
pub fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(own::<E>)
}

/// Returns whether a limit of time is what failed: ours, tower's, tokio's, hyper's or the system's.
///
/// A [`BoxError`] is no error itself: pass what it holds, `is_timeout(&*error)`.
///
/// ```
/// use std::io;
/// use tower_diagnose::{BoxError, is_timeout};
///
/// let error = io::Error::from(io::ErrorKind::TimedOut);
/// assert!(is_timeout(&error));
///
/// let error: BoxError = error.into();
/// assert!(is_timeout(&*error));
/// ```
#[must_use]
pub fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        is_timer(error)
            || own::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    })
}

/// Returns whether this level of a chain is a limit of time that a program set, not the system.
pub(crate) fn is_timer(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "reqwest")]
    if own::<reqwest::Error>(error).is_some_and(reqwest::Error::is_timeout) {
        return true;
    }
    #[cfg(feature = "tonic")]
    if own::<tonic::TimeoutExpired>(error).is_some() {
        return true;
    }
    own::<TimeoutError>(error).is_some()
        || own::<tower::timeout::error::Elapsed>(error).is_some()
        || own::<tokio::time::error::Elapsed>(error).is_some()
        || own::<hyper::Error>(error).is_some_and(hyper::Error::is_timeout)
}

/// A refusal on our own side, before anything was sent: for users' own breakers, limiters and guards.
///
/// It is shown as `POST /orders failed: circuit open (not sent)`, classed as
/// [`ProxyPolicy`](crate::ErrorClass::ProxyPolicy), and not repeated.
///
/// A breaker inside of the stack sees no error of a call that ran out of the stack's limits: it is dropped,
/// and has to be counted then. See [layers of your own](crate::stack#layers-of-your-own).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    reason: std::borrow::Cow<'static, str>,
}

impl Refused {
    /// Creates a refusal; `reason` is a short phrase that may be shown to anybody.
    #[must_use]
    pub fn new(reason: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    /// Returns the reason given.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for Refused {}

/// What a limit of time covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TimeoutScope {
    /// From asking the service whether it is ready to its being so; nothing was sent yet.
    Ready,
    /// From the call to the head of the response.
    Head,
    /// One wait for the next frame of the response's body.
    BodyIdle,
    /// All waits for frames of the response's body together.
    BodyTotal,
    /// One wait for the next frame of the request's body.
    RequestBodyIdle,
    /// All waits for frames of the request's body together.
    RequestBodyTotal,
}

names!(TimeoutScope, "a timeout's scope", {
    Ready => "ready",
    Head => "head",
    BodyIdle => "body_idle",
    BodyTotal => "body_total",
    RequestBodyIdle => "request_body_idle",
    RequestBodyTotal => "request_body_total",
});

/// A limit of time ran out.
///
/// Displays as `GET /api/modules timed out after 30s`; a limit that was not on the head says so behind
/// it: `GET /export timed out after 50ms (response body idle)`.
#[derive(Clone, Debug)]
pub struct TimeoutError {
    endpoint: Endpoint,
    limit: Duration,
    scope: TimeoutScope,
    elapsed: Duration,
    attempts: Option<u32>,
}

impl TimeoutError {
    pub(crate) fn new(endpoint: Endpoint, limit: Duration, scope: TimeoutScope) -> Self {
        Self {
            endpoint,
            limit,
            scope,
            elapsed: limit,
            attempts: None,
        }
    }

    /// Sets how long it really took, where that was measured.
    pub(crate) fn with_elapsed(mut self, elapsed: Duration) -> Self {
        self.elapsed = elapsed;
        self
    }

    /// Sets how many attempts were begun within the limit, where that is known.
    pub(crate) fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Returns what was called.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the limit that ran out.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns what the limit covered.
    #[must_use]
    pub fn scope(&self) -> TimeoutScope {
        self.scope
    }

    /// Returns how long it took until the limit was found to have run out: the limit itself, and
    /// more if the task was not polled in time.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns how many attempts were begun within the limit, if more than one could be and whoever
    /// set the limit counted them.
    #[must_use]
    pub fn attempts(&self) -> Option<u32> {
        self.attempts
    }
}

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} timed out after {:?}", self.endpoint, self.limit)?;
        f.write_str(match self.scope {
            TimeoutScope::Head => "",
            TimeoutScope::Ready => " (service not ready)",
            TimeoutScope::BodyIdle => " (response body idle)",
            TimeoutScope::BodyTotal => " (response body)",
            TimeoutScope::RequestBodyIdle => " (request body idle)",
            TimeoutScope::RequestBodyTotal => " (request body)",
        })
    }
}

impl Error for TimeoutError {}

/// An error after more than one attempt, or one whose repetition was given up.
///
/// It reads as the error that it holds, which is its `source()`. Its `Debug` does not show that one, whose
/// own may name hosts.
pub struct RetryError {
    error: BoxError,
    retried: Retried,
}

impl RetryError {
    pub(crate) fn new(error: BoxError, retried: Retried) -> Self {
        Self { error, retried }
    }

    /// Returns how many attempts there were and why there were no more.
    #[must_use]
    pub fn retried(&self) -> Retried {
        self.retried
    }

    /// Returns the error of the last attempt.
    #[must_use]
    pub fn into_inner(self) -> BoxError {
        self.error
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Debug for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryError")
            .field("retried", &self.retried)
            .finish_non_exhaustive()
    }
}

impl Error for RetryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_through_every_wrapping() {
        let inner = || Refused::new("circuit open");
        let wrapped: [BoxError; 11] = [
            Box::new(inner()),
            Box::new(Box::new(inner())),
            Box::new(Arc::new(inner())),
            Box::new(Box::new(Box::new(Box::new(inner())))),
            Box::new(Arc::new(Box::new(Arc::new(inner())))),
            Box::new(io::Error::other(inner())),
            Box::new(io::Error::other(io::Error::other(inner()))),
            Box::new(Box::new(io::Error::other(inner()))),
            Box::new(Arc::new(io::Error::other(inner()))),
            Box::new(Arc::<dyn Error + Send + Sync>::from(
                BoxError::from(inner()),
            )),
            Box::new(RetryError::new(
                Box::new(Box::new(inner())),
                Retried::new(
                    2,
                    crate::retried::StopReason::AttemptsUsedUp,
                    crate::Delivery::NotSent,
                ),
            )),
        ];
        for error in wrapped {
            assert!(find::<Refused>(&*error).is_some(), "{error:?}");
            assert!(find::<TimeoutError>(&*error).is_none(), "{error:?}");
        }
    }

    #[test]
    fn an_endless_chain_ends() {
        #[derive(Debug)]
        struct Endless;
        impl fmt::Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("endless")
            }
        }
        impl Error for Endless {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&Self)
            }
        }
        assert!(find::<Refused>(&Endless).is_none());
        assert!(!is_timeout(&Endless));
    }
}
