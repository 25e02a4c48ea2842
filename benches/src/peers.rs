//! What people put together by hand, and what else there is to buy.

use std::{future, sync::Arc, time::Duration};

use http::{Request, Response};
use tower::{
    BoxError, ServiceBuilder,
    layer::util::{Identity, Stack},
    retry::{
        Policy, RetryLayer,
        budget::{Budget, TpsBudget},
    },
    timeout::TimeoutLayer,
};
use tower_http::{
    classify::{ServerErrorsAsFailures, SharedClassifier},
    trace::TraceLayer,
};

/// Tracing, retries within a budget, a limit for each attempt: the first is outside.
type ByHand =
    Stack<TimeoutLayer, Stack<RetryLayer<CloneAndRepeat>, Stack<HttpTraceLayer, Identity>>>;
type HttpTraceLayer = TraceLayer<SharedClassifier<ServerErrorsAsFailures>>;

/// What people put together of tower and tower-http.
#[must_use]
pub fn by_hand(limit: Duration) -> ServiceBuilder<ByHand> {
    ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(RetryLayer::new(CloneAndRepeat::with_budget()))
        .layer(TimeoutLayer::new(limit))
}

/// Repeats on an error or a 5xx, up to twice, by cloning the whole request, as the documentation of
/// tower shows it.
#[derive(Clone)]
pub struct CloneAndRepeat {
    left: u32,
    budget: Option<Arc<TpsBudget>>,
}

impl CloneAndRepeat {
    #[must_use]
    pub fn without_budget() -> Self {
        Self {
            left: 2,
            budget: None,
        }
    }

    #[must_use]
    pub fn with_budget() -> Self {
        let budget = TpsBudget::new(Duration::from_secs(10), 10, 0.2);
        Self {
            left: 2,
            budget: Some(Arc::new(budget)),
        }
    }
}

impl<B: Clone, R> Policy<Request<B>, Response<R>, BoxError> for CloneAndRepeat {
    type Future = future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<B>,
        result: &mut Result<Response<R>, BoxError>,
    ) -> Option<Self::Future> {
        if result
            .as_ref()
            .is_ok_and(|response| !response.status().is_server_error())
        {
            if let Some(budget) = &self.budget {
                budget.deposit();
            }
            return None;
        }
        if self.left == 0
            || self
                .budget
                .as_ref()
                .is_some_and(|budget| !budget.withdraw())
        {
            return None;
        }
        self.left -= 1;
        Some(future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<B>) -> Option<Request<B>> {
        Some(request.clone())
    }
}
