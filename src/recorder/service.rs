use std::{
    fmt,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{
    body::ResponseBody, future::ResponseFuture, guards::Watch, layer::Config, recording::Recording,
};
use crate::kept_error::Kept;

/// Records every call once. See the [module](crate::recorder).
#[derive(Clone)]
pub struct Recorder<S> {
    inner: S,
    config: Option<Config>,
    kept: Kept,
}

impl<S> Recorder<S> {
    pub(super) fn new(inner: S, config: Option<Config>) -> Self {
        Self {
            inner,
            config,
            kept: Kept::default(),
        }
    }
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Recorder<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    S::Error: Send + 'static,
    ReqBody: 'static,
    ResBody: Body,
    ResBody::Error: 'static,
{
    type Response = Response<ResponseBody<ResBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, S::Error>;

    /// Waits for the inner service. Its error is kept and returned by the next call, which records
    /// it.
    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.kept.poll(|| self.inner.poll_ready(cx)).map(Ok)
    }

    #[inline]
    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let Some(config) = &self.config else {
            return match self.kept.take() {
                None => ResponseFuture::calling(self.inner.call(request), None),
                Some(error) => ResponseFuture::refused(error, None),
            };
        };
        let mut recording = Some(Recording::begin(config, &mut request));
        if let Some(error) = self.kept.take() {
            if let Some(recording) = &recording {
                recording.refused();
            }
            return ResponseFuture::refused(error, recording);
        }
        // Not by a closure: a request is large, and would be moved into it.
        let watch = Watch::over(&mut recording);
        let future = self.inner.call(request);
        watch.called();
        ResponseFuture::calling(future, recording)
    }
}

impl<S: fmt::Debug> fmt::Debug for Recorder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("inner", &self.inner)
            .field("records", &self.config.is_some())
            .finish_non_exhaustive()
    }
}
