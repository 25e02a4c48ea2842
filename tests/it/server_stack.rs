//! The whole stack on every kind of service, served over real sockets.

use std::{convert::Infallible, future::pending, io, net::SocketAddr, time::Duration};

use axum::{
    Router,
    body::Body,
    handler::Handler,
    routing::{MethodRouter, get},
};
use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BodyEnd, BoxError, CallRecord, ErrorClass, FaultDomain, Refused, ResponseExt, ServerStack,
};

use crate::support::client;

/// The records, as they are made.
pub(crate) type Records = mpsc::UnboundedReceiver<CallRecord>;

pub(crate) fn recorded(limit: Duration) -> (ServerStack, Records) {
    let (sender, records) = mpsc::unbounded_channel();
    let stack = ServerStack::new(limit).record(move |record| {
        let _ = sender.send(record);
    });
    (stack, records)
}

pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

pub(crate) fn get_of(address: SocketAddr, path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("http://{address}{path}"))
        .body(Full::default())
        .unwrap()
}

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(50);

async fn fails() -> (StatusCode, &'static str) {
    (StatusCode::CONFLICT, r#"{"message":"taken already"}"#)
}

async fn hangs() -> StatusCode {
    pending().await
}

/// The problem that a hanging service is answered for with, and its record.
async fn hang_is_answered<S>(service: S, mut records: Records)
where
    S: Service<Request<Body>, Error = Infallible, Response: Answer>,
{
    let request = Request::get("/x").body(Body::empty()).unwrap();
    let (status, body) = service.oneshot(request).await.unwrap().read().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let problem: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["detail"], "GET /x failed: timed out after 50ms");
    assert_eq!(
        (&problem["errorClass"], &problem["faultDomain"]),
        (&"timeout".into(), &"proxy".into())
    );
    let record = records.recv().await.unwrap();
    assert_eq!(record.error_class(), Some(ErrorClass::Timeout));
    assert!(records.try_recv().is_err());
}

trait Answer {
    fn read(self) -> impl Future<Output = (StatusCode, Bytes)>;
}

impl<B> Answer for Response<B>
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    async fn read(self) -> (StatusCode, Bytes) {
        let status = self.status();
        (status, self.into_body().collect().await.unwrap().to_bytes())
    }
}

#[tokio::test(start_paused = true)]
async fn it_goes_onto_a_router_a_method_router_and_a_handler() {
    let (stack, records) = recorded(SHORT);
    hang_is_answered(Router::new().route("/x", get(hangs)).layer(stack), records).await;

    let (stack, records) = recorded(SHORT);
    let routed = Router::new().route("/x", get(hangs)).route_layer(stack);
    hang_is_answered(routed, records).await;

    let (stack, records) = recorded(SHORT);
    let methods: MethodRouter = get(hangs).layer(stack);
    hang_is_answered(Router::new().route("/x", methods), records).await;

    let (stack, records) = recorded(SHORT);
    let handler = hangs.layer(stack);
    hang_is_answered(Router::new().route("/x", get(handler)), records).await;

    let (stack, records) = recorded(SHORT);
    let service = stack.layer(get(hangs));
    hang_is_answered(Router::new().route_service("/x", service), records).await;

    // The router itself, from outside: before it has found a route.
    let (stack, records) = recorded(SHORT);
    hang_is_answered(stack.layer(Router::new().route("/x", get(hangs))), records).await;
}

#[tokio::test(start_paused = true)]
async fn it_goes_onto_a_service_of_any_error() {
    let (stack, records) = recorded(SHORT);
    let service = service_fn(|_: Request<Body>| async {
        pending::<()>().await;
        Err::<Response<Body>, _>(BoxError::from("never"))
    });
    hang_is_answered(stack.layer(service), records).await;

    let (stack, mut records) = recorded(SHORT);
    let service = service_fn(|_: Request<Body>| async {
        Err::<Response<Body>, _>(Refused::new("circuit open"))
    });
    let request = Request::get("/x").body(Body::empty()).unwrap();
    let response = stack.layer(service).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
    let record = records.recv().await.unwrap();
    assert_eq!(record.error_class(), Some(ErrorClass::ProxyPolicy));
}

#[tokio::test]
async fn axum_serves_it_over_http1_and_http2() {
    let (stack, mut records) = recorded(LONG);
    let app = Router::new()
        .route("/fine", get(|| async { "fine" }))
        .route("/fails", get(fails))
        .layer(stack);
    let address = serve(app).await;
    for (http, version) in [
        (client::http1(), Version::HTTP_11),
        (client::http2(), Version::HTTP_2),
    ] {
        let response = http.request(get_of(address, "/fine")).await.unwrap();
        assert_eq!(response.version(), version);
        assert_eq!(response.read().await, (StatusCode::OK, "fine".into()));
        let record = records.recv().await.unwrap();
        assert_eq!((record.outcome(), record.bytes_in()), (None, 4));
        assert_eq!(record.body_end(), Some(BodyEnd::Complete));

        let response = http.request(get_of(address, "/fails")).await.unwrap();
        let body = r#"{"message":"taken already"}"#.into();
        assert_eq!(response.read().await, (StatusCode::CONFLICT, body));
        let record = records.recv().await.unwrap();
        assert_eq!(record.status(), Some(StatusCode::CONFLICT));
        assert_eq!(record.fault_domain(), Some(FaultDomain::Client));
    }
}

#[tokio::test]
async fn hyper_serves_it_without_axum() {
    let (stack, mut records) = recorded(LONG);
    let service = service_fn(|request: Request<Incoming>| async move {
        if request.uri().path() == "/breaks" {
            return Err(io::Error::other("a detail that is nobody's business"));
        }
        Ok(Response::new(request.into_body()))
    });
    let service = stack.layer(service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await
            });
        }
    });
    for http in [client::http1(), client::http2()] {
        let request = Request::post(format!("http://{address}/echo"))
            .body(Full::new(Bytes::from("a body")))
            .unwrap();
        let response = http.request(request).await.unwrap();
        assert_eq!(response.read().await, (StatusCode::OK, "a body".into()));
        assert_eq!(records.recv().await.unwrap().outcome(), None);

        let response = http.request(get_of(address, "/breaks")).await.unwrap();
        assert!(response.diagnosis().is_none(), "extensions do not travel");
        let (status, body) = response.read().await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["detail"], "GET /breaks failed: internal error");
        let record = records.recv().await.unwrap();
        assert_eq!(record.error_class(), Some(ErrorClass::ProxyInternal));
    }
}

#[tokio::test]
async fn a_graceful_shutdown_lets_the_last_call_end_and_be_recorded() {
    let (stack, mut records) = recorded(LONG);
    let (begun, has_begun) = oneshot::channel();
    let (finish, may_finish) = oneshot::channel::<()>();
    let gate = std::sync::Mutex::new(Some((begun, may_finish)));
    let gate = std::sync::Arc::new(gate);
    let handler = move || {
        let gate = gate.lock().unwrap().take();
        async move {
            let (begun, may_finish) = gate.unwrap();
            begun.send(()).unwrap();
            may_finish.await.unwrap();
            "done"
        }
    };
    let app = Router::new().route("/slow", get(handler)).layer(stack);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(async move {
        let shutdown = async { stopped.await.unwrap_or_default() };
        axum::serve(listener, app)
            .with_graceful_shutdown(shutdown)
            .await
    });
    let answer = tokio::spawn(client::http1().request(get_of(address, "/slow")));
    has_begun.await.unwrap();
    stop.send(()).unwrap();
    finish.send(()).unwrap();
    let response = answer.await.unwrap().unwrap();
    assert_eq!(response.read().await, (StatusCode::OK, "done".into()));
    server.await.unwrap().unwrap();
    let record = records.recv().await.unwrap();
    assert_eq!((record.outcome(), record.bytes_in()), (None, 4));
    // The app is gone, and its sink with it.
    assert!(records.recv().await.is_none());
}

#[tokio::test]
async fn all_clones_of_a_service_share_the_sink_and_none_loses_a_call() {
    let (stack, mut records) = recorded(LONG);
    let app = Router::new()
        .route("/n/{n}", get(|| async { "fine" }))
        .layer(stack);
    let address = serve(app).await;
    let http = client::http1();
    let calls: Vec<_> = (0..50)
        .map(|n| tokio::spawn(http.request(get_of(address, &format!("/n/{n}")))))
        .collect();
    for call in calls {
        call.await.unwrap().unwrap().read().await;
    }
    for _ in 0..50 {
        assert_eq!(records.recv().await.unwrap().outcome(), None);
    }
    assert!(records.try_recv().is_err());
}
