//! A tonic `Channel` that layers go onto.
//!
//! A [`Channel`] takes tonic's own body only; a layer that wraps the
//! request's body, as the retries do, hands it another. [`TonicService`] stands between them. The
//! stack around it is what a generated client is made with:
//!
//! ```
//! use std::time::Duration;
//!
//! use tonic::{Code, Status, client::Grpc, transport::Endpoint};
//! use tower::{Layer, util::MapErr};
//! use tower_diagnose::{ClientStack, DiagnoseLayer, Diagnosed, Protocol, TonicService, find};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let channel = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
//! let stack = ClientStack::new(Duration::from_secs(30))
//!     .diagnose(DiagnoseLayer::new().inspect(Protocol::Grpc));
//! let client = stack.layer(TonicService::new(channel));
//!
//! // `GreeterClient::new` of generated code takes the same.
//! let mut client = Grpc::new(MapErr::new(client, Status::from));
//! # let request = tonic::Request::new(());
//! # let path = http::uri::PathAndQuery::from_static("/greeter.Greeter/Hello");
//! # client.ready().await.unwrap();
//! let status = client.unary::<(), (), _>(request, path, codec::Nothing).await.unwrap_err();
//! assert_eq!(status.code(), Code::Unavailable);
//! assert_eq!(
//!     status.message(),
//!     "POST /greeter.Greeter/Hello failed: ECONNREFUSED (no response from server) [3 attempts]",
//! );
//! let diagnosis = find::<Diagnosed>(&status).unwrap().diagnosis();
//! assert_eq!(diagnosis.attempts(), 3);
//! # }
//! # mod codec {
//! #     use tonic::{Status, codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder}};
//! #     #[derive(Default)]
//! #     pub struct Nothing;
//! #     impl Codec for Nothing {
//! #         type Encode = ();
//! #         type Decode = ();
//! #         type Encoder = Self;
//! #         type Decoder = Self;
//! #         fn encoder(&mut self) -> Self { Self }
//! #         fn decoder(&mut self) -> Self { Self }
//! #     }
//! #     impl Encoder for Nothing {
//! #         type Item = ();
//! #         type Error = Status;
//! #         fn encode(&mut self, _: (), _: &mut EncodeBuf<'_>) -> Result<(), Status> { Ok(()) }
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
//! `Grpc<MapErr<ClientService<TonicService>, fn(Diagnosed) -> Status>>`.
//!
//! Every gRPC call is a `POST`, so that it is repeated only where it provably was not sent, unless the
//! request declares itself: `request.extensions_mut().insert(Idempotency::Idempotent)` on a
//! `tonic::Request` gets through. A failure that the server tells by `grpc-status` comes with HTTP's
//! 200: [`Protocol::Grpc`](crate::Protocol::Grpc) finds it for the log and the record, and the caller
//! has it as the `Status`, but it is no failure to the retries.
//!
//! What tonic does by itself: the channel connects when it must and after it lost its connection, and
//! repeats nothing. A limit of `Endpoint::timeout` or of `Request::set_timeout` counts from the moment
//! when the channel's queue lets the call through; the line then says `timed out`, without the limit,
//! which tonic does not tell. `connect_timeout` is found as a timeout too.
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
