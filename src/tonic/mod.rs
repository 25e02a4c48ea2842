//! A tonic `Channel` that layers go onto.
//!
//! A [`Channel`] takes tonic's own body only; a layer that wraps the
//! request's body, as the retries do, hands it another. [`TonicService`] stands between them. The
//! stack around it is what a generated client is made with:
//!
//! ```
//! use std::time::Duration;
//!
//! use tonic::{Code, Status, transport::Endpoint};
//! use tower::{Layer, util::MapErr};
//! use tower_diagnose::{ClientStack, DiagnoseLayer, Diagnosed, LogPolicy, Protocol, TonicService, find};
//! # use greeter::{GreeterClient, HelloRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let channel = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
//! let stack = ClientStack::new(Duration::from_secs(30))
//!     .diagnose(DiagnoseLayer::new().inspect(Protocol::Grpc).log(LogPolicy::new()));
//! let client = stack.layer(TonicService::new(channel));
//!
//! // `GreeterClient` and `HelloRequest` are generated code, as `HealthClient` of `tonic-health` is.
//! let mut client = GreeterClient::new(MapErr::new(client, Status::from));
//! let status = client.hello(HelloRequest::default()).await.unwrap_err();
//! assert_eq!(status.code(), Code::Unavailable);
//! assert_eq!(
//!     status.message(),
//!     "POST /greeter.Greeter/Hello failed: ECONNREFUSED (no response from server) [3 attempts]",
//! );
//! let diagnosis = find::<Diagnosed>(&status).unwrap().diagnosis();
//! assert_eq!(diagnosis.attempts(), 3);
//! # }
//! # mod greeter {
//! #     use bytes::Bytes;
//! #     use http::uri::PathAndQuery;
//! #     use http_body::Body;
//! #     use tonic::{
//! #         IntoRequest, Response, Status,
//! #         client::{Grpc, GrpcService},
//! #         codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
//! #     };
//! #     use tower_diagnose::BoxError;
//! #     #[derive(Default)]
//! #     pub struct HelloRequest;
//! #     pub struct GreeterClient<T>(Grpc<T>);
//! #     impl<T> GreeterClient<T>
//! #     where
//! #         T: GrpcService<tonic::body::Body>,
//! #         T::Error: Into<BoxError>,
//! #         T::ResponseBody: Body<Data = Bytes> + Send + 'static,
//! #         <T::ResponseBody as Body>::Error: Into<BoxError> + Send,
//! #     {
//! #         pub fn new(inner: T) -> Self { Self(Grpc::new(inner)) }
//! #         pub async fn hello(&mut self, request: impl IntoRequest<HelloRequest>) -> Result<Response<()>, Status> {
//! #             self.0.ready().await.map_err(|error| Status::unknown(error.into().to_string()))?;
//! #             let path = PathAndQuery::from_static("/greeter.Greeter/Hello");
//! #             self.0.unary(request.into_request(), path, Nothing).await
//! #         }
//! #     }
//! #     struct Nothing;
//! #     impl Codec for Nothing {
//! #         type Encode = HelloRequest;
//! #         type Decode = ();
//! #         type Encoder = Self;
//! #         type Decoder = Self;
//! #         fn encoder(&mut self) -> Self { Self }
//! #         fn decoder(&mut self) -> Self { Self }
//! #     }
//! #     impl Encoder for Nothing {
//! #         type Item = HelloRequest;
//! #         type Error = Status;
//! #         fn encode(&mut self, _: HelloRequest, _: &mut EncodeBuf<'_>) -> Result<(), Status> { Ok(()) }
//! #     }
//! #     impl Decoder for Nothing {
//! #         type Item = ();
//! #         type Error = Status;
//! #         fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> { Ok(Some(())) }
//! #     }
//! # }
//! ```
//!
//! Where its type has to be written down, it is
//! `GreeterClient<MapErr<ClientService<TonicService>, fn(Diagnosed) -> Status>>`.
//!
//! # What is repeated
//!
//! Every gRPC call is a `POST`, so that it is repeated only where it provably was not sent, unless the
//! request declares itself: `request.extensions_mut().insert(Idempotency::Idempotent)` on a
//! `tonic::Request` gets through. An answer with a `grpc-status` is HTTP's 200: to the retries it is no
//! failure, and it is **not repeated**, `UNAVAILABLE` neither, whatever the request declares.
//!
//! # What the caller gets
//!
//! | failed by | the caller's `Status` | line |
//! |---|---|---|
//! | no answer: the network, a limit, a refusal | the line, with the [`Diagnosed`](crate::Diagnosed) as source | the `Status`, the log |
//! | a `grpc-status`, say `UNAVAILABLE` or `UNAUTHENTICATED` | the server's own, as without the stack | the log |
//!
//! [`Protocol::Grpc`](crate::Protocol::Grpc) finds the second kind for the record, and for the log if
//! [`log`](crate::DiagnoseLayer::log) asks for one. With
//! [`error_for_status(true)`](crate::DiagnoseLayer::error_for_status) the caller has the line of it, too, if
//! the status came with the head, as that of a unary call that fails does; its code, details and metadata
//! stay.
//!
//! # Limits of time
//!
//! Prefer those of the stack, and [`RequestTimeout`](crate::RequestTimeout) for one call:
//! `request.extensions_mut().insert(RequestTimeout(limit))`. Their line says how long the limit was.
//!
//! `Endpoint::timeout`, and `Request::set_timeout`, which sends `grpc-timeout`, limit each attempt, from
//! the moment when the channel's queue lets it through; the line then says `timed out`, without the limit,
//! which tonic does not tell. A server of tonic's enforces `grpc-timeout` too. If its clock is the first, it
//! answers `CANCELLED` ("Timeout expired"), which is classed as cancelled, the caller's doing, and not as a
//! timeout. `connect_timeout` is found as a timeout.
//!
//! The channel connects when it must and after it lost its connection, and repeats nothing.
//!
//! # Codes
//!
//! `Status` made [from](crate::Diagnosed#impl-From<Diagnosed>-for-Status) a
//! [`Diagnosed`](crate::Diagnosed) has the line as its message, the code that fits the class, and the
//! `Diagnosed` as its source. Without that `map_err` tonic finds a code itself where it knows the
//! error: all of our own, a limit that ran out say, become `Unknown`.
//!
//! [`Channel`]: https://docs.rs/tonic/latest/tonic/transport/struct.Channel.html

mod service;
mod status;

pub use self::service::TonicService;
