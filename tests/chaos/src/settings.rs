//! The settings of the stack under test.

use std::time::Duration;

use tower_diagnose::{
    Backoff, CallRecord, ClientStack, DiagnoseLayer, Jitter, LogPolicy, Protocol, RetryBudget,
    RetryLayer,
};

use crate::random::Random;

/// What a stack is told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub total: Duration,
    pub attempt: Option<Duration>,
    pub max_attempts: u32,
    pub base: Duration,
    pub cap: Duration,
    pub jitter: Jitter,
    pub budget: Budget,
    pub replay_limit: usize,
    /// `None` ignores what the server asks for.
    pub retry_after_limit: Option<Duration>,
    pub only_declared: bool,
    pub repeat_unsent: bool,
    pub capture_connection: bool,
    pub announces: bool,
    pub hook: Hook,
    pub body_cap: usize,
    pub peek: Duration,
    pub excerpt_cap: usize,
    pub plain_text: bool,
    pub inspects: bool,
    pub error_for_status: bool,
}

/// What pays for repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    Default,
    None,
    /// So many in all.
    Fixed(u32),
}

/// What the user's hook says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    None,
    /// Never another attempt.
    Veto,
    /// Another attempt whatever the failure.
    Extend,
}

impl Settings {
    /// Draws settings whose limits are about as long as `limit`.
    pub(crate) fn of(random: &mut Random, limit: Duration) -> Self {
        let total = match random.below(40) {
            0 => Duration::ZERO,
            1 => Duration::from_nanos(1),
            2 | 3 => random.time(limit),
            _ => limit / 3 + random.time(limit * 2),
        };
        let base = random.time(limit / 10);
        Self {
            total,
            attempt: random
                .percent(60)
                .then(|| total / 8 + random.time(total / 2)),
            max_attempts: random.below(7) as u32,
            base,
            cap: random.time(limit / 4),
            jitter: *random.pick(&[Jitter::Full, Jitter::None]),
            budget: *random.pick(&[
                Budget::Default,
                Budget::None,
                Budget::None,
                Budget::Fixed(0),
                Budget::Fixed(2),
            ]),
            replay_limit: *random.pick(&[65_536, 65_536, 1_000, 50, 0]),
            retry_after_limit: *random.pick(&[
                Some(Duration::from_secs(30)),
                Some(Duration::from_secs(2)),
                Some(Duration::MAX),
                Some(Duration::ZERO),
                None,
            ]),
            only_declared: random.percent(10),
            repeat_unsent: random.percent(80),
            capture_connection: random.percent(50),
            announces: random.percent(30),
            hook: match random.below(10) {
                0 => Hook::Veto,
                1 => Hook::Extend,
                _ => Hook::None,
            },
            body_cap: *random.pick(&[16_384, 16_384, 16_384, 300, 20, 1, 0]),
            peek: *random.pick(&[limit / 30, limit / 5, Duration::ZERO]),
            excerpt_cap: *random.pick(&[500, 500, 40, 0]),
            plain_text: random.percent(40),
            inspects: random.percent(30),
            error_for_status: random.percent(15),
        }
    }

    /// Builds the stack, which hands its records to `sink`.
    pub fn stack(&self, sink: impl Fn(CallRecord) + Send + Sync + 'static) -> ClientStack {
        let mut stack = ClientStack::new(self.total)
            .retry(self.retry())
            .diagnose(self.diagnose())
            .record(sink);
        if let Some(attempt) = self.attempt {
            stack = stack.attempt_timeout(attempt);
        }
        stack
    }

    fn retry(&self) -> RetryLayer {
        let backoff = Backoff::exponential(self.base, self.cap).jitter(self.jitter);
        let mut retry = RetryLayer::new()
            .max_attempts(self.max_attempts)
            .backoff(backoff)
            .replay_limit(self.replay_limit)
            .only_declared(self.only_declared)
            .repeat_unsent(self.repeat_unsent)
            .capture_connection(self.capture_connection);
        retry = match self.budget {
            Budget::Default => retry,
            Budget::None => retry.without_budget(),
            Budget::Fixed(count) => retry.budget(RetryBudget::new(0, count, 0)),
        };
        retry = match self.retry_after_limit {
            Some(limit) => retry.retry_after_limit(limit),
            None => retry.ignore_retry_after(),
        };
        if self.announces {
            retry = retry.announce(|number, _, headers| {
                headers.insert("x-announced", number.into());
            });
        }
        match self.hook {
            Hook::None => retry,
            Hook::Veto => retry.retry_if(|_| false),
            Hook::Extend => retry.retry_if(|_| true),
        }
    }

    fn diagnose(&self) -> DiagnoseLayer {
        let mut diagnose = DiagnoseLayer::new()
            .body_cap(self.body_cap)
            .peek_timeout(self.peek)
            .excerpt_cap(self.excerpt_cap)
            .plain_text(self.plain_text)
            .error_for_status(self.error_for_status)
            .redact_header("x-vendor-token")
            .log(LogPolicy::new());
        if self.inspects {
            for protocol in [
                Protocol::JsonRpc,
                Protocol::Mcp,
                Protocol::GraphQl,
                Protocol::Slack,
                Protocol::Grpc,
            ] {
                diagnose = diagnose.inspect(protocol);
            }
        }
        diagnose
    }
}
