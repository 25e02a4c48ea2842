//! The end of a recording: what was seen and noted becomes a record.

use std::mem;

use tokio::time::Instant;

use super::{
    guards::{call_hook, call_sink},
    layer::PathHook,
    recording::{Head, Recording},
};
use crate::{
    call::CallRecorder,
    notes::{Notes, Told},
    outcome::{Delivery, Outcome},
    record::{BodyEnd, CallRecord},
};

impl Recording {
    /// Makes the record of a call of which there is nothing in the notes: of nearly every one. At most
    /// one attempt was seen, and if it `was_answered`, it went well.
    #[inline]
    pub(super) fn record_smooth(
        &self,
        recorder: CallRecorder,
        was_answered: bool,
        head: Head,
        ended: Instant,
        body_end: Option<BodyEnd>,
    ) {
        let record = CallRecord {
            has_template: self.has_template(&recorder),
            is_smooth: was_answered,
            recorder,
            status: Some(head.status),
            outcome: None,
            delivery: Delivery::Answered,
            attempts: 1,
            stop: None,
            last_failure: None,
            head: Some(head.at),
            ended,
            bytes_in: self.bytes_in,
            body_end,
            request_id: None,
            remote_code: None,
        };
        call_sink(|| self.config.sink.record(record));
    }

    /// Makes the record of a call that is over. `failure` is what came after the head.
    #[inline(never)]
    pub(super) fn record_noted(
        &self,
        recorder: CallRecorder,
        head: Option<Head>,
        ended: Instant,
        failure: Option<Outcome>,
        body_end: Option<BodyEnd>,
    ) {
        self.record(recorder, ended, body_end, |notes| {
            note_head(notes, head);
            match notes.head.take() {
                Some((head, mut told)) => {
                    told.outcome = told.outcome.or(notes.failure()).or(failure);
                    (Some(head), told)
                }
                None => {
                    let told = Told {
                        outcome: failure,
                        ..Told::default()
                    };
                    (None, told)
                }
            }
        });
    }

    /// Makes the record of what `tell` says: when the head came, and what it or an error told.
    pub(super) fn record(
        &self,
        recorder: CallRecorder,
        ended: Instant,
        body_end: Option<BodyEnd>,
        tell: impl FnOnce(&mut Notes) -> (Option<Instant>, Told),
    ) {
        let has_template = self.has_template(&recorder);
        let mut notes = recorder.notes();
        let (head, told) = tell(&mut notes);
        notes.attempts.close(head, ended);
        let attempts = mem::take(&mut notes.attempts);
        let (requests, last_failure) = (notes.facts.requests, notes.last_failure);
        let (noted, retried) = (notes.delivery(), notes.retried.or(told.retried));
        drop(notes);
        recorder.start().attempts.get_or_init(|| attempts);
        let record = CallRecord {
            recorder,
            has_template,
            is_smooth: false,
            status: told.status,
            outcome: told.outcome,
            delivery: noted.or(told.delivery).unwrap_or(Delivery::Unknown),
            attempts: match (requests, retried) {
                (0, Some(retried)) => retried.attempts(),
                (0, None) if noted.is_none() => told.attempts,
                (requests, _) => requests,
            },
            stop: retried.map(|retried| retried.stop()),
            last_failure,
            head,
            ended,
            bytes_in: self.bytes_in,
            // Before the head there is no body.
            body_end: body_end.filter(|_| head.is_some()),
            request_id: told.request_id,
            remote_code: told.remote_code,
        };
        call_sink(|| self.config.sink.record(record));
    }

    /// Returns whether the call is known under a route template.
    #[inline]
    fn has_template(&self, recorder: &CallRecorder) -> bool {
        let hook = self.config.path.as_ref();
        recorder.start().template.is_some() || hook.is_some_and(|hook| asked(hook, recorder))
    }
}

/// Puts a head of which there was nothing more to say into the notes.
pub(super) fn note_head(notes: &mut Notes, head: Option<Head>) {
    if let Some(head) = head {
        notes.head = Some((head.at, Told::plain(head.status)));
    }
}

/// Asks the user's hook for a template; returns whether there is one.
#[inline(never)]
fn asked(hook: &PathHook, recorder: &CallRecorder) -> bool {
    let start = recorder.start();
    let endpoint = start.target.endpoint();
    let Some(template) = call_hook(|| hook(&endpoint)) else {
        return false;
    };
    let endpoint = Box::new(endpoint.with_path(&template));
    start.endpoint.set(endpoint).is_ok()
}
