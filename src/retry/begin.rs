//! The beginning of a call: what its request allows, and what is kept of it.

use std::{sync::Arc, time::Duration};

use http::Request;
use http_body::Body;

use super::{limit::Limits, operation::Operation, replay::ReplayBody, rules::Rules, spare::Spare};
use crate::{
    call::CallRecorder, decision::Permission, endpoint::Target, outcome::Idempotency,
    remembered::Remembered, request_timeout::RequestTimeout, retried::MaxAttempts,
};

/// What a request declares and brings along.
struct Terms {
    idempotency: Idempotency,
    permission: Permission,
    max_attempts: u32,
    total_limit: Option<Duration>,
    recorder: Option<CallRecorder>,
}

impl Terms {
    #[inline]
    fn of<B>(rules: &Rules, request: &Request<B>) -> Self {
        let idempotency = Idempotency::of(request);
        let mut terms = Self {
            idempotency,
            permission: Permission::of(
                request,
                idempotency,
                rules.only_declared,
                rules.repeat_unsent,
            ),
            max_attempts: rules.max_attempts,
            total_limit: rules.total_limit,
            recorder: None,
        };
        let extensions = request.extensions();
        if !extensions.is_empty() {
            terms.recorder = CallRecorder::of(extensions).cloned();
            if let Some(MaxAttempts(attempts)) = extensions.get() {
                terms.max_attempts = (*attempts).max(1);
            }
            if let (true, Some(own)) = (rules.request_timeout_is_total, extensions.get()) {
                let RequestTimeout(limit) = own;
                terms.total_limit = Some(*limit);
            }
        }
        terms
    }

    fn may_repeat(&self) -> bool {
        self.max_attempts > 1 && !matches!(self.permission, Permission::Never(_))
    }
}

impl<B: Body> Operation<B> {
    /// Begins a call: returns it, and the request of its first attempt.
    #[inline]
    pub(super) fn begin(rules: &Arc<Rules>, request: Request<B>) -> (Self, Request<ReplayBody<B>>) {
        let terms = Terms::of(rules, &request);
        let limits = Limits::start(terms.total_limit);
        let (head, body) = request.into_parts();
        let (spare, body) = if terms.may_repeat() {
            Spare::whole(&head, body, rules.replay_limit)
        } else {
            let spare = if let Some(names) = &rules.remembers {
                Spare::Lean(Remembered::of(
                    &head.method,
                    &head.uri,
                    &head.headers,
                    names,
                ))
            } else if limits.total().or(rules.attempt_limit).is_some() {
                Spare::Lean(Remembered::only(Target::of_parts(&head)))
            } else {
                Spare::Nothing
            };
            (spare, ReplayBody::once(body))
        };
        let operation = Self {
            rules: Arc::clone(rules),
            spare,
            recorder: terms.recorder,
            connection: None,
            idempotency: terms.idempotency,
            permission: terms.permission,
            max_attempts: terms.max_attempts,
            number: 1,
            attempts: 0,
            delivery: None,
            limits,
        };
        (operation, Request::from_parts(head, body))
    }
}
