//! What the result of a call tells about it, before the notes are asked.

use std::error::Error;

use http::{HeaderMap, Response, StatusCode};

use crate::{
    class::{ErrorClass, FaultDomain},
    classify::{as_error, classify, delivery},
    diagnosis::{Diagnosed, Diagnosis},
    error::{RetryError, find},
    extensions::extension,
    grpc,
    notes::{Notes, Told},
    outcome::{Delivery, Facts, Outcome},
    retried::Retried,
};

impl Told {
    /// What an answer tells of which there is nothing more to say than its status.
    pub(super) fn plain(status: StatusCode) -> Self {
        Self {
            status: Some(status),
            delivery: Some(Delivery::Answered),
            attempts: 1,
            ..Self::default()
        }
    }

    /// Returns whether [`by_answer`](Self::by_answer) comes to no more than [`plain`](Self::plain), unless
    /// there is a request id.
    #[inline]
    pub(super) fn is_plain<B>(response: &Response<B>, has_ended: bool) -> bool {
        response.status().as_u16() < 400
            && response.extensions().is_empty()
            && (!has_ended || response.headers().is_empty())
    }

    pub(super) fn by_answer<B>(
        response: &Response<B>,
        has_ended: bool,
        request_id: Option<String>,
        notes: &Notes,
    ) -> Self {
        let status = response.status();
        let mut told = Self {
            retried: extension(response.extensions()).copied(),
            ..Self::plain(status)
        };
        if let Some(diagnosis) = extension::<Diagnosis>(response.extensions()) {
            told.adopt(diagnosis);
        } else if !notes.is_accepted {
            let mut facts = Facts {
                last_status: Some(status),
                ..notes.facts
            };
            // Of an answer that is all head, the gRPC status stands there.
            if has_ended && !response.headers().is_empty() {
                told.note_grpc(response.headers(), &mut facts);
            }
            if status.as_u16() >= 400 || facts.grpc_status.is_some() {
                told.outcome = classify(None, &facts);
            }
        }
        told.request_id = told.request_id.or(request_id.map(Into::into));
        told
    }

    pub(super) fn by_error<E: 'static>(error: &E, notes: &Notes) -> Self {
        let Some(error) = as_error(error) else {
            // The type is unknown here. A layer below may have known it, or seen a failing answer.
            let failure = notes.failure().or_else(|| classify(None, &notes.facts));
            return Self {
                outcome: failure.or(Some(INTERNAL)),
                ..Self::default()
            };
        };
        if let Some(diagnosed) = find::<Diagnosed>(error) {
            let diagnosis = diagnosed.diagnosis();
            let mut told = Self {
                status: diagnosis.status(),
                retried: retried(error),
                ..Self::default()
            };
            told.adopt(diagnosis);
            if diagnosis.class() == ErrorClass::ProxyPolicy {
                // A diagnosis counts the call itself. What was refused on our own side was no attempt,
                // unless a layer below says that the client was called.
                told.attempts = 0;
            }
            return told;
        }
        let outcome = match classify(Some(error), &notes.facts) {
            Some(outcome) if outcome.class() != ErrorClass::ProxyInternal => outcome,
            // Boxed, but of a type that nobody knows.
            _ => notes.failure().unwrap_or(INTERNAL),
        };
        let retried = retried(error);
        Self {
            outcome: Some(outcome),
            delivery: Some(retried.map_or_else(|| delivery(error), |retried| retried.delivery())),
            // A broken connection proves an attempt; other failures may lie on our own side.
            attempts: u32::from(outcome.class() == ErrorClass::Network),
            retried,
            ..Self::default()
        }
    }

    /// Looks for a gRPC failure in a head or in trailers.
    pub(super) fn note_grpc(&mut self, fields: &HeaderMap, facts: &mut Facts) {
        if let Some(found) = grpc::failure(fields) {
            facts.grpc_status = found.grpc_status;
            self.remote_code = self.remote_code.take().or(found.code.map(Into::into));
        }
    }

    /// Takes over what was diagnosed further in.
    fn adopt(&mut self, diagnosis: &Diagnosis) {
        self.outcome = Some(diagnosis.outcome());
        self.delivery = Some(diagnosis.delivery());
        self.attempts = diagnosis.attempts();
        self.request_id = diagnosis.request_id().map(Into::into);
        self.remote_code = diagnosis.code().map(Into::into);
    }
}

/// Something broke on our own side.
pub(super) const INTERNAL: Outcome =
    Outcome::new(ErrorClass::ProxyInternal, FaultDomain::Proxy, None);

/// The caller let go before there was an answer.
pub(super) const CANCELLED: Outcome =
    Outcome::new(ErrorClass::Cancelled, FaultDomain::Client, None);

fn retried(error: &(dyn Error + 'static)) -> Option<Retried> {
    find::<RetryError>(error).map(RetryError::retried)
}
