//! What holds of the stacks whatever is called and however they are set.

use std::{
    convert::Infallible,
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty, Full};
use proptest::prelude::*;
use tokio::{runtime::Handle, time::advance};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, ClientStack, DiagnoseLayer, Jitter, RecentCalls, RequestTimeout, RespondLayer,
    RetryLayer, ServerStack, TimeoutLayer,
};

use crate::support::scripted::{Reply, Scripted};

type Sent = Request<Empty<Bytes>>;

fn request() -> Sent {
    Request::get("http://host.example/a?b=c")
        .body(Empty::new())
        .unwrap()
}

fn paused<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(test)
}

#[derive(Clone, Debug, PartialEq)]
struct Tag(u32);

#[derive(Clone, Debug)]
struct Head {
    status: StatusCode,
    version: Version,
    headers: HeaderMap,
    tag: u32,
}

fn head() -> impl Strategy<Value = Head> {
    let names = [
        "x-a",
        "x-b",
        "set-cookie",
        "content-type",
        "content-encoding",
        "retry-after",
        "date",
        "grpc-status",
    ];
    let name = prop::sample::select(names.map(HeaderName::from_static).to_vec());
    let value = prop_oneof![
        prop::sample::select(vec![
            "application/json",
            "text/html",
            "gzip",
            "3",
            "0",
            "14",
            ""
        ])
        .prop_map(|value| value.as_bytes().to_vec()),
        prop::collection::vec(
            any::<u8>().prop_map(|byte| if byte.is_ascii_control() { b'\t' } else { byte }),
            0..20
        ),
    ];
    let status = prop_oneof![Just(200_u16), 100..1000_u16, 400..600_u16];
    let version = prop::sample::select(vec![Version::HTTP_10, Version::HTTP_11, Version::HTTP_2]);
    let headers = prop::collection::vec((name, value, any::<bool>()), 0..8);
    (status, version, headers, any::<u32>()).prop_map(|(status, version, lines, tag)| {
        let mut headers = HeaderMap::new();
        for (name, value, is_sensitive) in lines {
            let mut value = HeaderValue::from_bytes(&value).unwrap();
            value.set_sensitive(is_sensitive);
            headers.append(name, value);
        }
        let status = StatusCode::from_u16(status).unwrap();
        Head {
            status,
            version,
            headers,
            tag,
        }
    })
}

/// Says this head, whatever it is asked, and a body.
fn says<R>(
    head: &Head,
) -> impl Service<R, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send> + Clone + use<R>
{
    let head = head.clone();
    service_fn(move |_: R| {
        let mut response = Response::new(Full::from(r#"{"message":"no"}"#));
        *response.status_mut() = head.status;
        *response.version_mut() = head.version;
        *response.headers_mut() = head.headers.clone();
        response.extensions_mut().insert(Tag(head.tag));
        std::future::ready(Ok::<_, Infallible>(response))
    })
}

async fn same<S, B>(name: &str, service: S, head: &Head) -> Result<(), TestCaseError>
where
    S: Service<Sent, Response = Response<B>>,
    S::Error: std::fmt::Debug,
    B: http_body::Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    let response = service.oneshot(request()).await.unwrap();
    prop_assert_eq!(response.status(), head.status, "{}", name);
    prop_assert_eq!(response.version(), head.version, "{}", name);
    let lines = |headers: &HeaderMap| -> Vec<(HeaderName, HeaderValue, bool)> {
        headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone(), value.is_sensitive()))
            .collect()
    };
    prop_assert_eq!(lines(response.headers()), lines(&head.headers), "{}", name);
    prop_assert_eq!(response.extensions().get::<Tag>(), Some(&Tag(head.tag)));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    prop_assert_eq!(body, r#"{"message":"no"}"#, "{}", name);
    Ok(())
}

const LONG: Duration = Duration::from_secs(3600);

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_comes_through_with_the_head_that_it_had(head in head()) {
        paused(async {
            let calls = RecentCalls::new(4);
            let client = ClientStack::new(LONG).record(calls.clone());
            same("client", client.layer(says(&head)), &head).await?;
            let server = ServerStack::new(LONG).record(calls);
            same("server", server.layer(says(&head)), &head).await?;
            same("retry", RetryLayer::new().layer(says(&head)), &head).await?;
            same("diagnose", DiagnoseLayer::new().layer(says(&head)), &head).await?;
            same("timeout", TimeoutLayer::new(LONG).layer(says(&head)), &head).await?;
            same("respond", RespondLayer::new().layer(says(&head)), &head).await
        })?;
    }

    /// Neither panics nor loses a call.
    #[test]
    fn limits_of_any_length_do_no_harm(
        lengths in prop::array::uniform9(length()),
        attempts in prop_oneof![0..5_u32, Just(u32::MAX)],
        own in prop::option::of(length()),
        script in prop::collection::vec(reply(), 1..4),
        has_jitter: bool,
    ) {
        let [total, attempt, base, cap, asked, peek, server, limit, wait] = lengths;
        paused(async {
            let calls = RecentCalls::new(4);
            let jitter = if has_jitter { Jitter::Full } else { Jitter::None };
            let retry = RetryLayer::new()
                .max_attempts(attempts)
                .backoff(Backoff::exponential(base, cap).jitter(jitter))
                .retry_after_limit(asked);
            let client = ClientStack::new(total)
                .attempt_timeout(attempt)
                .retry(retry)
                .diagnose(DiagnoseLayer::new().peek_timeout(peek))
                .record(calls.clone());
            let service = (
                RespondLayer::new().overload_wait(wait),
                TimeoutLayer::new(limit).body_idle(limit).body_total(server),
                client,
            );
            let mut request = request();
            if let Some(own) = own {
                request.extensions_mut().insert(RequestTimeout(own));
            }
            let call = async {
                let answer = service.layer(Scripted::new(script)).oneshot(request).await;
                let Ok(answer) = answer;
                let _ = answer.into_body().collect().await;
            };
            let _ = tokio::time::timeout(LONG, call).await;
            assert_eq!(calls.total(), 1);
        });
    }
}

fn length() -> impl Strategy<Value = Duration> {
    let any = (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(s, n)| Duration::new(s, n));
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        Just(Duration::from_secs(u64::MAX)),
        Just(Duration::from_secs(i64::MAX as u64)),
        Just(Duration::from_nanos(1)),
        (0..3000_u64).prop_map(Duration::from_millis),
        any,
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        Just(Reply::Status(200)),
        Just(Reply::Status(503)),
        Just(Reply::Stalls(503)),
        Just(Reply::Stalls(200)),
        Just(Reply::Reset),
        Just(Reply::Never),
        Just(Reply::Refuses),
        Just(Reply::With(
            429,
            &[("retry-after", "1")],
            b"{\"message\":\"slow down\"}"
        )),
        Just(Reply::With(
            429,
            &[("retry-after", "99999999999999999999")],
            b""
        )),
        (0..2000_u64).prop_map(|millis| Reply::Late(Duration::from_millis(millis), 500)),
    ]
}

#[tokio::test(start_paused = true)]
async fn nothing_is_spawned_at_any_point_of_a_call() {
    let millis = Duration::from_millis;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for script in [
        vec![Reply::Stalls(503), Reply::Never, Reply::Stalls(500)],
        vec![
            Reply::Late(millis(30), 503),
            Reply::Reset,
            Reply::Status(200),
        ],
        vec![Reply::Never],
    ] {
        let calls = RecentCalls::new(4);
        let stack = ClientStack::new(Duration::from_secs(9))
            .attempt_timeout(millis(500))
            .record(calls.clone());
        let service = stack.layer(Scripted::new(script));
        let layers = (
            ServerStack::new(LONG),
            TimeoutLayer::new(LONG).body_idle(millis(50)),
        );
        let mut call = pin!(async {
            let answer = layers.layer(service).oneshot(request()).await;
            let Ok(answer) = answer;
            let _ = answer.into_body().collect().await;
        });
        let mut cx = Context::from_waker(Waker::noop());
        let mut polls = 0;
        loop {
            let polled = call.as_mut().poll(&mut cx);
            assert_eq!(tasks(), before, "after {polls} polls");
            if polled.is_ready() {
                break;
            }
            polls += 1;
            advance(millis(10)).await;
        }
        assert!(polls > 5);
        assert_eq!(calls.total(), 1);
    }
}
