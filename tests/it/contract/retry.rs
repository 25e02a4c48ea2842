//! What is repeated, what is not, and what the caller is told of it.

use std::{io, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Version};
use http_body_util::{BodyExt, Empty, Full};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, BoxError, Delivery, DiagnoseLayer, Idempotency, MaxAttempts, NoRetry, Refused,
    ResponseExt, RetryError, RetryLayer, StopReason, find,
};

use super::shared::{Sent, attempts, calm, sent};
use crate::support::scripted::{Reply, Scripted};

#[tokio::test(start_paused = true)]
async fn the_table_of_statuses() {
    let retryable = [
        408, 425, 429, 500, 502, 503, 504, 506, 507, 508, 520, 521, 529, 599,
    ];
    for status in [
        200, 301, 304, 400, 401, 403, 404, 409, 417, 421, 422, 501, 505, 511,
    ]
    .into_iter()
    .chain(retryable)
    {
        let inner = Scripted::statuses([status]);
        let (count, retried) = attempts(&calm(), &inner, sent(Method::GET)).await;
        if retryable.contains(&status) {
            let retried = retried.unwrap();
            assert_eq!((count, retried.attempts()), (3, 3), "{status}");
            assert_eq!(retried.delivery(), Delivery::Answered);
        } else {
            assert_eq!((count, retried), (1, None), "{status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_table_of_methods() {
    let count = async |request: Sent| attempts(&calm(), &Scripted::statuses([503]), request).await;
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        assert_eq!(count(sent(method.parse().unwrap())).await.0, 3, "{method}");
    }
    for method in ["POST", "PATCH", "PURGE", "CONNECT"] {
        let (calls, retried) = count(sent(method.parse().unwrap())).await;
        assert_eq!(calls, 1, "{method}");
        if method != "CONNECT" {
            assert_eq!(retried.unwrap().attempts(), 1);
            assert_eq!(retried.unwrap().stop(), StopReason::NotIdempotent);
        }
    }
    for (key, calls) in [("k", 3), ("\"k\"", 3), ("", 1), (" ", 1)] {
        let mut keyed = sent(Method::POST);
        keyed
            .headers_mut()
            .insert("idempotency-key", HeaderValue::from_static(key));
        assert_eq!(count(keyed).await.0, calls, "{key:?}");
    }
    for (declared, calls) in [
        (Idempotency::Safe, 3),
        (Idempotency::Idempotent, 3),
        (Idempotency::NotIdempotent, 1),
    ] {
        for method in [Method::GET, Method::POST] {
            let mut request = sent(method);
            request.extensions_mut().insert(declared);
            assert_eq!(count(request).await.0, calls, "{declared}");
        }
    }
    for value in ["100-continue", "something"] {
        let mut request = sent(Method::PUT);
        request
            .headers_mut()
            .insert("expect", HeaderValue::from_static(value));
        assert_eq!(count(request).await.0, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_made_an_error_below_is_waited_for_like_an_answer() {
    for (headers, calls) in [(&[("retry-after", "7")], 3), (&[("retry-after", "31")], 1)] {
        let inner = Scripted::new([Reply::With(503, headers, b"")]);
        let layers = (calm(), DiagnoseLayer::new().error_for_status(true));
        let error = layers.layer(inner.clone()).oneshot(sent(Method::GET)).await;
        assert!(find::<RetryError>(&*error.unwrap_err()).is_some());
        let times: Vec<u64> = inner.times().iter().map(Duration::as_secs).collect();
        assert_eq!(times, [0, 7, 14][..calls]);
    }
}

#[tokio::test(start_paused = true)]
async fn errors_and_their_delivery() {
    let check = async |method: Method, reply: Reply, count: usize, delivery: Option<Delivery>| {
        let inner = Scripted::new([reply]);
        let (calls, retried) = attempts(&calm(), &inner, sent(method)).await;
        assert_eq!(calls, count);
        assert_eq!(retried.map(|retried| retried.delivery()), delivery);
    };
    check(Method::GET, Reply::Reset, 3, Some(Delivery::Unknown)).await;
    check(Method::GET, Reply::TimedOut, 3, Some(Delivery::Unknown)).await;
    check(Method::POST, Reply::Reset, 1, Some(Delivery::Unknown)).await;
    check(Method::POST, Reply::TimedOut, 1, Some(Delivery::Unknown)).await;
    check(Method::GET, Reply::Refuses, 1, None).await;
    check(Method::POST, Reply::Refuses, 1, None).await;
}

#[tokio::test]
async fn the_last_error_reads_as_itself() {
    let inner = Scripted::new([Reply::Reset]);
    let layer = calm().backoff(Backoff::exponential(Duration::ZERO, Duration::ZERO));
    let error = layer
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    let retry = error
        .downcast_ref::<RetryError>()
        .expect("more than one attempt");
    let source = std::error::Error::source(retry).unwrap();
    assert_eq!(retry.to_string(), source.to_string());
    assert_eq!(
        find::<io::Error>(&*error).unwrap().kind(),
        io::ErrorKind::ConnectionReset
    );

    // What is not retryable comes as it is.
    let inner = Scripted::new([Reply::Refuses]);
    let error = calm()
        .layer(inner)
        .oneshot(sent(Method::GET))
        .await
        .unwrap_err();
    assert!(error.downcast_ref::<Refused>().is_some(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn extensions_of_the_request_override() {
    let inner = Scripted::statuses([503]);
    let mut request = sent(Method::GET);
    request.extensions_mut().insert(NoRetry);
    assert_eq!(attempts(&calm(), &inner, request).await.0, 1);
    for (limit, count) in [(0, 1), (1, 1), (2, 2), (5, 5)] {
        let mut request = sent(Method::GET);
        request.extensions_mut().insert(MaxAttempts(limit));
        assert_eq!(attempts(&calm(), &inner, request).await.0, count);
        let layer = calm().max_attempts(limit);
        assert_eq!(attempts(&layer, &inner, sent(Method::GET)).await.0, count);
    }
    let declared = calm().only_declared(true);
    assert_eq!(attempts(&declared, &inner, sent(Method::GET)).await.0, 1);
    let mut request = sent(Method::GET);
    request.extensions_mut().insert(Idempotency::Safe);
    assert_eq!(attempts(&declared, &inner, request).await.0, 3);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_the_same_request() {
    #[derive(Clone, Debug, PartialEq)]
    struct Marker(&'static str);
    let inner = Scripted::statuses([500, 503, 200]);
    let mut request: Sent = Request::patch("http://h.example/a?b=c")
        .body(Full::from("{\"sha\":\"a\"}"))
        .unwrap();
    *request.version_mut() = Version::HTTP_2;
    let headers = request.headers_mut();
    headers.append("idempotency-key", HeaderValue::from_static("k1"));
    headers.append("x-a", HeaderValue::from_static("1"));
    headers.append("x-a", HeaderValue::from_bytes(b"\xff2").unwrap());
    let mut secret = HeaderValue::from_static("s");
    secret.set_sensitive(true);
    headers.append("x-secret", secret);
    request.extensions_mut().insert(Marker("m"));
    let (method, uri, headers) = (
        request.method().clone(),
        request.uri().clone(),
        request.headers().clone(),
    );
    let response = calm().layer(inner.clone()).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.retried().unwrap().stop(), StopReason::Succeeded);
    let seen = inner.each(|seen| {
        assert_eq!(seen.head.method, method);
        assert_eq!(seen.head.uri, uri);
        assert_eq!(seen.head.version, Version::HTTP_2);
        assert_eq!(seen.head.headers, headers);
        assert!(seen.head.headers["x-secret"].is_sensitive());
        assert_eq!(seen.head.extensions.get::<Marker>(), Some(&Marker("m")));
        seen.body.clone()
    });
    assert_eq!(seen, vec![Bytes::from("{\"sha\":\"a\"}"); 3]);
}

#[tokio::test(start_paused = true)]
async fn exhaustion_returns_the_last_response_unread() {
    let inner = Scripted::new([
        Reply::With(503, &[], b"first"),
        Reply::With(502, &[("x-n", "2")], b"second"),
        Reply::With(503, &[("x-n", "3")], b"{\"error\":\"queue full\"}"),
        Reply::Status(200),
    ]);
    let service = DiagnoseLayer::new().layer(RetryLayer::new().layer(inner.clone()));
    let response = service.oneshot(sent(Method::GET)).await.unwrap();
    assert_eq!(inner.calls(), 3);
    assert_eq!(
        (response.status().as_u16(), &response.headers()["x-n"]),
        (503, &HeaderValue::from_static("3"))
    );
    let line = response.diagnosis().unwrap().to_string();
    assert_eq!(
        line,
        "GET /a failed (503 Service Unavailable): queue full [3 attempts]"
    );
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(bytes, "{\"error\":\"queue full\"}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_been_applied_is_marked() {
    let marked = async |method: Method, reply: Reply| {
        let service = DiagnoseLayer::new().layer(calm().layer(Scripted::new([reply])));
        let error = service.oneshot(sent(method)).await.unwrap_err();
        let diagnosis = error.diagnosis();
        let hint = diagnosis.hint().unwrap_or_default().to_owned();
        assert_eq!(
            diagnosis.is_indeterminate(),
            hint.contains("may have been applied"),
            "{hint}"
        );
        diagnosis.is_indeterminate()
    };
    assert!(marked(Method::POST, Reply::Reset).await);
    assert!(marked(Method::POST, Reply::TimedOut).await);
    assert!(!marked(Method::GET, Reply::Reset).await);
    assert!(!marked(Method::POST, Reply::Refuses).await);
}

#[tokio::test(start_paused = true)]
async fn unsent_writes_are_repeated_unless_told_otherwise() {
    let refused = || {
        service_fn(
            async |_: Request<_>| -> Result<http::Response<Empty<Bytes>>, BoxError> {
                let client: hyper_util::client::legacy::Client<_, Full<Bytes>> =
                    hyper_util::client::legacy::Client::builder(
                        hyper_util::rt::TokioExecutor::new(),
                    )
                    .build_http();
                let request = Request::post("http://127.0.0.1:1/a")
                    .body(Full::default())
                    .unwrap();
                match client.request(request).await {
                    Ok(_) => unreachable!("nobody listens"),
                    Err(error) => Err(error.into()),
                }
            },
        )
    };
    let told = async |layer: RetryLayer| {
        let error = layer
            .layer(refused())
            .oneshot(sent(Method::POST))
            .await
            .unwrap_err();
        find::<RetryError>(&*error)
            .map(|error| (error.retried().attempts(), error.retried().delivery()))
    };
    assert_eq!(told(calm()).await, Some((3, Delivery::NotSent)));
    let once = told(calm().repeat_unsent(false)).await;
    assert!(
        matches!(once, None | Some((1, Delivery::NotSent))),
        "{once:?}"
    );
}
