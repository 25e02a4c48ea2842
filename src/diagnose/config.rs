use std::time::Duration;

use http::{HeaderName, StatusCode};

use super::{log::LogPolicy, peeked::Limits};
use crate::{
    diagnosis::{Diagnosis, LINE_CAP},
    endpoint::Endpoint,
    hook::Hook,
    protocol::Protocols,
};

pub(super) type FailureWhen = dyn Fn(StatusCode) -> bool + Send + Sync;
pub(super) type PathWith = dyn Fn(&Endpoint) -> Option<String> + Send + Sync;
pub(super) type HintWith = dyn Fn(&Diagnosis) -> Option<String> + Send + Sync;

/// What a layer was told, shared by all its services and calls.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) is_server: bool,
    /// Nothing below 400 is a failure, and nobody looks into it.
    pub(super) is_usual: bool,
    pub(super) body_cap: usize,
    pub(super) peek_timeout: Duration,
    pub(super) line_cap: usize,
    pub(super) excerpt_cap: usize,
    pub(super) plain_text: bool,
    pub(super) protocols: Protocols,
    pub(super) redacted: Vec<HeaderName>,
    pub(super) failure_when: Option<Hook<FailureWhen>>,
    pub(super) path_with: Option<Hook<PathWith>>,
    pub(super) hint_with: Option<Hook<HintWith>>,
    pub(super) log: LogPolicy,
    pub(super) error_for_status: bool,
}

impl Config {
    pub(super) fn new(is_server: bool) -> Self {
        Self {
            is_server,
            is_usual: true,
            body_cap: 16 * 1024,
            peek_timeout: Duration::from_secs(1),
            line_cap: LINE_CAP,
            excerpt_cap: 500,
            plain_text: false,
            protocols: Protocols::default(),
            redacted: Vec::new(),
            failure_when: None,
            path_with: None,
            hint_with: None,
            // A caller of ours is handed the diagnosis, and knows best whether it is worth a line in
            // the log; a server's client is handed nothing.
            log: if is_server {
                LogPolicy::new()
            } else {
                LogPolicy::off()
            },
            error_for_status: false,
        }
    }

    /// Returns how far the body of a failing response is read.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            cap: self.body_cap,
            time: self.peek_timeout,
        }
    }

    /// Returns whether an answer is fine as everybody would say, and nobody was told to look further. As
    /// [`Config::is_plain`] for most layers, but it calls nothing of the user's: a response that has to be
    /// dropped if that panics is moved once more, which takes 40 instructions.
    #[inline]
    pub(super) fn is_plainly(&self, status: StatusCode) -> bool {
        self.is_usual && status.as_u16() < 400
    }

    /// Returns whether an answer is fine by its status, and no more is to be looked at.
    #[inline(always)]
    pub(super) fn is_plain(&self, status: StatusCode) -> bool {
        let is_good = status.as_u16() < 400 && self.protocols.is_empty();
        is_good && (self.is_usual || !self.is_failure(status))
    }

    #[inline(never)]
    pub(super) fn is_failure(&self, status: StatusCode) -> bool {
        match &self.failure_when {
            None => status.as_u16() >= 400,
            Some(hook) => hook(status),
        }
    }
}
