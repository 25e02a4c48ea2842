//! Limits: of the head, of the body, of one request; zero, for ever, and no timer at all.

use std::{future::Future, pin::Pin, sync::Arc, task::Context, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, DiagnoseLayer, RequestTimeout, RespondLayer, TimeoutError, TimeoutLayer,
    TimeoutScope, is_timeout,
};

use crate::support::outside::{get, response, without_runtime};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

async fn after(wait: Duration) -> Result<Response<Full<Bytes>>, BoxError> {
    if !wait.is_zero() {
        sleep(wait).await;
    }
    Ok(response(200, "", Full::default()))
}

/// Whether a head that takes `takes` is within the limit, and how long the call took.
async fn limited(layer: TimeoutLayer, takes: Duration, own: Option<Duration>) -> (bool, Duration) {
    let begun = Instant::now();
    let mut request = get("/a");
    if let Some(own) = own {
        request.extensions_mut().insert(RequestTimeout(own));
    }
    let service = layer.layer(service_fn(async |_: Request<()>| after(takes).await));
    let result = service.oneshot(request).await;
    (result.is_ok(), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_head() {
    let layer = || TimeoutLayer::new(30 * MS);
    assert_eq!(limited(layer(), 29 * MS, None).await, (true, 29 * MS));
    assert_eq!(limited(layer(), SECOND, None).await, (false, 30 * MS));
    // The inner service is asked first, and wins a tie.
    assert_eq!(limited(layer(), 30 * MS, None).await, (true, 30 * MS));
    // The request's own replaces it, shorter or longer.
    assert_eq!(
        limited(layer(), SECOND, Some(10 * MS)).await,
        (false, 10 * MS)
    );
    assert_eq!(
        limited(layer(), SECOND, Some(2 * SECOND)).await,
        (true, SECOND)
    );
    assert_eq!(
        limited(layer(), SECOND, Some(Duration::MAX)).await,
        (true, SECOND)
    );
    assert_eq!(
        limited(layer(), SECOND, Some(Duration::ZERO)).await,
        (false, Duration::ZERO)
    );
    // Zero has passed already; but an answer that is there is there.
    assert_eq!(
        limited(TimeoutLayer::new(Duration::ZERO), MS, None).await,
        (false, Duration::ZERO)
    );
    assert_eq!(
        limited(TimeoutLayer::new(Duration::ZERO), Duration::ZERO, None).await,
        (true, Duration::ZERO)
    );
    assert_eq!(
        limited(TimeoutLayer::new(Duration::MAX), 3600 * SECOND, None).await,
        (true, 3600 * SECOND)
    );
    for huge in [
        Duration::MAX - MS,
        Duration::from_secs(u64::MAX),
        Duration::from_secs(u64::MAX / 2),
    ] {
        assert_eq!(
            limited(TimeoutLayer::new(huge), SECOND, None).await,
            (true, SECOND)
        );
        assert_eq!(limited(layer(), SECOND, Some(huge)).await, (true, SECOND));
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_names_what_it_was() {
    let service = TimeoutLayer::new(30 * SECOND)
        .layer(service_fn(async |_: Request<()>| after(60 * SECOND).await));
    let error = service
        .oneshot(get("https://u:SENTINEL@h.example/api/modules?key=SENTINEL"))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "GET /api/modules timed out after 30s");
    let timeout = error
        .downcast_ref::<TimeoutError>()
        .expect("the type itself");
    assert_eq!(
        (timeout.limit(), timeout.scope()),
        (30 * SECOND, TimeoutScope::Head)
    );
    assert_eq!(timeout.endpoint().to_string(), "GET /api/modules");
    assert!(!format!("{timeout:?}").contains("SENTINEL"));
    assert!(!format!("{timeout:?}").contains("h.example"));
    assert!(is_timeout(&*error));
}

#[tokio::test]
async fn an_error_below_comes_as_it_is() {
    let broken = service_fn(async |_: Request<()>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::from(std::io::ErrorKind::BrokenPipe))
    });
    let error = TimeoutLayer::new(SECOND)
        .layer(broken)
        .oneshot(get("/a"))
        .await
        .unwrap_err();
    assert!(error.downcast_ref::<std::io::Error>().is_some());
}

#[test]
fn an_instant_answer_needs_no_time_driver() {
    let fine = service_fn(async |_: Request<()>| {
        Ok::<_, BoxError>(response(200, "", Full::new(Bytes::from("fine"))))
    });
    let layer = TimeoutLayer::new(SECOND)
        .body_idle(SECOND)
        .body_total(SECOND);
    let answer = without_runtime(layer.layer(fine).oneshot(get("/a")))
        .unwrap()
        .unwrap();
    let bytes = without_runtime(answer.into_body().collect())
        .unwrap()
        .unwrap()
        .to_bytes();
    assert_eq!(bytes, "fine");
    // A runtime without a time driver is as good as none.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let answer = runtime
        .block_on(layer.layer(fine).oneshot(get("/a")))
        .unwrap();
    assert_eq!(
        runtime
            .block_on(answer.into_body().collect())
            .unwrap()
            .to_bytes(),
        "fine"
    );
    // One that yields once, and a limit that is none, need none either.
    let yields = service_fn(async |_: Request<()>| {
        tokio::task::yield_now().await;
        Ok::<_, BoxError>(response(200, "", Full::<Bytes>::default()))
    });
    let unlimited = TimeoutLayer::new(Duration::MAX).layer(yields);
    assert!(runtime.block_on(unlimited.oneshot(get("/a"))).is_ok());
    let none = TimeoutLayer::new(Duration::ZERO).layer(yields);
    assert!(runtime.block_on(none.oneshot(get("/a"))).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_future_lets_go_of_the_inner_one() {
    struct Held(Arc<()>);
    impl Future for Held {
        type Output = Result<Response<Full<Bytes>>, BoxError>;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> std::task::Poll<Self::Output> {
            let _ = &self.0;
            std::task::Poll::Pending
        }
    }
    let alive = Arc::new(());
    let mut service =
        TimeoutLayer::new(MS).layer(service_fn(|_: Request<()>| Held(Arc::clone(&alive))));
    let mut call = Box::pin(service.ready().await.unwrap().call(get("/a")));
    assert_eq!(Arc::strong_count(&alive), 2);
    assert!((&mut call).await.is_err());
    drop(call);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[tokio::test(start_paused = true)]
async fn a_servers_own_timeout_is_a_504_or_503() {
    let layers = (
        RespondLayer::new(),
        DiagnoseLayer::for_server(),
        TimeoutLayer::new(MS),
    );
    let service = layers.layer(service_fn(async |_: Request<()>| after(SECOND).await));
    let answer = service.oneshot(get("/a")).await.unwrap();
    assert!(
        matches!(answer.status().as_u16(), 503 | 504),
        "{}",
        answer.status()
    );
}
