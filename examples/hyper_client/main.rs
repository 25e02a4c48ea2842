//! What a person reads when a call fails: without the stack, and with it.
//!
//! ```text
//! cargo run --example hyper_client                                  a misbehaving server on loopback
//! cargo run --example hyper_client -- POST http://127.0.0.1:8080/path '{"a":1}'      any endpoint
//! cargo run --example hyper_client -- --json GET http://127.0.0.1:8080/path          as a tool reads it
//! ```
//!
//! The first form prints, for each way in which a call can go wrong, what the plain client says and what
//! the stack says:
//!
//! ```text
//! an answer that explains itself
//!   before  400 Bad Request
//!   after   POST /comments/resolve failed (400 Bad Request): commentId must be a UUID
//!           class http, fault upstream, delivery answered, attempts 1
//!           hint  check the request
//!
//! a write that closes after it was read
//!   before  client error (SendRequest)
//!   after   POST /payments failed: connection closed before a response (no response from server)
//!           class network, fault upstream, delivery unknown, attempts 1
//!           hint  the write may have been applied: check before repeating it
//! ```
//!
//! The second exits with 1 if the call failed; wrong arguments exit with 2.

mod arguments;
mod server;
mod tour;

use std::{process::ExitCode, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tower::Layer;
use tower_diagnose::{ClientStack, ResponseExt};

use arguments::{Arguments, Call};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(Arguments::Tour { json }) => {
            tour::run(json).await;
            ExitCode::SUCCESS
        }
        Ok(Arguments::Call { call, json }) => diagnose(call, json).await,
        Err(problem) => {
            eprintln!("{problem}; usage: hyper_client [--json] [METHOD URL [BODY]]");
            ExitCode::from(2)
        }
    }
}

/// Sends one request to a real endpoint and says how it went.
async fn diagnose(call: Call, json: bool) -> ExitCode {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let stack = ClientStack::new(Duration::from_secs(30)).attempt_timeout(Duration::from_secs(10));

    let mut request = Request::new(Full::new(Bytes::from(call.body)));
    *request.method_mut() = call.method;
    *request.uri_mut() = call.uri;

    let diagnosis = match stack.layer(client).send(request).await {
        Ok(response) => match response.diagnosis().cloned() {
            Some(diagnosis) => diagnosis,
            None => {
                println!("{}", response.status());
                // What came is printed as it comes: a body may be larger than memory.
                return match print_body(response.into_body()).await {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(problem) => {
                        eprintln!("the body failed: {problem}");
                        ExitCode::FAILURE
                    }
                };
            }
        },
        Err(error) => error.diagnosis().clone(),
    };
    if json {
        let payload = diagnosis.payload("hyper_client");
        println!(
            "{}",
            serde_json::to_string_pretty(&payload).expect("a payload is plain data")
        );
    } else {
        println!("{diagnosis:#}");
    }
    ExitCode::FAILURE
}

async fn print_body<B>(mut body: B) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    use std::io::Write;

    let mut out = std::io::stdout().lock();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Into::into)?.into_data() {
            out.write_all(&data)?;
        }
    }
    writeln!(out)?;
    Ok(())
}
