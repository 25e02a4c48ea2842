use std::time::Duration;

use http::{Extensions, Request};

use super::rules::Rules;
use crate::{
    call::CallRecorder, decision::Permission, extension::extension, marks::Marks,
    outcome::Idempotency, request_timeout::RequestTimeout, retried::MaxAttempts,
};

/// What a request allows: by what it is, and by what it declares.
pub(super) struct Terms {
    pub(super) idempotency: Idempotency,
    pub(super) permission: Permission,
    pub(super) max_attempts: u32,
    pub(super) total_limit: Option<Duration>,
    pub(super) recorder: Option<CallRecorder>,
}

impl Terms {
    #[inline(always)]
    pub(super) fn of<B>(rules: &Rules, request: &Request<B>) -> Self {
        let marks = Marks::of(request.headers());
        let idempotency = Idempotency::marked(request, || marks);
        let permission = Permission::of(
            request,
            marks,
            idempotency,
            rules.only_declared,
            rules.repeat_unsent,
        );
        let mut terms = Self {
            idempotency,
            permission,
            max_attempts: rules.max_attempts,
            total_limit: rules.total_limit,
            recorder: None,
        };
        if !request.extensions().is_empty() {
            terms.amend(rules, request.extensions());
        }
        terms
    }

    #[inline(never)]
    fn amend(&mut self, rules: &Rules, extensions: &Extensions) {
        self.recorder = CallRecorder::of(extensions).cloned();
        if let Some(MaxAttempts(attempts)) = extension(extensions) {
            self.max_attempts = (*attempts).max(1);
        }
        if rules.request_timeout_is_total {
            if let Some(RequestTimeout(limit)) = extension(extensions) {
                self.total_limit = Some(*limit);
            }
        }
    }

    pub(super) fn may_repeat(&self) -> bool {
        self.max_attempts > 1 && !matches!(self.permission, Permission::Never(_))
    }
}
