use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER},
};
use pin_project_lite::pin_project;

use super::{accept::Format, body::ResponseBody, layer::RespondLayer, problem::Problem};
use crate::{
    decision::retried_below,
    diagnosis::Diagnosed,
    endpoint::Target,
    error::{BoxError, find},
};

pin_project! {
    /// The future of [`Respond`](super::Respond).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
        target: Target,
        format: Format,
        config: RespondLayer,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProj]
    enum State<F> {
        Running { #[pin] inner: F },
        // The service could not be made ready; it is not called.
        NotReady { error: Option<BoxError> },
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn running(inner: F, target: Target, format: Format, config: RespondLayer) -> Self {
        Self {
            state: State::Running { inner },
            target,
            format,
            config,
        }
    }

    pub(super) fn not_ready(
        error: BoxError,
        target: Target,
        format: Format,
        config: RespondLayer,
    ) -> Self {
        Self {
            state: State::NotReady { error: Some(error) },
            target,
            format,
            config,
        }
    }
}

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<B>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let error = match this.state.project() {
            StateProj::Running { inner } => match ready!(inner.poll(cx)) {
                Ok(response) => return Poll::Ready(Ok(response.map(ResponseBody::inner))),
                Err(error) => error.into(),
            },
            StateProj::NotReady { error } => match error.take() {
                Some(error) => error,
                // Polled again after its end.
                None => return Poll::Pending,
            },
        };
        let problem = this.config.problem(&*error, &this.target.endpoint());
        let is_head = this.target.method() == Method::HEAD;
        let mut response = respond(&problem, *this.format, is_head);
        if let Some(retried) = retried_below(&*error) {
            // Whoever is outside need not repeat what was given up on.
            response.extensions_mut().insert(retried);
        }
        if let Some(diagnosed) = find::<Diagnosed>(&*error) {
            let diagnosis = diagnosed.diagnosis().clone();
            response.extensions_mut().insert(diagnosis);
        }
        Poll::Ready(Ok(response))
    }
}

fn respond<B>(problem: &Problem, format: Format, is_head: bool) -> Response<ResponseBody<B>> {
    let (kind, bytes) = match format {
        Format::Json => (
            "application/problem+json",
            // A map of texts and a number cannot fail to be written.
            serde_json::to_vec(problem).unwrap_or_default(),
        ),
        Format::Text => (
            "text/plain; charset=utf-8",
            [problem.detail(), "\n"].concat().into_bytes(),
        ),
    };
    let length = bytes.len();
    // HEAD is told the length that GET would have had (RFC 9110 section 8.6).
    let bytes = if is_head {
        Bytes::new()
    } else {
        Bytes::from(bytes)
    };
    let mut response = Response::new(ResponseBody::problem(bytes));
    *response.status_mut() = problem.status();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    if let Some(wait) = problem.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    response
}

/// A second at least, since 0 means nothing to most readers; a year at most.
fn whole_seconds(wait: Duration) -> u64 {
    let seconds = wait
        .as_secs()
        .saturating_add(u64::from(wait.subsec_nanos() > 0));
    seconds.clamp(1, 365 * 24 * 60 * 60)
}
