//! The service of a [`ClientStack`](super::ClientStack).

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    diagnose::{self, DiagnoseLayer, Kept, Looking},
    diagnosis::Diagnosed,
    dispatch::{self, Dispatch},
    error::BoxError,
    recorder::{self, RecorderLayer, Recording, recorded},
    retry::{self, ReplayBody, Retry, Spare, State},
};

/// The service that [`ClientStack`](super::ClientStack) makes of a client.
///
/// As a field, or as what a function returns, it is `ClientService<C>`, where `C` is the client: see
/// [types, written down](super#types-written-down).
///
/// It does what [`Recorder`](crate::Recorder) around [`Diagnose`](crate::Diagnose) around [`Retry`]
/// around [`Dispatch`] would do, by their own code. Two layers fewer are two futures and two responses
/// fewer to move, and the diagnosis asks the retries for what they keep of a request anyway instead of
/// keeping it a second time: together some 500 instructions, and 1,200 for a request with ten headers.
#[derive(Clone, Debug)]
pub struct ClientService<S> {
    recorder: RecorderLayer,
    diagnose: DiagnoseLayer,
    /// Remembers what `diagnose` needs to know.
    retry: Retry<Dispatch<S>>,
}

impl<S> ClientService<S> {
    pub(super) fn new(
        recorder: RecorderLayer,
        diagnose: DiagnoseLayer,
        retry: Retry<Dispatch<S>>,
    ) -> Self {
        Self {
            recorder,
            diagnose,
            retry,
        }
    }
}

impl<S, B, R> Service<Request<B>> for ClientService<S>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError> + Send + 'static,
    B: Body + Unpin + 'static,
    R: Body,
    R::Error: 'static,
{
    type Response = Response<ResponseBody<R>>;
    type Error = Diagnosed;
    type Future = ResponseFuture<S, S::Future, S::Error, B, R>;

    /// Waits for the client. Its error is kept for the next call.
    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Diagnosed>> {
        self.retry.poll_ready(cx).map(|_| Ok(()))
    }

    #[inline]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if self.recorder.is_on() || self.retry.is_refused() {
            return self.call_recorded(request);
        }
        // As in `Retry`, spelled once more: a future that was made there would be moved here.
        let diagnose = self.diagnose.clone();
        let (terms, recorder) = self.retry.welcome(&request);
        let mut spare = Spare::Nothing;
        let (begun, limits) = self.retry.begin(terms, recorder, &mut spare, &mut request);
        let attempt = match &mut spare {
            Spare::Whole(replay) => self.retry.inner_mut().call(replay.wrap(request)),
            _ => self.retry.inner_mut().call(request.map(ReplayBody::once)),
        };
        ResponseFuture {
            attempts: begun.future(terms, limits, spare, State::Calling { attempt }),
            diagnose,
            looking: None,
            recording: None,
        }
    }
}

impl<S> ClientService<S> {
    #[inline(never)]
    fn call_recorded<B, R>(
        &mut self,
        mut request: Request<B>,
    ) -> ResponseFuture<S, S::Future, S::Error, B, R>
    where
        S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
        S::Error: Into<BoxError> + Send + 'static,
        B: Body + Unpin + 'static,
        R: Body,
    {
        let mut recording = self.recorder.begin(&mut request);
        let watch = recorder::Watch::over(&mut recording);
        let attempts = self.retry.call(request);
        watch.called();
        ResponseFuture {
            attempts,
            diagnose: self.diagnose.clone(),
            looking: None,
            recording,
        }
    }
}

/// The body of a response from a [`ClientService`].
///
/// `R` is the body of the client's own answers, `hyper::body::Incoming` for hyper-util's. See
/// [types, written down](super#types-written-down).
pub type ResponseBody<R> = recorder::ResponseBody<diagnose::ResponseBody<R>>;

pin_project! {
    /// The future of [`ClientService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, F, E, B, R>
    where
        R: Body,
    {
        #[pin]
        attempts: retry::ResponseFuture<Dispatch<S>, dispatch::ResponseFuture<F, E>, B, R>,
        diagnose: DiagnoseLayer,
        // Boxed: a good call should not be larger for it.
        looking: Option<Box<Looking<R>>>,
        // Below the attempts: what their end notes still makes it into the record.
        recording: Option<Recording>,
    }
}

impl<S, F, E, B, R> Future for ResponseFuture<S, F, E, B, R>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>, Error = E, Future = F> + Clone,
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError> + Send + 'static,
    B: Body + Unpin,
    R: Body,
    R::Error: 'static,
{
    type Output = Result<Response<ResponseBody<R>>, Diagnosed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.recording.is_some() {
            return self.poll_recorded(cx);
        }
        let this = self.project();
        poll_diagnosed(
            this.attempts,
            this.looking,
            this.diagnose,
            ResponseBody::unrecorded,
            cx,
        )
    }
}

impl<S, F, E, B, R> ResponseFuture<S, F, E, B, R>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>, Error = E, Future = F> + Clone,
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError> + Send + 'static,
    B: Body + Unpin,
    R: Body,
    R::Error: 'static,
{
    #[inline(never)]
    fn poll_recorded(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<ResponseBody<R>>, Diagnosed>> {
        let this = self.project();
        let diagnosed =
            || poll_diagnosed(this.attempts, this.looking, this.diagnose, |body| body, cx);
        recorded(this.recording, diagnosed)
    }
}

/// Polls the attempts, and diagnoses what they come to. A good answer is all there is to most calls: its
/// way is here, all others are elsewhere. `wrap` puts something around the body.
#[inline(always)]
fn poll_diagnosed<S, F, E, B, R, W>(
    attempts: Pin<&mut retry::ResponseFuture<S, F, B, R>>,
    looking: &mut Option<Box<Looking<R>>>,
    diagnose: &DiagnoseLayer,
    wrap: impl Fn(diagnose::ResponseBody<R>) -> W,
    cx: &mut Context<'_>,
) -> Poll<Result<Response<W>, Diagnosed>>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<R>, Error = E, Future = F> + Clone,
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
    B: Body + Unpin,
    R: Body,
{
    if looking.is_some() {
        return poll_looking(looking, None, wrap, cx);
    }
    attempts.poll_then(
        cx,
        |status| diagnose.is_plain(status),
        |response| {
            Poll::Ready(Ok(
                response.map(|body| wrap(diagnose::ResponseBody::plain(body)))
            ))
        },
        |attempts, result, cx| {
            let kept = Kept::recalled(diagnose, attempts.recall());
            *looking = Some(Box::new(Looking::new(kept)));
            poll_looking(looking, Some(result), &wrap, cx)
        },
    )
}

/// Looks into what the attempts have ended with, or goes on looking.
#[inline(never)]
fn poll_looking<R: Body, W>(
    looking: &mut Option<Box<Looking<R>>>,
    ended: Option<Result<Response<R>, BoxError>>,
    wrap: impl Fn(diagnose::ResponseBody<R>) -> W,
    cx: &mut Context<'_>,
) -> Poll<Result<Response<W>, Diagnosed>> {
    match looking {
        Some(looking) => looking
            .poll(ended, cx)
            .map_ok(|response| response.map(wrap)),
        None => Poll::Pending,
    }
}

impl<S, F, E, B, R: Body> fmt::Debug for ResponseFuture<S, F, E, B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
