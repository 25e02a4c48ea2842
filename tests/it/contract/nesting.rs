//! Any layer on anything, in any order.

use std::{convert::Infallible, error::Error, fmt::Debug, io, time::Duration};

use axum::{Router, routing::get};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Empty, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt, service_fn,
    util::{BoxCloneService, BoxCloneSyncService, BoxService},
};
use tower_diagnose::{
    CallRecord, ClientStack, DiagnoseLayer, Diagnosed, DispatchLayer, RecentCalls, RecorderLayer,
    ReplayBody, RespondLayer, RetryLayer, ServerStack, TimeoutLayer,
};

use crate::support::outside::{Steps, steps};

type BoxError = Box<dyn Error + Send + Sync>;

const SECOND: Duration = Duration::from_secs(1);

fn service<T: Clone + Send + Sync + 'static>(service: T) -> T {
    service
}

type Hyper<B> = Client<HttpConnector, B>;

fn hyper<B>() -> Hyper<B>
where
    B: Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new()).build_http()
}

type Sent = Request<Full<Bytes>>;

/// A service over hyper's client whose every part can be moved to other threads.
fn calls<S, B>(made: S) -> S
where
    S: Service<Sent, Response = Response<B>, Future: Send, Error: Into<BoxError>>,
    S: Clone + Send + Sync + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    made
}

#[test]
fn each_layer_alone_is_laid_onto_hypers_client() {
    calls(DiagnoseLayer::new().layer(hyper()));
    calls(DiagnoseLayer::for_server().layer(hyper()));
    calls(RetryLayer::new().layer(hyper::<ReplayBody<Full<Bytes>>>()));
    calls(TimeoutLayer::new(SECOND).layer(hyper()));
    calls(RecorderLayer::new(|_: CallRecord| {}).layer(hyper()));
    calls(DispatchLayer::new().layer(hyper()));
    calls(RespondLayer::new().layer(hyper()));
    calls(ClientStack::new(SECOND).layer(hyper()));
    calls(ClientStack::new(SECOND).without_retry().layer(hyper()));
}

#[test]
fn errors_have_the_types_that_are_promised() {
    fn fails<S: Service<Sent, Error = E>, E>(_: &S) {}
    type Own = hyper_util::client::legacy::Error;
    fails::<_, Diagnosed>(&DiagnoseLayer::new().layer(hyper()));
    fails::<_, Own>(&DiagnoseLayer::for_server().layer(hyper()));
    fails::<_, BoxError>(&RetryLayer::new().layer(hyper()));
    fails::<_, BoxError>(&TimeoutLayer::new(SECOND).layer(hyper()));
    fails::<_, Own>(&RecorderLayer::new(|_: CallRecord| {}).layer(hyper()));
    fails::<_, Own>(&DispatchLayer::new().layer(hyper()));
    fails::<_, Infallible>(&RespondLayer::new().layer(hyper()));
    fails::<_, Diagnosed>(&ClientStack::new(SECOND).layer(hyper()));
    fails::<_, Infallible>(&ServerStack::new(SECOND).layer(hyper()));
}

#[test]
fn layers_nest_in_any_order_and_in_builders_and_boxes() {
    let recorder = || RecorderLayer::new(|_: CallRecord| {});
    calls(
        ServiceBuilder::new()
            .layer(recorder())
            .layer(DiagnoseLayer::new())
            .layer(TimeoutLayer::new(SECOND))
            .layer(RetryLayer::new())
            .layer(TimeoutLayer::new(SECOND))
            .layer(DispatchLayer::new())
            .service(hyper()),
    );
    calls(
        ServiceBuilder::new()
            .layer(DispatchLayer::new())
            .layer(TimeoutLayer::new(SECOND))
            .layer(RetryLayer::new())
            .layer(RetryLayer::new())
            .layer(DiagnoseLayer::new())
            .layer(recorder())
            .layer(RespondLayer::new())
            .service(hyper()),
    );
    calls(
        ServiceBuilder::new()
            .layer(ClientStack::new(SECOND))
            .layer(ServerStack::new(SECOND))
            .layer(ClientStack::new(SECOND))
            .service(hyper()),
    );
    calls(
        ServiceBuilder::new()
            .layer(ClientStack::new(SECOND))
            .service(hyper()),
    );
    let boxed = BoxCloneService::new(ClientStack::new(SECOND).layer(hyper()));
    let _: BoxCloneService<Sent, _, Diagnosed> = boxed;
    let _ = BoxCloneSyncService::new(
        ClientStack::new(SECOND).layer(hyper::<ReplayBody<Full<Bytes>>>()),
    )
    .map_request(|request: Sent| request);
    let _ = BoxService::new(ClientStack::new(SECOND).layer(hyper::<ReplayBody<Full<Bytes>>>()))
        .map_request(|request: Sent| request);
}

#[test]
fn layers_are_laid_onto_axum_services() {
    async fn hello() -> &'static str {
        "hello"
    }
    let _: Router = Router::new()
        .route("/", get(hello))
        .layer(DispatchLayer::new())
        .layer(DiagnoseLayer::for_server())
        .layer(RecorderLayer::new(RecentCalls::new(4)))
        .layer(
            ServiceBuilder::new()
                .layer(RespondLayer::new())
                .layer(TimeoutLayer::new(SECOND).body_idle(SECOND)),
        )
        .layer(
            ServiceBuilder::new()
                .layer(RespondLayer::new())
                .layer(DiagnoseLayer::new()),
        )
        .layer(ServerStack::new(SECOND).record(RecentCalls::new(4)))
        .route_layer(ServerStack::new(SECOND));
    let _: Router = Router::new().route_service("/", ServerStack::new(SECOND).layer(get(hello)));
}

#[test]
fn every_kind_of_error_below_is_taken() {
    fn never<E>() -> Result<Response<Full<Bytes>>, E> {
        unreachable!("nobody calls it")
    }
    fn all<E>(_: E)
    where
        E: Into<BoxError> + Send + Sync + 'static,
    {
        let inner = || service_fn(async |_: Request<Full<Bytes>>| never::<E>());
        fn made<S: Service<Request<Full<Bytes>>>>(_: S) {}
        made(DiagnoseLayer::new().layer(inner()));
        made(DiagnoseLayer::for_server().layer(inner()));
        made(TimeoutLayer::new(SECOND).layer(inner()));
        made(RecorderLayer::new(|_: CallRecord| {}).layer(inner()));
        made(DispatchLayer::new().layer(inner()));
        made(RespondLayer::new().layer(inner()));
        made(ServerStack::new(SECOND).layer(inner()));
        let inner = service_fn(async |_: Request<ReplayBody<Full<Bytes>>>| never::<E>());
        made(RetryLayer::new().layer(inner));
        made(ClientStack::new(SECOND).layer(inner));
    }
    let _ = [all::<BoxError> as fn(_)];
    let _ = [all::<Infallible> as fn(_)];
    let _ = [all::<io::Error> as fn(_)];
    let _ = [all::<hyper::Error> as fn(_)];
    let _ = [all::<hyper_util::client::legacy::Error> as fn(_)];
    let _ = [all::<Diagnosed> as fn(_)];
    let _ = [all::<tower::timeout::error::Elapsed> as fn(_)];
}

#[tokio::test]
async fn bodies_that_are_neither_clone_nor_unpin_nor_send_are_taken() {
    type Local = std::rc::Rc<()>;
    let inner = || {
        service_fn(async |_: Request<(Local, Steps)>| {
            Ok::<_, Infallible>(Response::builder().status(500).body(steps([])).unwrap())
        })
    };
    let request = || Request::new((Local::new(()), steps([])));
    async fn status<S, B>(made: S, request: Request<(Local, Steps)>) -> u16
    where
        S: Service<Request<(Local, Steps)>, Response = Response<B>>,
        S::Error: Debug,
    {
        made.oneshot(request).await.unwrap().status().as_u16()
    }
    assert_eq!(
        status(DiagnoseLayer::new().layer(inner()), request()).await,
        500
    );
    assert_eq!(
        status(DiagnoseLayer::for_server().layer(inner()), request()).await,
        500
    );
    assert_eq!(
        status(TimeoutLayer::new(SECOND).layer(inner()), request()).await,
        500
    );
    assert_eq!(
        status(DispatchLayer::new().layer(inner()), request()).await,
        500
    );
    assert_eq!(
        status(RespondLayer::new().layer(inner()), request()).await,
        500
    );
    let recorder = RecorderLayer::new(|_: CallRecord| {});
    assert_eq!(status(recorder.layer(inner()), request()).await, 500);
    assert_eq!(
        status(ServerStack::new(SECOND).layer(inner()), request()).await,
        500
    );
}

#[tokio::test]
async fn retries_take_a_response_body_that_is_not_unpin() {
    let inner = service_fn(async |_: Request<ReplayBody<Empty<Bytes>>>| {
        Ok::<_, Infallible>(Response::builder().status(500).body(steps([])).unwrap())
    });
    let made = service(RetryLayer::new().max_attempts(1).layer(inner));
    let response = made.oneshot(Request::new(Empty::new())).await.unwrap();
    assert_eq!(response.status(), 500);
}

#[test]
fn retries_take_the_usual_request_bodies() {
    use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
    fn takes<B: Body + Unpin + 'static>()
    where
        RetryLayer: Layer<Answering>,
        tower_diagnose::Retry<Answering>: Service<Request<B>>,
        tower_diagnose::Retry<tower_diagnose::Dispatch<Answering>>: Service<Request<B>>,
    {
    }
    takes::<String>();
    takes::<Empty<Bytes>>();
    takes::<Full<Bytes>>();
    takes::<Full<&'static [u8]>>();
    takes::<Full<std::collections::VecDeque<u8>>>();
    takes::<BoxBody<Bytes, Infallible>>();
    takes::<BoxBody<Bytes, hyper::Error>>();
    takes::<UnsyncBoxBody<Bytes, BoxError>>();
    takes::<hyper::body::Incoming>();
    takes::<axum::body::Body>();
    takes::<Box<Full<Bytes>>>();
    takes::<ReplayBody<Full<Bytes>>>();
}

/// Answers whatever it is asked.
#[derive(Clone)]
struct Answering;

impl<B> Service<Request<B>> for Answering {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::default()))
    }
}

#[test]
fn services_futures_and_bodies_can_be_named() {
    use tower_diagnose::{diagnose, dispatch, recorder, respond, retry, timeout};
    #[expect(dead_code, reason = "its fields only name the types")]
    struct Held {
        diagnose: tower_diagnose::Diagnose<Answering>,
        retry: tower_diagnose::Retry<Answering>,
        timeout: tower_diagnose::Timeout<Answering>,
        recorder: tower_diagnose::Recorder<Answering>,
        dispatch: tower_diagnose::Dispatch<Answering>,
        respond: tower_diagnose::Respond<Answering>,
    }
    let _ = Held {
        diagnose: DiagnoseLayer::new().layer(Answering),
        retry: RetryLayer::new().layer(Answering),
        timeout: TimeoutLayer::new(SECOND).layer(Answering),
        recorder: RecorderLayer::new(|_: CallRecord| {}).layer(Answering),
        dispatch: DispatchLayer::new().layer(Answering),
        respond: RespondLayer::new().layer(Answering),
    };
    type Answer = std::future::Ready<Result<Response<Full<Bytes>>, Infallible>>;
    fn future<S: Service<Request<Full<Bytes>>, Future = F>, F>(_: S) {}
    future::<_, timeout::ResponseFuture<Answer>>(TimeoutLayer::new(SECOND).layer(Answering));
    future::<_, respond::ResponseFuture<Answer>>(RespondLayer::new().layer(Answering));
    future::<_, dispatch::ResponseFuture<Answer, Infallible>>(
        DispatchLayer::new().layer(Answering),
    );
    future::<_, recorder::ResponseFuture<Answer, Infallible>>(
        RecorderLayer::new(|_: CallRecord| {}).layer(Answering),
    );
    fn body<S: Service<Request<Full<Bytes>>, Response = Response<B>>, B>(_: S) {}
    body::<_, timeout::ResponseBody<Full<Bytes>>>(TimeoutLayer::new(SECOND).layer(Answering));
    body::<_, respond::ResponseBody<Full<Bytes>>>(RespondLayer::new().layer(Answering));
    body::<_, recorder::ResponseBody<Full<Bytes>>>(
        RecorderLayer::new(|_: CallRecord| {}).layer(Answering),
    );
    body::<_, diagnose::ResponseBody<Full<Bytes>>>(DiagnoseLayer::new().layer(Answering));
    let _: Option<retry::ReplayBody<Full<Bytes>>> = None;
}
