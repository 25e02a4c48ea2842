use std::{borrow::Cow, fmt, sync::Arc};

use http::Request;
use tower_layer::Layer;

use super::{recording::Recording, service::Recorder};
use crate::{endpoint::Endpoint, record::RecordSink};

/// Makes a route template of an endpoint.
pub(super) type PathHook = Arc<dyn Fn(&Endpoint) -> Option<Cow<'static, str>> + Send + Sync>;

/// Records every call once. See the [module](crate::recorder).
#[derive(Clone)]
pub struct RecorderLayer {
    /// `None` lets every call through as it is.
    config: Option<Config>,
}

/// What every call holds on to until its record is made: one reference.
pub(super) type Config = Arc<Shared>;

pub(super) struct Shared {
    pub(super) sink: Arc<dyn RecordSink>,
    pub(super) path: Option<PathHook>,
}

impl RecorderLayer {
    /// Hands the record of every call to `sink`: a closure, one of ours, or several by
    /// [`fan_out`](crate::recorder::fan_out).
    #[must_use]
    pub fn new(sink: impl RecordSink) -> Self {
        Self {
            config: Some(Arc::new(Shared {
                sink: Arc::new(sink),
                path: None,
            })),
        }
    }

    /// Replaces the path in the records by a route template: `/users/42` by `/users/{id}`.
    ///
    /// The hook sees the endpoint when the call has ended; `None` keeps the path. A
    /// [`PathTemplate`](crate::PathTemplate) on the request wins over it.
    #[must_use]
    pub fn path_with(
        self,
        hook: impl Fn(&Endpoint) -> Option<Cow<'static, str>> + Send + Sync + 'static,
    ) -> Self {
        let path: Option<PathHook> = Some(Arc::new(hook));
        Self {
            config: self.config.map(|config| {
                Arc::new(Shared {
                    sink: Arc::clone(&config.sink),
                    path,
                })
            }),
        }
    }

    /// Begins the recording of a call, unless nothing is recorded.
    #[inline]
    pub(crate) fn begin<B: 'static>(&self, request: &mut Request<B>) -> Option<Recording> {
        self.config
            .as_ref()
            .map(|config| Recording::begin(config, request))
    }

    /// Records nothing: every call passes through as it is, at no cost.
    pub(crate) fn disabled() -> Self {
        Self { config: None }
    }
}

impl<S> Layer<S> for RecorderLayer {
    type Service = Recorder<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Recorder::new(inner, self.config.clone())
    }
}

impl fmt::Debug for RecorderLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecorderLayer")
            .field("records", &self.config.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/recorder.rs"]
mod tests;
