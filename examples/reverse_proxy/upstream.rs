//! An upstream that misbehaves as it is told by the path, or at random.

use std::{
    future::pending,
    hash::{BuildHasher, RandomState},
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, channel::Channel};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

/// What it has been through.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
}

pub(crate) async fn start() -> io::Result<(SocketAddr, Arc<Counts>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let counts = Arc::new(Counts::default());
    let counted = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, Arc::clone(&counted)));
        }
    });
    Ok((address, counts))
}

async fn connection(stream: TcpStream, counts: Arc<Counts>) {
    // Whenever this side ends the connection, it does so by a reset.
    let _ = stream.set_zero_linger();
    counts.connections.fetch_add(1, Ordering::Relaxed);
    let service = service_fn(|request| {
        counts.requests.fetch_add(1, Ordering::Relaxed);
        answer(request)
    });
    // An error of the service is a connection that ends.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    counts.connections.fetch_sub(1, Ordering::Relaxed);
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Body>, io::Error> {
    let path = match request.uri().path() {
        "/random" => at_random(),
        path => path,
    };
    match path {
        "/fine" => Ok(Response::new(Body::from("fine"))),
        "/echo" => Ok(Response::new(Body::new(request.into_body()))),
        "/reads" => {
            let body = request
                .into_body()
                .collect()
                .await
                .map_err(io::Error::other)?;
            Ok(Response::new(Body::from(format!(
                "{} bytes",
                body.to_bytes().len()
            ))))
        }
        "/fails" => Ok(failing()),
        "/resets" => Err(io::ErrorKind::ConnectionReset.into()),
        "/stalls" => pending().await,
        "/breaks" => Ok(breaking()),
        "/upgrade" => {
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let io = upgrade.await.map_err(io::Error::other)?;
                let (mut from, mut to) = tokio::io::split(TokioIo::new(io));
                tokio::io::copy(&mut from, &mut to).await
            });
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let headers = response.headers_mut();
            headers.insert(
                header::CONNECTION,
                http::HeaderValue::from_static("upgrade"),
            );
            headers.insert(header::UPGRADE, http::HeaderValue::from_static("echo"));
            Ok(response)
        }
        _ => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_FOUND;
            Ok(response)
        }
    }
}

fn failing() -> Response<Body> {
    let mut response = Response::new(Body::from(r#"{"message":"the index is being rebuilt"}"#));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let kind = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A body that ends in the middle of what it promised.
fn breaking() -> Response<Body> {
    let (mut sender, body) = Channel::<Bytes, io::Error>::new(1);
    tokio::spawn(async move {
        let _ = sender
            .send_data(Bytes::from_static(b"the first half"))
            .await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        sender.abort(io::ErrorKind::ConnectionReset.into());
    });
    Response::new(Body::new(body))
}

/// Eight in ten are fine; the rest fails, is reset or stalls.
fn at_random() -> &'static str {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // A hash with keys of its own is as random as this needs to be.
    match RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed)) % 100 {
        0..8 => "/fails",
        8..16 => "/resets",
        16..18 => "/stalls",
        18..20 => "/breaks",
        _ => "/fine",
    }
}
