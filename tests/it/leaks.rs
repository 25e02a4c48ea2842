//! What goes out over real sockets, however a call ends, holds nothing of what was sent: not the line, not a
//! record, not an event, and no link of an error's chain.

use std::{
    error::Error,
    fmt::Debug,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use tokio::io::AsyncWriteExt;
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    Backoff, BoxError, ClientStack, DiagnoseLayer, JsonLines, LogPolicy, RecentCalls,
    RequestTimeout, ResponseExt, RetryLayer, TracingSink, fan_out,
};
use tracing_subscriber::layer::SubscriberExt;

use crate::{
    diagnose_log::Captured,
    diagnose_secrets::{MARK, forms},
    support::{client, raw},
};

/// No list of names would hold them all.
const PARAMETERS: [&str; 12] = [
    "api_key",
    "access_token",
    "X-Amz-Signature",
    "sig",
    "code",
    "password",
    "id_token",
    "session",
    "key",
    "q",
    "%24filter",
    "t",
];

fn request(method: &str, origin: &str) -> Request<Full<Bytes>> {
    let query = PARAMETERS.map(|name| format!("{name}=q-SENTINEL-{name}"));
    let uri = format!(
        "http://user:pw-SENTINEL-1@{origin}/v1/bot12345:AAF-SENTINEL-22/send?{}",
        query.join("&")
    );
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header("authorization", "Bearer auth-SENTINEL-44")
        .header("proxy-authorization", "Basic cHJveHk6cHc-SENTINEL")
        .header("cookie", "session=cookie-SENTINEL-55; theme=dark-SENTINEL")
        .header("x-api-key", "key-SENTINEL-66")
        .header("x-amz-security-token", "amz-SENTINEL-77")
        .body(Full::default())
        .unwrap();
    let mut marked = HeaderValue::from_static("marked-SENTINEL-99");
    marked.set_sensitive(true);
    request.headers_mut().insert("x-odd", marked);
    request
}

/// What the server says, in which it repeats all that it was sent.
const ECHO: &str = r#"{"message":"no auth-SENTINEL-44, Bearer auth-SENTINEL-44, key-SENTINEL-66, cookie-SENTINEL-55, dark-SENTINEL, amz-SENTINEL-77, marked-SENTINEL-99, pw-SENTINEL-1, q-SENTINEL-sig, q-SENTINEL-t, Basic cHJveHk6cHc-SENTINEL at http://user:pw-SENTINEL-1@h/v1?t=q-SENTINEL-t","code":"key-SENTINEL-66"}"#;

const HEADERS: &str = "connection: close\r\nset-cookie: session=set-SENTINEL-1\r\n\
    location: /u?sig=loc-SENTINEL-2\r\nwww-authenticate: Bearer realm=SENTINEL\r\n";

fn answer(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    // That of a good answer is taken as it is.
    let id = if status < 400 {
        "r-1"
    } else {
        "key-SENTINEL-66"
    };
    let id = format!("x-request-id: {id}");
    format!("HTTP/1.1 {status} X\r\n{HEADERS}{id}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn chunked(status: u16, chunks: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\n{HEADERS}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunks}")
        .into_bytes()
}

/// What the server does when it has written.
#[derive(Clone, Copy)]
enum Then {
    Closes,
    Resets,
    Stalls,
}

/// Reads a request's head on every connection, writes this, and ends as told.
async fn server(bytes: Vec<u8>, then: Then) -> String {
    let bytes = Arc::new(bytes);
    let address = raw::serve(move |mut stream| {
        let bytes = Arc::clone(&bytes);
        async move {
            raw::read_head(&mut stream).await;
            let _ = stream.write_all(&bytes).await;
            match then {
                Then::Closes => {}
                Then::Resets => raw::reset(stream),
                Then::Stalls => raw::drain(&mut stream).await,
            }
        }
    })
    .await;
    address.to_string()
}

/// Fails on a span of ours: a span would be around what others log.
struct NoSpans;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for NoSpans {
    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        _: &tracing::span::Id,
        _: tracing_subscriber::layer::Context<'_, S>,
    ) {
        let metadata = attributes.metadata();
        assert!(
            !metadata.target().starts_with("tower_diagnose"),
            "{metadata:?}"
        );
    }
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that went out.
#[derive(Default)]
struct Texts {
    /// May name the host: a payload, and the errors of others at the end of a chain.
    all: Vec<String>,
    hostless: Vec<String>,
}

impl Texts {
    fn shown(&mut self, shown: &(impl ToString + Debug)) {
        self.hostless
            .extend([shown.to_string(), format!("{shown:?} {shown:#?}")]);
    }

    fn chain(&mut self, error: &(dyn Error + 'static)) {
        let mut link = Some(error);
        while let Some(error) = link {
            self.all
                .extend([error.to_string(), format!("{error:?} {error:#?} {error:#}")]);
            link = error.source();
        }
    }

    #[track_caller]
    fn check(&self, origin: &str, what: &str) {
        for text in self.all.iter().chain(&self.hostless) {
            assert!(!text.contains(MARK), "{what}: {text}");
        }
        for text in &self.hostless {
            assert!(!text.contains(origin), "{what}: {text}");
        }
    }
}

/// Makes the call, and returns what the caller is told: the line, or nothing.
async fn make(method: &str, origin: &str, limit: Option<Duration>, what: &str) -> Option<String> {
    let events = Captured::default();
    let _guard = tracing::subscriber::set_default(events.subscriber().with(NoSpans));
    let calls = RecentCalls::new(9);
    let written = Written::default();
    let lines = JsonLines::new(written.clone(), 9).unwrap();
    let at_once = Backoff::exponential(Duration::ZERO, Duration::ZERO);
    let stack = ClientStack::new(Duration::from_secs(30))
        .retry(RetryLayer::new().backoff(at_once))
        .diagnose(
            DiagnoseLayer::new()
                .plain_text(true)
                .log(LogPolicy::new().bodies(true)),
        )
        .record(fan_out(
            fan_out(calls.clone(), lines.clone()),
            TracingSink::new(),
        ));
    let mut request = request(method, origin);
    if let Some(limit) = limit {
        request.extensions_mut().insert(RequestTimeout(limit));
    }
    let mut texts = Texts::default();
    let told = match stack.layer(client::http1()).oneshot(request).await {
        Err(error) => {
            texts.shown(&error);
            texts.chain(&error);
            texts.all.extend(forms(error.diagnosis()));
            Some(error.to_string())
        }
        Ok(response) => {
            let diagnosis = response.diagnosis().cloned();
            if let Some(diagnosis) = &diagnosis {
                texts.shown(diagnosis);
                texts.all.extend(forms(diagnosis));
            }
            texts.hostless.push(format!("{:?}", response.body()));
            if let Err(error) = response.into_body().collect().await {
                let error: BoxError = error.into();
                texts.chain(&*error);
            }
            diagnosis.map(|diagnosis| diagnosis.to_string())
        }
    };
    assert!(lines.flush(Duration::from_secs(10)));
    let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(written.contains("\"attempts\""), "{what}: {written}");
    texts.hostless.push(written);
    for record in calls.snapshot() {
        texts.hostless.push(format!("{record:?} {record:#?}"));
    }
    let events = events.take();
    assert!(!events.is_empty(), "{what}");
    texts.hostless.extend(events);
    texts.check(origin, what);
    told
}

#[tokio::test]
async fn nothing_of_what_was_sent_is_shown_however_the_call_ends() {
    const JSON: &str = "application/json";
    let half = &ECHO[..60];
    let size = format!("{:x}", half.len());
    for (what, bytes, then, expected) in [
        (
            "not found",
            answer(404, JSON, ECHO),
            Then::Stalls,
            "(404 Not Found): no [redacted]",
        ),
        (
            "denied",
            answer(401, JSON, ECHO),
            Then::Stalls,
            "(401 Unauthorized): no [redacted]",
        ),
        (
            "busy",
            answer(503, JSON, ECHO),
            Then::Closes,
            " [3 attempts]",
        ),
        (
            "a text",
            answer(400, "text/plain", ECHO),
            Then::Stalls,
            "(400 Bad Request): ",
        ),
        (
            "a page",
            answer(500, "text/html", "<html>key-SENTINEL-66"),
            Then::Stalls,
            "(500 ",
        ),
        (
            "a redirect",
            answer(302, "text/html", ECHO),
            Then::Stalls,
            "",
        ),
        (
            "a bad chunk",
            chunked(400, &format!("{size}\r\n{half}\r\nzz\r\n")),
            Then::Closes,
            "(400 Bad Request)",
        ),
        (
            "a good head and a bad chunk",
            chunked(200, &format!("{size}\r\n{half}\r\nzz\r\n")),
            Then::Closes,
            "",
        ),
        (
            "half a body",
            chunked(200, &format!("{size}\r\n{half}\r\n")),
            Then::Resets,
            "",
        ),
        (
            "no http",
            b"key-SENTINEL-66\r\n\r\n".to_vec(),
            Then::Closes,
            "invalid response (no response",
        ),
        (
            "closed",
            Vec::new(),
            Then::Closes,
            "connection closed before a response",
        ),
        ("reset", Vec::new(), Then::Resets, "ECONNRESET"),
    ] {
        let origin = server(bytes, then).await;
        let told = make("GET", &origin, None, what).await;
        let line = told.unwrap_or_default();
        assert!(line.contains(expected), "{what}: {line}");
        if !line.is_empty() {
            assert!(
                line.starts_with("GET /v1/bot[redacted]/send failed"),
                "{line}"
            );
        }
    }
    let origin = server(Vec::new(), Then::Stalls).await;
    let limit = Some(Duration::from_millis(50));
    let line = make("POST", &origin, limit, "silent").await.unwrap();
    assert!(line.contains("timed out after 50ms"), "{line}");
    let (address, _socket) = raw::refused();
    let line = make("POST", &address.to_string(), None, "refused").await;
    let line = line.unwrap();
    assert!(line.contains("ECONNREFUSED"), "{line}");
}

/// What a guard on our own side says, too.
#[tokio::test]
async fn a_request_that_cannot_be_sent_is_not_shown_either() {
    for origin in ["127.0.0.1:9", "h.example"] {
        let events = Captured::default();
        let _guard = tracing::subscriber::set_default(events.subscriber().with(NoSpans));
        let mut request = request("POST", origin);
        let uri = request.uri().to_string().replacen("http:", "https:", 1);
        *request.uri_mut() = uri.parse().unwrap();
        let stack = ClientStack::new(Duration::from_secs(30))
            .diagnose(DiagnoseLayer::new().log(LogPolicy::new()));
        let error = stack
            .layer(client::http1())
            .oneshot(request)
            .await
            .unwrap_err();
        assert!(error.to_string().ends_with("invalid request (not sent)"));
        let mut texts = Texts::default();
        texts.shown(&error);
        texts.chain(&error);
        texts.hostless.extend(events.take());
        texts.check(origin, "cannot be sent");
    }
}
