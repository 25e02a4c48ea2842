use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{
    future::{ResponseFuture, State},
    limit::Limits,
    operation::{Operation, announce},
    replay::ReplayBody,
    rules::Rules,
    spare::Spare,
    terms::Terms,
};
use crate::{classify::classify, error::BoxError};

/// The service of [`RetryLayer`](super::RetryLayer).
///
/// See the [module docs](crate::retry) for an example.
pub struct Retry<S> {
    inner: S,
    rules: Arc<Rules>,
    /// Why the inner service is not ready; the next call returns it.
    not_ready: Option<BoxError>,
}

impl<S> Retry<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self {
            inner,
            rules,
            not_ready: None,
        }
    }
}

impl<S, B, R> Service<Request<B>> for Retry<S>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body + Unpin,
    R: Body,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = ResponseFuture<S, S::Future, B, R>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.not_ready.is_none() {
            if let Err(error) = ready!(self.inner.poll_ready(cx)) {
                self.not_ready = Some(error.into());
            }
        }
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let rules = &self.rules;
        let not_ready = self.not_ready.take();
        if not_ready.is_none() {
            rules.welcome(&request);
        }
        let terms = Terms::of(rules, &request);
        let limits = Limits::start(terms.total_limit);
        let mut spare = if terms.may_repeat() {
            Spare::whole(&request, rules.replay_limit, terms.is_extended)
        } else {
            let is_limited = limits.total().or(rules.attempt_limit).is_some();
            Spare::lean(&request, rules.remembers.as_deref(), is_limited)
        };
        let service = spare.is_whole().then(|| self.inner.clone());
        // The instance that was polled ready is the one that is called; what is kept for later is a
        // clone, which has its own readiness to wait for.
        let connection = announce(rules, 1, &limits, &mut request);
        let state = match not_ready {
            None => State::Calling {
                attempt: self.inner.call(request.map(|body| spare.wrap(body))),
            },
            Some(error) => {
                if let Some(recorder) = &terms.recorder {
                    let failure = classify(Some(&*error), &recorder.snapshot());
                    recorder.attempt_refused(failure);
                }
                State::NotReady { error: Some(error) }
            }
        };
        ResponseFuture {
            operation: Operation {
                rules: Arc::clone(rules),
                spare,
                recorder: terms.recorder,
                connection,
                idempotency: terms.idempotency,
                permission: terms.permission,
                max_attempts: terms.max_attempts,
                number: 1,
                attempts: 0,
                delivery: None,
                limits,
            },
            service,
            timer: None,
            state,
        }
    }
}

impl<S: Clone> Clone for Retry<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            rules: Arc::clone(&self.rules),
            // The clone has its own readiness to wait for.
            not_ready: None,
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Retry<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.inner)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
