//! Secrets planted everywhere in a call show up nowhere in what we say of it.

use std::{convert::Infallible, error::Error as _};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{DiagnoseLayer, Diagnosed, Diagnosis, LogPolicy, ResponseExt};

use crate::diagnose_log::Captured;

/// Every secret has this in it.
pub(crate) const MARK: &str = "SENTINEL";

fn request() -> Request<()> {
    let mut request = Request::post(
        "http://user:pw-SENTINEL-1@host.example/v1/bot12345:AAF-SENTINEL-22/send?api_key=q-SENTINEL-33&sig=s%2DSENTINEL-34",
    )
    .header("authorization", "Bearer auth-SENTINEL-44")
    .header("proxy-authorization", "Basic cHJveHk6cHctU0VOVElORUw-SENTINEL")
    .header("cookie", "session=cookie-SENTINEL-55; theme=dark-SENTINEL-56")
    .header("x-api-key", "key-SENTINEL-66")
    .header("x-amz-security-token", "amz-SENTINEL-77")
    .header("x-tenant-token", "tenant-SENTINEL-88")
    .body(())
    .unwrap();
    let mut marked = HeaderValue::from_static("marked-SENTINEL-99");
    marked.set_sensitive(true);
    request.headers_mut().insert("x-odd", marked);
    request
}

/// Echoes every secret of the request, in a message, in a field and in headers.
fn echo() -> Response<Full<Bytes>> {
    let body = serde_json::json!({
        "message": "bad token auth-SENTINEL-44 (Bearer auth-SENTINEL-44), key key-SENTINEL-66, \
            cookie cookie-SENTINEL-55 or dark-SENTINEL-56, amz-SENTINEL-77, tenant-SENTINEL-88, \
            marked-SENTINEL-99, q-SENTINEL-33, s-SENTINEL-34, pw-SENTINEL-1, \
            Basic cHJveHk6cHctU0VOVElORUw-SENTINEL, \
            http://user:pw-SENTINEL-1@host.example/v1?api_key=q-SENTINEL-33",
        "code": "key-SENTINEL-66",
        "request": {"headers": {"authorization": "Bearer auth-SENTINEL-44"}},
    });
    Response::builder()
        .status(401)
        .header("content-type", "application/json")
        .header("set-cookie", "session=set-SENTINEL-1")
        .header("location", "/u?sig=loc-SENTINEL-2")
        .header("www-authenticate", "Bearer realm=SENTINEL")
        .header("x-request-id", "key-SENTINEL-66")
        .body(Full::from(body.to_string()))
        .unwrap()
}

fn layer() -> DiagnoseLayer {
    DiagnoseLayer::new()
        .redact_header("x-tenant-token")
        .plain_text(true)
        .log(LogPolicy::new().bodies(true))
}

/// All forms in which a diagnosis goes out.
pub(crate) fn forms(diagnosis: &Diagnosis) -> Vec<String> {
    vec![
        diagnosis.to_string(),
        format!("{diagnosis:#}"),
        format!("{diagnosis:?}"),
        format!("{diagnosis:#?}"),
        serde_json::to_string(diagnosis).unwrap(),
        diagnosis.payload("send").to_string(),
        format!("{:?}", diagnosis.payload("send")),
        format!("{:?} {:?}", diagnosis.excerpt(), diagnosis.request_id()),
    ]
}

fn clean(what: &str, texts: impl IntoIterator<Item = String>) {
    for text in texts {
        assert!(!text.contains(MARK), "{what}: {text}");
    }
}

#[tokio::test]
async fn an_answer_that_echoes_them_all() {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(echo()) });
    let client = layer().layer(service);

    let response = client.clone().oneshot(request()).await.unwrap();
    clean("diagnosis", forms(response.diagnosis().unwrap()));
    clean("body", [format!("{:?}", response.body())]);
    assert!(
        response
            .diagnosis()
            .unwrap()
            .message()
            .unwrap()
            .contains("bad token")
    );

    let future = client.clone().oneshot(request());
    clean("layer", [format!("{:?} {client:?}", layer())]);
    drop(future);

    let failing = layer()
        .error_for_status(true)
        .layer(service_fn(|_: Request<()>| async {
            Ok::<_, Infallible>(echo())
        }));
    let error = failing.oneshot(request()).await.unwrap_err();
    clean(
        "error",
        [error.to_string(), format!("{error:?} {error:#?}")],
    );
    assert!(error.source().is_none());

    let events = captured.take();
    assert_eq!(events.len(), 4);
    clean("log", events);
}

#[tokio::test]
async fn a_plain_text_answer_that_echoes_them() {
    let service = service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(
            Response::builder()
                .status(400)
                .header("content-type", "text/plain")
                .body(Full::<Bytes>::from(
                    "bad key-SENTINEL-66\r\nand auth-SENTINEL-44",
                ))
                .unwrap(),
        )
    });
    let response = layer().layer(service).oneshot(request()).await.unwrap();
    clean("diagnosis", forms(response.diagnosis().unwrap()));
}

#[tokio::test]
async fn what_comes_together_on_one_line() {
    let service = service_fn(|_: Request<()>| async {
        let body =
            serde_json::json!({ "message": "no sentry\tdo it, \u{1b}(Bsentry \u{9b}31mdo it" });
        let body = Full::<Bytes>::from(body.to_string());
        Ok::<_, Infallible>(Response::builder().status(400).body(body).unwrap())
    });
    let request = Request::get("/").header("x-api-key", "sentry do it");
    let request = request.body(()).unwrap();
    let response = layer().layer(service).oneshot(request).await.unwrap();
    assert_eq!(
        response.diagnosis().unwrap().to_string(),
        "GET / failed (400 Bad Request): no [redacted], [redacted]"
    );
}

#[tokio::test]
async fn an_error_whose_text_has_them() {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let service = service_fn(|_: Request<()>| async {
        Err::<Response<Full<Bytes>>, BoxError>(
            "error sending request for url (http://h/?api_key=q-SENTINEL-33)".into(),
        )
    });
    let error: Diagnosed = layer().layer(service).oneshot(request()).await.unwrap_err();
    // The original error below is not ours; everything of ours above it is clean.
    clean(
        "error",
        [
            error.to_string(),
            format!("{error:?}"),
            format!("{error:#?}"),
        ],
    );
    clean("diagnosis", forms(error.diagnosis()));
    clean("log", captured.take());
}

#[tokio::test]
async fn a_secret_at_the_cut_of_the_excerpt_is_gone_before_the_cut() {
    let body: &'static str = format!(r#"{{"rest":"{} key-SENTINEL-66"}}"#, "x".repeat(480)).leak();
    let service = service_fn(move |_: Request<()>| async move {
        Ok::<_, Infallible>(
            Response::builder()
                .status(400)
                .body(Full::<Bytes>::from(body))
                .unwrap(),
        )
    });
    let response = layer().layer(service).oneshot(request()).await.unwrap();
    let excerpt = response.diagnosis().unwrap().excerpt().unwrap().to_owned();
    assert!(!excerpt.contains("key-"), "{excerpt}");
}
