use std::time::SystemTime;

use http::StatusCode;

use crate::{
    class::{ErrorClass, FaultDomain},
    record::CallRecord,
};

/// Which records to show.
///
/// Empty, it lets every record pass. Several values of one kind widen it, several kinds narrow it:
/// a timeout *or* a network failure, *and* the upstream's fault.
///
/// ```
/// use tower_diagnose::{CallFilter, ErrorClass, FaultDomain, RecentCalls};
///
/// let calls = RecentCalls::new(1000);
/// let filter = CallFilter::new()
///     .class(ErrorClass::Timeout)
///     .class(ErrorClass::Network)
///     .domain(FaultDomain::Upstream)
///     .limit(50);
/// assert!(calls.matching(&filter).is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    classes: Vec<ErrorClass>,
    domains: Vec<FaultDomain>,
    statuses: Vec<StatusCode>,
    endpoints: Vec<Box<str>>,
    since: Option<SystemTime>,
    limit: Option<usize>,
}

impl CallFilter {
    /// Creates a filter that lets every record pass.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets failures of this class pass, and of the others that were named.
    #[must_use]
    pub fn class(mut self, class: ErrorClass) -> Self {
        self.classes.push(class);
        self
    }

    /// Lets failures pass that were the fault of this side, and of the others that were named.
    #[must_use]
    pub fn domain(mut self, domain: FaultDomain) -> Self {
        self.domains.push(domain);
        self
    }

    /// Lets calls pass that were answered with this status, and with the others that were named.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.statuses.push(status);
        self
    }

    /// Lets calls of this endpoint pass, and of the others that were named. `GET /users/{id}`, or
    /// the path alone for every method.
    #[must_use]
    pub fn endpoint(mut self, endpoint: &str) -> Self {
        self.endpoints.push(endpoint.into());
        self
    }

    /// Lets calls pass that were made at this moment or later.
    #[must_use]
    pub fn since(mut self, since: SystemTime) -> Self {
        self.since = Some(since);
        self
    }

    /// Returns at most so many records. Without a limit, all.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    pub(super) fn most(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Returns whether `record` passes. The limit is none of its business.
    #[must_use]
    pub fn matches(&self, record: &CallRecord) -> bool {
        names(&self.classes, record.error_class())
            && names(&self.domains, record.fault_domain())
            && names(&self.statuses, record.status())
            && self.since.is_none_or(|since| record.started_at() >= since)
            && self.matches_endpoint(record)
    }

    fn matches_endpoint(&self, record: &CallRecord) -> bool {
        if self.endpoints.is_empty() {
            return true;
        }
        let whole = record.endpoint().to_string();
        self.endpoints
            .iter()
            .any(|endpoint| **endpoint == *whole || **endpoint == *record.endpoint().path())
    }
}

/// Returns whether `value` is among those named; where none is, everything passes.
fn names<T: PartialEq>(named: &[T], value: Option<T>) -> bool {
    named.is_empty() || value.is_some_and(|value| named.contains(&value))
}
