use std::sync::Arc;

use tracing::Level;

use crate::{
    class::{ErrorClass, FaultDomain},
    diagnosis::Diagnosis,
    hook::Hook,
    line::PrintedPath,
};

/// The target of the event that each failure gives.
const TARGET: &str = "tower_diagnose";
/// The target of the bodies, so that a filter can tell them apart.
const BODY_TARGET: &str = "tower_diagnose::body";

type LevelWith = dyn Fn(&Diagnosis) -> Option<Level> + Send + Sync;

/// Which failures are logged, and at which level.
///
/// One `tracing` event for each failure, with target `tower_diagnose`, the line as its message, and
/// the fields `http.request.method`, `url.path`, `http.response.status_code`, `error.type` (the
/// class), `fault.domain` and `http.request.resend_count`; a field that does not apply is absent.
/// Nothing is formatted when no subscriber is interested.
///
/// ```
/// use tower_diagnose::{DiagnoseLayer, ErrorClass, LogPolicy};
/// use tracing::Level;
///
/// let layer = DiagnoseLayer::new().log(
///     LogPolicy::new()
///         .level(ErrorClass::Network, Level::ERROR)
///         .level(ErrorClass::Cancelled, None),
/// );
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
pub struct LogPolicy {
    is_on: bool,
    levels: Vec<(ErrorClass, Option<Level>)>,
    level_with: Option<Hook<LevelWith>>,
    bodies: bool,
}

impl LogPolicy {
    /// Creates the usual policy: ERROR for what is our own fault, WARN for an upstream that cannot be
    /// reached, is late, fails with 5xx or rejects our credentials, and for what our own limits
    /// refused; INFO for its other answers; DEBUG for what the caller did wrong or gave up.
    #[must_use]
    pub fn new() -> Self {
        Self {
            is_on: true,
            levels: Vec::new(),
            level_with: None,
            bodies: false,
        }
    }

    /// Creates a policy that logs nothing.
    #[must_use]
    pub fn off() -> Self {
        Self {
            is_on: false,
            ..Self::new()
        }
    }

    /// Sets the level for one class; `None` silences it.
    ///
    /// [`ErrorClass::Http`] is 4xx and 5xx alike; [`level_with`](Self::level_with) can tell them apart.
    #[must_use]
    pub fn level(mut self, class: ErrorClass, level: impl Into<Option<Level>>) -> Self {
        self.levels.retain(|(known, _)| *known != class);
        self.levels.push((class, level.into()));
        self
    }

    /// Lets a hook choose the level of each failure; `None` silences it. It goes before
    /// [`level`](Self::level) and the usual levels, and has to know them all.
    ///
    /// ```
    /// use tower_diagnose::LogPolicy;
    /// use tracing::Level;
    ///
    /// let policy = LogPolicy::new().level_with(|diagnosis| match diagnosis.status() {
    ///     Some(status) if status.is_client_error() => Some(Level::INFO),
    ///     _ => Some(Level::ERROR),
    /// });
    /// # let _ = policy;
    /// ```
    #[must_use]
    pub fn level_with(
        mut self,
        hook: impl Fn(&Diagnosis) -> Option<Level> + Send + Sync + 'static,
    ) -> Self {
        self.level_with = Some(Hook::new(Arc::new(hook)));
        self
    }

    /// Adds a TRACE event with what was read of the failing body, on the target
    /// `tower_diagnose::body`. Off by default. Credentials that the request sent are removed; other
    /// secrets that the server put there are not.
    #[must_use]
    pub fn bodies(mut self, bodies: bool) -> Self {
        self.bodies = bodies;
        self
    }

    fn level_of(&self, diagnosis: &Diagnosis) -> Option<Level> {
        if !self.is_on {
            return None;
        }
        if let Some(hook) = &self.level_with {
            return hook(diagnosis);
        }
        self.levels
            .iter()
            .find(|(class, _)| *class == diagnosis.class())
            .map_or_else(|| Some(usual_level(diagnosis)), |(_, level)| *level)
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns whether anybody wants to see bodies.
    pub(super) fn wants_bodies(&self) -> bool {
        self.is_on && self.bodies && tracing::enabled!(target: BODY_TARGET, Level::TRACE)
    }

    pub(super) fn emit_body(&self, diagnosis: &Diagnosis, body: &str) {
        tracing::trace!(target: BODY_TARGET, body, "{diagnosis}");
    }

    pub(super) fn emit(&self, diagnosis: &Diagnosis) {
        // The level of a callsite is fixed, so there must be one for each.
        macro_rules! event {
            ($level:expr) => {
                tracing::event!(
                    target: TARGET,
                    $level,
                    http.request.method = diagnosis.endpoint().method().as_str(),
                    url.path = %PrintedPath(diagnosis.endpoint()),
                    http.response.status_code = diagnosis.status().map(|status| status.as_u16()),
                    "error.type" = diagnosis.class().as_str(),
                    fault.domain = diagnosis.domain().as_str(),
                    http.request.resend_count = diagnosis.attempts().checked_sub(1).filter(|count| *count > 0),
                    "{diagnosis}"
                )
            };
        }
        match self.level_of(diagnosis) {
            None => {}
            Some(Level::ERROR) => event!(Level::ERROR),
            Some(Level::WARN) => event!(Level::WARN),
            Some(Level::INFO) => event!(Level::INFO),
            Some(Level::DEBUG) => event!(Level::DEBUG),
            Some(Level::TRACE) => event!(Level::TRACE),
        }
    }
}

impl Default for LogPolicy {
    fn default() -> Self {
        Self::new()
    }
}

fn usual_level(diagnosis: &Diagnosis) -> Level {
    match (diagnosis.class(), diagnosis.domain()) {
        (ErrorClass::Cancelled, _) | (_, FaultDomain::Client) => Level::DEBUG,
        (ErrorClass::ProxyInternal, _) | (ErrorClass::Http, FaultDomain::Proxy) => Level::ERROR,
        (ErrorClass::Http, FaultDomain::Upstream) => match diagnosis.status() {
            Some(status) if status.is_server_error() => Level::WARN,
            _ => Level::INFO,
        },
        (
            ErrorClass::Network | ErrorClass::Timeout | ErrorClass::Auth | ErrorClass::ProxyPolicy,
            _,
        ) => Level::WARN,
        (ErrorClass::Jsonrpc | ErrorClass::ToolError | ErrorClass::SessionTerminated, _) => {
            Level::INFO
        }
    }
}
