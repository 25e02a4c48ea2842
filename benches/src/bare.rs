//! The service that everything is measured against: it answers at once or after one Pending.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{BoxError, Service};

const BODY: &[u8] = br#"{"enabled":true}"#;

/// Answers 200 with a short body after `pending` polls.
#[derive(Clone, Copy, Debug)]
pub struct Bare {
    pub pending: u32,
}

/// Four bytes, so that what a layer adds to a future is easily read.
#[derive(Debug)]
pub struct Answer {
    pending: u32,
}

impl<B> Service<Request<B>> for Bare {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Answer {
        Answer {
            pending: self.pending,
        }
    }
}

impl Future for Answer {
    type Output = Result<Response<Full<Bytes>>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.pending > 0 {
            self.pending -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(Response::new(Full::new(Bytes::from_static(BODY)))))
    }
}
