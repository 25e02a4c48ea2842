//! What a failing answer costs: drained bare, told the naive way, and through the layer.

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::pin,
    process::ExitCode,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use tower::{Layer, Service};
use tower_diagnose::{DiagnoseLayer, ResponseExt};

use crate::{
    callgrind,
    framed::{FRAME, Framed},
};

/// What the server answers.
const BODIES: [&str; 7] = [
    "json",
    "problem",
    "json 16k",
    "html 1m",
    "empty",
    "json, ten headers",
    "json, authorized",
];

/// How it is told. The first is the bare answer, read to its end.
const WAYS: [&str; 4] = ["drained", "naive", "layer", "layer, line"];

const WARM_UP: u32 = 50;

#[derive(Clone)]
struct Answering {
    kind: &'static str,
    len: HeaderValue,
    body: Bytes,
    has_more_headers: bool,
    request: Request<()>,
}

impl Answering {
    fn new(name: &str) -> Option<Self> {
        let (kind, body) = match name {
            "json" | "json, ten headers" | "json, authorized" => (
                "application/json",
                r#"{"error":"not_found","message":"no module named 'billing'"}"#.to_owned(),
            ),
            "problem" => (
                "application/problem+json",
                r#"{"type":"https://api.example/problems/no-module","title":"Not Found","status":404,"detail":"no module named 'billing'","instance":"/api/modules/billing"}"#.to_owned(),
            ),
            "json 16k" => {
                let item = |number| {
                    format!(
                        r#"{{"id":"m-{number:06}","name":"billing","enabled":true,"limits":{{"rate":100,"burst":20}}}}"#
                    )
                };
                let items = (0..190).map(item).collect::<Vec<_>>().join(",");
                (
                    "application/json",
                    format!(r#"{{"known":[{items}],"message":"no module named 'billing'"}}"#),
                )
            }
            "html 1m" => {
                let row = "<tr><td>nothing here</td><td>or here</td></tr>\n";
                let rows = row.repeat(1024 * 1024 / row.len());
                ("text/html", format!("<!DOCTYPE html>\n<html><body><table>\n{rows}"))
            }
            "empty" => ("application/json", String::new()),
            _ => return None,
        };
        let mut request = Request::new(());
        *request.uri_mut() = http::Uri::from_static("http://api.example/api/modules/billing");
        if name.ends_with("authorized") {
            let credentials = HeaderValue::from_static("Bearer 0123456789abcdef0123456789abcdef");
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, credentials);
        }
        Some(Self {
            request,
            kind,
            len: HeaderValue::from(body.len()),
            body: Bytes::from_static(body.leak().as_bytes()),
            has_more_headers: name.ends_with("ten headers"),
        })
    }
}

impl Service<Request<()>> for Answering {
    type Response = Response<Framed>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Framed>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let mut response = Response::new(Framed(self.body.clone()));
        *response.status_mut() = StatusCode::NOT_FOUND;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(header::CONTENT_LENGTH, self.len.clone());
        if self.has_more_headers {
            for (name, value) in [
                (header::DATE, "Tue, 01 Dec 2026 00:00:00 GMT"),
                (header::SERVER, "nginx"),
                (header::VIA, "1.1 varnish"),
                (header::CACHE_CONTROL, "no-store"),
                (header::VARY, "accept-encoding"),
                (header::CONNECTION, "keep-alive"),
                (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"),
                (header::HeaderName::from_static("x-request-id"), "0e6f1c52"),
            ] {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        ready(Ok(response))
    }
}

/// Runs a future that has nothing to wait for.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

/// Reads a body to its end and copies it, as whoever wants it does.
async fn drain<B: Body<Data = Bytes>>(body: B, place: &mut [u8]) {
    let mut body = pin!(body);
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            let len = data.len().min(place.len());
            place[..len].copy_from_slice(&data[..len]);
            black_box(&place);
        }
    }
}

/// What people write: collect, parse into a tree, take the message out of it.
async fn naive(service: &mut Answering) {
    let request = service.request.clone();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let Ok(response) = service.call(request).await;
    let (head, body) = response.into_parts();
    let Ok(body) = body.collect().await;
    let body = body.to_bytes();
    let value = serde_json::from_slice(&body).unwrap_or(serde_json::Value::Null);
    let message = match &value["message"] {
        serde_json::Value::String(message) => message,
        _ => "no error message",
    };
    black_box(format!(
        "{method} {path} failed ({}): {message}",
        head.status
    ));
    black_box(body);
}

fn drive(way: &str, body: &str, calls: u32) -> Option<()> {
    let mut service = Answering::new(body)?;
    let mut layered = DiagnoseLayer::new().layer(service.clone());
    let mut place = vec![0; FRAME];
    for _ in 0..calls {
        now(async {
            match way {
                "drained" => {
                    let Ok(response) = service.call(service.request.clone()).await;
                    drain(response.into_body(), &mut place).await;
                }
                "naive" => naive(&mut service).await,
                _ => {
                    let Ok(response) = layered.call(service.request.clone()).await else {
                        return;
                    };
                    if way == "layer, line" {
                        let diagnosis = response.diagnosis();
                        black_box(diagnosis.map(ToString::to_string));
                    }
                    drain(response.into_body(), &mut place).await;
                }
            }
        });
    }
    Some(())
}

struct Cost {
    nanoseconds: f64,
    instructions: Option<f64>,
    allocations: f64,
}

impl Cost {
    fn of(way: &str, body: &str) -> Self {
        let calls = if body == "html 1m" { 200 } else { 2_000 };
        drive(way, body, WARM_UP);
        let count = |calls| {
            let region = Region::new(&INSTRUMENTED_SYSTEM);
            drive(way, body, calls);
            let change = region.change();
            change.allocations + change.reallocations
        };
        let allocations = count(WARM_UP + 100).saturating_sub(count(WARM_UP)) as f64 / 100.0;
        // The least of several rounds, since noise only adds.
        let least = (0..7).map(|_| {
            let started = tokio::time::Instant::now();
            drive(way, body, calls);
            started.elapsed()
        });
        Self {
            nanoseconds: least.min().unwrap_or_default().as_nanos() as f64 / f64::from(calls),
            instructions: callgrind::instructions(&["failing", way, body], 200),
            allocations,
        }
    }

    fn cell(&self) -> String {
        let instructions = self
            .instructions
            .map_or("-".to_owned(), |count| format!("{count:.0}"));
        format!(
            "{:.0} / {instructions} / {:.1}",
            self.nanoseconds, self.allocations
        )
    }
}

pub fn print() -> ExitCode {
    println!("A failing answer, in all: ns / instructions / allocations.\n");
    println!("| body | {} |", WAYS.join(" | "));
    println!("|---|{}", "--:|".repeat(WAYS.len()));
    for body in BODIES {
        let cells = WAYS.map(|way| Cost::of(way, body).cell());
        println!("| {body} | {} |", cells.join(" | "));
    }
    ExitCode::SUCCESS
}

/// What a run under callgrind executes.
pub fn run_case(way: &str, body: &str, calls: &str) -> ExitCode {
    match calls.parse().ok().and_then(|calls| drive(way, body, calls)) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::from(2),
    }
}
