//! What becomes of a call whose answer is not simply fine.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http::{Response, response::Parts};
use http_body::Body;

use super::{
    body::ResponseBody,
    call::{Call, Kept, Look},
    peeked::{Peeked, Prefix},
    trailers::Trailers,
};
use crate::{diagnosis::Diagnosed, error::BoxError};

/// A call, and the body of its answer while that is read ahead.
pub(crate) struct Looking<B: Body> {
    kept: Kept,
    reading: Option<Reading<B>>,
}

pub(super) struct Reading<B: Body> {
    body: Pin<Box<Peeked<B>>>,
    is_failing: bool,
}

/// What to do next with a response that is not simply fine.
enum Step<B: Body> {
    Read(Reading<B>),
    Fine(Response<ResponseBody<B>>),
    Watched(Parts, B),
    /// The diagnosis is in the extensions.
    Failing(Response<ResponseBody<B>>),
}

impl<B: Body> Looking<B> {
    pub(crate) fn new(kept: Kept) -> Self {
        Self {
            kept,
            reading: None,
        }
    }

    /// As [`look`], on the client's side.
    pub(crate) fn poll(
        &mut self,
        ended: Option<Result<Response<B>, BoxError>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<ResponseBody<B>>, Diagnosed>> {
        look_client(self.kept.call(), &mut self.reading, ended, cx)
    }
}

/// As [`look`], on the client's side.
#[inline(never)]
pub(super) fn look_client<B: Body>(
    call: Call<'_>,
    reading: &mut Option<Reading<B>>,
    ended: Option<Result<Response<B>, BoxError>>,
    cx: &mut Context<'_>,
) -> Poll<Result<Response<ResponseBody<B>>, Diagnosed>> {
    look(call, reading, ended, cx, diagnosed, refuse)
}

/// Looks into what the inner service has `ended` with, or else goes on where it was left. `fail` makes an
/// error of the inner service's, `refuse` one of a failing response if that is asked for.
#[inline(always)]
pub(super) fn look<B: Body, E, X>(
    call: Call<'_>,
    reading: &mut Option<Reading<B>>,
    ended: Option<Result<Response<B>, E>>,
    cx: &mut Context<'_>,
    fail: impl FnOnce(Call<'_>, E) -> X,
    refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
) -> Poll<Result<Response<ResponseBody<B>>, X>> {
    let step = match (ended, reading.take()) {
        (Some(Err(error)), _) => return Poll::Ready(Err(fail(call, error))),
        (Some(Ok(response)), _) => answered(call, response),
        (None, Some(reading)) => Step::Read(reading),
        (None, None) => return Poll::Pending,
    };
    let (response, has_failed) = match step {
        Step::Read(mut begun) => {
            if begun.body.as_mut().poll_read(cx).is_pending() {
                *reading = Some(begun);
                return Poll::Pending;
            }
            match read(call, begun) {
                Some(read) => read,
                None => return Poll::Pending,
            }
        }
        Step::Fine(response) => (response, false),
        Step::Failing(response) => (response, true),
        Step::Watched(head, body) => {
            let body = match call.is_watched() {
                true => {
                    let trailers = Box::new(Trailers::new(call.keep(), head.status));
                    ResponseBody::peeked(Box::pin(Peeked::watched(body, trailers)))
                }
                false => ResponseBody::plain(body),
            };
            (Response::from_parts(head, body), false)
        }
    };
    Poll::Ready(match has_failed && call.config.error_for_status {
        true => refuse(response),
        false => Ok(response),
    })
}

fn diagnosed(call: Call<'_>, error: BoxError) -> Diagnosed {
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

/// Decides what becomes of a response whose body nobody has touched yet.
#[inline(always)]
fn answered<B: Body>(call: Call<'_>, response: Response<B>) -> Step<B> {
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
                    call.log(&diagnosis);
                    head.extensions.insert(diagnosis);
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
            head.extensions.insert(diagnosis);
            Step::Failing(Response::from_parts(head, ResponseBody::plain(body)))
        }
        Look::Failing { .. } | Look::IntoBody => {
            let (head, body) = response.into_parts();
            let config = &call.config;
            let body = Peeked::new(head, body, config.body_cap, config.peek_timeout);
            Step::Read(Reading {
                body: Box::pin(body),
                is_failing: look != Look::IntoBody,
            })
        }
    }
}

/// Diagnoses a response whose body was read as far as that helps. Returns it, and whether it failed.
#[inline(always)]
fn read<B: Body>(call: Call<'_>, reading: Reading<B>) -> Option<(Response<ResponseBody<B>>, bool)> {
    let Reading {
        mut body,
        is_failing,
    } = reading;
    let (head, has_failed) = body.as_mut().finish(|head, prefix| {
        if is_failing {
            // Straight into its place: it is too large to be moved for nothing.
            let diagnosis = call.failing(head, prefix);
            head.extensions.insert(diagnosis);
        } else if let Some(diagnosis) = call.inspected(head, prefix) {
            call.log(&diagnosis);
            head.extensions.insert(diagnosis);
        } else {
            return false;
        }
        true
    })?;
    Some((
        Response::from_parts(head, ResponseBody::peeked(body)),
        has_failed,
    ))
}
