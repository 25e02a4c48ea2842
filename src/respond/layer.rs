use std::{error::Error, sync::Arc, time::Duration};

use tower_layer::Layer;

use super::{problem::Problem, service::Respond};
use crate::{endpoint::Endpoint, hook::Hook};

/// Turns every error into a response. See the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct RespondLayer {
    overload_wait: Duration,
    map: Option<Hook<Map>>,
}

type Map = dyn Fn(&(dyn Error + 'static), &mut Problem) + Send + Sync;

impl RespondLayer {
    /// Creates a layer that answers as the [module](super)'s table says.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            overload_wait: Duration::from_secs(1),
            map: None,
        }
    }

    /// Sets what `Retry-After` tells those whom our own side turned away: load shed, a limit, a
    /// breaker. Default: 1 second. Rounded up to whole seconds.
    #[must_use]
    pub const fn overload_wait(mut self, wait: Duration) -> Self {
        self.overload_wait = wait;
        self
    }

    /// Sets a hook that sees every error and may change what is said about it.
    ///
    /// The problem comes filled in; the hook changes what it knows better. What it takes from the error
    /// goes to strangers.
    #[must_use]
    pub fn map_with(
        mut self,
        hook: impl Fn(&(dyn Error + 'static), &mut Problem) + Send + Sync + 'static,
    ) -> Self {
        self.map = Some(Hook::new(Arc::new(hook)));
        self
    }

    pub(super) fn problem(&self, error: &(dyn Error + 'static), endpoint: &Endpoint) -> Problem {
        let mut problem = Problem::new(error, endpoint, self.overload_wait);
        if let Some(hook) = &self.map {
            hook(error, &mut problem);
        }
        problem
    }
}

impl Default for RespondLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for RespondLayer {
    type Service = Respond<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Respond::new(inner, self.clone())
    }
}
