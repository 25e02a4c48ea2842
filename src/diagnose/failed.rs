//! The diagnosis of a call that ended without an answer.

use std::{borrow::Cow, error::Error, sync::OnceLock};

use super::call::Call;
use crate::{
    call::CallRecorder,
    cause::{cause_of, refuses},
    class::{ErrorClass, FaultDomain},
    classify::{self, classify_read},
    diagnosis::{Diagnosed, Diagnosis},
    error::{RetryError, TimeoutError, find},
    excerpt::Excerpt,
    outcome::{Delivery, Facts, Outcome},
    text::one_line,
    texts::Texts,
    transport::read,
};

impl Call<'_> {
    /// Diagnoses a call that ended without an answer.
    pub(super) fn failed(&self, error: Option<&(dyn Error + 'static)>) -> Diagnosis {
        if let Some(below) = error.and_then(find::<Diagnosed>) {
            return self.diagnosed_below(below.diagnosis(), error);
        }
        let seen = self.brought.recorder.as_ref();
        let retried = error.and_then(find::<RetryError>).map(RetryError::retried);
        let mut delivery = error.map_or(Delivery::Unknown, classify::delivery);
        if let Some(recorder) = seen {
            // An attempt that a retry of somebody else's repeated.
            delivery = delivery.and(recorder.delivery());
        }
        let facts = Facts {
            mcp_session: self.sighted.noted.has_mcp_session(),
            ..seen.map_or_else(
                || Facts {
                    dispatched: !self.config.is_server && delivery != Delivery::NotSent,
                    ..Facts::default()
                },
                CallRecorder::snapshot,
            )
        };
        let failure = error.map(read);
        let cause = failure
            .as_ref()
            .map_or(Cow::Borrowed("internal error"), cause_of);
        let is_refusal = failure.as_ref().is_some_and(refuses);
        let outcome = match error.zip(failure) {
            None => seen.and_then(CallRecorder::failure),
            failed => classify_read(failed, &facts),
        };
        let cause = match cause {
            // What a guard says may name the address that it turned away.
            Cow::Owned(text) => Cow::Owned(self.scrubber().scrub(&text).into_owned()),
            Cow::Borrowed(phrase) => Cow::Borrowed(phrase),
        };
        let diagnosis = Diagnosis {
            endpoint: self.endpoint(),
            outcome: outcome.unwrap_or(Outcome::new(
                ErrorClass::ProxyInternal,
                FaultDomain::Proxy,
                None,
            )),
            texts: Texts::default(),
            excerpt: Excerpt::default(),
            omitted: None,
            hint: None,
            cause: Some(match one_line(&cause) {
                Cow::Owned(line) => line.into(),
                Cow::Borrowed(_) => cause,
            }),
            not_sent: delivery == Delivery::NotSent && is_refusal,
            delivery,
            attempts: retried
                .map_or(facts.requests, |retried| retried.attempts())
                .max(1),
            stop: retried.map(|retried| retried.stop()),
            timeout: error
                .and_then(find::<TimeoutError>)
                .map(TimeoutError::limit),
            retry_after: None,
            indeterminate: false,
            headers: OnceLock::new(),
            omitted_headers: 0,
            line_cap: self.config.line_cap,
        };
        self.complete(diagnosis)
    }

    /// Takes over what a layer of the same kind found below, where there was more to know.
    fn diagnosed_below(
        &self,
        below: &Diagnosis,
        error: Option<&(dyn Error + 'static)>,
    ) -> Diagnosis {
        let mut diagnosis = below.clone();
        if let Some(retried) = error.and_then(find::<RetryError>).map(RetryError::retried) {
            diagnosis.attempts = retried.attempts();
            diagnosis.stop = Some(retried.stop());
            diagnosis.delivery = retried.delivery();
        }
        diagnosis.line_cap = self.config.line_cap;
        self.complete(diagnosis)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/diagnose_failed.rs"]
mod tests;
