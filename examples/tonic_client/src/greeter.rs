//! A gRPC service without generated code. Its messages are plain text, so that it needs no `protoc`.

use std::{
    convert::Infallible,
    future::{Future, pending},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, BufMut};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Request, Response, Status,
    body::Body,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    server::{Grpc, NamedService},
    transport::Server,
};
use tower::{Service, service_fn};

/// Starts a server that greets.
pub async fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server::builder().add_service(Greeter);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Ok(address)
}

async fn hello(request: Request<String>) -> Result<Response<String>, Status> {
    match request.into_inner().as_str() {
        "nobody" => Err(Status::not_found("there is no one of this name")),
        "everybody" => pending().await,
        name => Ok(Response::new(format!("hello {name}"))),
    }
}

#[derive(Clone)]
struct Greeter;

impl NamedService for Greeter {
    const NAME: &'static str = "greeter.Greeter";
}

impl Service<http::Request<Body>> for Greeter {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(Grpc::new(Text).unary(service_fn(hello), request).await) })
    }
}

/// Messages as the bytes of a text.
#[derive(Clone, Copy)]
pub struct Text;

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

    fn encode(&mut self, text: String, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(text.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        let text = String::from_utf8(bytes.into());
        text.map(Some).map_err(|_| Status::internal("not UTF-8"))
    }
}
