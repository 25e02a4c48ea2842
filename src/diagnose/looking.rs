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
    peeked::{Peeked, Prefix, Reader},
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
    // By itself, so that a body that keeps nobody waiting needs no place for it.
    paused: Box<Paused>,
}

/// The rest of a response while its body keeps us waiting.
struct Paused {
    head: Parts,
    reader: Reader,
    is_failing: bool,
}

/// What a look at a response gives.
pub(super) type Looked<B, X> = Poll<Result<Response<ResponseBody<B>>, X>>;

impl<B: Body> Looking<B> {
    pub(crate) fn new(kept: Kept) -> Self {
        Self {
            kept,
            reading: None,
        }
    }

    /// Looks into what the attempts have `ended` with, or else goes on where it was left.
    pub(crate) fn poll(
        &mut self,
        ended: Option<Result<Response<B>, BoxError>>,
        cx: &mut Context<'_>,
    ) -> Looked<B, Diagnosed> {
        let (call, reading) = (self.kept.call(), &mut self.reading);
        match ended {
            Some(Ok(response)) => {
                let (head, body) = response.into_parts();
                answered(
                    call,
                    |paused| *reading = Some(paused),
                    head,
                    body,
                    cx,
                    refuse,
                )
            }
            Some(Err(error)) => Poll::Ready(Err(diagnosed(call, error))),
            None => resume(call, reading, cx, refuse),
        }
    }
}

/// Makes a client's error of an error.
pub(super) fn diagnosed(call: Call<'_>, error: BoxError) -> Diagnosed {
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

/// Makes a client's error of a failing response, without its body.
pub(super) fn refuse<B: Body>(
    response: Response<ResponseBody<B>>,
) -> Result<Response<ResponseBody<B>>, Diagnosed> {
    let (mut head, body) = response.into_parts();
    match head.extensions.remove() {
        Some(diagnosis) => Err(Diagnosed::new(diagnosis, None, Some(head))),
        None => Ok(Response::from_parts(head, body)),
    }
}

/// Decides what becomes of a response whose body nobody has touched yet. `keep` keeps it while its body makes
/// us wait, and `refuse` makes an error of a failing one if that is asked for.
#[inline]
pub(super) fn answered<B: Body, X>(
    call: Call<'_>,
    keep: impl FnOnce(Reading<B>),
    mut head: Parts,
    body: B,
    cx: &mut Context<'_>,
    refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
) -> Looked<B, X> {
    let look = call.look(head.status, &head.headers, &body.size_hint());
    let plain = |head, body| Poll::Ready(Ok(Response::from_parts(head, ResponseBody::plain(body))));
    match look {
        Look::Nowhere => plain(head, body),
        Look::AtTrailers => match call.in_headers(&head) {
            Some(diagnosis) => {
                call.tell(&mut head.extensions, diagnosis);
                failing(call, head, ResponseBody::plain(body), refuse)
            }
            None => Poll::Ready(Ok(watched(call, head, body))),
        },
        Look::Failing { .. } if call.keeps_diagnosis(&head.extensions) => plain(head, body),
        Look::Failing { reads } if !reads || body.is_end_stream() => {
            call.fail(&mut head, &Prefix::EMPTY);
            failing(call, head, ResponseBody::plain(body), refuse)
        }
        Look::Failing { .. } | Look::IntoBody => {
            let is_failing = look != Look::IntoBody;
            let (mut body, mut reader) = (Box::pin(Peeked::new(body)), Reader::default());
            let limits = call.config.limits();
            let read = body
                .as_mut()
                .poll_read(&mut reader, cx, &head.headers, limits);
            if read.is_pending() {
                let paused = Box::new(Paused {
                    head,
                    reader,
                    is_failing,
                });
                keep(Reading { body, paused });
                return Poll::Pending;
            }
            told(call, head, body, &reader, is_failing, refuse)
        }
    }
}

/// Goes on with a body that has kept us waiting, if there is one.
#[inline(never)]
pub(super) fn resume<B: Body, X>(
    call: Call<'_>,
    reading: &mut Option<Reading<B>>,
    cx: &mut Context<'_>,
    refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
) -> Looked<B, X> {
    let Some(mut begun) = reading.take() else {
        return Poll::Pending;
    };
    let Paused { head, reader, .. } = &mut *begun.paused;
    let limits = call.config.limits();
    let read = begun
        .body
        .as_mut()
        .poll_read(reader, cx, &head.headers, limits);
    if read.is_pending() {
        *reading = Some(begun);
        return Poll::Pending;
    }
    let Reading { body, paused } = begun;
    let Paused {
        head,
        reader,
        is_failing,
    } = *paused;
    told(call, head, body, &reader, is_failing, refuse)
}

/// Diagnoses a response of whose body enough was read.
#[inline(always)]
fn told<B: Body, X>(
    call: Call<'_>,
    mut head: Parts,
    body: Pin<Box<Peeked<B>>>,
    reader: &Reader,
    is_failing: bool,
    refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
) -> Looked<B, X> {
    let cap = call.config.limits().cap;
    let has_failed = body.show(reader, cap, |prefix| match is_failing {
        true => {
            call.fail(&mut head, prefix);
            true
        }
        false => match call.inspected(&head, prefix) {
            Some(diagnosis) => {
                call.tell(&mut head.extensions, diagnosis);
                true
            }
            None => false,
        },
    });
    let body = ResponseBody::peeked(body);
    match has_failed {
        true => failing(call, head, body, refuse),
        false => Poll::Ready(Ok(Response::from_parts(head, body))),
    }
}

/// Hands on a response with a diagnosis, as an error if that is asked for.
#[inline(always)]
fn failing<B: Body, X>(
    call: Call<'_>,
    head: Parts,
    body: ResponseBody<B>,
    refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
) -> Looked<B, X> {
    if call.config.error_for_status {
        return refused(head, body, refuse);
    }
    Poll::Ready(Ok(Response::from_parts(head, body)))
}

/// By itself, so that a response is put together where it is wanted.
#[inline(never)]
fn refused<B: Body, X>(
    head: Parts,
    body: ResponseBody<B>,
    refuse: impl FnOnce(Response<ResponseBody<B>>) -> Result<Response<ResponseBody<B>>, X>,
) -> Looked<B, X> {
    Poll::Ready(refuse(Response::from_parts(head, body)))
}

/// Hands on a response whose trailers may tell of a failure, to whoever would hear of it.
fn watched<B: Body>(call: Call<'_>, head: Parts, body: B) -> Response<ResponseBody<B>> {
    let body = match call.is_watched() {
        true => {
            let trailers = Trailers::new(call.keep(), head.status);
            ResponseBody::peeked(Box::pin(Peeked::watched(body, trailers)))
        }
        false => ResponseBody::plain(body),
    };
    Response::from_parts(head, body)
}
