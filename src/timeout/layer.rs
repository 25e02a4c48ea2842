use std::{sync::Arc, time::Duration};

use http::Request;
use tower_layer::Layer;

use super::{countdown::is_limit, limits::BodyLimits, service::Timeout};
use crate::{
    endpoint::{Endpoint, Target},
    extensions::extension,
    hook::Hook,
    request_timeout::RequestTimeout,
};

/// Limits how long a response may take. See the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct TimeoutLayer {
    pub(super) limit: Duration,
    limit_for: Option<Hook<LimitFor>>,
    /// Shared by all calls, so that those without limits on bodies carry one null pointer.
    body: Option<Arc<BodyLimits>>,
}

type LimitFor = dyn Fn(&Endpoint) -> Option<Duration> + Send + Sync;

impl TimeoutLayer {
    /// Limits the time from the call to the head of the response.
    ///
    /// Zero means "already expired": only an answer that is ready at once gets through.
    /// [`Duration::MAX`], and whatever else is longer than 30 years, means no limit.
    #[must_use]
    pub const fn new(limit: Duration) -> Self {
        Self {
            limit,
            limit_for: None,
            body: None,
        }
    }

    /// Sets the limit by endpoint: `hook` returns the limit for one, or `None` for the layer's own.
    ///
    /// Called once per call, before anything is sent. A [`RequestTimeout`] on the request wins over
    /// it. With a hook the endpoint is made for every call, which costs an allocation or two.
    #[must_use]
    pub fn limit_for(
        mut self,
        hook: impl Fn(&Endpoint) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.limit_for = Some(Hook::new(Arc::new(hook)));
        self
    }

    /// Limits each wait for the next frame of the response's body. Off by default.
    ///
    /// Counts from the moment the reader asks, so a reader that takes its time is never cut off. It
    /// holds for event streams too: choose a limit above the interval of their keep-alives.
    #[must_use]
    pub fn body_idle(mut self, limit: Duration) -> Self {
        self.body_limits().idle = limit;
        self
    }

    /// Limits all waits for frames of the response's body together. Off by default.
    ///
    /// Only the time that the reader has to wait counts, not what it spends between its reads. A
    /// `text/event-stream` is exempt unless [`TimeoutLayer::cut_event_streams`] says otherwise.
    #[must_use]
    pub fn body_total(mut self, limit: Duration) -> Self {
        self.body_limits().total = limit;
        self
    }

    /// Sets whether [`TimeoutLayer::body_total`] holds for `text/event-stream` too. Off by default: a
    /// stream of events is meant to stay open.
    #[must_use]
    pub fn cut_event_streams(mut self, cut: bool) -> Self {
        self.body_limits().total_cuts_event_streams = cut;
        self
    }

    fn body_limits(&mut self) -> &mut BodyLimits {
        Arc::make_mut(self.body.get_or_insert_default())
    }

    /// Returns whether only a request's own limit can change that of [`TimeoutLayer::new`].
    pub(super) fn is_plain(&self) -> bool {
        is_limit(self.limit) && self.limit_for.is_none() && self.body.is_none()
    }

    /// Returns the limits for the response to `request`, and keeps who is called where one may run out.
    #[inline(never)]
    pub(super) fn limits_of<B>(
        &self,
        request: &Request<B>,
        target: &mut Target,
    ) -> (Duration, Option<Arc<BodyLimits>>) {
        let limit = match extension(request.extensions()) {
            Some(RequestTimeout(limit)) => *limit,
            None => self
                .limit_for
                .as_ref()
                .and_then(|hook| hook(&Endpoint::of(request)))
                .unwrap_or(self.limit),
        };
        if is_limit(limit) || self.body.is_some() {
            target.keep_templated(request);
        }
        (limit, self.body.clone())
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Timeout::new(inner, self.clone())
    }
}
