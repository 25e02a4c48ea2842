//! The limits on bodies, in memory and on a paused clock.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::ready,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, Sleep, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, RequestBodyTimeoutLayer, TimeoutError, TimeoutLayer, TimeoutScope, find,
    timeout::ResponseBody,
};

const MS: Duration = Duration::from_millis(1);

/// Emits a byte after each of the delays, then what `end` says. Panics when polled after its end.
struct Script {
    delays: VecDeque<Duration>,
    sleep: Option<Pin<Box<Sleep>>>,
    end: Option<End>,
}

enum End {
    Plain,
    Trailers,
    Error,
    Never,
}

fn script(delays: &[u64], end: End) -> Script {
    Script {
        delays: delays.iter().map(|ms| Duration::from_millis(*ms)).collect(),
        sleep: None,
        end: Some(end),
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(delay) = self.delays.front().copied() else {
            return match self.end.take().expect("polled after its end") {
                End::Plain => Poll::Ready(None),
                End::Trailers => {
                    self.end = Some(End::Plain);
                    let mut trailers = HeaderMap::new();
                    trailers.insert("x-sum", "1".parse().unwrap());
                    Poll::Ready(Some(Ok(Frame::trailers(trailers))))
                }
                End::Error => Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into()))),
                End::Never => {
                    self.end = Some(End::Never);
                    Poll::Pending
                }
            };
        };
        if !delay.is_zero() {
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(delay)));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
        }
        self.delays.pop_front();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.delays.len() as u64)
    }
}

/// Answers one `GET /stream` with `body`.
async fn body(layer: &TimeoutLayer, kind: &str, body: Script) -> ResponseBody<Script> {
    let response = Response::builder().header("content-type", kind).body(body);
    let mut response = Some(response.unwrap());
    let service = service_fn(move |_| ready(Ok::<_, Infallible>(response.take().unwrap())));
    let request = Request::get("http://h/stream?key=secret").body(()).unwrap();
    let response = layer.layer(service).oneshot(request).await.unwrap();
    response.into_body()
}

/// Reads to the end, with a pause before each read: how many bytes came, and how it ended.
async fn read<B>(mut body: B, pause: Duration) -> (usize, Option<BoxError>)
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    let mut bytes = 0;
    loop {
        if !pause.is_zero() {
            sleep(pause).await;
        }
        match body.frame().await {
            None => return (bytes, None),
            Some(Ok(frame)) => bytes += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(error)) => {
                assert!(body.is_end_stream());
                assert_eq!(body.size_hint().exact(), Some(0));
                assert!(
                    body.frame().await.is_none(),
                    "after the error the body ends"
                );
                return (bytes, Some(error));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_limit_names_itself() {
    let idle = TimeoutLayer::new(10 * MS).body_idle(50 * MS);
    let total = TimeoutLayer::new(10 * MS).body_total(100 * MS);
    let both = TimeoutLayer::new(10 * MS)
        .body_idle(50 * MS)
        .body_total(100 * MS);
    let trickle = [20; 10];
    for (layer, delays, end, bytes, took, text) in [
        (
            &idle,
            &[][..],
            End::Never,
            0,
            50,
            "50ms (response body idle)",
        ),
        (
            &idle,
            &[20, 49, 1],
            End::Never,
            3,
            120,
            "50ms (response body idle)",
        ),
        (
            &idle,
            &[20, 51],
            End::Plain,
            1,
            70,
            "50ms (response body idle)",
        ),
        (
            &total,
            &trickle,
            End::Plain,
            5,
            100,
            "100ms (response body)",
        ),
        (&total, &[], End::Never, 0, 100, "100ms (response body)"),
        (&both, &trickle, End::Plain, 5, 100, "100ms (response body)"),
        (
            &both,
            &[30, 60],
            End::Plain,
            1,
            80,
            "50ms (response body idle)",
        ),
        (
            &both,
            &[40, 40],
            End::Never,
            2,
            100,
            "100ms (response body)",
        ),
    ] {
        let start = Instant::now();
        let body = body(layer, "text/plain", script(delays, end)).await;
        let (read, error) = read(body, Duration::ZERO).await;
        let error = error.unwrap();
        assert_eq!(
            error.to_string(),
            format!("GET /stream timed out after {text}")
        );
        assert_eq!(read, bytes, "{text}");
        let elapsed = start.elapsed();
        assert!(
            elapsed >= took * MS && elapsed <= (took + 3) * MS,
            "{elapsed:?}"
        );
        let error = find::<TimeoutError>(&*error).unwrap();
        assert!(error.elapsed() >= error.limit(), "{error:?}");
        assert!(error.elapsed() <= error.limit() + 3 * MS, "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_a_slow_server() {
    let layer = TimeoutLayer::new(10 * MS)
        .body_idle(50 * MS)
        .body_total(100 * MS);
    let body = body(&layer, "text/plain", script(&[0, 5, 5, 0, 5], End::Plain)).await;
    let (bytes, error) = read(body, 200 * MS).await;
    assert_eq!(bytes, 5);
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_handed_out_however_late() {
    let layer = TimeoutLayer::new(10 * MS).body_idle(50 * MS);
    let mut body = body(&layer, "text/plain", script(&[10], End::Plain)).await;
    // The reader asks, then turns to something else for longer than the limit.
    assert!(tokio::time::timeout(5 * MS, body.frame()).await.is_err());
    sleep(500 * MS).await;
    assert!(body.frame().await.unwrap().is_ok());
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_total_leaves_event_streams_alone_unless_asked() {
    let spared = TimeoutLayer::new(MS).body_total(100 * MS);
    let cut = spared.clone().cut_event_streams(true);
    let idle = spared.clone().body_idle(15 * MS);
    for (layer, kind, fails) in [
        (&spared, "text/event-stream", false),
        (&spared, "Text/Event-Stream; charset=utf-8", false),
        (&spared, "text/event-stream-not", true),
        (&spared, "text/plain", true),
        (&cut, "text/event-stream", true),
        (&idle, "text/event-stream", true),
    ] {
        let body = body(layer, kind, script(&[20; 10], End::Plain)).await;
        let (_, error) = read(body, Duration::ZERO).await;
        assert_eq!(error.is_some(), fails, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn zero_gives_only_what_is_there_at_once() {
    for layer in [
        TimeoutLayer::new(MS).body_idle(Duration::ZERO),
        TimeoutLayer::new(MS).body_total(Duration::ZERO),
    ] {
        let start = Instant::now();
        let body = body(&layer, "text/plain", script(&[0, 0, 1], End::Plain)).await;
        let (bytes, error) = read(body, Duration::ZERO).await;
        assert_eq!(bytes, 2);
        assert!(error.is_some());
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn the_wrapper_keeps_size_trailers_errors_and_end() {
    for layer in [
        TimeoutLayer::new(MS),
        TimeoutLayer::new(MS).body_idle(50 * MS),
    ] {
        let mut with_trailers = body(&layer, "a/b", script(&[1, 1], End::Trailers)).await;
        assert_eq!(with_trailers.size_hint().exact(), Some(2));
        assert!(!with_trailers.is_end_stream());
        with_trailers.frame().await.unwrap().unwrap();
        assert_eq!(with_trailers.size_hint().exact(), Some(1));
        let rest = with_trailers.collect().await.unwrap();
        assert_eq!(rest.trailers().unwrap()["x-sum"], "1");

        let failing = body(&layer, "a/b", script(&[1], End::Error)).await;
        let (bytes, error) = read(failing, Duration::ZERO).await;
        assert_eq!(bytes, 1);
        assert!(error.unwrap().is::<io::Error>());
    }
}

#[tokio::test]
async fn an_inner_end_is_seen_before_it_is_read() {
    let service =
        service_fn(|_| ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))));
    let layer = TimeoutLayer::new(MS).body_idle(MS);
    let response = layer
        .layer(service)
        .oneshot(Request::new(()))
        .await
        .unwrap();
    assert!(response.body().is_end_stream());
}

#[tokio::test]
async fn a_body_that_uses_up_the_budget_cannot_hold_off_the_limit() {
    struct Greedy;
    impl Body for Greedy {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            while std::pin::pin!(tokio::task::consume_budget())
                .poll(cx)
                .is_ready()
            {}
            Poll::Pending
        }
    }
    let service = service_fn(|_| ready(Ok::<_, Infallible>(Response::new(Greedy))));
    let layer = TimeoutLayer::new(MS).body_idle(20 * MS);
    let response = layer
        .layer(service)
        .oneshot(Request::new(()))
        .await
        .unwrap();
    let mut body = response.into_body();
    let frame = tokio::time::timeout(Duration::from_secs(5), body.frame()).await;
    assert!(frame.expect("the limit never fired").unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_body_is_limited_too() {
    let layer = RequestBodyTimeoutLayer::new(50 * MS).total(100 * MS);
    for (delays, end, fault) in [
        (&[20, 20][..], End::Trailers, None),
        (
            &[20],
            End::Never,
            Some((TimeoutScope::RequestBodyIdle, "50ms (request body idle)")),
        ),
        (
            &[20; 10],
            End::Plain,
            Some((TimeoutScope::RequestBodyTotal, "100ms (request body)")),
        ),
    ] {
        let mut service = layer.layer(service_fn(async |request: Request<_>| {
            let body: tower_diagnose::timeout::RequestBody<Script> = request.into_body();
            Ok::<_, Infallible>(body.collect().await.map(|body| body.trailers().is_some()))
        }));
        let request = Request::post("/upload").body(script(delays, end)).unwrap();
        let result = service.ready().await.unwrap().call(request).await.unwrap();
        match fault {
            None => assert!(result.unwrap(), "the trailers came through"),
            Some((scope, text)) => {
                let error = result.unwrap_err();
                assert_eq!(
                    error.to_string(),
                    format!("POST /upload timed out after {text}")
                );
                assert_eq!(find::<TimeoutError>(&*error).unwrap().scope(), scope);
            }
        }
    }
}
