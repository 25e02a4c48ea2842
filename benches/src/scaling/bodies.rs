//! A service that reads what it is sent and answers with a body of some length.

use std::{
    future::Future,
    hint::black_box,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower::{BoxError, Service};

use crate::framed::Framed;

#[derive(Clone)]
pub struct Store {
    answer: Bytes,
}

impl Store {
    pub fn new(answer: Bytes) -> Self {
        Self { answer }
    }
}

impl<B: Body + Unpin> Service<Request<B>> for Store {
    type Response = Response<Framed>;
    type Error = BoxError;
    type Future = Storing<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Storing<B> {
        Storing {
            body: request.into_body(),
            answer: self.answer.clone(),
            was_polled: false,
        }
    }
}

/// Pending once, then reads what there is and answers.
pub struct Storing<B> {
    body: B,
    answer: Bytes,
    was_polled: bool,
}

impl<B: Body + Unpin> Future for Storing<B> {
    type Output = Result<Response<Framed>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.was_polled {
            self.was_polled = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while let Some(Ok(frame)) = ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            black_box(&frame);
        }
        Poll::Ready(Ok(Response::new(Framed(self.answer.clone()))))
    }
}

/// So many bytes on the heap, which were cloned before.
pub fn bytes(len: usize) -> Bytes {
    let bytes = Bytes::from(vec![b'a'; len]);
    drop(bytes.clone());
    bytes
}
