//! The server's side: around axum services, and in a proxy.

use std::convert::Infallible;

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{
    DiagnoseLayer, Diagnosis, Endpoint, ErrorClass, FaultDomain, Refused, ResponseExt,
};

use crate::diagnose_log::Captured;

fn router() -> Router {
    Router::new()
        .route(
            "/users/{id}",
            get(|| async {
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    r#"{"message":"no database"}"#,
                )
            }),
        )
        .route("/teapot", get(|| async { StatusCode::IM_A_TEAPOT }))
        .layer(DiagnoseLayer::for_server())
}

async fn get_from(router: Router, path: &str) -> (Response<Body>, Vec<String>) {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    (response, captured.take())
}

#[tokio::test]
async fn a_router_takes_the_layer_and_blames_itself_for_5xx_and_the_client_for_4xx() {
    let (response, events) = get_from(router(), "/users/42?token=SENTINEL").await;
    let diagnosis = response.diagnosis().unwrap();
    assert_eq!(diagnosis.class(), ErrorClass::Http);
    assert_eq!(diagnosis.domain(), FaultDomain::Proxy);
    assert!(events[0].starts_with("ERROR "), "{events:?}");
    assert!(!events[0].contains("SENTINEL"));
    let path = if cfg!(feature = "axum") {
        "/users/{id}"
    } else {
        "/users/42"
    };
    assert_eq!(
        diagnosis.to_string(),
        format!("GET {path} failed (500 Internal Server Error): no database")
    );
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, r#"{"message":"no database"}"#);

    let (response, events) = get_from(router(), "/teapot").await;
    assert_eq!(response.diagnosis().unwrap().domain(), FaultDomain::Client);
    assert!(events[0].starts_with("DEBUG "), "{events:?}");
}

#[tokio::test]
async fn an_upstreams_diagnosis_is_kept() {
    let upstream = DiagnoseLayer::new().layer(service_fn(|_: Request<()>| async {
        let answer = Response::builder()
            .status(503)
            .body(Full::from(r#"{"message":"resting"}"#));
        Ok::<_, Infallible>(answer.unwrap())
    }));
    let handler = service_fn(move |_: Request<Body>| {
        let upstream = upstream.clone();
        async move {
            let request = Request::get("http://upstream.example/v1/jobs")
                .body(())
                .unwrap();
            let response = upstream.oneshot(request).await.unwrap();
            Ok::<_, Infallible>(response.map(Body::new))
        }
    });
    let router = Router::new()
        .route_service("/jobs", handler)
        .layer(DiagnoseLayer::for_server());
    let (response, events) = get_from(router, "/jobs").await;
    let line = "GET /v1/jobs failed (503 Service Unavailable): resting";
    assert_eq!(response.diagnosis().unwrap().to_string(), line);
    assert_eq!(
        response.diagnosis().unwrap().domain(),
        FaultDomain::Upstream
    );
    assert_eq!(events.len(), 1);
    assert!(events[0].contains(line));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, r#"{"message":"resting"}"#);
}

#[tokio::test]
async fn an_error_is_logged_and_stays_what_it_was() {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let boxed = DiagnoseLayer::for_server().layer(service_fn(|_: Request<()>| async {
        Err::<Response<Full<Bytes>>, BoxError>(Refused::new("draining").into())
    }));
    let error = boxed.oneshot(Request::new(())).await.unwrap_err();
    assert!(error.is::<Refused>());
    let events = captured.take();
    assert!(
        events[0].contains("GET / failed: draining (not sent)"),
        "{events:?}"
    );

    /// An error that no layer of ours knows, and that is not even an `Error`.
    #[derive(Debug, PartialEq)]
    struct Odd(u8);
    let odd = DiagnoseLayer::for_server().layer(service_fn(|_: Request<()>| async {
        Err::<Response<Full<Bytes>>, Odd>(Odd(7))
    }));
    assert_eq!(odd.oneshot(Request::new(())).await.unwrap_err(), Odd(7));
    let events = captured.take();
    assert!(events[0].starts_with("ERROR "), "{events:?}");
    assert!(
        events[0].contains("GET / failed: internal error"),
        "{events:?}"
    );
}

#[tokio::test]
async fn the_endpoint_is_the_one_before_the_inner_service_rewrote_it() {
    let rewriting = service_fn(|mut request: Request<()>| async move {
        *request.uri_mut() = "/rewritten".parse().unwrap();
        Ok::<_, Infallible>(
            Response::builder()
                .status(500)
                .body(Full::<Bytes>::default())
                .unwrap(),
        )
    });
    let request = Request::get("/as/sent").body(()).unwrap();
    let sent = Endpoint::of(&request);
    let response = DiagnoseLayer::for_server()
        .layer(rewriting)
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(
        response.extensions().get::<Diagnosis>().unwrap().endpoint(),
        &sent
    );
}
