//! Handshakes that come to nothing, through hyper-rustls and hyper-util's client.

#[path = "../../it/support"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of `it`")]
mod support {
    pub mod raw;
}

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::Request;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    version::{TLS12, TLS13},
};
use support::raw;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::{Layer, ServiceExt};
use tower_diagnose::{Delivery, DiagnoseLayer, ErrorClass, FaultDomain};

/// A certificate of its own making, for a name.
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn of(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        Self {
            certificate: made.cert.der().clone(),
            key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
        }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        roots
    }

    fn server(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        clients: Option<Arc<dyn ClientCertVerifier>>,
    ) -> TlsAcceptor {
        let config = ServerConfig::builder_with_protocol_versions(versions);
        let config = match clients {
            Some(clients) => config.with_client_cert_verifier(clients),
            None => config.with_no_client_auth(),
        };
        let chain = vec![self.certificate.clone()];
        let config = config
            .with_single_cert(chain, self.key.clone_key())
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// What is said of a POST to `host` at `address`, by a client that trusts `roots`.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    class: ErrorClass,
    domain: FaultDomain,
    delivery: Delivery,
    line: String,
}

async fn verdict(address: SocketAddr, roots: RootCertStore) -> Verdict {
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_http1()
        .build();
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let request = Request::post(format!("https://localhost:{}/orders", address.port()))
        .body(String::from("body"))
        .unwrap();
    let call = DiagnoseLayer::new().layer(client).oneshot(request);
    let error = tokio::time::timeout(Duration::from_secs(10), call)
        .await
        .expect("no test here waits")
        .expect_err("no test here succeeds");
    let diagnosis = error.diagnosis();
    Verdict {
        class: diagnosis.class(),
        domain: diagnosis.domain(),
        delivery: diagnosis.delivery(),
        line: error.to_string(),
    }
}

fn expected(delivery: Delivery, cause: &str) -> Verdict {
    Verdict {
        class: ErrorClass::Network,
        domain: FaultDomain::Upstream,
        delivery,
        line: format!("POST /orders failed: {cause} (no response from server)"),
    }
}

/// Accepts TLS on every connection and then reads what comes.
async fn serve(acceptor: TlsAcceptor) -> SocketAddr {
    raw::serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                raw::drain(&mut stream).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_server_that_does_not_shake_hands() {
    let failed = expected(Delivery::NotSent, "TLS handshake failed");

    let closes = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 5).await;
        close(stream).await;
    })
    .await;
    assert_eq!(verdict(closes, RootCertStore::empty()).await, failed);

    let plain_text = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 5).await;
        let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        raw::drain(&mut stream).await;
    })
    .await;
    assert_eq!(verdict(plain_text, RootCertStore::empty()).await, failed);

    let alert = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 5).await;
        // A fatal alert: handshake_failure.
        stream.write_all(&[21, 3, 3, 0, 2, 2, 40]).await.unwrap();
        raw::drain(&mut stream).await;
    })
    .await;
    assert_eq!(verdict(alert, RootCertStore::empty()).await, failed);

    let resets = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 5).await;
        raw::reset(stream);
    })
    .await;
    let reset = expected(Delivery::NotSent, "ECONNRESET");
    assert_eq!(verdict(resets, RootCertStore::empty()).await, reset);

    let (refused, _socket) = raw::refused();
    let refused = verdict(refused, RootCertStore::empty()).await;
    assert_eq!(refused, expected(Delivery::NotSent, "ECONNREFUSED"));
}

#[tokio::test]
async fn a_certificate_that_the_client_does_not_trust() {
    let failed = expected(Delivery::NotSent, "TLS handshake failed");
    for versions in [[&TLS12], [&TLS13]] {
        let identity = Identity::of("localhost");
        let address = serve(identity.server(&versions, None)).await;
        let stranger = Identity::of("localhost").roots();
        assert_eq!(verdict(address, stranger).await, failed);

        let other_name = Identity::of("example.org");
        let address = serve(other_name.server(&versions, None)).await;
        assert_eq!(verdict(address, other_name.roots()).await, failed);
    }
}

#[tokio::test]
async fn a_client_without_the_certificate_that_the_server_wants() {
    // In TLS 1.3 the client has shaken hands, and written, before it is told.
    for (version, delivery) in [(&TLS12, Delivery::NotSent), (&TLS13, Delivery::Unknown)] {
        let identity = Identity::of("localhost");
        let clients = WebPkiClientVerifier::builder(Arc::new(identity.roots()))
            .build()
            .unwrap();
        let address = serve(identity.server(&[version], Some(clients))).await;
        let failed = expected(delivery, "TLS handshake failed");
        assert_eq!(verdict(address, identity.roots()).await, failed);
    }
}

#[tokio::test]
async fn a_session_that_ends_without_an_answer() {
    let identity = Identity::of("localhost");
    for notifies in [true, false] {
        let acceptor = identity.server(&[&TLS13], None);
        let address = raw::serve(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                raw::read_head(&mut stream).await;
                if notifies {
                    stream.shutdown().await.unwrap();
                } else {
                    close(stream.into_inner().0).await;
                }
            }
        })
        .await;
        let closed = expected(Delivery::Unknown, "connection closed before a response");
        assert_eq!(verdict(address, identity.roots()).await, closed);
    }
}

async fn close(mut stream: TcpStream) {
    stream.shutdown().await.unwrap();
    raw::drain(&mut stream).await;
}
