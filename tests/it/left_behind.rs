//! A request that waits for its turn on an HTTP/2 connection which then breaks. hyper speaks of it as
//! of a request whose body failed; whoever holds the body knows better.

use std::{
    fmt::Debug,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use tokio::{io::AsyncWriteExt, sync::Notify};
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    Backoff, ClientStack, Delivery, Diagnosed, ErrorClass, FaultDomain, RecentCalls, ReplayBody,
    ResponseExt, RetryLayer,
};

use crate::support::{body::Synthetic, client, h2_by_hand as by_hand, raw};

/// Answers the first request of the first connection, allows no further one there and closes it when
/// told to. Answers on every other connection.
async fn server(close: Arc<Notify>) -> SocketAddr {
    let connections = Arc::new(AtomicU32::new(0));
    by_hand::serve(move |mut connection| {
        let (close, connections) = (Arc::clone(&close), Arc::clone(&connections));
        async move {
            let is_first = connections.fetch_add(1, Ordering::Relaxed) == 0;
            while let Ok(id) = connection.request().await {
                if is_first {
                    let no_streams = [0, 3, 0, 0, 0, 0];
                    connection
                        .write(by_hand::SETTINGS, 0, 0, &no_streams)
                        .await
                        .unwrap();
                }
                connection.head(id, 204, true).await.unwrap();
                if is_first {
                    close.notified().await;
                    return;
                }
            }
        }
    })
    .await
}

fn request(method: &str, uri: String, body: Synthetic) -> Request<Synthetic> {
    Request::builder()
        .method(method)
        .uri(uri)
        .body(body)
        .unwrap()
}

fn retry() -> RetryLayer {
    let millis = Duration::from_millis;
    RetryLayer::new().backoff(Backoff::exponential(millis(1), millis(2)))
}

/// Those that never repeat these requests and so keep nothing of them: nobody holds the body while it is
/// sent.
fn forgetful() -> [RetryLayer; 2] {
    [
        retry().max_attempts(1),
        retry().only_declared(true).repeat_unsent(false),
    ]
}

fn stack(retry: RetryLayer, calls: &RecentCalls) -> ClientStack {
    ClientStack::new(Duration::from_secs(30))
        .retry(retry)
        .record(calls.clone())
}

async fn leave_behind(
    retry: RetryLayer,
    method: &str,
    body: Synthetic,
) -> (
    Result<Response<impl Body<Error: Debug> + Debug>, Diagnosed>,
    RecentCalls,
) {
    let close = Arc::new(Notify::new());
    let uri = format!("http://{}/orders", server(Arc::clone(&close)).await);
    let calls = RecentCalls::new(10);
    let client = stack(retry, &calls).layer(client::http2());
    let first = request("GET", uri.clone(), Synthetic::of(0));
    client.clone().oneshot(first).await.unwrap();
    let waiting = client.oneshot(request(method, uri, body));
    let closing = async {
        // The client's tasks take over what was asked for.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        close.notify_one();
    };
    let (result, ()) = tokio::join!(waiting, closing);
    (result, calls)
}

#[tokio::test]
async fn is_a_failure_of_the_network_and_repeated_where_that_is_safe() {
    for (method, length) in [("GET", 0), ("PUT", 9)] {
        let (result, calls) = leave_behind(retry(), method, Synthetic::of(length)).await;
        let response = result.unwrap();
        assert_eq!(response.status(), StatusCode::NO_CONTENT, "{method}");
        assert_eq!(response.retried().unwrap().attempts(), 2, "{method}");
        response.into_body().collect().await.unwrap();
        let record = calls.snapshot().pop().unwrap();
        let failure = record.last_failure().unwrap();
        assert_eq!(failure.class(), ErrorClass::Network, "{method}");
    }
}

#[tokio::test]
async fn is_a_failure_of_the_network_for_what_is_never_repeated() {
    for method in ["PUT", "POST"] {
        for retry in forgetful() {
            let (result, calls) = leave_behind(retry, method, Synthetic::of(9)).await;
            let error = result.unwrap_err();
            let class = error.diagnosis().class();
            assert_eq!(class, ErrorClass::Network, "{method}");
            assert_eq!(error.diagnosis().domain(), FaultDomain::Upstream);
            let record = calls.snapshot().pop().unwrap();
            let class = record.outcome().unwrap().class();
            assert_eq!(class, ErrorClass::Network, "{method}");
        }
    }
}

#[tokio::test]
async fn is_not_repeated_where_it_may_have_been_applied() {
    let (result, calls) = leave_behind(retry(), "POST", Synthetic::of(9)).await;
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "POST /orders failed: connection closed before a response (no response from server)"
    );
    let diagnosis = error.diagnosis();
    assert_eq!(diagnosis.class(), ErrorClass::Network);
    assert_eq!(diagnosis.domain(), FaultDomain::Upstream);
    assert_eq!(diagnosis.delivery(), Delivery::Unknown);
    assert!(diagnosis.is_indeterminate());
    let record = calls.snapshot().pop().unwrap();
    assert_eq!(record.outcome().unwrap().class(), ErrorClass::Network);
}

type Build = fn() -> Synthetic;

/// Not every error that blames the body is wrong.
#[tokio::test]
async fn a_body_that_fails_is_the_callers_fault_still() {
    let address = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 16).await;
        let _ = stream.flush().await;
        raw::drain(&mut stream).await;
    })
    .await;
    let bodies: [(&str, Build); 4] = [
        ("PUT", || Synthetic::failing(20_000, "disk is gone")),
        ("PUT", || Synthetic::failing(0, "disk is gone")),
        ("POST", || Synthetic::failing(100_000, "disk is gone")),
        ("PUT", || Synthetic::lying(20, 10)),
    ];
    for (method, body) in bodies {
        let [first, second] = forgetful();
        for retry in [retry(), first, second] {
            let client = stack(retry, &RecentCalls::new(1)).layer(client::http1());
            let request = request(method, format!("http://{address}/orders"), body());
            let error = client.oneshot(request).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{method} /orders failed: request body failed (no response from server)")
            );
            assert_eq!(error.diagnosis().class(), ErrorClass::Cancelled);
            assert_eq!(error.diagnosis().domain(), FaultDomain::Client);
        }
    }
}

/// The request's own body is sound; the one that was put around it is not.
#[tokio::test]
async fn a_body_that_a_layer_below_cuts_off_is_our_own_fault_still() {
    let address = raw::serve(|mut stream| async move { raw::drain(&mut stream).await }).await;
    let client = client::http1::<Limited<ReplayBody<Synthetic>>>();
    let limited = client.map_request(|request: Request<ReplayBody<Synthetic>>| {
        request.map(|body| Limited::new(body, 1_000))
    });
    let client = stack(retry(), &RecentCalls::new(1)).layer(limited);
    let request = request(
        "PUT",
        format!("http://{address}/orders"),
        Synthetic::of(20_000),
    );
    let error = client.oneshot(request).await.unwrap_err();
    assert_eq!(error.diagnosis().class(), ErrorClass::Cancelled);
    assert_eq!(error.diagnosis().attempts(), 1);
}
