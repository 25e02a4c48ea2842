#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// For a model checker (`tests/loom`) the crate is built without its own tests.
#![cfg(not(all(test, feature = "model")))]

// The servers of the tests are shared by unit tests, where this crate has no name otherwise.
#[cfg(test)]
extern crate self as tower_diagnose;

// What the compiler refuses, and what to write instead.
#[cfg(doctest)]
#[doc = include_str!("../tests/unit/compositions.md")]
mod compositions {}

// Vocabulary: plain data.
mod address;
mod argument;
mod attempt;
mod attempts;
mod call;
mod class;
mod common;
mod copied;
mod course;
mod endpoint;
mod error;
mod extensions;
mod kept_error;
mod names;
mod noted;
mod notes;
mod outcome;
mod path;
mod percent;
mod record;
mod request_timeout;
mod retried;
mod retry_marks;
mod scan;
mod secret_shape;
mod sync;
mod target;
mod text;
mod texts;
mod timestamp;

// Pure functions: values in, values out.
mod backoff;
mod budget;
mod cause;
mod charset;
mod classify;
mod decision;
mod diagnosis;
mod excerpt;
mod extract;
mod form;
mod grpc;
mod harmless;
mod headers;
mod hint;
mod hook;
mod html;
mod json;
mod json_entries;
mod json_field;
mod json_lexer;
mod json_made;
mod json_mask;
mod json_member;
mod json_phrase;
mod json_words;
mod line;
mod payload;
mod protocol;
mod protocol_found;
mod rare;
mod redact;
mod redact_found;
mod redact_named;
mod redact_needles;
mod redact_pass;
mod remembered;
mod retry_after;
mod secrets;
mod sse;
mod transport;
mod xml;

// Layers: one directory each; they know of each other only by what they leave in extensions.
pub mod diagnose;
pub mod dispatch;
pub mod recorder;
#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
pub mod reqwest;
pub mod respond;
pub mod retry;
pub mod timeout;
#[cfg(feature = "tonic")]
#[cfg_attr(docsrs, doc(cfg(feature = "tonic")))]
pub mod tonic;

// The roof.
pub mod stack;

// For tests, of this crate too.
#[cfg(feature = "test-util")]
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
pub mod test_util;

// What the models of `tests/loom` need beside the public API.
#[cfg(feature = "model")]
#[path = "../tests/loom/src/budget.rs"]
pub mod model_budget;

// Only words.
pub mod guide;

#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
pub use self::reqwest::ReqwestService;
#[cfg(feature = "tonic")]
#[cfg_attr(docsrs, doc(cfg(feature = "tonic")))]
pub use self::tonic::TonicService;
pub use argument::{InvalidArgument, require_full_uuid};
pub use attempt::Attempt;
pub use attempts::AttemptRecord;
pub use backoff::{Backoff, Jitter};
pub use budget::RetryBudget;
pub use call::CallRecorder;
pub use class::{AuditClass, ErrorClass, FaultDomain};
pub use classify::classify;
pub use diagnose::{Diagnose, DiagnoseLayer, LogPolicy};
pub use diagnosis::{Diagnosed, Diagnosis, ResponseExt};
pub use dispatch::{Dispatch, DispatchLayer};
pub use endpoint::Endpoint;
pub use error::{BoxError, Refused, RetryError, TimeoutError, TimeoutScope, find, is_timeout};
pub use headers::RedactedHeaders;
pub use names::UnknownName;
pub use outcome::{Delivery, Facts, Idempotency, Outcome};
pub use payload::Payload;
pub use protocol::Protocol;
pub use record::{BodyEnd, CallRecord, PathTemplate, RecordSink};
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use recorder::MetricsSink;
pub use recorder::{
    CallFilter, FanOut, JsonLines, RecentCalls, Recorder, RecorderLayer, TracingSink, fan_out,
};
pub use request_timeout::RequestTimeout;
pub use respond::{Respond, RespondLayer};
pub use retried::{MaxAttempts, NoRetry, Retried, StopReason};
pub use retry::{ReplayBody, Retry, RetryLayer};
pub use stack::{Attempts, ClientService, ClientStack, ServerService, ServerStack};
pub use timeout::{RequestBodyTimeoutLayer, Timeout, TimeoutLayer};
