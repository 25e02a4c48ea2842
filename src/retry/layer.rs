use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName};
use tower_layer::Layer;

use super::{rules::Rules, service::Retry};
use crate::{attempt::Attempt, backoff::Backoff, budget::RetryBudget, hook::Hook};

/// Repeats a failed call exactly when that is safe.
///
/// Clones of a layer, and the services that it makes, share one [`RetryBudget`].
///
/// See the [module docs](crate::retry) for the rules and an example.
#[derive(Clone, Debug)]
pub struct RetryLayer {
    rules: Arc<Rules>,
}

impl RetryLayer {
    /// Creates a layer that makes at most 3 attempts, waits between them with full jitter under
    /// 200 ms doubling to 2 s, and has a budget of its own.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rules: Arc::new(Rules::new()),
        }
    }

    /// Sets how many attempts a call may have, the first included. 0 means 1. Default: 3.
    ///
    /// A [`MaxAttempts`](crate::MaxAttempts) extension overrides it for one request.
    #[must_use]
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.with(|rules| rules.max_attempts = attempts.max(1))
    }

    /// Sets how long to wait between attempts. Default: `Backoff::exponential(200 ms, 2 s)`.
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.with(|rules| rules.backoff = backoff)
    }

    /// Sets the budget, to share one between several layers.
    ///
    /// Default: one of this layer's own, 20 % of calls and a reserve of 10.
    #[must_use]
    pub fn budget(self, budget: RetryBudget) -> Self {
        self.with(|rules| rules.budget = Some(budget))
    }

    /// Repeats without a budget: in an outage the load on the server grows by as many times as there
    /// are attempts.
    #[must_use]
    pub fn without_budget(self) -> Self {
        self.with(|rules| rules.budget = None)
    }

    /// Sets the longest wait that a server may ask for ([RFC 9110 §10.2.3]). Default: 30 s.
    ///
    /// If it asks for more, its answer is returned at once and not repeated.
    ///
    /// [RFC 9110 §10.2.3]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
    #[must_use]
    pub fn retry_after_limit(self, limit: Duration) -> Self {
        self.with(|rules| rules.retry_after_limit = Some(limit))
    }

    /// Does not look at `Retry-After`: only the backoff counts.
    #[must_use]
    pub fn ignore_retry_after(self) -> Self {
        self.with(|rules| rules.retry_after_limit = None)
    }

    /// Sets how many bytes of a request's body are kept for the next attempt. Default: 64 KiB.
    ///
    /// A longer body is sent all the same; the call is then not repeated.
    #[must_use]
    pub fn replay_limit(self, bytes: usize) -> Self {
        self.with(|rules| rules.replay_limit = bytes)
    }

    /// Sets the limit for the whole call: all attempts and the waits between them, to the head of the
    /// response. Default: none.
    ///
    /// A wait that would pass it is not begun. An attempt that is running when it ends is dropped,
    /// and the call fails with a [`TimeoutError`](crate::TimeoutError). Zero has expired before it
    /// begins: only an attempt that is answered at once wins. [`Duration::MAX`] is none.
    #[must_use]
    pub fn total_limit(self, limit: Duration) -> Self {
        self.with(|rules| rules.total_limit = Some(limit))
    }

    /// Repeats only requests that carry an [`Idempotency`](crate::Idempotency) extension, even where
    /// a method is idempotent or nothing was sent. Default: false.
    ///
    /// The first request without one is reported by a WARN event.
    #[must_use]
    pub fn only_declared(self, only_declared: bool) -> Self {
        self.with(|rules| rules.only_declared = only_declared)
    }

    /// Sets whether a request that is not idempotent is repeated if it provably was not sent.
    /// Default: true.
    ///
    /// With `false` such a request is never repeated, and nothing of it is kept.
    #[must_use]
    pub fn repeat_unsent(self, repeat_unsent: bool) -> Self {
        self.with(|rules| rules.repeat_unsent = repeat_unsent)
    }

    /// Asks `hook` whether a failure is worth another attempt, in place of the built-in rule, which it
    /// finds in [`Attempt::is_retryable`].
    ///
    /// It is asked for answers of status 400 and above and for errors, and may both veto and extend.
    /// It has no say in whether the *request* may be repeated: a write that is not idempotent and may
    /// have arrived stays where it is. Declare such a request by an
    /// [`Idempotency`](crate::Idempotency) extension.
    ///
    /// ```
    /// use http::StatusCode;
    /// use tower_diagnose::RetryLayer;
    ///
    /// let layer = RetryLayer::new().retry_if(|attempt| {
    ///     attempt.is_retryable() || attempt.status() == Some(StatusCode::LOCKED)
    /// });
    /// ```
    #[must_use]
    pub fn retry_if<F>(self, hook: F) -> Self
    where
        F: Fn(&Attempt<'_>) -> bool + Send + Sync + 'static,
    {
        self.with(|rules| rules.retry_if = Some(Hook::new(Arc::new(hook))))
    }

    /// Calls `hook` whenever a failed attempt is about to be followed by another, before the wait.
    #[must_use]
    pub fn on_retry<F>(self, hook: F) -> Self
    where
        F: Fn(&Attempt<'_>) + Send + Sync + 'static,
    {
        self.with(|rules| rules.on_retry = Some(Hook::new(Arc::new(hook))))
    }

    /// Lets `hook` announce every attempt in the headers of its request: its number from 1, and what
    /// is left of [`total_limit`](Self::total_limit) if there is one. Default: nothing is announced.
    ///
    /// ```
    /// use tower_diagnose::RetryLayer;
    ///
    /// let layer = RetryLayer::new().announce(|number, time_left, headers| {
    ///     headers.insert("x-attempt", number.into());
    ///     if let Some(left) = time_left {
    ///         let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    ///         headers.insert("x-time-left-ms", millis.into());
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn announce<F>(self, hook: F) -> Self
    where
        F: Fn(u32, Option<Duration>, &mut HeaderMap) + Send + Sync + 'static,
    {
        self.with(|rules| rules.announce = Some(Hook::new(Arc::new(hook))))
    }

    /// Watches, through hyper-util's
    /// [`capture_connection`](hyper_util::client::legacy::connect::capture_connection), whether an
    /// attempt was given a connection: one that timed out before that was not sent, and may be
    /// repeated whatever its method. Default: false.
    ///
    /// Only a client that is hyper-util's legacy one reports connections. Of another nothing is known, and
    /// nothing follows, unless something holds the request's extensions while it is under way: a layer
    /// below that keeps them, and another retry layer does, makes a write that timed out look unsent. A
    /// capture that the request brings along is replaced.
    #[must_use]
    pub fn capture_connection(self, capture: bool) -> Self {
        self.with(|rules| rules.capture_connection = capture)
    }

    /// Draws all jitter from `seed`, so that a test waits the same every time. Default: no two layers
    /// draw alike.
    ///
    /// Clones of the layer, and its services, draw from one source: what a call gets depends on how many
    /// were drawn before. With the feature `test-util`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use bytes::Bytes;
    /// use http::Request;
    /// use http_body_util::Empty;
    /// use tokio::time::Instant;
    /// use tower::{Layer, ServiceExt};
    /// use tower_diagnose::{
    ///     RetryLayer,
    ///     test_util::{Ending, Upstream},
    /// };
    ///
    /// async fn time_of_a_call(seed: u64) -> Duration {
    ///     let client = RetryLayer::new().seed(seed).layer(Upstream::new([Ending::status(503)]));
    ///     let began = Instant::now();
    ///     client.oneshot(Request::new(Empty::<Bytes>::new())).await.unwrap();
    ///     began.elapsed()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// assert_eq!(time_of_a_call(7).await, time_of_a_call(7).await);
    /// assert_ne!(time_of_a_call(7).await, time_of_a_call(8).await);
    /// # }
    /// ```
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.with(|rules| rules.random = Arc::new(crate::backoff::Random::seeded(seed)))
    }

    /// Makes one attempt, whatever a request asks for, and leaves its result as it is.
    pub(crate) fn off() -> Self {
        let once = Self::new().max_attempts(1).without_budget();
        once.with(|rules| rules.is_off = true)
    }

    /// Sets the limit for the whole call unless one was set.
    pub(crate) fn with_total_limit_if_unset(self, limit: Duration) -> Self {
        self.with(|rules| {
            rules.total_limit.get_or_insert(limit);
        })
    }

    /// Limits each attempt, to the head of its response, from when it first has to be waited for.
    pub(crate) fn attempt_limit(self, limit: Duration) -> Self {
        self.with(|rules| rules.attempt_limit = (limit != Duration::MAX).then_some(limit))
    }

    /// Remembers, of every request, what a diagnosis of its failure needs to know; see
    /// [`ResponseFuture::recall`](super::ResponseFuture::recall).
    pub(crate) fn remembers(self, names: &[HeaderName]) -> Self {
        self.with(|rules| rules.remembers = Some(names.into()))
    }

    /// Sets whether a [`RequestTimeout`](crate::RequestTimeout) extension replaces the limit for the
    /// whole call.
    pub(crate) fn request_timeout_is_total(self, is_total: bool) -> Self {
        self.with(|rules| rules.request_timeout_is_total = is_total)
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        let rules = Arc::make_mut(&mut self.rules);
        change(rules);
        rules.settle();
        self
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry::new(inner, Arc::clone(&self.rules))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::Empty;
    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::{
        error::{BoxError, TimeoutError, find},
        request_timeout::RequestTimeout,
        retry::ReplayBody,
    };

    /// Returns the limit that ends a call which is never answered.
    async fn limit_of(layer: RetryLayer, own: Option<Duration>) -> Duration {
        let service = service_fn(|_: Request<ReplayBody<Empty<Bytes>>>| {
            std::future::pending::<Result<Response<Empty<Bytes>>, BoxError>>()
        });
        let mut request = Request::new(Empty::new());
        if let Some(own) = own {
            request.extensions_mut().insert(RequestTimeout(own));
        }
        let error = layer.layer(service).oneshot(request).await.unwrap_err();
        find::<TimeoutError>(&*error).unwrap().limit()
    }

    #[tokio::test(start_paused = true)]
    async fn the_total_limit_is_the_requests_then_the_layers_then_the_stacks() {
        let seconds = Duration::from_secs;
        let by_stack = |layer: RetryLayer| {
            layer
                .with_total_limit_if_unset(seconds(30))
                .request_timeout_is_total(true)
        };
        let own = RetryLayer::new().total_limit(seconds(5));
        for (layer, request, limit) in [
            (by_stack(RetryLayer::new()), None, 30),
            (by_stack(RetryLayer::new()), Some(60), 60),
            (by_stack(own.clone()), None, 5),
            (by_stack(own.clone()), Some(60), 60),
            (own, Some(60), 5),
        ] {
            let limit_found = limit_of(layer, request.map(seconds)).await;
            assert_eq!(limit_found, seconds(limit));
        }
    }
}
