//! A gRPC service without generated code: its messages are plain text.

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, BufMut};
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Code, Status,
    body::Body,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    server::{Grpc, NamedService},
    transport::Server,
};
use tower::{Service, service_fn};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text;

impl Codec for Text {
    type Encode = String;
    type Decode = String;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Text {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, item: String, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(item.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Greets; a name that is a number is the status code that it fails with, and `stream N` fails with it
/// after two messages.
#[derive(Clone)]
struct Greeter;

impl NamedService for Greeter {
    const NAME: &'static str = "greeter.Greeter";
}

type Messages = tokio_stream::Iter<std::vec::IntoIter<Result<String, Status>>>;

async fn hello(request: tonic::Request<String>) -> Result<tonic::Response<String>, Status> {
    let name = request.into_inner();
    if let Ok(code) = name.parse::<i32>() {
        return Err(Status::new(Code::from(code), "no such name"));
    }
    Ok(tonic::Response::new(format!("hello {name}")))
}

async fn count(request: tonic::Request<String>) -> Result<tonic::Response<Messages>, Status> {
    let code = request.into_inner().parse().unwrap_or(2);
    let items = vec![
        Ok("1".into()),
        Ok("2".into()),
        Err(Status::new(Code::from(code), "no more")),
    ];
    Ok(tonic::Response::new(tokio_stream::iter(items)))
}

impl Service<Request<Body>> for Greeter {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/greeter.Greeter/Count" => {
                    Grpc::new(Text)
                        .server_streaming(service_fn(count), request)
                        .await
                }
                _ => Grpc::new(Text).unary(service_fn(hello), request).await,
            })
        })
    }
}

/// Serves the greeter for as long as the test runs.
pub(crate) async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().add_service(Greeter);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}
