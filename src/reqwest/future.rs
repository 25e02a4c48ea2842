use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use pin_project_lite::pin_project;
use reqwest::{Client, Request};
use tower_service::Service;

/// reqwest keeps the name of its future to itself.
type Sent = <Client as Service<Request>>::Future;

pin_project! {
    /// The future of [`ReqwestService`](super::ReqwestService).
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProj]
    enum State {
        Sent { #[pin] inner: Sent },
        // The request has a URI that is no URL.
        Refused { error: Option<reqwest::Error> },
    }
}

impl ResponseFuture {
    pub(super) fn sent(inner: Sent) -> Self {
        Self {
            state: State::Sent { inner },
        }
    }

    pub(super) fn refused(error: reqwest::Error) -> Self {
        Self {
            state: State::Refused { error: Some(error) },
        }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<reqwest::Body>, reqwest::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match self.project().state.project() {
            StateProj::Sent { inner } => ready!(inner.poll(cx)).map(Response::from),
            StateProj::Refused { error } => match error.take() {
                Some(error) => Err(error),
                // Polled again after its end.
                None => return Poll::Pending,
            },
        };
        // reqwest's errors show their URL, query and all.
        Poll::Ready(result.map_err(reqwest::Error::without_url))
    }
}

/// Shows nothing of the request: reqwest's own would show its URL and headers.
impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
