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
    held::Held,
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

    #[inline(always)]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if self.not_ready.is_some() {
            return self.refuse(&request);
        }
        let (terms, recorder) = self.welcome(&request);
        if !terms.may_repeat() && self.rules.is_light && request.extensions().is_empty() {
            // Nothing of it will be needed, and what is not there is neither made nor moved nor dropped:
            // 90 instructions.
            let attempt = self.inner.call(request.map(ReplayBody::once));
            let limits = Limits::start(None);
            let operation = Operation::new(Arc::clone(&self.rules), terms, limits, None);
            return ResponseFuture::new(operation, None, State::Calling { attempt });
        }
        let mut spare = Spare::Nothing;
        let (begun, limits) = self.begin(terms, recorder, &mut spare, &mut request);
        let attempt = match &mut spare {
            Spare::Whole(replay) => self.inner.call(replay.wrap(request)),
            _ => self.inner.call(request.map(ReplayBody::once)),
        };
        begun.future(terms, limits, spare, State::Calling { attempt })
    }
}

impl<S> Retry<S> {
    /// Returns whether an error is to be returned by the next call.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.not_ready.is_some()
    }

    /// The service to make the first attempt with: the instance that was polled ready.
    #[inline]
    pub(crate) fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Takes note of a new call, and finds out what it allows and who records it.
    #[inline(always)]
    pub(crate) fn welcome<B>(&self, request: &Request<B>) -> (Terms, Option<CallRecorder>) {
        self.rules.welcome(request);
        let recorder = CallRecorder::of(request.extensions()).cloned();
        let terms = Terms::of(&self.rules, request, recorder.is_some());
        (terms, recorder)
    }

    /// Does what is to be done before the first attempt of a call.
    ///
    /// A request is large. Nothing that is done here moves it, nor `spare`, which is `Nothing` so far.
    #[inline(always)]
    pub(crate) fn begin<B: Body>(
        &mut self,
        terms: Terms,
        recorder: Option<CallRecorder>,
        spare: &mut Spare<B>,
        request: &mut Request<B>,
    ) -> (Begun<S>, Limits)
    where
        S: Clone,
    {
        let rules = &*self.rules;
        let limits = Limits::start(terms.total_limit);
        let mut extensions = Extensions::new();
        let mut service = None;
        if terms.may_repeat() {
            if terms.is_extended {
                extensions = request.extensions().clone();
            }
            spare.keep_whole(request, rules.replay_limit);
            // What is kept for later attempts is a clone, which has its own readiness to wait for.
            service = Some(self.inner.clone());
        } else {
            let is_limited = limits.total().or(rules.attempt_limit).is_some();
            spare.keep_lean(request, rules.remembers.as_deref(), is_limited);
        }
        let connection = announce(rules, 1, &limits, request);
        let begun = Begun {
            recorder,
            extensions,
            connection,
            rules: Arc::clone(&self.rules),
            service,
        };
        (begun, limits)
    }

    /// Makes the future of a call that fails, since the service below is not ready.
    #[cold]
    fn refuse<F, B: Body, R>(&mut self, request: &Request<B>) -> ResponseFuture<S, F, B, R> {
        let recorder = CallRecorder::of(request.extensions()).cloned();
        let mut spare = Spare::Nothing;
        spare.keep_lean(request, self.rules.remembers.as_deref(), false);
        let error = self.not_ready.take();
        let error = error.map(|error| refused(recorder.clone(), error)).into();
        let terms = Terms::of(&self.rules, request, recorder.is_some());
        let begun = Begun {
            recorder,
            extensions: Extensions::new(),
            connection: None,
            rules: Arc::clone(&self.rules),
            service: None,
        };
        begun.future(terms, Limits::start(None), spare, State::NotReady { error })
    }
}

/// A call whose first attempt is to be made.
pub(crate) struct Begun<S> {
    recorder: Option<CallRecorder>,
    extensions: Extensions,
    connection: Option<ConnectionWatch>,
    rules: Arc<Rules>,
    service: Option<S>,
}

impl<S> Begun<S> {
    /// Makes the future of the call, when the first attempt was made. Between that and the future's being
    /// returned there is nothing that could panic or be seen elsewhere: then all of it is moved once.
    ///
    /// What need not be dropped comes apart: it need not be in memory while the service below is called.
    #[inline(always)]
    pub(crate) fn future<F, B, R>(
        self,
        terms: Terms,
        limits: Limits,
        spare: Spare<B>,
        state: State<F, B, R>,
    ) -> ResponseFuture<S, F, B, R> {
        let held = Held {
            spare,
            extensions: self.extensions,
            recorder: self.recorder,
            connection: self.connection,
        };
        let operation = Operation::new(self.rules, terms, limits, Some(held));
        ResponseFuture::new(operation, self.service, state)
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
