use std::{
    fmt,
    future::ready,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, SystemTime},
};

use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{
    BoxError, CallFilter, CallRecord, DispatchLayer, ErrorClass, FanOut, FaultDomain, JsonLines,
    PathTemplate, RecentCalls, RecordSink, RecorderLayer, TracingSink, fan_out,
};

type Body = Empty<bytes::Bytes>;

/// Answers with the status that the path says; `/0` breaks.
fn answer(request: &Request<()>) -> Result<Response<Body>, BoxError> {
    let status: u16 = request.uri().path()[1..].parse().unwrap();
    if status == 0 {
        return Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
    }
    let mut response = Response::new(Body::new());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    let id = "req-\"1\"".parse().unwrap();
    response.headers_mut().insert("x-request-id", id);
    Ok(response)
}

async fn call(sink: impl RecordSink, statuses: &[u16]) {
    let service = service_fn(|request: Request<()>| ready(answer(&request)));
    let service = RecorderLayer::new(sink).layer(DispatchLayer::new().layer(service));
    for status in statuses {
        let uri = format!("http://user:secret@host/{status}?key=secret");
        let request = Request::get(uri).header("authorization", "secret").body(());
        drop(service.clone().oneshot(request.unwrap()).await);
    }
}

fn statuses(records: &[CallRecord]) -> Vec<u16> {
    let path = |record: &CallRecord| record.endpoint().path()[1..].parse().unwrap();
    records.iter().map(path).collect()
}

#[tokio::test]
async fn the_ring_keeps_the_newest_and_shows_them_oldest_first() {
    let calls = RecentCalls::new(3);
    call(calls.clone(), &[200, 201, 202, 203, 204]).await;
    assert_eq!(statuses(&calls.snapshot()), [202, 203, 204]);
    assert_eq!(calls.total(), 5);

    let none = RecentCalls::new(0);
    call(none.clone(), &[200]).await;
    assert!(none.snapshot().is_empty());
    assert_eq!(none.total(), 1);
    drop(RecentCalls::new(usize::MAX));
}

#[tokio::test]
async fn filters_narrow_by_kind_and_widen_by_value() {
    let calls = RecentCalls::new(100);
    call(calls.clone(), &[200, 401, 0, 503, 404]).await;
    let all = CallFilter::new;
    let hour = Duration::from_secs(3600);
    for (filter, expected) in [
        (all(), vec![404, 503, 0, 401, 200]),
        (all().limit(2), vec![404, 503]),
        (all().limit(0), vec![]),
        (all().class(ErrorClass::Network), vec![0]),
        (
            all().class(ErrorClass::Network).class(ErrorClass::Auth),
            vec![0, 401],
        ),
        (all().domain(FaultDomain::Upstream), vec![404, 503, 0, 401]),
        (all().domain(FaultDomain::Client), vec![]),
        (
            all().class(ErrorClass::Http).status(StatusCode::NOT_FOUND),
            vec![404],
        ),
        (all().endpoint("GET /503"), vec![503]),
        (all().endpoint("/503").endpoint("/200"), vec![503, 200]),
        (all().endpoint("POST /503"), vec![]),
        (all().since(SystemTime::UNIX_EPOCH).limit(1), vec![404]),
        (all().since(calls.snapshot()[4].started_at() + hour), vec![]),
    ] {
        assert_eq!(statuses(&calls.matching(&filter)), expected, "{filter:?}");
    }
}

#[tokio::test]
async fn a_record_is_one_flat_object_without_what_is_absent() {
    let calls = RecentCalls::new(10);
    call(calls.clone(), &[200, 503, 0]).await;
    let records: Vec<serde_json::Value> = calls
        .snapshot()
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    let keys = |at: usize| {
        let object = records[at].as_object().unwrap();
        object.keys().map(String::as_str).collect::<Vec<_>>()
    };
    assert_eq!(
        keys(0),
        [
            "attempts",
            "body_end",
            "bytes_in",
            "bytes_out",
            "delivery",
            "duration_ms",
            "endpoint",
            "head_ms",
            "method",
            "request_id",
            "started_at",
            "status"
        ]
    );
    let failing = &records[1];
    assert_eq!(failing["error_class"], "http");
    assert_eq!(failing["fault_domain"], "upstream");
    assert_eq!(failing["audit_class"], "upstream_unavailable");
    assert_eq!(failing["upstream_http_status"], 503);
    assert_eq!(failing["endpoint"], "GET /503");
    let broken = &records[2];
    assert_eq!(broken["error_class"], "network");
    assert_eq!(broken["delivery"], "unknown");
    for absent in [
        "status",
        "upstream_http_status",
        "body_end",
        "head_ms",
        "bytes_in",
    ] {
        assert!(broken.get(absent).is_none(), "{absent}: {broken}");
    }
    for record in &records {
        for (name, value) in record.as_object().unwrap() {
            assert!(!value.is_object(), "{name}");
        }
        assert!(!record.to_string().contains("secret"), "{record}");
        assert!(!record.to_string().contains("host"), "{record}");
    }
}

#[tokio::test]
async fn a_sink_that_panics_harms_neither_the_call_nor_the_other_sinks() {
    struct Nasty;
    impl Drop for Nasty {
        fn drop(&mut self) {
            panic!("the payload panics too");
        }
    }
    let calls = RecentCalls::new(10);
    let panicking = |_: CallRecord| std::panic::panic_any(Nasty);
    call(fan_out(panicking, calls.clone()), &[200, 503]).await;
    assert_eq!(calls.total(), 2);
    call(panicking, &[200]).await;
}

#[test]
fn a_sink_that_panics_while_the_call_unwinds_does_not_abort_the_process() {
    let service = service_fn(
        |_: Request<()>| -> std::future::Ready<Result<Response<Body>, BoxError>> {
            panic!("in call")
        },
    );
    let mut service = RecorderLayer::new(|_: CallRecord| panic!("in sink")).layer(service);
    let payload = catch_unwind(AssertUnwindSafe(|| drop(service.call(Request::new(())))));
    assert_eq!(*payload.unwrap_err().downcast::<&str>().unwrap(), "in call");
}

/// What was written, and a gate that holds writing up.
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

impl Written {
    fn lines(&self) -> Vec<serde_json::Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

#[tokio::test]
async fn json_lines_writes_a_line_per_record() {
    let written = Written::default();
    let lines = JsonLines::new(written.clone(), 16).unwrap();
    call(lines.clone(), &[200, 503, 0]).await;
    assert!(lines.flush(Duration::from_secs(10)));
    let classes: Vec<_> = written
        .lines()
        .iter()
        .map(|line| line["error_class"].clone())
        .collect();
    assert_eq!(
        classes,
        [serde_json::Value::Null, "http".into(), "network".into()]
    );
    assert_eq!(lines.dropped(), 0);
}

#[tokio::test]
async fn json_lines_drops_counts_and_says_what_finds_no_room() {
    struct Gated(mpsc::Receiver<()>, Written);
    impl io::Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (open, gate) = mpsc::channel();
    let written = Written::default();
    let lines = JsonLines::new(Gated(gate, written.clone()), 2).unwrap();
    call(lines.clone(), &[200; 20]).await;
    let dropped = lines.dropped();
    // Two in the queue, and one in the writer's hands if it was quick.
    assert!((17..=18).contains(&dropped), "{dropped}");
    assert!(
        !lines.flush(Duration::from_millis(1)),
        "nothing can have been written"
    );
    drop(open);
    assert!(lines.flush(Duration::from_secs(10)));
    let said: u64 = written
        .lines()
        .iter()
        .filter_map(|line| line["dropped_records"].as_u64())
        .sum();
    assert_eq!(said, dropped);
    let records = written
        .lines()
        .iter()
        .filter(|line| line.get("endpoint").is_some())
        .count();
    assert_eq!(records as u64 + dropped, 20);
}

#[tokio::test]
async fn json_lines_survives_a_writer_that_fails_or_panics() {
    struct Flaky(usize, Written);
    impl io::Write for Flaky {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                // Half a line, and then no more for a while.
                1 => self.1.write(&bytes[..bytes.len() / 2]),
                2 => Err(io::Error::other("disk full")),
                3 => panic!("the writer panics"),
                _ => self.1.write(bytes),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let written = Written::default();
    let lines = JsonLines::new(Flaky(0, written.clone()), 16).unwrap();
    call(lines.clone(), &[200, 503, 404]).await;
    assert!(lines.flush(Duration::from_secs(10)));
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(lines.dropped() >= 1);
    assert!(text.lines().last().unwrap().starts_with('{'), "{text}");
    assert!(
        text.lines().skip(1).all(|line| {
            line.is_empty() || serde_json::from_str::<serde_json::Value>(line).is_ok()
        }),
        "{text}"
    );
}

#[test]
fn tracing_events_have_levels_by_outcome_and_no_url() {
    #[derive(Clone, Default)]
    struct Lines(Written);
    impl tracing_subscriber::fmt::MakeWriter<'_> for Lines {
        type Writer = Written;
        fn make_writer(&self) -> Written {
            self.0.clone()
        }
    }
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(lines.clone())
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(call(FanOut::new().and(TracingSink::new()), &[200, 503]));
        let service = service_fn(|request: Request<()>| ready(answer(&request)));
        let service = RecorderLayer::new(TracingSink::new()).layer(service);
        let request = Request::get("/404").extension(PathTemplate::new("/{status}"));
        drop(runtime.block_on(service.oneshot(request.body(()).unwrap())));
    });
    let text = String::from_utf8(lines.0.0.lock().unwrap().clone()).unwrap();
    let mut events = text.lines();
    let (good, failing) = (events.next().unwrap(), events.next().unwrap());
    // Only a template may become a label.
    let templated = events.next().unwrap();
    assert!(
        templated.contains("url.template=\"/{status}\""),
        "{templated}"
    );
    assert!(!templated.contains("url.path"), "{templated}");
    assert!(!failing.contains("url.template"), "{failing}");
    assert!(good.contains("DEBUG tower_diagnose::call"), "{good}");
    assert!(failing.contains(" WARN tower_diagnose::call"), "{failing}");
    for field in [
        "http.request.method=\"GET\"",
        "url.path=/503",
        "http.response.status_code=503",
        "error.type=\"http\"",
        "delivery=\"answered\"",
    ] {
        assert!(failing.contains(field), "{field}: {failing}");
    }
    assert!(!good.contains("error.type"), "{good}");
    for secret in ["secret", "host", "?key"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn layers_and_sinks_print_nothing_of_what_they_hold() {
    let layer = RecorderLayer::new(RecentCalls::new(1));
    let shown: [&dyn fmt::Debug; 2] = [&layer, &layer.layer(())];
    for shown in shown {
        assert!(format!("{shown:?}").starts_with("Recorder"));
    }
}
