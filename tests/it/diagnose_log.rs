//! What is logged, and that nothing is when nobody listens.

use std::{
    convert::Infallible,
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{ClientStack, DiagnoseLayer, ErrorClass, LogPolicy, Refused, TracingSink};
use tracing::{Level, Subscriber, field::Field};
use tracing_subscriber::layer::SubscriberExt;

/// Keeps every event as `LEVEL target field=value …`.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<String>>>);

impl Captured {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn subscriber(&self) -> impl Subscriber + Send + Sync + 'static {
        tracing_subscriber::registry().with(self.clone())
    }
}

impl<S: Subscriber> tracing_subscriber::Layer<S> for Captured {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Fields(String);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                write!(self.0, " {}={value:?}", field.name()).unwrap();
            }
        }
        let metadata = event.metadata();
        if !metadata.target().starts_with("tower_diagnose") {
            return;
        }
        let mut fields = Fields(format!("{} {}", metadata.level(), metadata.target()));
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

fn answer(status: u16) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .body(Full::from(r#"{"message":"no such module"}"#))
        .unwrap()
}

async fn logged(layer: DiagnoseLayer, status: u16) -> Vec<String> {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(answer(status)) });
    let request = Request::get("http://h/api/modules?key=1").body(()).unwrap();
    layer.layer(service).oneshot(request).await.unwrap();
    captured.take()
}

#[tokio::test]
async fn a_failure_is_one_event_with_the_names_of_opentelemetry() {
    let layer = DiagnoseLayer::new().log(LogPolicy::new());
    assert_eq!(
        logged(layer.clone(), 503).await,
        [
            "WARN tower_diagnose message=GET /api/modules failed (503 Service Unavailable): no such module \
          http.request.method=\"GET\" url.path=/api/modules http.response.status_code=503 \
          error.type=\"http\" fault.domain=\"upstream\""
        ]
    );
    assert!(logged(layer.clone(), 404).await[0].starts_with("INFO "));
    assert!(logged(layer.clone(), 401).await[0].starts_with("WARN "));
    assert!(logged(layer, 200).await.is_empty());
    assert!(logged(DiagnoseLayer::new(), 503).await.is_empty());
}

#[tokio::test]
async fn levels_can_be_chosen_by_class_and_by_hook() {
    for (policy, level) in [
        (
            LogPolicy::new().level(ErrorClass::Http, Level::TRACE),
            Some("TRACE "),
        ),
        (LogPolicy::new().level(ErrorClass::Http, None), None),
        (
            LogPolicy::new().level_with(|_| Some(Level::DEBUG)),
            Some("DEBUG "),
        ),
        (LogPolicy::new().level_with(|_| None), None),
        (LogPolicy::off(), None),
    ] {
        let events = logged(DiagnoseLayer::new().log(policy), 503).await;
        match level {
            Some(level) => assert!(events[0].starts_with(level), "{events:?}"),
            None => assert!(events.is_empty(), "{events:?}"),
        }
    }
}

#[tokio::test]
async fn an_error_is_logged_with_its_class() {
    let captured = Captured::default();
    let _guard = tracing::subscriber::set_default(captured.subscriber());
    let service = service_fn(|_: Request<()>| async {
        Err::<Response<Full<Bytes>>, BoxError>(Refused::new("circuit open").into())
    });
    let layer = DiagnoseLayer::new().log(LogPolicy::new());
    layer
        .layer(service)
        .oneshot(Request::new(()))
        .await
        .unwrap_err();
    assert_eq!(
        captured.take(),
        [
            "WARN tower_diagnose message=GET / failed: circuit open (not sent) \
          http.request.method=\"GET\" url.path=/ error.type=\"proxy_policy\" fault.domain=\"proxy\""
        ]
    );
}

#[tokio::test]
async fn a_body_is_logged_only_on_request_and_on_its_own_target() {
    let policy = LogPolicy::new();
    let layer = DiagnoseLayer::new().log(policy.clone());
    assert_eq!(logged(layer, 404).await.len(), 1);
    let events = logged(DiagnoseLayer::new().log(policy.bodies(true)), 404).await;
    assert_eq!(events.len(), 2);
    assert!(
        events[0].starts_with("TRACE tower_diagnose::body "),
        "{events:?}"
    );
    assert!(events[0].contains("no such module"));
}

#[tokio::test]
async fn nothing_is_formatted_when_nobody_listens() {
    /// Wants nothing, and must be given nothing.
    struct Deaf;
    impl Subscriber for Deaf {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            false
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            panic!("{event:?}");
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let _guard = tracing::subscriber::set_default(Deaf);
    let service = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(answer(500)) });
    let layer = DiagnoseLayer::new().log(LogPolicy::new().bodies(true));
    layer
        .layer(service)
        .oneshot(Request::new(()))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_say_how_often_a_call_was_sent_again() {
    for (status, count) in [(503, Some("http.request.resend_count=2")), (404, None)] {
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(captured.subscriber());
        let service =
            service_fn(move |_: Request<_>| async move { Ok::<_, Infallible>(answer(status)) });
        let stack = ClientStack::new(Duration::from_secs(30))
            .diagnose(DiagnoseLayer::new().log(LogPolicy::new()))
            .record(TracingSink::new());
        let request = Request::get("/a").body(Full::<Bytes>::default()).unwrap();
        drop(stack.layer(service).oneshot(request).await.unwrap());
        let events = captured.take();
        for target in [
            " tower_diagnose message=GET /a failed",
            " tower_diagnose::call ",
        ] {
            let is_of = |event: &&String| event.contains(target);
            let event = events.iter().find(is_of).unwrap();
            match count {
                Some(count) => assert!(event.contains(count), "{event}"),
                None => assert!(!event.contains("resend_count"), "{event}"),
            }
        }
    }
}
