use std::sync::Arc;

use http::{Extensions, Request};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};

/// Watches whether an attempt is given a connection by hyper-util's client.
#[derive(Clone)]
pub(super) struct ConnectionWatch {
    /// Shared for its size: the future of a call that is not watched has room for it too.
    captured: Arc<CaptureConnection>,
}

impl ConnectionWatch {
    /// Watches the attempt of `request`.
    ///
    /// A request has room for one watch only. Where a retry layer above watches already, that watch
    /// serves for this one too: it may have seen the connection of an earlier attempt, and then errs on
    /// the side that repeats nothing.
    pub(super) fn on<B>(request: &mut Request<B>) -> Self {
        if let Some(above) = Self::of(request.extensions()) {
            return above.clone();
        }
        let watch = Self {
            captured: Arc::new(capture_connection(request)),
        };
        request.extensions_mut().insert(watch.clone());
        watch
    }

    /// Returns whether there never was a connection: then nothing can have been sent.
    pub(super) fn saw_none(&self) -> bool {
        self.captured.connection_metadata().is_none()
    }

    fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}
