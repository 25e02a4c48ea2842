use tracing::Level;

use crate::{
    class::ErrorClass,
    record::{CallRecord, RecordSink},
};

/// Emits one `tracing` event per record, under the target `tower_diagnose::call`.
///
/// The fields have the names that [OpenTelemetry's conventions for HTTP] give them, where there is
/// one. The level is DEBUG for a call that did not fail, INFO for one that the caller gave up, ERROR
/// for one that broke on our own side, WARN for any other failure. There is no URL and no host in
/// it, ever: the path alone, or the route template.
///
/// | field | is |
/// |---|---|
/// | `http.request.method` | the method |
/// | `url.template` | the route template, if one is known: what may become a label |
/// | `url.path` | otherwise the path |
/// | `http.response.status_code` | the status, if there was an answer |
/// | `error.type`, `fault_domain`, `audit_class` | how it failed, if it did |
/// | `http.request.resend_count` | attempts after the first, if there were any |
/// | `http.request.body.size`, `http.response.body.size` | bytes, if known |
/// | `delivery`, `body_end`, `request_id`, `error_code`, `retry_stop` | as in the record |
/// | `duration` | seconds |
///
/// [OpenTelemetry's conventions for HTTP]: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TracingSink {}

impl TracingSink {
    /// Creates the sink. There is nothing to configure: filter by target and level.
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }
}

/// An event's level is part of its static metadata, so each level is an event of its own.
macro_rules! emit {
    ($level:expr, $record:ident) => {
        tracing::event!(
            target: "tower_diagnose::call",
            $level,
            http.request.method = $record.method().as_str(),
            url.template = $record.template(),
            url.path = $record.template().is_none().then(|| tracing::field::display(Path($record))),
            http.response.status_code = $record.status().map(|status| status.as_u16()),
            error.r#type = $record.error_class().map(ErrorClass::as_str),
            fault_domain = $record.fault_domain().map(|domain| domain.as_str()),
            audit_class = $record.audit_class().map(|class| class.as_str()),
            http.request.resend_count = $record.attempts().checked_sub(1).filter(|count| *count > 0),
            http.request.body.size = $record.bytes_out(),
            http.response.body.size = $record.status().map(|_| $record.bytes_in()),
            delivery = $record.delivery().as_str(),
            body_end = $record.body_end().map(|end| end.as_str()),
            request_id = $record.request_id(),
            error_code = $record.remote_code(),
            retry_stop = $record.stop().map(|stop| stop.as_str()),
            duration = $record.duration().as_secs_f64(),
            "call ended"
        )
    };
}

/// The path as the endpoint prints it: on one line, and cut.
struct Path<'a>(&'a CallRecord);

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let endpoint = self.0.endpoint().to_string();
        f.write_str(endpoint.split_once(' ').map_or("", |(_, path)| path))
    }
}

impl RecordSink for TracingSink {
    fn record(&self, record: CallRecord) {
        let record = &record;
        match record.error_class() {
            None => emit!(Level::DEBUG, record),
            Some(ErrorClass::Cancelled) => emit!(Level::INFO, record),
            Some(ErrorClass::ProxyInternal) => emit!(Level::ERROR, record),
            Some(_) => emit!(Level::WARN, record),
        }
    }
}
