//! Every body of ours must be indistinguishable from the body inside it: driven over scripts, and compared
//! with the bare body.

use std::{
    fmt,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Empty;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, ClientStack, DiagnoseLayer, DispatchLayer, LogPolicy, Protocol, RecentCalls,
    RecorderLayer, ReplayBody, RequestBodyTimeoutLayer, RespondLayer, RetryLayer, ServerStack,
    TimeoutLayer,
    test_util::{BodyConformance, ScriptedBody},
    timeout,
};

const LONG: Duration = Duration::from_secs(1 << 20);

/// Answers once.
#[derive(Clone)]
struct Answers(Arc<Mutex<Option<Response<ScriptedBody>>>>);

impl<R> Service<Request<R>> for Answers {
    type Response = Response<ScriptedBody>;
    type Error = std::io::Error;
    type Future = std::future::Ready<Result<Self::Response, std::io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<R>) -> Self::Future {
        let response = self.0.lock().unwrap().take();
        std::future::ready(response.ok_or(std::io::ErrorKind::Other.into()))
    }
}

/// Pauses now and then, and polls on after the end.
const CHECKS: BodyConformance = BodyConformance::new()
    .pauses(Duration::from_secs(3))
    .polls_on(true);

/// Sends bodies through a layer, in an answer of this status and content type.
async fn check<L, B>(checks: &BodyConformance, layer: L, status: StatusCode, content_type: &str)
where
    L: Layer<Answers>,
    L::Service: Service<Request<Empty<Bytes>>, Response = Response<B>>,
    <L::Service as Service<Request<Empty<Bytes>>>>::Error: fmt::Debug,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let wrap = async |body| {
        let response = Response::builder()
            .status(status)
            .header("content-type", content_type)
            .body(body)
            .unwrap();
        let answers = Answers(Arc::new(Some(response).into()));
        let request = Request::new(Empty::new());
        let response = layer.layer(answers).oneshot(request).await.unwrap();
        response.into_body()
    };
    checks.check(wrap).await;
}

#[tokio::test(start_paused = true)]
async fn a_diagnosed_body_is_the_bare_body() {
    let layer = DiagnoseLayer::new;
    let (good, bad) = (StatusCode::OK, StatusCode::NOT_FOUND);
    for (layer, status, content_type) in [
        (layer(), good, "text/plain"),
        (layer(), bad, "application/json"),
        (layer().body_cap(20), bad, "text/html"),
        (layer().body_cap(0), bad, "text/html"),
        (layer().peek_timeout(Duration::ZERO), bad, "text/plain"),
        (layer().inspect(Protocol::JsonRpc), good, "application/json"),
        // Watched for trailers.
        (
            layer().inspect(Protocol::Grpc).log(LogPolicy::new()),
            good,
            "application/grpc",
        ),
    ] {
        check(&CHECKS, layer, status, content_type).await;
    }
    let server = DiagnoseLayer::for_server();
    check(&CHECKS, server, bad, "application/json").await;
}

#[tokio::test(start_paused = true)]
async fn a_timed_body_is_the_bare_body() {
    let layer = TimeoutLayer::new(LONG).body_idle(LONG).body_total(LONG);
    check(&CHECKS, layer, StatusCode::OK, "text/plain").await;
}

#[tokio::test(start_paused = true)]
async fn a_recorded_body_is_the_bare_body() {
    let layer = RecorderLayer::new(RecentCalls::new(4));
    check(&CHECKS, layer, StatusCode::OK, "text/plain").await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_passed_through_is_the_bare_body() {
    // A transparent layer has no body of its own to protect the inner one from being polled on.
    let checks = CHECKS.polls_on(false);
    check(&checks, DispatchLayer::new(), StatusCode::OK, "text/plain").await;
    let responds = RespondLayer::new();
    check(&checks, responds, StatusCode::NOT_FOUND, "text/plain").await;
    check(&checks, RetryLayer::new(), StatusCode::OK, "text/plain").await;
}

#[tokio::test(start_paused = true)]
async fn a_body_through_a_whole_stack_is_the_bare_body() {
    for status in [StatusCode::OK, StatusCode::NOT_FOUND] {
        let client = ClientStack::new(LONG).record(RecentCalls::new(4));
        check(&CHECKS, client, status, "application/json").await;
        let server = ServerStack::new(LONG).record(RecentCalls::new(4));
        check(&CHECKS, server, status, "application/json").await;
    }
}

/// Sends bodies through a layer, in a request, which is answered with its own body.
async fn check_request<L, S, R>(checks: &BodyConformance, layer: L, echo: S)
where
    L: Layer<S>,
    L::Service: Service<Request<ScriptedBody>, Response = Response<R>>,
    <L::Service as Service<Request<ScriptedBody>>>::Error: fmt::Debug,
    S: Clone,
    R: Body<Data = Bytes>,
    R::Error: Into<BoxError>,
{
    let wrap = async |body| {
        let service = layer.layer(echo.clone());
        let response = service.oneshot(Request::new(body)).await.unwrap();
        response.into_body()
    };
    checks.check(wrap).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_kept_for_another_attempt_is_the_bare_body() {
    type Kept = ReplayBody<ScriptedBody>;
    let echo = service_fn(async |request: Request<Kept>| {
        Ok::<_, BoxError>(Response::new(request.into_body()))
    });
    for limit in [0, 20, usize::MAX] {
        let layer = RetryLayer::new().replay_limit(limit);
        check_request(&CHECKS, layer, echo).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_timed_request_body_is_the_bare_body() {
    let echo = service_fn(
        async |request: Request<timeout::RequestBody<ScriptedBody>>| {
            Ok::<_, BoxError>(Response::new(request.into_body()))
        },
    );
    let layer = RequestBodyTimeoutLayer::new(LONG).total(LONG);
    check_request(&CHECKS, layer, echo).await;
}
