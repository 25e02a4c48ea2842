//! The request itself was at fault.

use http::Version;

use super::{
    support::{body::Synthetic, client, h2_by_hand, raw},
    *,
};

#[tokio::test]
async fn a_body_that_fails_over_http1() {
    let address = raw::serve(|mut stream| async move { raw::drain(&mut stream).await }).await;
    for body in [
        Synthetic::failing(0, "no"),
        Synthetic::failing(100_000, "no"),
        Synthetic::failing(10, io::Error::from(io::ErrorKind::ConnectionReset)),
        Synthetic::failing(10, io::Error::from(io::ErrorKind::TimedOut)),
        Synthetic::lying(100, 10),
    ] {
        let error = fail_http1(post_body(address, body)).await;
        assert_verdict(error, &body_failed());
    }
}

#[tokio::test]
async fn a_body_that_fails_over_http2() {
    let address = h2_by_hand::serve(|connection| connection.drain()).await;
    for after in [0, 10, 1000] {
        let body = Synthetic::failing(after, "no");
        let error = fail_http2(post_body(address, body)).await;
        assert_verdict(error, &body_failed());
    }
}

#[tokio::test]
async fn a_body_that_fails_with_another_call_s_error_says_nothing_of_that_call() {
    let (refused, _socket) = raw::refused();
    let other = fail_http1(post(refused, "other")).await;
    let address = raw::serve(|mut stream| async move { raw::drain(&mut stream).await }).await;
    let body = Synthetic::failing(10, other);
    let error = fail_http1(post_body(address, body)).await;
    assert_verdict(error, &body_failed());
}

#[tokio::test]
async fn a_body_that_a_guard_of_ours_refuses_has_left_in_part() {
    let address = raw::serve(|mut stream| async move { raw::drain(&mut stream).await }).await;
    let body = Synthetic::failing(10, Refused::new("too long"));
    let error = fail_http1(post_body(address, body)).await;
    let expected = Verdict {
        delivery: Delivery::Unknown,
        is_refusal: false,
        ..refusal("too long")
    };
    assert_verdict(error, &expected);
}

#[tokio::test]
async fn an_uri_that_the_client_does_not_take() {
    for uri in [
        "/relative",
        "*",
        "host:80",
        "https://127.0.0.1:1/",
        "ftp://127.0.0.1/",
    ] {
        assert_verdict(fail_http1(get_url(uri)).await, &invalid_request());
        assert_verdict(fail_http2(get_url(uri)).await, &invalid_request());
    }
}

#[tokio::test]
async fn a_version_that_the_client_does_not_speak() {
    let mut request = get_url("http://127.0.0.1:1/");
    *request.version_mut() = Version::HTTP_09;
    assert_verdict(fail_http1(request).await, &invalid_request());

    let address = raw::serve(|mut stream| async move { raw::drain(&mut stream).await }).await;
    let mut request = post(address, "body");
    *request.version_mut() = Version::HTTP_2;
    assert_verdict(fail_http1(request).await, &invalid_request());
}

#[tokio::test]
async fn a_connect_with_a_body_over_http2() {
    let address = h2_by_hand::serve(|connection| connection.drain()).await;
    let mut request = post(address, "body");
    *request.method_mut() = http::Method::CONNECT;
    let error = client::http2().request(request).await.unwrap_err();
    assert_verdict(error, &invalid_request());
}
