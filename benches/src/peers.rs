//! What people put together by hand, and what else there is to buy.

use std::{future, sync::Arc, time::Duration};

use http::{Request, Response};
use tower::{
    BoxError,
    retry::{
        Policy,
        budget::{Budget, TpsBudget},
    },
};

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
