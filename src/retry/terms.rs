use std::time::Duration;

use http::Request;

use super::rules::Rules;
use crate::{
    decision::{Declared, Permission},
    outcome::Idempotency,
    retry_marks::Marks,
};

/// What a request allows: by what it is, and by what it declares.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(super) idempotency: Idempotency,
    pub(super) permission: Permission,
    pub(super) max_attempts: u32,
    pub(super) total_limit: Option<Duration>,
    /// The request has extensions beside the recorder.
    pub(super) is_extended: bool,
}

impl Terms {
    #[inline(always)]
    pub(super) fn of<B>(rules: &Rules, request: &Request<B>, is_recorded: bool) -> Self {
        let marks = Marks::of(request.headers());
        let extensions = request.extensions();
        // As in most requests: what nobody declares is known when this is compiled.
        if extensions.is_empty() {
            return Self::new(rules, request, marks, Declared::default());
        }
        // A recorded call brings along nothing else, as a rule.
        let is_extended = extensions.len() > usize::from(is_recorded);
        let mut declared = match is_extended {
            true => Declared::in_extensions(extensions),
            false => Declared::default(),
        };
        if rules.is_off {
            declared.max_attempts = None;
        }
        Self {
            is_extended,
            ..Self::new(rules, request, marks, declared)
        }
    }

    #[inline(always)]
    fn new<B>(rules: &Rules, request: &Request<B>, marks: Marks, declared: Declared) -> Self {
        let (method, headers) = (request.method(), request.headers());
        let idempotency = declared.idempotency(method, || marks.has_idempotency_key(headers));
        let permission = Permission::of(
            method,
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
            is_extended: false,
        }
    }

    pub(super) fn may_repeat(&self) -> bool {
        self.max_attempts > 1 && !matches!(self.permission, Permission::Never(_))
    }
}
