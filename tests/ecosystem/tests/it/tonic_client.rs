//! The stack around a real tonic channel.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::uri::PathAndQuery;
use tokio::net::TcpStream;
use tonic::{
    Code, Request, Status,
    body::Body,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tower::{Layer, Service, ServiceExt, service_fn, util::MapErr};
use tower_diagnose::{
    BodyEnd, BoxError, ClientStack, Delivery, DiagnoseLayer, Diagnosed, ErrorClass, FaultDomain,
    Idempotency, Protocol, RecentCalls, Refused, TonicService, find,
};

use crate::{
    greeter::{self, Text},
    raw,
    support::only,
};

const HELLO: PathAndQuery = PathAndQuery::from_static("/greeter.Greeter/Hello");

fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint::from_shared(format!("http://{address}")).unwrap()
}

fn stack(calls: &RecentCalls) -> ClientStack {
    ClientStack::new(Duration::from_secs(30))
        .diagnose(DiagnoseLayer::new().inspect(Protocol::Grpc))
        .record(calls.clone())
}

/// Says hello through the stack.
async fn hello<S>(
    stack: &ClientStack,
    channel: S,
    request: Request<String>,
) -> Result<String, Status>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>> + Clone,
    S::Error: Into<BoxError> + Send + 'static,
{
    let client = stack.layer(TonicService::new(channel));
    let mut client = Grpc::new(MapErr::new(client, Status::from));
    client.ready().await?;
    let response = client.unary(request, HELLO, Text).await?;
    Ok(response.into_inner())
}

async fn greet(stack: &ClientStack, channel: Channel, name: &str) -> Result<String, Status> {
    hello(stack, channel, Request::new(name.to_owned())).await
}

#[tokio::test]
async fn a_good_call_is_as_it_is_without_the_stack() {
    let channel = endpoint(greeter::serve().await).connect_lazy();
    let calls = RecentCalls::new(10);
    assert_eq!(
        greet(&stack(&calls), channel, "ann").await.unwrap(),
        "hello ann"
    );
    let record = only(&calls);
    assert_eq!(record.outcome(), None);
    assert_eq!(record.body_end(), Some(BodyEnd::Complete));
    assert_eq!(
        (record.attempts(), record.delivery()),
        (1, Delivery::Answered)
    );
}

#[tokio::test]
async fn a_status_of_the_server_reaches_the_caller_and_is_classed() {
    let channel = endpoint(greeter::serve().await).connect_lazy();
    for (code, class, domain) in [
        (Code::Cancelled, ErrorClass::Cancelled, FaultDomain::Client),
        (
            Code::InvalidArgument,
            ErrorClass::Jsonrpc,
            FaultDomain::Upstream,
        ),
        (
            Code::DeadlineExceeded,
            ErrorClass::Timeout,
            FaultDomain::Upstream,
        ),
        (Code::NotFound, ErrorClass::Jsonrpc, FaultDomain::Upstream),
        (
            Code::PermissionDenied,
            ErrorClass::Auth,
            FaultDomain::Upstream,
        ),
        (Code::Internal, ErrorClass::Jsonrpc, FaultDomain::Upstream),
        (
            Code::Unavailable,
            ErrorClass::Network,
            FaultDomain::Upstream,
        ),
        (
            Code::Unauthenticated,
            ErrorClass::Auth,
            FaultDomain::Upstream,
        ),
    ] {
        let calls = RecentCalls::new(10);
        let status = greet(&stack(&calls), channel.clone(), &(code as i32).to_string())
            .await
            .unwrap_err();
        assert_eq!((status.code(), status.message()), (code, "no such name"));
        let record = only(&calls);
        assert_eq!(
            (record.error_class(), record.fault_domain()),
            (Some(class), Some(domain)),
            "{code:?}"
        );
        assert_eq!(
            (record.attempts(), record.delivery()),
            (1, Delivery::Answered)
        );
    }
}

#[tokio::test]
async fn a_status_that_is_made_an_error_has_the_line_and_keeps_its_code() {
    let channel = endpoint(greeter::serve().await).connect_lazy();
    let diagnose = DiagnoseLayer::new()
        .inspect(Protocol::Grpc)
        .error_for_status(true);
    let stack = ClientStack::new(Duration::from_secs(30)).diagnose(diagnose);
    for code in [Code::NotFound, Code::Unavailable, Code::Aborted] {
        let name = (code as i32).to_string();
        let status = greet(&stack, channel.clone(), &name).await.unwrap_err();
        assert_eq!(status.code(), code);
        assert_eq!(
            status.message(),
            "POST /greeter.Greeter/Hello failed (200 OK): no such name"
        );
        let diagnosed = find::<Diagnosed>(&status).unwrap();
        assert!(diagnosed.diagnosis().code().is_some());
    }
}

#[tokio::test]
async fn a_stream_that_fails_after_its_messages_is_classed_by_its_trailers() {
    let channel = endpoint(greeter::serve().await).connect_lazy();
    let calls = RecentCalls::new(10);
    let client = stack(&calls).layer(TonicService::new(channel));
    let mut client = Grpc::new(MapErr::new(client, Status::from));
    client.ready().await.unwrap();
    let path = PathAndQuery::from_static("/greeter.Greeter/Count");
    let request = Request::new(String::from("14"));
    let mut messages = client
        .server_streaming(request, path, Text)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(messages.message().await.unwrap().as_deref(), Some("1"));
    assert_eq!(messages.message().await.unwrap().as_deref(), Some("2"));
    assert_eq!(
        messages.message().await.unwrap_err().code(),
        Code::Unavailable
    );
    drop(messages);
    assert_eq!(only(&calls).error_class(), Some(ErrorClass::Network));
    assert_eq!(only(&calls).body_end(), Some(BodyEnd::Complete));
}

#[tokio::test]
async fn a_refused_connection_is_repeated_and_told_in_the_status() {
    let (address, _kept) = raw::refused();
    let calls = RecentCalls::new(10);
    let status = greet(&stack(&calls), endpoint(address).connect_lazy(), "ann")
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        status.message(),
        "POST /greeter.Greeter/Hello failed: ECONNREFUSED (no response from server) [3 attempts]",
    );
    let diagnosis = find::<Diagnosed>(&status).unwrap().diagnosis();
    assert_eq!(diagnosis.delivery(), Delivery::NotSent);
    assert!(!diagnosis.is_indeterminate());
    assert_eq!(
        (only(&calls).attempts(), only(&calls).error_class()),
        (3, Some(ErrorClass::Network))
    );
}

#[tokio::test]
async fn a_connection_that_closes_under_the_call_may_have_been_served() {
    for resets in [false, true] {
        // Lets the preface and the request come, says its own settings, and goes.
        let address = raw::serve(move |mut stream: TcpStream| async move {
            use tokio::io::AsyncWriteExt;
            stream
                .write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])
                .await
                .unwrap();
            raw::skip(&mut stream, 24 + 9 + 60).await;
            if resets {
                raw::reset(stream);
            }
        })
        .await;
        let calls = RecentCalls::new(10);
        let status = greet(&stack(&calls), endpoint(address).connect_lazy(), "ann")
            .await
            .unwrap_err();
        let diagnosis = find::<Diagnosed>(&status).unwrap().diagnosis();
        assert_eq!(
            (diagnosis.class(), diagnosis.delivery()),
            (ErrorClass::Network, Delivery::Unknown),
            "{diagnosis}"
        );
        assert!(diagnosis.is_indeterminate(), "{diagnosis}");
        assert_eq!(
            (status.code(), diagnosis.attempts()),
            (Code::Unavailable, 1)
        );
    }
}

#[tokio::test]
async fn its_own_limits_are_timeouts() {
    let silent =
        raw::serve(|mut stream: TcpStream| async move { raw::drain(&mut stream).await }).await;
    let calls = RecentCalls::new(10);
    let channel = endpoint(silent)
        .timeout(Duration::from_millis(50))
        .connect_lazy();
    let status = greet(&stack(&calls), channel, "ann").await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let diagnosis = find::<Diagnosed>(&status).unwrap().diagnosis();
    assert_eq!(
        diagnosis.to_string(),
        "POST /greeter.Greeter/Hello failed: timed out (no response from server)",
    );
    assert_eq!(
        (diagnosis.class(), diagnosis.domain()),
        (ErrorClass::Timeout, FaultDomain::Upstream)
    );
    assert!(diagnosis.is_indeterminate());

    let (address, _kept) = raw::unreachable().await;
    let channel = endpoint(address)
        .connect_timeout(Duration::from_millis(50))
        .connect_lazy();
    let status = greet(&stack(&calls).without_retry(), channel, "ann")
        .await
        .unwrap_err();
    let diagnosis = find::<Diagnosed>(&status).unwrap().diagnosis();
    assert_eq!(
        (diagnosis.class(), diagnosis.delivery()),
        (ErrorClass::Timeout, Delivery::NotSent)
    );
}

#[tokio::test]
async fn our_limit_becomes_a_deadline_that_was_exceeded() {
    let silent =
        raw::serve(|mut stream: TcpStream| async move { raw::drain(&mut stream).await }).await;
    let stack = ClientStack::new(Duration::from_millis(60));
    let status = greet(&stack, endpoint(silent).connect_lazy(), "ann")
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "POST /greeter.Greeter/Hello failed: timed out after 60ms (no response from server)",
    );
}

#[tokio::test]
async fn only_a_call_that_declares_itself_is_repeated_when_it_may_have_arrived() {
    let channel = endpoint(greeter::serve().await).connect_lazy();
    for (declared, sent) in [(false, 1), (true, 2)] {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let channel = channel.clone();
        let breaks_once = service_fn(move |request: http::Request<Body>| {
            let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            let channel = channel.clone();
            async move {
                if is_first {
                    return Err(BoxError::from(io::Error::from(
                        io::ErrorKind::ConnectionReset,
                    )));
                }
                channel.oneshot(request).await.map_err(BoxError::from)
            }
        });
        let mut request = Request::new(String::from("ann"));
        if declared {
            request.extensions_mut().insert(Idempotency::Idempotent);
        }
        let result = hello(&stack(&RecentCalls::new(1)), breaks_once, request).await;
        assert_eq!(result.is_ok(), declared);
        assert_eq!(count.load(Ordering::Relaxed), sent);
    }
}

#[tokio::test]
async fn a_status_or_a_refusal_from_below_keeps_what_it_says() {
    let held = service_fn(|_: http::Request<Body>| async {
        Err::<http::Response<Body>, _>(BoxError::from(Status::out_of_range("beyond the end")))
    });
    let calls = RecentCalls::new(10);
    let status = hello(&stack(&calls), held, Request::new("ann".into()))
        .await
        .unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::OutOfRange, "beyond the end")
    );
    assert!(find::<Diagnosed>(&status).is_some());

    let refuses = service_fn(|_: http::Request<Body>| async {
        Err::<http::Response<Body>, _>(BoxError::from(Refused::new("circuit open")))
    });
    let status = hello(&stack(&calls), refuses, Request::new("ann".into()))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        status.message(),
        "POST /greeter.Greeter/Hello failed: circuit open (not sent)"
    );
}

#[test]
fn the_services_are_as_sharable_as_what_they_wrap() {
    fn is<T: Clone + Send + Sync + Unpin + std::fmt::Debug>() {}
    is::<TonicService>();
    is::<tower_diagnose::ReqwestService>();
    is::<tower_diagnose::stack::ClientService<TonicService>>();
    is::<tower_diagnose::stack::ClientService<tower_diagnose::ReqwestService>>();
    fn sends<T: Send>() {}
    sends::<tower_diagnose::reqwest::ResponseFuture>();
}
