use std::time::Duration;

use http::Request;

use super::rules::Rules;
use crate::{
    call::CallRecorder,
    decision::{Declared, Permission},
    marks::Marks,
    outcome::Idempotency,
};

/// What a request allows: by what it is, and by what it declares.
pub(super) struct Terms {
    pub(super) idempotency: Idempotency,
    pub(super) permission: Permission,
    pub(super) max_attempts: u32,
    pub(super) total_limit: Option<Duration>,
    pub(super) recorder: Option<CallRecorder>,
    /// The request has extensions beside the recorder.
    pub(super) is_extended: bool,
}

impl Terms {
    #[inline(always)]
    pub(super) fn of<B>(rules: &Rules, request: &Request<B>) -> Self {
        let marks = Marks::of(request.headers());
        let recorder = CallRecorder::of(request.extensions()).cloned();
        // A recorded call brings along nothing else, as a rule.
        let is_extended = request.extensions().len() > usize::from(recorder.is_some());
        let declared = if is_extended {
            Declared::in_extensions(request.extensions())
        } else {
            Declared::default()
        };
        let permission = Permission::of(
            request.method(),
            marks,
            declared,
            rules.only_declared,
            rules.repeat_unsent,
        );
        let own_limit = declared.timeout.filter(|_| rules.request_timeout_is_total);
        Self {
            idempotency: declared.idempotency(request.method(), marks),
            permission,
            max_attempts: declared.max_attempts.unwrap_or(rules.max_attempts).max(1),
            total_limit: own_limit.or(rules.total_limit),
            recorder,
            is_extended,
        }
    }

    pub(super) fn may_repeat(&self) -> bool {
        self.max_attempts > 1 && !matches!(self.permission, Permission::Never(_))
    }
}
