//! What a failing answer costs: drained bare, told the naive way, and through the layer.

use std::{
    borrow::Cow,
    convert::Infallible,
    future::{Future, Ready, ready},
    hint::black_box,
    ops::Range,
    pin::{Pin, pin},
    process::ExitCode,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use tower::{Layer, Service};
use tower_diagnose::{DiagnoseLayer, Diagnosis, ResponseExt, diagnose::Diagnose};

use crate::{
    callgrind,
    framed::{FRAME, Framed},
};

/// What the server answers.
pub const BODIES: [&str; 7] = [
    "json",
    "problem",
    "json 16k",
    "html 1m",
    "empty",
    "json, ten headers",
    "json, authorized",
];

/// How it is told. The first is the bare answer, read to its end; the layer's line is read where it stands,
/// copied, or formatted.
pub const WAYS: [&str; 5] = [
    "drained",
    "naive",
    "layer",
    "layer, copied",
    "layer, formatted",
];

const WARM_UP: u32 = 50;

/// Rounds of a measurement of time.
const ROUNDS: u32 = 40;

/// Of most machines, in bytes.
const PAGE: usize = 4096;

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
            body: Bytes::from_static(aligned(body.as_bytes(), 0).leak()),
            has_more_headers: name.ends_with("ten headers"),
        })
    }
}

/// A body whose frames come out of a call, as those of every client do. What is inlined into the loop that
/// drains it hands its frames on in registers, and nothing that stands between the two could be compared
/// with that.
#[derive(Clone)]
struct Called(Framed);

impl Body for Called {
    type Data = Bytes;
    type Error = Infallible;

    #[inline(never)]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl Service<Request<()>> for Answering {
    type Response = Response<Called>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Called>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let mut response = Response::new(Called(Framed(self.body.clone())));
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

/// A copy of `bytes` that begins so far behind the beginning of a page. How fast a frame is copied depends
/// on where both ends of it are, and that must not depend on what else was allocated.
fn aligned(bytes: &[u8], offset: usize) -> Aligned {
    let mut place = vec![0; bytes.len() + 2 * PAGE];
    let start = place.as_ptr().align_offset(PAGE) + offset;
    let range = start..start + bytes.len();
    place[range.clone()].copy_from_slice(bytes);
    Aligned { place, range }
}

struct Aligned {
    place: Vec<u8>,
    range: Range<usize>,
}

impl Aligned {
    fn leak(self) -> &'static [u8] {
        &self.place.leak()[self.range]
    }

    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.place[self.range.clone()]
    }
}

/// One body, and everything that the ways of telling of it share: each reads the same bytes, and copies
/// them to the same place.
struct Told {
    service: Answering,
    layered: Diagnose<Answering>,
    place: Aligned,
}

impl Told {
    fn new(body: &str) -> Option<Self> {
        let service = Answering::new(body)?;
        Some(Self {
            layered: DiagnoseLayer::new().layer(service.clone()),
            service,
            place: aligned(&[0; FRAME], PAGE / 2),
        })
    }

    fn drive(&mut self, way: &str, calls: u32) {
        let Self {
            service, layered, ..
        } = self;
        let place = self.place.as_mut();
        for _ in 0..calls {
            now(async {
                match way {
                    "drained" => {
                        let Ok(response) = service.call(service.request.clone()).await;
                        drain(response.into_body(), place).await;
                    }
                    "naive" => naive(service).await,
                    _ => {
                        let Ok(response) = layered.call(service.request.clone()).await else {
                            return;
                        };
                        let diagnosis = response.diagnosis();
                        let line = || diagnosis.map(Diagnosis::line);
                        match way {
                            "layer, formatted" => _ = black_box(diagnosis.map(ToString::to_string)),
                            "layer, copied" => _ = black_box(line().map(Cow::into_owned)),
                            _ => _ = black_box(line()),
                        }
                        drain(response.into_body(), place).await;
                    }
                }
            });
        }
    }

    fn allocations(&mut self, way: &str) -> f64 {
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        self.drive(way, 100);
        let change = region.change();
        (change.allocations + change.reallocations) as f64 / 100.0
    }

    /// The least of several rounds for each way, since noise only adds. The ways take turns, so that
    /// each has the same chances of a quiet moment.
    fn nanoseconds(&mut self, calls: u32) -> [f64; WAYS.len()] {
        let mut least = [Duration::MAX; WAYS.len()];
        for _ in 0..ROUNDS {
            for (way, least) in WAYS.iter().zip(&mut least) {
                let started = tokio::time::Instant::now();
                self.drive(way, calls);
                *least = started.elapsed().min(*least);
            }
        }
        least.map(|least| least.as_nanos() as f64 / f64::from(calls))
    }
}

/// Tells of one body in one way, once for each of so many calls; of a body that there is.
#[must_use]
pub fn told(way: &'static str, body: &str) -> Option<impl FnMut(u32) + use<>> {
    let mut told = Told::new(body)?;
    Some(move |calls| told.drive(way, calls))
}

fn row(body: &str) -> Option<String> {
    let mut told = Told::new(body)?;
    for way in WAYS {
        told.drive(way, WARM_UP);
    }
    let nanoseconds = told.nanoseconds(if body == "html 1m" { 200 } else { 2_000 });
    let cells: Vec<String> = WAYS
        .iter()
        .zip(nanoseconds)
        .map(|(way, nanoseconds)| {
            let instructions = callgrind::instructions(&["failing", way, body], 200)
                .map_or("-".to_owned(), |count| format!("{count:.0}"));
            let allocations = told.allocations(way);
            format!("{nanoseconds:.0} / {instructions} / {allocations:.1}")
        })
        .collect();
    Some(format!("| {body} | {} |", cells.join(" | ")))
}

pub fn print() -> ExitCode {
    println!("A failing answer, in all: ns / instructions / allocations.\n");
    println!("| body | {} |", WAYS.join(" | "));
    println!("|---|{}", "--:|".repeat(WAYS.len()));
    for row in BODIES.iter().filter_map(|body| row(body)) {
        println!("{row}");
    }
    ExitCode::SUCCESS
}

/// Prints the times of one body alone.
pub fn print_times(body: &str) -> ExitCode {
    let Some(mut told) = Told::new(body) else {
        return ExitCode::from(2);
    };
    let times = told.nanoseconds(if body == "html 1m" { 200 } else { 2_000 });
    let [drained, naive, ..] = times;
    for (way, time) in WAYS.iter().zip(times) {
        println!(
            "{way}: {time:.0} ns, {:.3} of drained, {:.3} of naive",
            time / drained,
            time / naive
        );
    }
    ExitCode::SUCCESS
}

/// What a run under callgrind executes.
pub fn run_case(way: &str, body: &str, calls: &str) -> ExitCode {
    match (Told::new(body), calls.parse()) {
        (Some(mut told), Ok(calls)) => {
            told.drive(way, calls);
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(2),
    }
}
