use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use http::{Request, Response, StatusCode};
use tokio::time::Sleep;

use super::{
    connection::ConnectionWatch,
    held::Held,
    limit::{Limits, RanOut},
    replay::ReplayBody,
    rules::Rules,
    terms::Terms,
};
use crate::{
    attempt::{Answer, Attempt},
    budget::Withdrawal,
    call::CallRecorder,
    decision::{
        Case, Failure, Permission, RetryDecision, decide, is_failure, is_given_up,
        is_retryable_error, is_retryable_status, retried_below,
    },
    diagnosis::Diagnosed,
    endpoint::Endpoint,
    error::{BoxError, RetryError, TimeoutError, TimeoutScope, find},
    extensions::extension,
    outcome::{Delivery, Idempotency},
    remembered::Remembered,
    retried::{Retried, StopReason},
    retry_after::retry_after,
};

/// One call, over all its attempts: what may be done, what was done, what came of it.
pub(super) struct Operation<B> {
    pub(super) rules: Arc<Rules>,
    /// `None` for a call of which nothing is kept: see [`Retry::call`](super::Retry).
    pub(super) held: Option<Held<B>>,
    pub(super) idempotency: Idempotency,
    pub(super) permission: Permission,
    pub(super) max_attempts: u32,
    /// The attempts begun, the running one included.
    pub(super) number: u32,
    /// The attempts that have ended, those of layers below included.
    pub(super) attempts: u32,
    /// What is known of the attempts that have ended.
    pub(super) delivery: Option<Delivery>,
    pub(super) limits: Limits,
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
    /// The first attempt has been made.
    #[inline(always)]
    pub(super) fn new(
        rules: Arc<Rules>,
        terms: Terms,
        limits: Limits,
        held: Option<Held<B>>,
    ) -> Self {
        Self {
            rules,
            held,
            idempotency: terms.idempotency,
            permission: terms.permission,
            max_attempts: terms.max_attempts,
            number: 1,
            attempts: 0,
            delivery: None,
            limits,
        }
    }

    /// Returns whether an answer is good, and the first: there is nothing to judge then.
    #[inline]
    pub(super) fn is_plain(&self, status: StatusCode) -> bool {
        self.number == 1 && !is_failure(status)
    }

    /// Begins the next attempt, by this request.
    pub(super) fn start(&mut self, mut request: Request<ReplayBody<B>>) -> Request<ReplayBody<B>> {
        self.number = self.number.saturating_add(1);
        self.limits.attempt_started();
        if let Some(held) = &mut self.held {
            held.connection = announce(&self.rules, self.number, &self.limits, &mut request);
        }
        request
    }

    /// Judges the result of an attempt.
    #[inline(never)]
    pub(super) fn judge<R>(&mut self, result: &Result<Response<R>, BoxError>) -> Verdict {
        let (answer, below, delivery, retryable) = match result {
            Ok(response) => {
                let status = response.status();
                let below = extension::<Retried>(response.extensions()).copied();
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
            body_is_replayable: self.spare().can_replay(),
            backoff: self
                .rules
                .backoff
                .delay(self.number, self.rules.random.draw()),
            retry_after: self.retry_after(answer),
            retry_after_limit: self.rules.retry_after_limit.unwrap_or(Duration::MAX),
            time_left: self.limits.time_left(),
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
        let failure = self.recorded_failure(answer);
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
        if let (Some(recorder), Some(failure)) = (self.recorder(), failure) {
            recorder.repeating(failure);
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
    #[inline(never)]
    pub(super) fn finish<R>(
        &self,
        result: Result<Response<R>, BoxError>,
        stop: StopReason,
    ) -> Result<Response<R>, BoxError> {
        if self.rules.is_off {
            return result;
        }
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
        if let Some(recorder) = self.recorder() {
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

    /// Completes when the running attempt has to end.
    #[inline(always)]
    pub(super) fn poll_attempt_limit(
        &mut self,
        timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<RanOut> {
        match self.rules.attempt_limit {
            // As in most calls.
            None => self.limits.poll_total(timer, cx).map(|()| RanOut::Total),
            Some(limit) => self.limits.poll_attempt(limit, timer, cx),
        }
    }

    /// Makes the error of an attempt that ran out of its own limit.
    pub(super) fn attempt_timed_out(&self, limit: Duration) -> BoxError {
        timeout_error(
            self.endpoint()
                .map(|endpoint| TimeoutError::new(endpoint, limit, TimeoutScope::Head)),
        )
    }

    /// Ends the call whose running attempt was dropped at the limit.
    pub(super) fn timed_out<R>(&mut self, delivery: Delivery) -> Result<Response<R>, BoxError> {
        self.note(None, delivery);
        self.out_of_time()
    }

    /// Ends the call at the limit, where no attempt was running and no result is left to return.
    pub(super) fn out_of_time<R>(&self) -> Result<Response<R>, BoxError> {
        let error = self.endpoint().zip(self.limits.total());
        let error = timeout_error(error.map(|(endpoint, limit)| {
            TimeoutError::new(endpoint, limit, TimeoutScope::Head).with_attempts(self.attempts)
        }));
        self.finish(Err(error), StopReason::TotalLimitReached)
    }

    fn note(&mut self, below: Option<Retried>, delivery: Delivery) {
        let attempts = below.map_or(1, |below| below.attempts().max(1));
        self.attempts = self.attempts.saturating_add(attempts);
        self.delivery = Some(
            self.delivery
                .map_or(delivery, |so_far| so_far.and(delivery)),
        );
    }

    fn retry_after(&self, answer: Answer<'_>) -> Option<Duration> {
        self.rules.retry_after_limit?;
        let headers = match answer {
            Answer::Response(_, headers) => headers,
            // It may have been made of a response.
            Answer::Error(error) => &find::<Diagnosed>(error)?.response()?.headers,
        };
        retry_after(headers, wall_clock())
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
        if !self.spare().is_whole() {
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

    pub(super) fn recall(&self) -> (Remembered, Idempotency, Option<CallRecorder>) {
        let names = self.rules.remembers.as_deref().unwrap_or_default();
        let remembered = self.spare().remembered(names).unwrap_or_default();
        (remembered, self.idempotency, self.recorder().cloned())
    }

    fn endpoint(&self) -> Option<Endpoint> {
        self.spare().endpoint()
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

/// Adds to an attempt's request what only this attempt has; returns the watch for its connection.
#[inline]
pub(super) fn announce<T>(
    rules: &Rules,
    number: u32,
    limits: &Limits,
    request: &mut Request<T>,
) -> Option<ConnectionWatch> {
    if rules.announce.is_none() && !rules.capture_connection {
        return None;
    }
    announce_all(rules, number, *limits, request)
}

#[inline(never)]
fn announce_all<T>(
    rules: &Rules,
    number: u32,
    limits: Limits,
    request: &mut Request<T>,
) -> Option<ConnectionWatch> {
    if let Some(announce) = &rules.announce {
        announce(number, limits.time_left(), request.headers_mut());
    }
    rules
        .capture_connection
        .then(|| ConnectionWatch::on(request))
}

fn timeout_error(error: Option<TimeoutError>) -> BoxError {
    match error {
        Some(error) => Box::new(error),
        // Not reached: where there is a limit, the target was kept.
        None => Box::new(std::io::Error::from(std::io::ErrorKind::TimedOut)),
    }
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
