//! The server: one thread in a process of its own.

use std::{
    convert::Infallible,
    io::{BufRead, BufReader},
    net::Ipv4Addr,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::net::TcpListener;
use tower::{BoxError, Layer, Service, ServiceBuilder, service_fn};
use tower_diagnose::ServerStack;
use tower_http::{timeout::TimeoutLayer, trace::TraceLayer};

/// Bare, with what people put around it, and with ours.
pub const SERVERS: &[&str] = &["bare", "by hand", "server stack"];

const LIMIT: Duration = Duration::from_secs(30);

/// A server that ends with this value.
pub struct Server {
    child: Child,
    pub base: String,
}

impl Server {
    pub fn start(name: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["server", name])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut base = String::new();
        if let Some(stdout) = child.stdout.take() {
            // Says where it listens, and nothing more.
            let _ = BufReader::new(stdout).read_line(&mut base);
        }
        let base = base.trim().to_owned();
        Self { child, base }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn run(name: &str) -> ExitCode {
    let runtime = crate::runtime();
    match name {
        "bare" => runtime.block_on(serve(service_fn(answer))),
        "by hand" => {
            let timeout = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, LIMIT);
            let layers = ServiceBuilder::new()
                .layer(TraceLayer::new_for_http())
                .layer(timeout);
            runtime.block_on(serve(layers.service_fn(answer)));
        }
        "server stack" => {
            let stack = ServerStack::new(LIMIT);
            runtime.block_on(serve(stack.layer(service_fn(answer))));
        }
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut body = request.into_body();
    while let Some(Ok(frame)) = body.frame().await {
        drop(frame);
    }
    let mut response = Response::new(Full::new(Bytes::from_static(br#"{"enabled":true}"#)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

async fn serve<S, R>(service: S)
where
    S: Service<Request<Incoming>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body + Send + 'static,
    R::Data: Send,
    R::Error: Into<BoxError>,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(service.clone());
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}
