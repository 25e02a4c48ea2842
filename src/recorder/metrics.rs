use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use http::Method;
use metrics::{Label, SharedString, counter, gauge, histogram};

use crate::record::{CallRecord, RecordSink};

/// How many route templates get a label of their own, by default.
const TEMPLATES: usize = 256;

/// What the limits leave no label for.
const OTHER: &str = "other";

/// Reports every call to the recorder of the `metrics` crate.
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `http.client.request.duration` | histogram, seconds, to the end of the body | all |
/// | `http.client.requests` | counter | all |
/// | `http.client.active_requests` | gauge | `http.request.method` |
///
/// The labels are `http.request.method`, `url.template`, and where there is one
/// `http.response.status_code` and `error.type`, which is the class of the failure. For a server,
/// `client` reads `server` and `url.template` reads `http.route`.
///
/// No label is unbounded. Methods that HTTP does not define are `_OTHER`. A path is a label only if
/// it is a template, and only the first 256 templates are; the rest are `other`. Paths as they were
/// called are all `other`, unless [`raw_paths`](Self::raw_paths) allows a number of them.
///
/// The gauge falls by one with every record, and every call has exactly one, so it does not leak. As
/// to the cost, it is your recorder's: the calls under way share what that shares.
#[derive(Clone)]
pub struct MetricsSink {
    names: &'static Names,
    templates: Arc<Known>,
    paths: Arc<Known>,
}

struct Names {
    duration: &'static str,
    requests: &'static str,
    active: &'static str,
    path: &'static str,
}

static CLIENT: Names = Names {
    duration: "http.client.request.duration",
    requests: "http.client.requests",
    active: "http.client.active_requests",
    path: "url.template",
};

static SERVER: Names = Names {
    duration: "http.server.request.duration",
    requests: "http.server.requests",
    active: "http.server.active_requests",
    path: "http.route",
};

impl MetricsSink {
    /// Creates a sink with the names of a client's metrics.
    #[must_use]
    pub fn new() -> Self {
        Self {
            names: &CLIENT,
            templates: Arc::new(Known::new(TEMPLATES)),
            paths: Arc::new(Known::new(0)),
        }
    }

    /// Creates a sink with the names of a server's metrics.
    #[must_use]
    pub fn for_server() -> Self {
        Self {
            names: &SERVER,
            ..Self::new()
        }
    }

    /// Gives the first `limit` route templates a label of their own. At most 4,096.
    #[must_use]
    pub fn templates(mut self, limit: usize) -> Self {
        self.templates = Arc::new(Known::new(limit));
        self
    }

    /// Gives the first `limit` paths that are no templates a label of their own. At most 4,096.
    ///
    /// For clients that call a handful of fixed paths. Where paths hold ids, the first ids use the
    /// limit up.
    #[must_use]
    pub fn raw_paths(mut self, limit: usize) -> Self {
        self.paths = Arc::new(Known::new(limit));
        self
    }

    fn labels(&self, record: &CallRecord) -> Vec<Label> {
        let path = match record.template() {
            Some(template) => self.templates.label(template),
            None => self.paths.label(record.endpoint().path()),
        };
        let mut labels = Vec::with_capacity(4);
        labels.push(method_label(record.method()));
        labels.push(Label::new(self.names.path, path));
        if let Some(status) = record.status() {
            let status = status.as_str().to_owned();
            labels.push(Label::new("http.response.status_code", status));
        }
        if let Some(class) = record.error_class() {
            labels.push(Label::from_static_parts("error.type", class.as_str()));
        }
        labels
    }
}

impl Default for MetricsSink {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordSink for MetricsSink {
    fn record(&self, record: CallRecord) {
        gauge!(self.names.active, vec![method_label(record.method())]).decrement(1.0);
        let labels = self.labels(&record);
        counter!(self.names.requests, labels.clone()).increment(1);
        histogram!(self.names.duration, labels).record(record.duration().as_secs_f64());
    }

    fn started(&self, method: &Method) {
        gauge!(self.names.active, vec![method_label(method)]).increment(1.0);
    }
}

impl fmt::Debug for MetricsSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsSink").finish_non_exhaustive()
    }
}

fn method_label(method: &Method) -> Label {
    let method = match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::PATCH => "PATCH",
        Method::TRACE => "TRACE",
        _ => "_OTHER",
    };
    Label::from_static_parts("http.request.method", method)
}

/// The label values handed out so far. Written once each and never taken back, so that reading them
/// takes no lock.
struct Known(Box<[OnceLock<Arc<str>>]>);

impl Known {
    fn new(limit: usize) -> Self {
        Self((0..limit.min(4096)).map(|_| OnceLock::new()).collect())
    }

    /// Returns `value` if it is known or there is room for it, else `other`.
    fn label(&self, value: &str) -> SharedString {
        for place in &self.0 {
            let there = place.get_or_init(|| value.into());
            if **there == *value {
                return SharedString::from(Arc::clone(there));
            }
        }
        SharedString::const_str(OTHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_limit_a_label_reads_other_and_known_ones_stay() {
        let known = Known::new(2);
        for (value, label) in [("/a", "/a"), ("/b", "/b"), ("/c", "other"), ("/a", "/a")] {
            assert_eq!(&*known.label(value), label);
        }
        assert_eq!(&*Known::new(0).label("/a"), "other");
    }

    #[test]
    fn an_invented_method_is_no_label() {
        let invented = Method::from_bytes(b"INVENTED").unwrap();
        assert_eq!(method_label(&invented).value(), "_OTHER");
        assert_eq!(method_label(&Method::GET).value(), "GET");
    }
}
