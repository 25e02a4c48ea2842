use std::time::Duration;

use http::Request;

use super::rules::Rules;
use crate::{
    call::CallRecorder,
    decision::{Declared, Permission},
    outcome::Idempotency,
    retry_marks::Marks,
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
        if request.extensions().is_empty() {
            // As in most requests: what nobody declares is known when this is compiled.
            return Self::new(rules, request, marks, Declared::default());
        }
        Self::extended(rules, request, marks)
    }

    #[inline(never)]
    fn extended<B>(rules: &Rules, request: &Request<B>, marks: Marks) -> Self {
        let recorder = CallRecorder::of(request.extensions()).cloned();
        // A recorded call brings along nothing else, as a rule.
        let is_extended = request.extensions().len() > usize::from(recorder.is_some());
        let mut declared = match is_extended {
            true => Declared::in_extensions(request.extensions()),
            false => Declared::default(),
        };
        if rules.is_off {
            declared.max_attempts = None;
        }
        Self {
            recorder,
            is_extended,
            ..Self::new(rules, request, marks, declared)
        }
    }

    #[inline(always)]
    fn new<B>(rules: &Rules, request: &Request<B>, marks: Marks, declared: Declared) -> Self {
        let idempotency = declared.idempotency(request.method(), marks);
        let permission = Permission::of(
            request.method(),
            marks,
            declared,
            idempotency,
            rules.only_declared,
            rules.repeat_unsent,
        );
        let own_limit = declared.timeout.filter(|_| rules.request_timeout_is_total);
        Self {
            idempotency,
            permission,
            max_attempts: declared.max_attempts.unwrap_or(rules.max_attempts),
            total_limit: own_limit.or(rules.total_limit),
            recorder: None,
            is_extended: false,
        }
    }

    pub(super) fn may_repeat(&self) -> bool {
        self.max_attempts > 1 && !matches!(self.permission, Permission::Never(_))
    }
}
