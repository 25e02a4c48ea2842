//! No connection came about: nothing was sent.

use std::{
    future::{pending, ready},
    time::Duration,
};

use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::net::TcpStream;
use tower::{ServiceExt, timeout::Timeout};

use super::{
    support::{client, raw},
    *,
};

#[tokio::test]
async fn a_refused_port() {
    let (address, _socket) = raw::refused();
    let expected = network(Delivery::NotSent, "ECONNREFUSED");
    assert_verdict(fail_http1(post(address, "body")).await, &expected);
    assert_verdict(fail_http2(post(address, "body")).await, &expected);
}

#[tokio::test]
async fn a_refused_port_without_a_client_around_it_is_no_proof() {
    let (address, _socket) = raw::refused();
    let error = TcpStream::connect(address).await.unwrap_err();
    assert_verdict(error, &network(Delivery::Unknown, "ECONNREFUSED"));
}

#[tokio::test]
async fn of_two_requests_that_wait_for_one_refused_connection_none_is_called_invalid() {
    let (address, _socket) = raw::refused();
    let client = client::http2();
    let (first, second) = tokio::join!(
        client.request(post(address, "first")),
        client.request(post(address, "second"))
    );
    let expected = network(Delivery::NotSent, "ECONNREFUSED");
    assert_verdict(first.unwrap_err(), &expected);
    // Why the connection failed is told to the first only.
    let expected = network(Delivery::NotSent, "network error");
    assert_verdict(second.unwrap_err(), &expected);
}

#[tokio::test]
async fn a_name_that_does_not_resolve() {
    // RFC 6761 keeps the name from ever existing. A resolver that asks the network for it and gets
    // no answer fails in the same way, only later.
    let request = get_url("http://does-not-exist.invalid/");
    let expected = network(Delivery::NotSent, "ENOTFOUND");
    assert_verdict(fail_http1(request).await, &expected);
}

#[tokio::test]
async fn a_connector_out_of_time() {
    let (address, _queue) = raw::unreachable().await;
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(Duration::from_millis(20)));
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let error = client.request(post(address, "body")).await.unwrap_err();
    assert_verdict(error, &timeout(Delivery::NotSent, "timed out"));
}

#[tokio::test]
async fn connectors_of_others() {
    async fn fail<C>(connector: C) -> legacy::Error
    where
        C: tower::Service<http::Uri, Response = TokioIo<TcpStream>> + Clone + Send + Sync + 'static,
        C::Error: Into<BoxError>,
        C::Future: Send + Unpin,
    {
        let client = Client::builder(TokioExecutor::new()).build(connector);
        client.request(get_url("http://h/")).await.unwrap_err()
    }

    let never = tower::service_fn(|_| pending::<Result<TokioIo<TcpStream>, io::Error>>());
    let error = fail(Timeout::new(never, Duration::ZERO).map_future(Box::pin)).await;
    assert_verdict(error, &timeout(Delivery::NotSent, "timed out"));

    let refuses = tower::service_fn(|_| ready(Err(Refused::new("circuit open"))));
    assert_verdict(fail(refuses).await, &refusal("circuit open"));

    let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, io::Error::other("h"));
    let words = tower::service_fn(move |_| ready(Err(refused())));
    assert_verdict(
        fail(words).await,
        &network(Delivery::NotSent, "ECONNREFUSED"),
    );

    let words = tower::service_fn(|_| ready(Err(io::Error::other("connection refused"))));
    assert_verdict(
        fail(words).await,
        &network(Delivery::NotSent, "network error"),
    );
}
