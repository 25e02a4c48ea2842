use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
};

use http::{Extensions, Request};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tokio::task::coop::unconstrained;

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

    /// Returns whether the client still waits for a connection: then nothing can have been sent.
    ///
    /// It does so with the request in its hands, by whose extensions it tells of the connection. A client
    /// that knows nothing of that drops them when it begins to send, and there is nobody left to tell: the
    /// wait is over too, without a connection.
    pub(super) fn saw_none(&self) -> bool {
        let mut captured = CaptureConnection::clone(&self.captured);
        // A wait that the task's cooperative budget keeps from ending would look like one for a connection.
        let told = pin!(unconstrained(captured.wait_for_connection_metadata()));
        told.poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    }

    fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}
