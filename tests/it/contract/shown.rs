//! What `Debug` shows of services, futures and bodies.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    CallRecord, ClientStack, DiagnoseLayer, RecorderLayer, ReplayBody, RespondLayer, ResponseExt,
    RetryLayer, ServerStack, TimeoutLayer,
};

use super::shared::{JSON, SECOND, Sent, at_once, secretive};
use crate::support::outside::response;

/// Says nothing of itself, and ends when it is told to.
#[derive(Clone, Debug)]
struct Quiet(u16);

impl<B> Service<Request<B>> for Quiet {
    type Response = Response<Mute>;
    type Error = BoxError;
    type Future = Mute;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Mute {
        Mute(self.0, 0)
    }
}

#[derive(Debug)]
struct Mute(u16, u8);

impl Future for Mute {
    type Output = Result<Response<Self>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.1 += 1;
        if self.1 == 1 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let headers = format!("{JSON}\nset-cookie: SENTINEL\nlocation: /?SENTINEL");
        Poll::Ready(Ok(response(self.0, &headers, Self(self.0, 0))))
    }
}

impl Body for Mute {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        self.1 += 1;
        match self.1 {
            1 | 3 => Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from(
                "{\"a\":\"SENTINEL\"}",
            ))))),
            2 | 4 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(None),
        }
    }
}

#[tokio::test]
async fn debug_texts_of_services_futures_and_bodies_hold_no_secret() {
    fn clean(shown: &impl std::fmt::Debug) {
        for text in [format!("{shown:?}"), format!("{shown:#?}")] {
            let bytes = text.contains("83, 69, 78") || text.contains("h.example");
            assert!(!bytes && !text.contains("SENTINEL"), "{text}");
        }
    }
    macro_rules! check {
        ($($layer:expr),+) => {$(for status in [200, 500] {
            let mut service = $layer.layer(Quiet(status));
            ServiceExt::<Sent>::ready(&mut service).await.unwrap();
            clean(&service);
            let mut call = Box::pin(service.call(secretive(Method::PUT)));
            clean(&call);
            for _ in 0..4 {
                let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
                    clean(&call);
                    continue;
                };
                let mut body = Box::pin(answer.unwrap().into_body());
                clean(&body);
                let _ = body.frame().await;
                clean(&body);
                break;
            }
        })+};
    }
    check!(
        DiagnoseLayer::new(),
        DiagnoseLayer::for_server(),
        TimeoutLayer::new(SECOND).body_idle(SECOND),
        RetryLayer::new(),
        RecorderLayer::new(|_: CallRecord| {}),
        tower_diagnose::DispatchLayer::new(),
        RespondLayer::new(),
        ServerStack::new(SECOND),
        ClientStack::new(SECOND)
    );
}

#[tokio::test]
async fn a_body_that_is_kept_for_a_retry_is_not_shown() {
    let inner = service_fn(async |request: Request<ReplayBody<Mute>>| {
        let mut body = request.into_body();
        for _ in 0..3 {
            let text = format!("{body:?} {body:#?}");
            assert!(!text.contains("SENTINEL"), "{text}");
            let _ = body.frame().await;
        }
        Ok::<_, BoxError>(response(500, "", Full::<Bytes>::default()))
    });
    let answer = at_once()
        .layer(inner)
        .oneshot(Request::put("/a").body(Mute(0, 0)).unwrap())
        .await
        .unwrap();
    assert_eq!(answer.retried().unwrap().attempts(), 3);
}
