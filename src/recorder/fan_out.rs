use std::{fmt, sync::Arc};

use http::Method;

use super::guards::call_sink;
use crate::record::{CallRecord, RecordSink};

/// Passes every record to several sinks, in the order in which they were added.
///
/// One that panics does not keep the record from the others; one that is slow does hold them up.
///
/// ```
/// use tower_diagnose::{FanOut, RecentCalls, RecorderLayer, TracingSink};
///
/// let recent = RecentCalls::new(1000);
/// let sinks = FanOut::new().and(recent.clone()).and(TracingSink::new());
/// let layer = RecorderLayer::new(sinks);
/// # drop(layer);
/// ```
#[derive(Clone, Default)]
pub struct FanOut {
    sinks: Vec<Arc<dyn RecordSink>>,
}

impl FanOut {
    /// Creates a sink that drops what it receives, until others are added.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sink.
    #[must_use]
    pub fn and(mut self, sink: impl RecordSink) -> Self {
        self.sinks.push(Arc::new(sink));
        self
    }
}

impl RecordSink for FanOut {
    fn record(&self, record: CallRecord) {
        let Some((last, others)) = self.sinks.split_last() else {
            return;
        };
        for sink in others {
            let record = record.clone();
            call_sink(|| sink.record(record));
        }
        last.record(record);
    }

    fn started(&self, method: &Method) {
        for sink in &self.sinks {
            call_sink(|| sink.started(method));
        }
    }
}

impl fmt::Debug for FanOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOut")
            .field("sinks", &self.sinks.len())
            .finish()
    }
}

/// Passes every record to both sinks. For more than two, see [`FanOut`].
#[must_use]
pub fn fan_out(first: impl RecordSink, second: impl RecordSink) -> FanOut {
    FanOut::new().and(first).and(second)
}
