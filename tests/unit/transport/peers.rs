//! The errors of clients that have a feature each, from real sockets.

use std::time::Duration;

use super::{
    support::{
        h1::{self, Reply},
        raw,
    },
    *,
};
use crate::classify::as_error;

#[cfg(feature = "axum")]
#[test]
fn an_error_of_axum_is_what_it_holds() {
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let error = axum::Error::new(reset);
    assert!(as_error(&error).is_some());
    assert_verdict(error, &network(Delivery::Unknown, "ECONNRESET"));
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn errors_of_reqwest() {
    async fn fail(url: &str) -> reqwest::Error {
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(5))
            .build()
            .unwrap();
        let error = client.post(url).body("body").send().await.unwrap_err();
        assert!(as_error(&error).is_some());
        error
    }

    let (refused, _socket) = raw::refused();
    let error = fail(&format!("http://{refused}/")).await;
    assert_verdict(error, &network(Delivery::NotSent, "ECONNREFUSED"));

    let error = fail("http://does-not-exist.invalid/").await;
    assert_verdict(error, &network(Delivery::NotSent, "ENOTFOUND"));

    let server = h1::serve([Reply::Close]).await;
    let expected = network(Delivery::Unknown, "connection closed before a response");
    assert_verdict(fail(&server.url("/")).await, &expected);

    assert_verdict(fail("/relative").await, &invalid_request());

    let server = h1::serve([Reply::Hang]).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = client
        .post(server.url("/"))
        .timeout(Duration::from_millis(20));
    let error = call.send().await.unwrap_err();
    assert_verdict(error, &timeout(Delivery::Unknown, "timed out"));
}

#[cfg(feature = "tonic")]
#[tokio::test]
async fn errors_of_tonic_s_channel() {
    use tonic::transport::{Channel, Endpoint};
    use tower::ServiceExt;

    async fn fail(channel: Channel, address: SocketAddr) -> tonic::transport::Error {
        let request = post_body(address, tonic::body::Body::empty());
        let error = channel.oneshot(request).await.unwrap_err();
        assert!(as_error(&error).is_some());
        error
    }

    let (refused, _socket) = raw::refused();
    let endpoint = Endpoint::from_shared(format!("http://{refused}")).unwrap();
    let error = fail(endpoint.connect_lazy(), refused).await;
    assert_eq!(
        Verdict::of(&error),
        network(Delivery::NotSent, "ECONNREFUSED")
    );

    let silent = raw::serve(|mut stream| async move { raw::drain(&mut stream).await }).await;
    let endpoint = Endpoint::from_shared(format!("http://{silent}")).unwrap();
    let channel = endpoint.timeout(Duration::from_millis(20)).connect_lazy();
    let error = fail(channel, silent).await;
    assert_eq!(Verdict::of(&error), timeout(Delivery::Unknown, "timed out"));
}

#[cfg(feature = "tonic")]
#[test]
fn the_codes_of_a_status() {
    use ErrorClass as Class;
    use FaultDomain as Domain;
    use tonic::{Code, Status};

    for (code, class, domain) in [
        (Code::Cancelled, Class::Cancelled, Domain::Client),
        (Code::DeadlineExceeded, Class::Timeout, Domain::Upstream),
        (Code::PermissionDenied, Class::Auth, Domain::Upstream),
        (Code::Unauthenticated, Class::Auth, Domain::Upstream),
        (Code::Unavailable, Class::Network, Domain::Upstream),
        (Code::NotFound, Class::Jsonrpc, Domain::Upstream),
        (Code::Internal, Class::Jsonrpc, Domain::Upstream),
    ] {
        let verdict = Verdict::of(&Status::new(code, "connection refused"));
        assert_eq!((verdict.class, verdict.domain), (class, domain), "{code:?}");
        assert_eq!(verdict.delivery, Delivery::Unknown, "{code:?}");
    }
    // A status that tonic made of an error is that error.
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let status = Status::from_error(Box::new(tonic::ConnectError(refused.into())));
    assert_eq!(
        Verdict::of(&status),
        network(Delivery::NotSent, "ECONNREFUSED")
    );
}
