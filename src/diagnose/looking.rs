//! What becomes of a call whose answer is not simply fine.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Extensions, Response, response::Parts};
use http_body::Body;

use super::{
    body::ResponseBody,
    call::{Call, Look},
    peeked::{Peeked, Prefix},
    trailers::Trailers,
};
use crate::{
    diagnosis::{Diagnosed, Diagnosis},
    error::BoxError,
};

/// A call, and the body of its answer while that is read ahead.
pub(crate) struct Looking<B: Body> {
    /// Gone when all was said.
    pub(super) call: Option<Call>,
    reading: Option<Reading<B>>,
}

struct Reading<B: Body> {
    body: Pin<Box<Peeked<B>>>,
    is_failing: bool,
}

/// What to do next with a response that is not simply fine.
enum Step<B: Body> {
    Read(Pin<Box<Peeked<B>>>, bool),
    Fine(Response<ResponseBody<B>>),
    Watched(Parts, B),
    /// The diagnosis is in the extensions.
    Failing(Response<ResponseBody<B>>),
}

impl<B: Body> Looking<B> {
    pub(crate) fn new(call: Call) -> Self {
        Self {
            call: Some(call),
            reading: None,
        }
    }

    /// As [`Looking::poll`], on the client's side.
    #[inline(never)]
    pub(crate) fn poll_client(
        &mut self,
        ended: Option<Result<Response<B>, BoxError>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<ResponseBody<B>>, Diagnosed>> {
        let result = ready!(self.poll(ended, cx, diagnosed));
        Poll::Ready(result.or_else(|failure| match failure {
            Failure::Error(error) => Err(error),
            Failure::Status(response) => refuse(response),
        }))
    }

    /// Looks into what the inner service has `ended` with, or else goes on where it was left. `fail`
    /// makes an error of the inner service's.
    pub(super) fn poll<E, X>(
        &mut self,
        ended: Option<Result<Response<B>, E>>,
        cx: &mut Context<'_>,
        fail: impl FnOnce(&Call, E) -> X,
    ) -> Poll<Ended<B, X>> {
        let Some(call) = self.call.as_ref() else {
            return Poll::Pending;
        };
        let mut step = match ended {
            Some(Ok(response)) => Some(answered(call, response)),
            Some(Err(error)) => {
                let error = fail(call, error);
                self.call = None;
                return Poll::Ready(Err(Failure::Error(error)));
            }
            None => None,
        };
        let result = loop {
            match step {
                Some(Step::Read(body, is_failing)) => {
                    self.reading = Some(Reading { body, is_failing });
                }
                Some(Step::Fine(response)) => break Ok(response),
                Some(Step::Failing(response)) if call.config.error_for_status => {
                    break Err(Failure::Status(response));
                }
                Some(Step::Failing(response)) => break Ok(response),
                Some(Step::Watched(head, body)) => {
                    let status = head.status;
                    let trailers = self
                        .call
                        .take_if(|call| call.is_watched())
                        .map(|call| Box::new(Trailers::new(call, status)));
                    let body = ResponseBody::watched(body, trailers);
                    break Ok(Response::from_parts(head, body));
                }
                None => {}
            }
            let Some(reading) = &mut self.reading else {
                return Poll::Pending;
            };
            ready!(reading.body.as_mut().poll_read(cx));
            step = match self.reading.take() {
                Some(reading) => read(call, reading.body, reading.is_failing),
                None => None,
            };
        };
        self.call = None;
        Poll::Ready(result)
    }
}

/// How a call ends.
type Ended<B, X> = Result<Response<ResponseBody<B>>, Failure<B, X>>;

/// What a call ends with instead of a response.
pub(super) enum Failure<B: Body, X> {
    /// The response is to become an error.
    Status(Response<ResponseBody<B>>),
    Error(X),
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
