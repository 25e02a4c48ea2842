//! Corners where two rules meet.

use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, CallRecorder, ClientStack, DiagnoseLayer, DispatchLayer, ErrorClass, Jitter, Protocol,
    RecentCalls, RecorderLayer, Refused, RequestTimeout, ResponseExt, RetryError, RetryLayer,
    StopReason, TimeoutError, find,
};

use super::shared::{JSON, MS, SECOND, Sent};
use crate::support::{
    outside::{
        Step::{Data, Trailers},
        diagnosed, get, post, response, steps,
    },
    scripted::{Reply, Scripted},
};

fn sent(method: Method) -> Sent {
    Request::builder()
        .method(method)
        .uri("/a")
        .body(Full::default())
        .unwrap()
}

fn fixed(wait: Duration) -> RetryLayer {
    RetryLayer::new()
        .without_budget()
        .backoff(Backoff::exponential(wait, wait).jitter(Jitter::None))
}

/// Data in several pieces.
struct Pieces(Option<Vec<&'static [u8]>>);

struct Chunks(Vec<&'static [u8]>);

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.0.iter().map(|piece| piece.len()).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0
            .iter()
            .find(|piece| !piece.is_empty())
            .copied()
            .unwrap_or_default()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let first = &mut self.0[0];
            let step = count.min(first.len());
            *first = &first[step..];
            count -= step;
            if first.is_empty() {
                self.0.remove(0);
            }
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [std::io::IoSlice<'a>]) -> usize {
        let filled = self.0.iter().filter(|piece| !piece.is_empty());
        filled
            .zip(slices)
            .map(|(piece, slice)| *slice = std::io::IoSlice::new(piece))
            .count()
    }
}

impl Body for Pieces {
    type Data = Chunks;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunks>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|pieces| Ok(Frame::data(Chunks(pieces)))))
    }
}

#[tokio::test]
async fn data_in_pieces_is_read_and_handed_on_whole() {
    let pieces = || {
        Pieces(Some(vec![
            b"{\"mess",
            b"",
            b"age\":",
            b"\"in pieces\"",
            b"}",
        ]))
    };
    let service = DiagnoseLayer::new().layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(500, JSON, pieces()))
    }));
    let answer = service.oneshot(get("/a")).await.unwrap();
    assert_eq!(answer.diagnosis().unwrap().message(), Some("in pieces"));
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(bytes, "{\"message\":\"in pieces\"}");
}

#[tokio::test]
async fn a_redirect_is_a_failure_only_when_asked_for() {
    let answer = || {
        response(
            302,
            "content-type: text/html\nlocation: https://idp.example/login?state=SENTINEL",
            Full::<Bytes>::from("<a href=\"https://idp.example/login?state=SENTINEL\">Found</a>"),
        )
    };
    assert!(
        diagnosed(&DiagnoseLayer::new(), post("/a"), answer())
            .await
            .is_none()
    );
    let strict = DiagnoseLayer::new().failure_when(|status| status.as_u16() >= 300);
    let diagnosis = diagnosed(&strict, post("/a"), answer()).await.unwrap();
    assert_eq!(diagnosis.to_string(), "POST /a failed (302 Found): Found");
    for text in [
        format!("{diagnosis:#}"),
        format!("{diagnosis:?}"),
        serde_json::to_string(&diagnosis).unwrap(),
        serde_json::to_string(&diagnosis.payload("t")).unwrap(),
    ] {
        assert!(
            !text.contains("SENTINEL") && !text.contains("idp.example"),
            "{text}"
        );
    }
    let lenient = DiagnoseLayer::new().failure_when(|status| status.is_server_error());
    assert!(
        diagnosed(
            &lenient,
            post("/a"),
            response(404, "", Full::<Bytes>::default())
        )
        .await
        .is_none()
    );
}

#[tokio::test]
async fn an_ended_session_is_told_from_an_unknown_path() {
    for (session, class) in [
        (true, ErrorClass::SessionTerminated),
        (false, ErrorClass::Http),
    ] {
        let calls = RecentCalls::new(4);
        let body: &[u8] =
            br#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#;
        let inner = Scripted::new([Reply::With(
            404,
            &[("content-type", "application/json")],
            body,
        )]);
        let mut request = sent(Method::POST);
        if session {
            request
                .headers_mut()
                .insert("mcp-session-id", HeaderValue::from_static("s-1"));
        }
        let service = ClientStack::new(SECOND).record(calls.clone()).layer(inner);
        let answer = service.oneshot(request).await.unwrap();
        assert_eq!(answer.diagnosis().unwrap().class(), class);
        assert_eq!(
            answer.diagnosis().unwrap().to_string(),
            "POST /a failed (404 Not Found): Session not found"
        );
        drop(answer);
        assert_eq!(calls.snapshot()[0].outcome().unwrap().class(), class);
    }
}

#[tokio::test]
async fn a_refusal_that_names_an_address_loses_what_is_secret_in_it() {
    let inner = service_fn(
        async |_: Request<()>| -> Result<Response<Full<Bytes>>, BoxError> {
            Err(Refused::new("not allowed: https://u:SENTINEL@h.example/x?key=SENTINEL").into())
        },
    );
    let error = DiagnoseLayer::new()
        .layer(inner)
        .oneshot(get("/a"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("GET /a failed: not allowed: "),
        "{error}"
    );
    assert!(error.to_string().ends_with(" (not sent)"), "{error}");
    assert!(!error.to_string().contains("SENTINEL"), "{error}");
    assert!(!format!("{error:?}").contains("SENTINEL"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_total_limit_of_nothing() {
    let none = || fixed(MS).total_limit(Duration::ZERO);
    let answer = none()
        .layer(Scripted::statuses([200]))
        .oneshot(sent(Method::GET))
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let inner = Scripted::statuses([503]);
    let answer = none()
        .layer(inner.clone())
        .oneshot(sent(Method::GET))
        .await
        .unwrap();
    assert_eq!((answer.status().as_u16(), inner.calls()), (503, 1));
    assert_eq!(
        answer.retried().unwrap().stop(),
        StopReason::WouldPassTotalLimit
    );
    let begun = Instant::now();
    let error = none()
        .layer(Scripted::new([Reply::Never]))
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(find::<TimeoutError>(&*error).is_some());
    assert!(find::<RetryError>(&*error).is_some());
}

/// Ready for its first call, and then not for a long time.
#[derive(Clone)]
struct Once {
    inner: Scripted,
    calls: Arc<Mutex<usize>>,
}

impl Service<Request<tower_diagnose::ReplayBody<Full<Bytes>>>> for Once {
    type Response = <Scripted as Service<Sent>>::Response;
    type Error = BoxError;
    type Future = <Scripted as Service<Sent>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match *self.calls.lock().unwrap() {
            0 => Service::<Sent>::poll_ready(&mut self.inner, cx),
            _ => Poll::Pending,
        }
    }

    fn call(&mut self, request: Request<tower_diagnose::ReplayBody<Full<Bytes>>>) -> Self::Future {
        *self.calls.lock().unwrap() += 1;
        self.inner.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_ready_only_once_holds_up_no_longer_than_the_total() {
    let inner = Once {
        inner: Scripted::statuses([503]),
        calls: Arc::default(),
    };
    let begun = Instant::now();
    let call = fixed(MS)
        .total_limit(100 * MS)
        .layer(inner.clone())
        .oneshot(sent(Method::GET));
    let result = tokio::time::timeout(SECOND, call)
        .await
        .expect("within the limit");
    assert!(begun.elapsed() <= 101 * MS, "{:?}", begun.elapsed());
    match result {
        Ok(answer) => assert_eq!(answer.status(), 503),
        Err(error) => assert!(find::<TimeoutError>(&*error).is_some()),
    }
    *inner.calls.lock().unwrap() = 0;
    let call = ClientStack::new(100 * MS)
        .layer(inner)
        .oneshot(sent(Method::GET));
    assert!(tokio::time::timeout(SECOND, call).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_request_may_take_longer_than_the_total_of_the_stack() {
    for own in [2 * SECOND, Duration::MAX] {
        let inner = Scripted::new([Reply::Late(SECOND, 200)]);
        let mut request = sent(Method::GET);
        request.extensions_mut().insert(RequestTimeout(own));
        let answer = ClientStack::new(100 * MS)
            .layer(inner)
            .oneshot(request)
            .await
            .unwrap();
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn facts_follow_the_attempts() {
    let recorder = CallRecorder::new();
    let mut request = sent(Method::GET);
    request.extensions_mut().insert(recorder.clone());
    let inner = Scripted::new([Reply::Status(503), Reply::Never]);
    let layers = (
        RecorderLayer::new(RecentCalls::new(4)),
        fixed(MS),
        DispatchLayer::new(),
    );
    let call = layers.layer(inner).oneshot(request);
    assert!(!recorder.snapshot().dispatched);
    assert!(tokio::time::timeout(50 * MS, call).await.is_err());
    let facts = recorder.snapshot();
    assert!(facts.dispatched && facts.caller_cancelled);
    assert_eq!(
        (facts.requests, facts.responses, facts.last_status),
        (2, 1, None)
    );
}

#[tokio::test]
async fn a_status_in_the_trailers_is_in_the_record() {
    let trailers = HeaderMap::from_iter([
        (
            HeaderName::from_static("grpc-status"),
            HeaderValue::from_static("5"),
        ),
        (
            HeaderName::from_static("grpc-message"),
            HeaderValue::from_static("no%20such%20user"),
        ),
    ]);
    let calls = RecentCalls::new(4);
    let layers = (
        RecorderLayer::new(calls.clone()),
        DiagnoseLayer::new().inspect(Protocol::Grpc),
    );
    let body = Mutex::new(Some(steps([Data(b"abc"), Trailers(trailers.clone())])));
    let service = layers.layer(service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(
            200,
            "content-type: application/grpc",
            body.lock().unwrap().take().unwrap(),
        ))
    }));
    let answer = service.oneshot(post("/users.Users/Get")).await.unwrap();
    assert!(answer.diagnosis().is_none());
    let collected = answer.into_body().collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers));
    let outcome = calls.snapshot()[0].outcome().expect("a failure");
    assert_eq!(outcome.class(), ErrorClass::Jsonrpc);
}

#[tokio::test]
async fn services_may_stay_on_one_thread() {
    let local = tokio::task::LocalSet::new();
    let answered = local.run_until(async {
        let mark = std::rc::Rc::new(());
        let inner = service_fn(|_: Request<_>| {
            let mark = std::rc::Rc::clone(&mark);
            async move {
                tokio::task::yield_now().await;
                let _ = mark;
                Ok::<_, std::convert::Infallible>(response(
                    500,
                    JSON,
                    Full::<Bytes>::from("{\"message\":\"a\"}"),
                ))
            }
        });
        let service = ClientStack::new(SECOND).without_retry().layer(inner);
        let answer = service.oneshot(sent(Method::GET)).await.unwrap();
        answer.diagnosis().unwrap().to_string()
    });
    assert_eq!(
        answered.await,
        "GET /a failed (500 Internal Server Error): a"
    );
}
