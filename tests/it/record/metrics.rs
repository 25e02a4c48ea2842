use std::{
    collections::BTreeMap,
    future::{pending, ready},
    io,
    sync::{Arc, Mutex},
};

use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_diagnose::{BoxError, MetricsSink, PathTemplate, RecorderLayer};

type Body = Empty<bytes::Bytes>;

/// Adds up what it is told, by name and labels.
#[derive(Clone, Default)]
struct Sums(Arc<Mutex<BTreeMap<String, f64>>>);

struct Cell(Sums, String);

impl Sums {
    fn cell(&self, key: &Key) -> Arc<Cell> {
        let labels = key
            .labels()
            .map(|label| format!(" {}={}", label.key(), label.value()));
        let name = labels.fold(key.name().to_owned(), |name, label| name + &label);
        Arc::new(Cell(self.clone(), name))
    }

    fn get(&self, name: &str) -> f64 {
        self.0.lock().unwrap()[name]
    }
}

impl Cell {
    fn add(&self, value: f64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }
}

impl CounterFn for Cell {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }
    fn absolute(&self, _: u64) {}
}

impl GaugeFn for Cell {
    fn increment(&self, value: f64) {
        self.add(value);
    }
    fn decrement(&self, value: f64) {
        self.add(-value);
    }
    fn set(&self, _: f64) {}
}

impl HistogramFn for Cell {
    fn record(&self, value: f64) {
        assert!(value >= 0.0);
        self.add(1.0);
    }
}

impl Recorder for Sums {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.cell(key))
    }
}

fn answer(request: &Request<()>) -> Result<Response<Body>, BoxError> {
    if request.uri().path() == "/broken" {
        return Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
    }
    let mut response = Response::new(Body::new());
    if request.uri().path() == "/missing" {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}

fn measured(sink: MetricsSink, requests: Vec<Request<()>>) -> Sums {
    let sums = Sums::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    metrics::with_local_recorder(&sums, || {
        let service = service_fn(|request: Request<()>| ready(answer(&request)));
        let service = RecorderLayer::new(sink).layer(service);
        for request in requests {
            drop(runtime.block_on(service.clone().oneshot(request)));
        }
    });
    sums
}

fn get(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

#[test]
fn calls_are_counted_by_method_endpoint_status_and_class() {
    let mut templated = get("/users/42");
    let template = PathTemplate::new("/users/{id}");
    templated.extensions_mut().insert(template);
    let sink = MetricsSink::new().raw_paths(10);
    let sums = measured(
        sink,
        vec![templated, get("/missing"), get("/missing"), get("/broken")],
    );
    let method = "http.request.method=GET";
    for (labels, count) in [
        (
            "url.template=/users/{id} http.response.status_code=200",
            1.0,
        ),
        (
            "url.template=/missing http.response.status_code=404 error.type=http",
            2.0,
        ),
        ("url.template=/broken error.type=network", 1.0),
    ] {
        for metric in ["http.client.requests", "http.client.request.duration"] {
            assert_eq!(sums.get(&format!("{metric} {method} {labels}")), count);
        }
    }
    assert_eq!(
        sums.get(&format!("http.client.active_requests {method}")),
        0.0
    );
}

#[test]
fn a_thousand_ids_are_one_label() {
    let requests = (0..1000).map(|id| get(&format!("/users/{id}"))).collect();
    let sums = measured(MetricsSink::new(), requests);
    let labels = "http.request.method=GET url.template=other http.response.status_code=200";
    assert_eq!(sums.get(&format!("http.client.requests {labels}")), 1000.0);
    assert_eq!(sums.0.lock().unwrap().len(), 3);
}

#[test]
fn the_gauge_shows_calls_under_way_and_ends_at_zero() {
    let sums = Sums::default();
    metrics::with_local_recorder(&sums, || {
        let service = service_fn(|_: Request<()>| pending::<Result<Response<Body>, BoxError>>());
        let mut service = RecorderLayer::new(MetricsSink::for_server()).layer(service);
        let gauge = "http.server.active_requests http.request.method=GET";
        let calls = [service.call(get("/")), service.call(get("/"))];
        assert_eq!(sums.get(gauge), 2.0);
        drop(calls);
        assert_eq!(sums.get(gauge), 0.0);
    });
}
