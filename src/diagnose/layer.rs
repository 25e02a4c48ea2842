use std::{marker::PhantomData, sync::Arc, time::Duration};

use http::{HeaderName, StatusCode};
use tower_layer::Layer;

use super::{config::Config, log::LogPolicy, service::Diagnose};
use crate::{diagnosis::Diagnosis, endpoint::Endpoint, hook::Hook, protocol::Protocol};

/// Marks a layer around a client: errors become [`Diagnosed`](crate::Diagnosed).
#[derive(Clone, Copy, Debug)]
pub struct Client;

/// Marks a layer around a service of one's own: errors stay what they are.
#[derive(Clone, Copy, Debug)]
pub struct Server;

/// Says what went wrong with a call. See the [module docs](crate::diagnose) for an example.
///
/// `DiagnoseLayer` alone is the client's side; [`DiagnoseLayer::for_server`] gives the other. A clone
/// is cheap.
#[derive(Clone, Debug)]
pub struct DiagnoseLayer<Side = Client> {
    pub(super) config: Arc<Config>,
    side: PhantomData<fn() -> Side>,
}

impl DiagnoseLayer<Client> {
    /// Creates a layer for a client. Its services fail with [`Diagnosed`](crate::Diagnosed).
    ///
    /// It does not log: whoever made the call is handed the diagnosis. See [`log`](Self::log).
    #[must_use]
    pub fn new() -> Self {
        Self::with(Config::new(false))
    }

    /// Makes an error of every failing response: a [`Diagnosed`](crate::Diagnosed) that keeps the
    /// response's head and drops its body. Off by default.
    #[must_use]
    pub fn error_for_status(self, error_for_status: bool) -> Self {
        self.set(|config| config.error_for_status = error_for_status)
    }
}

impl Default for DiagnoseLayer<Client> {
    fn default() -> Self {
        Self::new()
    }
}

impl DiagnoseLayer<Server> {
    /// Creates a layer for a service of one's own, an axum `Router` for instance: a failing answer is
    /// its own fault if the status is 5xx, the client's if it is 4xx. The service's error type stays.
    ///
    /// It logs by [`LogPolicy::new`], and it keeps a [`Diagnosis`] that it finds on a response, a
    /// proxied upstream's. With the feature `axum` the path is the route's template, where axum knows it.
    #[must_use]
    pub fn for_server() -> Self {
        Self::with(Config::new(true))
    }
}

impl<Side> DiagnoseLayer<Side> {
    /// Returns whether an answer is fine by its status, and no more is to be looked at.
    #[inline(always)]
    pub(crate) fn is_plain(&self, status: StatusCode) -> bool {
        self.config.is_plain(status)
    }

    /// Returns the headers that are credentials beside the usual ones.
    pub(crate) fn credentials(&self) -> &[HeaderName] {
        &self.config.redacted
    }

    fn with(config: Config) -> Self {
        Self {
            config: Arc::new(config),
            side: PhantomData,
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Config)) -> Self {
        let config = Arc::make_mut(&mut self.config);
        change(config);
        config.is_usual = config.protocols.is_empty() && config.failure_when.is_none();
        self
    }

    /// Limits how many bytes of a failing body are read for its message; 16 KiB by default. 0 reads
    /// none. What is held is that many bytes and at most one frame more.
    #[must_use]
    pub fn body_cap(self, bytes: usize) -> Self {
        self.set(|config| config.body_cap = bytes)
    }

    /// Limits how long a failing response is held back while its body keeps us waiting; 1 s by default.
    /// [`Duration::ZERO`] takes only what is there already.
    #[must_use]
    pub fn peek_timeout(self, limit: Duration) -> Self {
        self.set(|config| config.peek_timeout = limit)
    }

    /// Limits the line to so many characters; 300 by default. Method, path, status and the number of
    /// attempts are the last to give way.
    #[must_use]
    pub fn line_cap(self, characters: usize) -> Self {
        self.set(|config| config.line_cap = characters)
    }

    /// Limits the excerpt to so many characters, before the note that says how many more there are;
    /// 500 by default. 0 keeps none.
    #[must_use]
    pub fn excerpt_cap(self, characters: usize) -> Self {
        self.set(|config| config.excerpt_cap = characters)
    }

    /// Takes a plain-text body for the server's message. Off by default: such texts are written for
    /// developers of the server, and may hold anything.
    #[must_use]
    pub fn plain_text(self, plain_text: bool) -> Self {
        self.set(|config| config.plain_text = plain_text)
    }

    /// Looks into good answers too, for the failures of `protocol`. May be called for several; none by
    /// default.
    ///
    /// Only bodies whose content type fits and whose length is known and within
    /// [`body_cap`](Self::body_cap) are read. A stream is never held back.
    #[must_use]
    pub fn inspect(self, protocol: Protocol) -> Self {
        self.set(|config| config.protocols = config.protocols.with(protocol))
    }

    /// Decides which statuses are failures; 400 and above by default.
    #[must_use]
    pub fn failure_when(
        self,
        is_failure: impl Fn(StatusCode) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.set(|config| config.failure_when = Some(Hook::new(Arc::new(is_failure))))
    }

    /// Treats a header as a credential: its value in a request is removed from everything the server
    /// says, and its value in a response is not shown. A name that no header can have is ignored.
    #[must_use]
    pub fn redact_header(self, name: impl TryInto<HeaderName>) -> Self {
        self.set(|config| config.redacted.extend(name.try_into().ok()))
    }

    /// Replaces the path that is printed, by a route template for instance. The hook sees the endpoint
    /// of a failed call, secrets removed; `None` keeps its path.
    #[must_use]
    pub fn path_with(
        self,
        hook: impl Fn(&Endpoint) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.set(|config| config.path_with = Some(Hook::new(Arc::new(hook))))
    }

    /// Replaces the hint. The hook sees the diagnosis with its usual hint; `None` keeps that, and a blank text
    /// leaves it out.
    #[must_use]
    pub fn hint_with(
        self,
        hook: impl Fn(&Diagnosis) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.set(|config| config.hint_with = Some(Hook::new(Arc::new(hook))))
    }

    /// Logs one `tracing` event for every failure. Off by default on the client's side, on by default
    /// on the server's.
    #[must_use]
    pub fn log(self, policy: LogPolicy) -> Self {
        self.set(|config| config.log = policy)
    }
}

impl<S, Side> Layer<S> for DiagnoseLayer<Side> {
    type Service = Diagnose<S, Side>;

    fn layer(&self, inner: S) -> Self::Service {
        Diagnose::new(inner, Arc::clone(&self.config))
    }
}
