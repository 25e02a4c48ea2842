//! What must hold of every call, whatever the server did.

use std::time::Duration;

use tower_diagnose::{BodyEnd, CallRecord, Delivery, ErrorClass, StopReason};

use crate::{
    caller::{End, Told},
    plan::{CallPlan, Plan},
    server::{Arrival, BodySeen},
    settings::{Budget, Hook},
    tap::{AttemptLog, Piece, Seen, What},
    texts,
};

/// All that is known of one call.
#[derive(Debug)]
pub struct Case<'a> {
    pub plan: &'a Plan,
    pub call: &'a CallPlan,
    pub attempts: &'a [AttemptLog],
    pub told: &'a Told,
    pub records: &'a [CallRecord],
    pub arrivals: &'a [Arrival],
}

/// How long a machine may keep a socket waiting that has nothing to wait for.
const PATIENCE: Duration = Duration::from_secs(20);

impl Case<'_> {
    /// Returns what does not hold.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        self.wire(&mut faults);
        self.gaps(&mut faults);
        self.time(&mut faults);
        self.record(&mut faults);
        self.diagnosis(&mut faults);
        self.stop(&mut faults);
        for record in self.records {
            faults.extend(texts::of_record(record));
        }
        if let Some(diagnosis) = &self.told.diagnosis {
            faults.extend(texts::of_diagnosis(diagnosis));
        }
        let number = self.call.number;
        faults
            .iter()
            .map(|what| format!("call {number}: {what}"))
            .collect()
    }

    fn count(&self) -> u32 {
        self.attempts.len() as u32
    }

    /// How often the server may have acted on it.
    fn processed(&self) -> usize {
        self.arrivals
            .iter()
            .filter(|arrival| !arrival.refused)
            .count()
    }

    fn wire(&self, faults: &mut Vec<String>) {
        let allowed = self.call.attempts_allowed(&self.plan.settings);
        if self.count() > allowed {
            faults.push(format!("{} attempts, of {allowed}", self.count()));
        }
        if self.processed() > 1 && !self.call.is_repeatable() {
            faults.push(format!("a write was processed {} times", self.processed()));
        }
        for number in 1..=self.count() {
            let of_attempt = |arrival: &&Arrival| arrival.attempt == number;
            let arrived = self.arrivals.iter().filter(of_attempt).count();
            if arrived > 1 {
                faults.push(format!("attempt {number} arrived {arrived} times"));
            }
        }
        if self
            .arrivals
            .iter()
            .any(|arrival| arrival.attempt > self.count())
        {
            faults.push("an attempt arrived that was never made".to_owned());
        }
        for arrival in self.arrivals {
            if arrival.framing != self.arrivals[0].framing {
                faults.push(format!(
                    "framed as {} and as {}",
                    self.arrivals[0].framing, arrival.framing
                ));
            }
            let body = &self.call.body;
            // Of a GET, hyper sends no body whose length it does not know.
            if arrival.framing == "none" {
                continue;
            }
            if let BodySeen::Whole(length) = arrival.body {
                if length != body.length {
                    faults.push(format!(
                        "a body of {length} bytes came whole, not {}",
                        body.length
                    ));
                }
                if body.fails_at.is_some_and(|at| at < body.length) {
                    faults.push("a body that failed came whole".to_owned());
                }
            }
        }
    }

    /// What lies between two attempts.
    fn gaps(&self, faults: &mut Vec<String>) {
        let settings = &self.plan.settings;
        for pair in self.attempts.windows(2) {
            let [before, after] = pair else { continue };
            let Some(ended) = before.ended else {
                faults.push("an attempt began while another was running".to_owned());
                continue;
            };
            let mut asked = None;
            if let Seen::Answered(head) = &before.result {
                let status = head.status.as_u16();
                let retryable = matches!(status, 408 | 425 | 429)
                    || (500..600).contains(&status) && !matches!(status, 501 | 505 | 511);
                let is_extended = settings.hook == Hook::Extend && status >= 400;
                if !retryable && !is_extended {
                    faults.push(format!("repeated after {status}"));
                }
                asked = whole_seconds(&head.headers);
                if let (Some(asked), Some(limit)) = (asked, settings.retry_after_limit) {
                    if asked > limit {
                        faults.push(format!("repeated although asked to wait {asked:?}"));
                    }
                }
            }
            if settings.hook == Hook::Veto {
                faults.push("repeated against the hook's veto".to_owned());
            }
            let gap = after.began - ended;
            let asked = asked.filter(|_| settings.retry_after_limit.is_some());
            if let Some(asked) = asked {
                if gap < asked {
                    faults.push(format!("waited {gap:?}, asked for {asked:?}"));
                }
            }
            // Timers count whole milliseconds, each rounded up.
            let longest = settings.cap + Duration::from_millis(100 + 4);
            let has_own = matches!(&before.result, Seen::Answered(head)
                if head.headers.contains_key("retry-after") || head.headers.contains_key("retry-after-ms"));
            if self.plan.in_memory && !has_own && gap > longest {
                faults.push(format!("waited {gap:?}, at most {longest:?} was due"));
            }
        }
    }

    fn time(&self, faults: &mut Vec<String>) {
        let settings = &self.plan.settings;
        let slack = if self.plan.in_memory {
            Duration::from_millis(5)
        } else {
            PATIENCE
        };
        let limit = self.call.total(settings) + settings.peek;
        if self.told.took > limit + slack {
            faults.push(format!("took {:?} of {limit:?}", self.told.took));
        }
    }

    fn record(&self, faults: &mut Vec<String>) {
        let [record] = self.records else {
            faults.push(format!("{} records", self.records.len()));
            return;
        };
        let mut wrong = |what: &str, is: String, not: String| {
            faults.push(format!("the record's {what} is {is}, not {not}"));
        };
        if record.attempts() != self.count() {
            wrong(
                "count of attempts",
                record.attempts().to_string(),
                self.count().to_string(),
            );
        }
        let (status, class) = match &self.told.end {
            End::Cancelled => (None, Some(ErrorClass::Cancelled)),
            End::Answered(head) | End::Status(head) => (Some(head.status), None),
            End::Failed => (None, None),
        };
        if record.status() != status {
            wrong(
                "status",
                format!("{:?}", record.status()),
                format!("{status:?}"),
            );
        }
        if class.is_some() && record.error_class() != class {
            wrong(
                "class",
                format!("{:?}", record.error_class()),
                format!("{class:?}"),
            );
        }
        if let End::Failed = self.told.end {
            let class = self
                .told
                .diagnosis
                .as_ref()
                .map(|diagnosis| diagnosis.class());
            if record.error_class() != class {
                wrong(
                    "class",
                    format!("{:?}", record.error_class()),
                    format!("{class:?}"),
                );
            }
        }
        if let End::Answered(head) = &self.told.end {
            if head.status.as_u16() >= 400 && record.outcome().is_none() {
                wrong("outcome", "none".to_owned(), head.status.to_string());
            }
            // After the end of a stream, a reset can still follow.
            let said_end = self.attempts.last().is_some_and(|attempt| {
                let is_trailers = |piece: &Piece| matches!(piece.what, What::Trailers(_));
                attempt.said_end || attempt.body.iter().any(is_trailers)
            });
            let has_failed = self.told.body == Some(What::Error) && !said_end;
            let expected = match &self.told.body {
                Some(What::End) => Some(BodyEnd::Complete),
                Some(What::Error) if has_failed => Some(BodyEnd::Failed),
                _ => None,
            };
            let is_over = head.status != 101;
            if let (Some(expected), true) = (expected, is_over) {
                if record.body_end() != Some(expected) {
                    wrong(
                        "body's end",
                        format!("{:?}", record.body_end()),
                        expected.to_string(),
                    );
                }
            }
            if has_failed && record.outcome().is_none() {
                wrong(
                    "outcome",
                    "none".to_owned(),
                    "that of a body that failed".to_owned(),
                );
            }
        }
        if record.delivery() == Delivery::NotSent && self.processed() > 0 {
            wrong(
                "delivery",
                "not_sent".to_owned(),
                "one that fits a server which had it".to_owned(),
            );
        }
        if record.duration() + Duration::from_millis(1) < self.told.took && self.plan.in_memory {
            wrong(
                "duration",
                format!("{:?}", record.duration()),
                format!("{:?}", self.told.took),
            );
        }
    }

    fn diagnosis(&self, faults: &mut Vec<String>) {
        let Some(diagnosis) = &self.told.diagnosis else {
            match &self.told.end {
                End::Answered(head) if head.status.as_u16() >= 400 => {
                    faults.push(format!("{} has no diagnosis", head.status));
                }
                End::Failed | End::Status(_) => {
                    faults.push("an error without diagnosis".to_owned())
                }
                _ => {}
            }
            return;
        };
        if diagnosis.attempts() != self.count().max(1) {
            faults.push(format!(
                "diagnosed {} attempts, not {}",
                diagnosis.attempts(),
                self.count()
            ));
        }
        let class = diagnosis.class();
        match &self.told.end {
            End::Failed => {
                let is_body = self.call.body.fails_at.is_some();
                let is_known = matches!(class, ErrorClass::Network | ErrorClass::Timeout)
                    || is_body && class == ErrorClass::Cancelled;
                if !is_known {
                    faults.push(format!("an error of the server's is {class}: {diagnosis}"));
                }
                let may_have = diagnosis.delivery() == Delivery::Unknown;
                if diagnosis.is_indeterminate() != (may_have && !self.call.is_repeatable()) {
                    faults.push(format!("indeterminate: {}", diagnosis.is_indeterminate()));
                }
                if self.processed() > 0 && diagnosis.delivery() == Delivery::NotSent {
                    faults.push("said to be not sent, and was".to_owned());
                }
            }
            End::Answered(head) | End::Status(head) => {
                if diagnosis.status() != Some(head.status) {
                    faults.push(format!(
                        "diagnosed {:?} under {}",
                        diagnosis.status(),
                        head.status
                    ));
                }
                let status = head.status.as_u16();
                let expected = match status {
                    401 | 403 | 407 => ErrorClass::Auth,
                    400.. => ErrorClass::Http,
                    _ => class,
                };
                // A status of gRPC in the head of a failing answer says more.
                if class != expected && !head.headers.contains_key("grpc-status") {
                    faults.push(format!("{status} is {class}"));
                }
            }
            End::Cancelled => faults.push("a cancelled call was diagnosed".to_owned()),
        }
    }

    /// Whether the reason for not going on is one.
    fn stop(&self, faults: &mut Vec<String>) {
        let settings = &self.plan.settings;
        let Some(retried) = self.told.retried else {
            if self.count() > 1 && self.told.end != End::Cancelled {
                faults.push("nobody was told of the attempts".to_owned());
            }
            return;
        };
        let max = self
            .call
            .max_attempts
            .unwrap_or(settings.max_attempts)
            .max(1);
        let stop = retried.stop();
        let is_plausible = match stop {
            StopReason::Succeeded => {
                matches!(&self.told.end, End::Answered(head) | End::Status(head) if head.status.as_u16() < 400)
            }
            StopReason::NotRetryable => true,
            StopReason::NotIdempotent => {
                !self.call.is_repeatable() || settings.only_declared && self.call.declared.is_none()
            }
            StopReason::BodyNotReplayable => !self.call.body.is_empty(),
            StopReason::AttemptsUsedUp => self.count() == max,
            StopReason::BudgetExhausted => settings.budget != Budget::None,
            StopReason::RetryAfterBeyondLimit => settings.retry_after_limit.is_some(),
            StopReason::WouldPassTotalLimit | StopReason::TotalLimitReached => true,
            StopReason::Forbidden => settings.hook == Hook::Veto || self.call.no_retry,
            _ => false,
        };
        if !is_plausible {
            faults.push(format!("stopped as {stop} after {}", self.count()));
        }
        if retried.attempts() != self.count() {
            faults.push(format!(
                "told of {} attempts, not {}",
                retried.attempts(),
                self.count()
            ));
        }
        if self.processed() > 0 && retried.delivery() == Delivery::NotSent {
            faults.push("the retries say not sent".to_owned());
        }
    }
}

/// What a single `Retry-After` of whole seconds asks for, if nothing else has a say.
fn whole_seconds(headers: &http::HeaderMap) -> Option<Duration> {
    if headers.contains_key("retry-after-ms") {
        return None;
    }
    let mut all = headers.get_all("retry-after").iter();
    let text = all.next()?.to_str().ok()?;
    if all.next().is_some() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().map(Duration::from_secs)
}
