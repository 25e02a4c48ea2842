//! Problems over real sockets: axum and hyper serve them, hyper's client reads them.

use std::{
    future::{Ready, pending, ready},
    time::Duration,
};

use axum::{
    Router,
    routing::{get, post},
};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::Value;
use tokio::net::TcpListener;
use tower::{BoxError, Layer, ServiceBuilder, service_fn};
use tower_diagnose::{Refused, RequestBodyTimeoutLayer, RespondLayer, TimeoutLayer};

const MS: Duration = Duration::from_millis(1);

async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

async fn call(method: Method, url: String) -> (http::response::Parts, Bytes) {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::builder().method(method).uri(url);
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let (head, body) = client.request(request).await.unwrap().into_parts();
    (head, body.collect().await.unwrap().to_bytes())
}

fn app() -> Router {
    let refusing = service_fn(|_: axum::extract::Request| {
        ready(Err::<Response<axum::body::Body>, _>(Refused::new(
            "circuit open",
        )))
    });
    Router::new()
        .route("/hangs", get(async || pending::<()>().await))
        .route("/fine", get(async || "fine"))
        .route("/echo", post(async |body: String| body))
        .route_service("/refuses", RespondLayer::new().layer(refusing))
        .layer(
            ServiceBuilder::new()
                .layer(RespondLayer::new())
                .layer(TimeoutLayer::new(50 * MS))
                .layer(RequestBodyTimeoutLayer::new(50 * MS))
                .map_request(|request: Request<_>| request.map(axum::body::Body::new)),
        )
}

#[tokio::test]
async fn a_router_answers_for_what_fails_below() {
    let url = serve(app()).await;
    for (path, status, class) in [
        ("/hangs", 503, "timeout"),
        ("/refuses", 503, "proxy_policy"),
    ] {
        let (head, body) = call(Method::GET, format!("{url}{path}?key=secret")).await;
        assert_eq!(head.status, status);
        assert_eq!(head.headers["content-type"], "application/problem+json");
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["errorClass"], class);
        assert_eq!(problem["instance"], path);
        assert!(!problem.to_string().contains("secret"));
    }
    let (head, body) = call(Method::GET, format!("{url}/fine")).await;
    assert_eq!((head.status.as_u16(), &*body), (200, &b"fine"[..]));
}

#[tokio::test]
async fn head_is_told_the_length_and_gets_nothing() {
    let url = serve(app()).await;
    let (get, body) = call(Method::GET, format!("{url}/refuses")).await;
    let (head, nothing) = call(Method::HEAD, format!("{url}/refuses")).await;
    assert_eq!(get.headers["content-length"], *body.len().to_string());
    assert_eq!(head.status, get.status);
    assert_eq!(
        head.headers["content-length"],
        *(body.len() + 1).to_string()
    );
    assert!(nothing.is_empty());
}

#[tokio::test]
async fn hyper_serves_it_without_axum() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    fn fails(_: Request<hyper::body::Incoming>) -> Ready<Result<Response<Full<Bytes>>, BoxError>> {
        ready(Err("secret".into()))
    }
    let service = RespondLayer::new().layer(service_fn(fails));
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = hyper_util::service::TowerToHyperService::new(service);
        let io = hyper_util::rt::TokioIo::new(stream);
        hyper::server::conn::http1::Builder::new()
            .serve_connection(io, service)
            .await
    });
    let (head, body) = call(Method::GET, url).await;
    assert_eq!(head.status, 500);
    let problem: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["detail"], "GET /a failed: internal error");
}
