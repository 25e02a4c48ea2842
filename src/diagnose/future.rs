use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Extensions, Response, response::Parts};
use http_body::Body;
use pin_project_lite::pin_project;

use super::{
    body::ResponseBody,
    call::{Call, Look},
    layer::{Client, Server},
    peeked::{Peeked, Prefix},
    trailers::Trailers,
};
use crate::{
    classify::as_error,
    diagnosis::{Diagnosed, Diagnosis},
    error::BoxError,
};

pin_project! {
    /// Waits for the response, and for the beginning of its body if it failed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, B, E, Side = Client>
    where
        B: Body,
    {
        #[pin]
        state: State<F, B, E>,
        // Gone when the future has ended.
        call: Option<Call>,
        side: PhantomData<fn() -> Side>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, B, E>
    where
        B: Body,
    {
        Calling { #[pin] inner: F },
        Refused { error: Option<E> },
        Reading { body: Option<Pin<Box<Peeked<B>>>>, is_failing: bool },
    }
}

/// What to do next with a response that is not simply fine.
enum Step<B: Body> {
    Read(Pin<Box<Peeked<B>>>, bool),
    Fine(Response<ResponseBody<B>>),
    Watched(Parts, B),
    /// The diagnosis is in the extensions.
    Failing(Response<ResponseBody<B>>),
}

impl<F, B: Body, E, Side> ResponseFuture<F, B, E, Side> {
    #[inline(always)]
    pub(super) fn new(call: Call, inner: impl FnOnce() -> F) -> Self {
        Self {
            call: Some(call),
            state: State::Calling { inner: inner() },
            side: PhantomData,
        }
    }

    /// Fails with what the inner service said instead of getting ready.
    pub(super) fn refused(call: Call, error: E) -> Self {
        Self {
            state: State::Refused { error: Some(error) },
            call: Some(call),
            side: PhantomData,
        }
    }

    /// Polls for the response; `fail` makes an error of the inner service's.
    ///
    /// Only the way of a good answer is here, so that it becomes part of whatever polls it.
    #[inline]
    fn poll_response<I, X>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        convert: impl FnOnce(I) -> E,
        fail: impl FnOnce(&Call, E) -> X,
    ) -> Poll<Result<Response<ResponseBody<B>>, Failure<B, X>>>
    where
        F: Future<Output = Result<Response<B>, I>>,
    {
        let this = self.as_mut().project();
        let ended = match (this.state.project(), &this.call) {
            (StateProj::Calling { inner }, Some(call)) => match inner.poll(cx) {
                Poll::Ready(Ok(response)) if call.is_plain(response.status()) => {
                    return Poll::Ready(Ok(response.map(ResponseBody::plain)));
                }
                Poll::Ready(result) => Some(result.map_err(convert)),
                Poll::Pending => return Poll::Pending,
            },
            _ => None,
        };
        self.look_into(ended, cx, fail)
    }

    /// Goes on with what the inner service has `ended` with, or else where it was left.
    #[inline(never)]
    fn look_into<X>(
        self: Pin<&mut Self>,
        ended: Option<Result<Response<B>, E>>,
        cx: &mut Context<'_>,
        fail: impl FnOnce(&Call, E) -> X,
    ) -> Poll<Result<Response<ResponseBody<B>>, Failure<B, X>>> {
        let mut this = self.project();
        let Some(call) = this.call.as_ref() else {
            return Poll::Pending;
        };
        let mut step = match (ended, this.state.as_mut().project()) {
            (Some(Ok(response)), _) => Some(Ok(answered(call, response))),
            (Some(Err(error)), _) => Some(Err(error)),
            (None, StateProj::Refused { error }) => error.take().map(Err),
            (None, _) => None,
        };
        loop {
            let result = match step {
                Some(Ok(Step::Read(body, is_failing))) => {
                    this.state.set(State::Reading {
                        body: Some(body),
                        is_failing,
                    });
                    step = None;
                    continue;
                }
                Some(Ok(Step::Fine(response))) => Ok(response),
                Some(Ok(Step::Failing(response))) if call.config.error_for_status => {
                    Err(Failure::Status(response))
                }
                Some(Ok(Step::Failing(response))) => Ok(response),
                Some(Ok(Step::Watched(head, body))) => {
                    let status = head.status;
                    let trailers = this
                        .call
                        .take_if(|call| call.is_watched())
                        .map(|call| Box::new(Trailers::new(call, status)));
                    let body = ResponseBody::watched(body, trailers);
                    Ok(Response::from_parts(head, body))
                }
                Some(Err(error)) => Err(Failure::Error(fail(call, error))),
                None => {
                    let StateProj::Reading { body, is_failing } = this.state.as_mut().project()
                    else {
                        return Poll::Pending;
                    };
                    if let Some(body) = body {
                        ready!(body.as_mut().poll_read(cx));
                    }
                    step = match body.take().and_then(|body| read(call, body, *is_failing)) {
                        Some(step) => Some(Ok(step)),
                        None => return Poll::Pending,
                    };
                    continue;
                }
            };
            *this.call = None;
            return Poll::Ready(result);
        }
    }
}

/// What a call ends with instead of a response.
enum Failure<B: Body, X> {
    /// The response is to become an error.
    Status(Response<ResponseBody<B>>),
    Error(X),
}

impl<F, B, I> Future for ResponseFuture<F, B, BoxError, Client>
where
    F: Future<Output = Result<Response<B>, I>>,
    B: Body,
    I: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<B>>, Diagnosed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.poll_response(cx, Into::into, diagnosed));
        Poll::Ready(result.or_else(|failure| match failure {
            Failure::Error(error) => Err(error),
            Failure::Status(response) => refuse(response),
        }))
    }
}

impl<F, B, E> Future for ResponseFuture<F, B, E, Server>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    E: 'static,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let observed = |call: &Call, error| {
            if call.config.log.is_on() {
                call.log(&call.failed(as_error(&error)));
            }
            error
        };
        let result = ready!(self.poll_response(cx, |error| error, observed));
        Poll::Ready(result.or_else(|failure| match failure {
            Failure::Error(error) => Err(error),
            Failure::Status(response) => Ok(response),
        }))
    }
}

fn diagnosed(call: &Call, error: BoxError) -> Diagnosed {
    // What a layer of the same kind below has said needs no saying again.
    let error = match error.downcast::<Diagnosed>() {
        Ok(diagnosed) => {
            call.log(diagnosed.diagnosis());
            return *diagnosed;
        }
        Err(error) => error,
    };
    let diagnosis = call.failed(Some(&*error));
    call.log(&diagnosis);
    Diagnosed::new(diagnosis, Some(error), None)
}

/// Makes an error of a failing response, without its body.
fn refuse<B: Body>(
    response: Response<ResponseBody<B>>,
) -> Result<Response<ResponseBody<B>>, Diagnosed> {
    let (mut head, body) = response.into_parts();
    match head.extensions.remove() {
        Some(diagnosis) => Err(Diagnosed::new(diagnosis, None, Some(head))),
        None => Ok(Response::from_parts(head, body)),
    }
}

/// Tells the log of a failing response, and leaves the diagnosis in its extensions.
fn note(call: &Call, diagnosis: Diagnosis, extensions: &mut Extensions) {
    call.log(&diagnosis);
    extensions.insert(diagnosis);
}

/// Decides what becomes of a response whose body nobody has touched yet.
#[inline(never)]
fn answered<B: Body>(call: &Call, response: Response<B>) -> Step<B> {
    let look = call.look(
        response.status(),
        response.headers(),
        &response.body().size_hint(),
    );
    match look {
        Look::Nowhere => Step::Fine(response.map(ResponseBody::plain)),
        Look::AtTrailers => {
            let (mut head, body) = response.into_parts();
            match call.in_headers(&head) {
                Some(diagnosis) => {
                    note(call, diagnosis, &mut head.extensions);
                    Step::Failing(Response::from_parts(head, ResponseBody::plain(body)))
                }
                None => Step::Watched(head, body),
            }
        }
        Look::Failing { .. } if call.keeps_diagnosis(response.extensions()) => {
            Step::Fine(response.map(ResponseBody::plain))
        }
        Look::Failing { reads } if !reads || response.body().is_end_stream() => {
            let (mut head, body) = response.into_parts();
            let diagnosis = call.failing(&head, &Prefix::EMPTY);
            note(call, diagnosis, &mut head.extensions);
            Step::Failing(Response::from_parts(head, ResponseBody::plain(body)))
        }
        Look::Failing { .. } | Look::IntoBody => {
            let (head, body) = response.into_parts();
            let config = &call.config;
            let body = Peeked::new(head, body, config.body_cap, config.peek_timeout);
            Step::Read(Box::pin(body), look != Look::IntoBody)
        }
    }
}

/// Decides what becomes of a response whose body was read as far as that helps.
fn read<B: Body>(call: &Call, mut body: Pin<Box<Peeked<B>>>, is_failing: bool) -> Option<Step<B>> {
    let (head, has_failed) = body.as_mut().finish(|head, prefix| {
        if is_failing {
            note(call, call.failing(head, prefix), &mut head.extensions);
        } else if let Some(diagnosis) = call.inspected(head, prefix) {
            note(call, diagnosis, &mut head.extensions);
        } else {
            return false;
        }
        true
    })?;
    let response = Response::from_parts(head, ResponseBody::peeked(body));
    Some(match has_failed {
        true => Step::Failing(response),
        false => Step::Fine(response),
    })
}

impl<F, B: Body, E, Side> fmt::Debug for ResponseFuture<F, B, E, Side> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
