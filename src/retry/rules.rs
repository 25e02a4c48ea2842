use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, HeaderName, Request};

use crate::{
    attempt::Attempt,
    backoff::{Backoff, Random},
    budget::RetryBudget,
    endpoint::Endpoint,
    hook::Hook,
    outcome::Idempotency,
};

type RetryIf = dyn Fn(&Attempt<'_>) -> bool + Send + Sync;
type OnRetry = dyn Fn(&Attempt<'_>) + Send + Sync;
type Announce = dyn Fn(u32, Option<Duration>, &mut HeaderMap) + Send + Sync;

/// What a [`RetryLayer`](super::RetryLayer) was told, shared by its services and their calls.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Of a request that may not be repeated nothing is kept: nobody limits, watches or diagnoses it.
    /// Follows from all others: see [`Rules::settle`].
    pub(super) is_light: bool,
    /// A layer that never repeats has nothing to give up, and says nothing of attempts.
    pub(super) is_off: bool,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) budget: Option<RetryBudget>,
    /// `None`: what the server asks for is not even read.
    pub(super) retry_after_limit: Option<Duration>,
    pub(super) replay_limit: usize,
    pub(super) total_limit: Option<Duration>,
    pub(super) attempt_limit: Option<Duration>,
    pub(super) request_timeout_is_total: bool,
    /// Somebody above diagnoses failures by what is kept here, and wants the credentials of these
    /// headers remembered beside the usual ones.
    pub(super) remembers: Option<Arc<[HeaderName]>>,
    pub(super) only_declared: bool,
    pub(super) repeat_unsent: bool,
    pub(super) capture_connection: bool,
    pub(super) retry_if: Option<Hook<RetryIf>>,
    pub(super) on_retry: Option<Hook<OnRetry>>,
    pub(super) announce: Option<Hook<Announce>>,
    pub(super) random: Arc<Random>,
    warned: Arc<AtomicBool>,
}

impl Rules {
    pub(super) fn new() -> Self {
        Self {
            is_light: true,
            is_off: false,
            max_attempts: 3,
            backoff: Backoff::default(),
            budget: Some(RetryBudget::default()),
            retry_after_limit: Some(Duration::from_secs(30)),
            replay_limit: 64 * 1024,
            total_limit: None,
            attempt_limit: None,
            request_timeout_is_total: false,
            remembers: None,
            only_declared: false,
            repeat_unsent: true,
            capture_connection: false,
            retry_if: None,
            on_retry: None,
            announce: None,
            random: Arc::new(Random::new()),
            warned: Arc::default(),
        }
    }

    /// Draws the conclusion from what was changed.
    pub(super) fn settle(&mut self) {
        self.is_light = self.total_limit.is_none()
            && self.attempt_limit.is_none()
            && self.remembers.is_none()
            && self.announce.is_none()
            && !self.capture_connection;
    }

    /// Takes note of a new call.
    #[inline(always)]
    pub(super) fn welcome<B>(&self, request: &Request<B>) {
        if self.only_declared {
            self.warn_if_undeclared(request);
        }
        if let Some(budget) = &self.budget {
            budget.deposit();
        }
    }

    /// Says once that there is a request which declares nothing, where only declared ones are
    /// repeated: somebody forgot to, and would otherwise find out in the next outage.
    #[inline(never)]
    fn warn_if_undeclared<B>(&self, request: &Request<B>) {
        if Idempotency::declared(request.extensions()).is_none()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                endpoint = %Endpoint::of(request),
                "request declares no idempotency and is never repeated; further ones are not reported",
            );
        }
    }
}
