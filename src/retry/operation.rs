use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use http::{Request, Response};
use http_body::Body;
use tokio::time::Sleep;

use super::{
    connection::ConnectionWatch, limit::Limit, replay::ReplayBody, rules::Rules, spare::Spare,
};
use crate::{
    attempt::{Answer, Attempt},
    budget::Withdrawal,
    call::CallRecorder,
    classify::{classify, delivery},
    decision::{
        Case, Failure, Permission, RetryDecision, decide, is_failure, is_given_up,
        is_retryable_error, is_retryable_status, retried_below,
    },
    endpoint::{Endpoint, Target},
    error::{BoxError, RetryError, TimeoutError, TimeoutScope, is_timeout},
    outcome::{Delivery, Idempotency},
    request_timeout::RequestTimeout,
    retried::{MaxAttempts, Retried, StopReason},
    retry_after::retry_after,
};

/// One call, over all its attempts: what may be done, what was done, what came of it.
pub(super) struct Operation<B> {
    rules: Arc<Rules>,
    spare: Spare<B>,
    recorder: Option<CallRecorder>,
    connection: Option<ConnectionWatch>,
    idempotency: Idempotency,
    permission: Permission,
    max_attempts: u32,
    /// The attempts begun, the running one included.
    number: u32,
    /// The attempts that have ended, those of layers below included.
    attempts: u32,
    /// What is known of the attempts that have ended.
    delivery: Option<Delivery>,
    limit: Option<Limit>,
}

/// What follows from the end of an attempt.
pub(super) enum Verdict {
    /// The result is the call's.
    Stop(StopReason),
    /// Another attempt, paid for, at the earliest after this wait.
    Retry {
        after: Duration,
        withdrawal: Option<Withdrawal>,
    },
}

impl<B> Operation<B> {
    /// Begins a call: returns it, and the request of its first attempt.
    pub(super) fn begin(rules: &Arc<Rules>, request: Request<B>) -> (Self, Request<ReplayBody<B>>)
    where
        B: Body,
    {
        let idempotency = Idempotency::of(&request);
        let permission = Permission::of(
            &request,
            idempotency,
            rules.only_declared,
            rules.repeat_unsent,
        );
        let mut recorder = None;
        let mut max_attempts = rules.max_attempts;
        let mut limit = rules.total_limit;
        let extensions = request.extensions();
        if !extensions.is_empty() {
            recorder = CallRecorder::of(extensions).cloned();
            if let Some(MaxAttempts(attempts)) = extensions.get() {
                max_attempts = (*attempts).max(1);
            }
            if rules.request_timeout_is_total {
                limit = extensions.get().map(|own: &RequestTimeout| own.0).or(limit);
            }
        }
        let limit = limit.and_then(Limit::starting_now);

        let (spare, mut request) = if may_repeat(permission, max_attempts) {
            Spare::whole(request, rules.replay_limit)
        } else {
            let spare = match limit {
                Some(_) => Spare::Target(Target::of(&request)),
                None => Spare::Nothing,
            };
            (spare, request.map(ReplayBody::once))
        };
        let mut operation = Self {
            rules: Arc::clone(rules),
            spare,
            recorder,
            connection: None,
            idempotency,
            permission,
            max_attempts,
            number: 1,
            attempts: 0,
            delivery: None,
            limit,
        };
        operation.announce(&mut request);
        (operation, request)
    }

    /// Returns whether there may be another attempt at all.
    pub(super) fn may_repeat(&self) -> bool {
        may_repeat(self.permission, self.max_attempts)
    }

    /// Makes the request of the next attempt.
    pub(super) fn next_request(&mut self) -> Option<Request<ReplayBody<B>>> {
        let mut request = self.spare.request()?;
        self.number = self.number.saturating_add(1);
        self.announce(&mut request);
        Some(request)
    }

    /// Adds to an attempt's request what only this attempt has.
    fn announce<T>(&mut self, request: &mut Request<T>) {
        if let Some(announce) = &self.rules.announce {
            announce(self.number, self.time_left(), request.headers_mut());
        }
        if self.rules.capture_connection {
            self.connection = Some(ConnectionWatch::on(request));
        }
    }

    /// Judges the result of an attempt.
    pub(super) fn judge<R>(&mut self, result: &Result<Response<R>, BoxError>) -> Verdict {
        let (answer, below, delivery, retryable) = match result {
            Ok(response) => {
                let status = response.status();
                let below = response.extensions().get::<Retried>().copied();
                self.note(
                    below,
                    below.map_or(Delivery::Answered, |below| below.delivery()),
                );
                if !is_failure(status) {
                    return Verdict::Stop(StopReason::Succeeded);
                }
                (
                    Answer::Response(status, response.headers()),
                    below,
                    Delivery::Answered,
                    is_retryable_status(status),
                )
            }
            Err(error) => {
                let error: &(dyn Error + 'static) = &**error;
                let below = retried_below(error);
                let delivery = self.delivery_of(error);
                self.note(below, delivery);
                (
                    Answer::Error(error),
                    below,
                    delivery,
                    is_retryable_error(error),
                )
            }
        };
        let mut case = Case {
            failure: match (below, retryable) {
                (Some(below), _) if is_given_up(below) => Failure::GivenUpBelow,
                (_, true) => Failure::Retryable,
                (_, false) => Failure::NotRetryable,
            },
            permission: self.permission,
            delivery,
            number: self.number,
            max_attempts: self.max_attempts,
            body_is_replayable: self.spare.can_replay(),
            backoff: self
                .rules
                .backoff
                .delay(self.number, self.rules.random.draw()),
            retry_after: self.retry_after(answer),
            retry_after_limit: self.rules.retry_after_limit.unwrap_or(Duration::MAX),
            time_left: self.time_left(),
        };
        if let (Some(retry_if), Failure::Retryable | Failure::NotRetryable) =
            (&self.rules.retry_if, case.failure)
        {
            case.failure = match self.ask(&**retry_if, &case, answer, retryable) {
                None => case.failure,
                Some(true) => Failure::Retryable,
                Some(false) if retryable => Failure::Vetoed,
                Some(false) => Failure::NotRetryable,
            };
        }
        let after = match decide(&case) {
            RetryDecision::Stop(reason) => return Verdict::Stop(reason),
            RetryDecision::Retry { after } => after,
        };
        let withdrawal = match &self.rules.budget {
            None => None,
            Some(budget) => match budget.withdraw() {
                None => return Verdict::Stop(StopReason::BudgetExhausted),
                paid => paid,
            },
        };
        if let Some(on_retry) = &self.rules.on_retry {
            self.ask(&**on_retry, &case, answer, retryable);
        }
        // Only here is it known that an attempt dropped midway had run out of time.
        if let (Some(recorder), Answer::Error(error)) = (&self.recorder, answer) {
            if let Some(failure) = classify(Some(error), &recorder.snapshot()) {
                recorder.repeating(failure);
            }
        }
        tracing::debug!(
            endpoint = self.endpoint().map(tracing::field::display),
            attempt = self.number,
            status = status_code(answer),
            delivery = delivery.as_str(),
            wait = ?after,
            "retrying",
        );
        Verdict::Retry { after, withdrawal }
    }

    /// Gives the call's result what the layers above may want to know of the attempts.
    pub(super) fn finish<R>(
        &self,
        result: Result<Response<R>, BoxError>,
        stop: StopReason,
    ) -> Result<Response<R>, BoxError> {
        let is_plain = matches!(stop, StopReason::Succeeded | StopReason::NotRetryable);
        if self.number == 1 && is_plain {
            if stop == StopReason::NotRetryable {
                self.report(stop);
            }
            return result;
        }
        let retried = Retried::new(
            self.attempts,
            stop,
            self.delivery.unwrap_or(Delivery::NotSent),
        );
        self.report(stop);
        if let Some(recorder) = &self.recorder {
            recorder.retried(retried);
        }
        match result {
            Ok(mut response) => {
                response.extensions_mut().insert(retried);
                Ok(response)
            }
            Err(error) => Err(Box::new(RetryError::new(error, retried))),
        }
    }

    /// Completes when the limit for the whole call has run out.
    pub(super) fn poll_limit(
        &self,
        timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        match &self.limit {
            None => Poll::Pending,
            Some(limit) => limit.poll(timer, cx),
        }
    }

    /// Ends the call whose running attempt was dropped at the limit.
    pub(super) fn timed_out<R>(&mut self) -> Result<Response<R>, BoxError> {
        let delivery = if self.has_no_connection() {
            Delivery::NotSent
        } else {
            Delivery::Unknown
        };
        self.note(None, delivery);
        self.out_of_time()
    }

    /// Ends the call at the limit, where no attempt was running and no result is left to return.
    pub(super) fn out_of_time<R>(&self) -> Result<Response<R>, BoxError> {
        let error: BoxError = match (self.endpoint(), self.limit) {
            (Some(endpoint), Some(limit)) => Box::new(
                TimeoutError::new(endpoint, limit.length, TimeoutScope::Head)
                    .with_attempts(self.attempts),
            ),
            // Not reached: the limit that ran out is there, and then the target was kept.
            _ => Box::new(std::io::Error::from(std::io::ErrorKind::TimedOut)),
        };
        self.finish(Err(error), StopReason::TotalLimitReached)
    }

    pub(super) fn time_left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.left())
    }

    fn note(&mut self, below: Option<Retried>, delivery: Delivery) {
        let attempts = below.map_or(1, |below| below.attempts().max(1));
        self.attempts = self.attempts.saturating_add(attempts);
        self.delivery = Some(
            self.delivery
                .map_or(delivery, |so_far| so_far.and(delivery)),
        );
    }

    fn delivery_of(&self, error: &(dyn Error + 'static)) -> Delivery {
        match delivery(error) {
            Delivery::Unknown if is_timeout(error) && self.has_no_connection() => Delivery::NotSent,
            delivery => delivery,
        }
    }

    /// Returns whether it is known that the attempt was never given a connection.
    fn has_no_connection(&self) -> bool {
        self.connection
            .as_ref()
            .is_some_and(ConnectionWatch::saw_none)
    }

    fn retry_after(&self, answer: Answer<'_>) -> Option<Duration> {
        match answer {
            Answer::Response(_, headers) if self.rules.retry_after_limit.is_some() => {
                retry_after(headers, wall_clock())
            }
            _ => None,
        }
    }

    /// Shows the attempt to a hook; to none where the request could not be repeated anyway, of which
    /// nothing is kept.
    fn ask<T>(
        &self,
        hook: &dyn Fn(&Attempt<'_>) -> T,
        case: &Case,
        answer: Answer<'_>,
        retryable: bool,
    ) -> Option<T> {
        if !self.may_repeat() {
            return None;
        }
        Some(hook(&Attempt {
            endpoint: &self.endpoint()?,
            number: self.number,
            answer,
            delivery: case.delivery,
            idempotency: self.idempotency,
            retryable,
            wait: case.wait(),
        }))
    }

    /// Makes sure that the body can still be replayed after the wait. Returns whether it can.
    pub(super) fn claim_body(&self) -> bool {
        self.spare.claim()
    }

    fn endpoint(&self) -> Option<Endpoint> {
        self.spare.endpoint()
    }

    fn report(&self, stop: StopReason) {
        tracing::debug!(
            endpoint = self.endpoint().map(tracing::field::display),
            attempts = self.attempts,
            delivery = self.delivery.map(Delivery::as_str),
            stop = stop.as_str(),
            "no further attempt",
        );
    }
}

fn may_repeat(permission: Permission, max_attempts: u32) -> bool {
    max_attempts > 1 && !matches!(permission, Permission::Never(_))
}

fn status_code(answer: Answer<'_>) -> Option<u16> {
    match answer {
        Answer::Response(status, _) => Some(status.as_u16()),
        Answer::Error(_) => None,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a Retry-After date is of the wall clock"
)]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}
