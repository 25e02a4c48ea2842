use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Extensions, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{
    connection::ConnectionWatch,
    future::{ResponseFuture, State},
    limit::Limits,
    operation::{Operation, announce},
    replay::ReplayBody,
    rules::Rules,
    spare::Spare,
    terms::Terms,
};
use crate::{call::CallRecorder, classify::classify, error::BoxError};

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
        if let Some(error) = self.not_ready.take() {
            return self.refuse(&request, error);
        }
        let mut spare = Spare::Nothing;
        let begun = self.begin(&mut spare, &mut request);
        // The instance that was polled ready is the one that is called.
        let attempt = match &mut spare {
            Spare::Whole(replay) => self.inner.call(replay.wrap(request)),
            _ => self.inner.call(request.map(ReplayBody::once)),
        };
        begun.future(spare, State::Calling { attempt })
    }
}

impl<S> Retry<S> {
    #[inline]
    pub(crate) fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Returns whether an error is to be returned by the next call.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.not_ready.is_some()
    }

    /// Does what is to be done before the first attempt of a call.
    ///
    /// A request is large. Nothing that is done here moves it, nor `spare`, which is `Nothing` so far.
    #[inline(always)]
    pub(crate) fn begin<B: Body>(
        &mut self,
        spare: &mut Spare<B>,
        request: &mut Request<B>,
    ) -> Begun<S>
    where
        S: Clone,
    {
        let rules = &self.rules;
        rules.welcome(request);
        let terms = Terms::of(rules, request);
        let may_repeat = terms.may_repeat();
        let limits = Limits::start(terms.total_limit);
        let extensions = match terms.is_extended && may_repeat {
            true => request.extensions().clone(),
            false => Extensions::new(),
        };
        // What is kept for later attempts is a clone, which has its own readiness to wait for.
        let service = may_repeat.then(|| self.inner.clone());
        if may_repeat {
            spare.keep_whole(request, rules.replay_limit);
        } else {
            let is_limited = limits.total().or(rules.attempt_limit).is_some();
            spare.keep_lean(request, rules.remembers.as_deref(), is_limited);
        }
        Begun {
            connection: announce(rules, 1, &limits, request),
            rules: Arc::clone(rules),
            terms,
            limits,
            extensions,
            service,
        }
    }

    /// Makes the future of a call that fails with `error`, since the service below is not ready.
    #[cold]
    fn refuse<F, B: Body, R>(
        &self,
        request: &Request<B>,
        error: BoxError,
    ) -> ResponseFuture<S, F, B, R> {
        let rules = &self.rules;
        let terms = Terms::of(rules, request);
        let mut spare = Spare::Nothing;
        spare.keep_lean(request, rules.remembers.as_deref(), false);
        let error = Some(refused(terms.recorder.clone(), error));
        let begun = Begun {
            rules: Arc::clone(rules),
            terms,
            limits: Limits::start(None),
            extensions: Extensions::new(),
            connection: None,
            service: None,
        };
        begun.future(spare, State::NotReady { error })
    }
}

/// A call whose first attempt is to be made.
pub(crate) struct Begun<S> {
    rules: Arc<Rules>,
    terms: Terms,
    limits: Limits,
    extensions: Extensions,
    connection: Option<ConnectionWatch>,
    service: Option<S>,
}

impl<S> Begun<S> {
    #[inline(always)]
    pub(crate) fn future<F, B, R>(
        self,
        spare: Spare<B>,
        state: State<F, B, R>,
    ) -> ResponseFuture<S, F, B, R> {
        ResponseFuture {
            operation: Operation {
                rules: self.rules,
                spare,
                extensions: self.extensions,
                recorder: self.terms.recorder,
                connection: self.connection,
                idempotency: self.terms.idempotency,
                permission: self.terms.permission,
                max_attempts: self.terms.max_attempts,
                number: 1,
                attempts: 0,
                delivery: None,
                limits: self.limits,
            },
            service: self.service,
            timer: None,
            state,
        }
    }
}

/// Notes that the service below was not called, since it was not ready.
#[cold]
#[inline(never)]
fn refused(recorder: Option<CallRecorder>, error: BoxError) -> BoxError {
    if let Some(recorder) = recorder {
        let failure = classify(Some(&*error), &recorder.snapshot());
        recorder.attempt_refused(failure);
    }
    error
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
