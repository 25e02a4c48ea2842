//! A layer of the user's own: logs in again when the server says 401, and replays the request once.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::sync::Mutex;
use tower::{BoxError, Layer, Service, ServiceExt};

/// Stands inside the stack, right around the client: a login that mends the call leaves no diagnosis and
/// is no attempt of its own; what is still a 401 afterwards is diagnosed like any other.
///
/// The stack does not see the token, and cannot remove it by its value from what the server says; what
/// looks like a token goes all the same.
#[derive(Clone)]
pub(crate) struct SessionLayer {
    session: Arc<Mutex<Session>>,
    login_url: Arc<str>,
}

struct Session {
    token: HeaderValue,
    /// How many logins there have been.
    number: u32,
}

impl SessionLayer {
    pub(crate) fn new(token: &str, login_url: String) -> Result<Self, BoxError> {
        let session = Session {
            token: bearer(token)?,
            number: 0,
        };
        Ok(Self {
            session: Arc::new(Mutex::new(session)),
            login_url: login_url.into(),
        })
    }
}

fn bearer(token: &str) -> Result<HeaderValue, BoxError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))?;
    value.set_sensitive(true);
    Ok(value)
}

impl<S> Layer<S> for SessionLayer {
    type Service = InSession<S>;

    fn layer(&self, inner: S) -> Self::Service {
        InSession {
            inner,
            layer: self.clone(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct InSession<S> {
    inner: S,
    layer: SessionLayer,
}

impl<S, B, R> Service<Request<B>> for InSession<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
    B: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    R: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            // A tool's arguments are small; what is replayed has to be kept.
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            let with = |token: HeaderValue| {
                let mut request = Request::from_parts(parts.clone(), Full::new(body.clone()));
                request.headers_mut().insert(AUTHORIZATION, token);
                request
            };
            let (token, number) = layer.current().await;
            let response = inner.call(with(token)).await.map_err(Into::into)?;
            if response.status() != StatusCode::UNAUTHORIZED {
                return Ok(response);
            }
            match layer.renew(&mut inner, number).await? {
                Some(token) => {
                    let inner = inner.ready().await.map_err(Into::into)?;
                    // Once: a second 401 is the answer.
                    inner.call(with(token)).await.map_err(Into::into)
                }
                None => Ok(response),
            }
        })
    }
}

impl SessionLayer {
    /// Whoever comes while somebody logs in waits here for the new token.
    async fn current(&self) -> (HeaderValue, u32) {
        let session = self.session.lock().await;
        (session.token.clone(), session.number)
    }

    /// Returns a token newer than that of the login with this number: somebody else's, or one that it
    /// logs in for. `None` if the server does not let us in.
    async fn renew<S, R>(&self, inner: &mut S, number: u32) -> Result<Option<HeaderValue>, BoxError>
    where
        S: Service<Request<Full<Bytes>>, Response = Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body<Error: Into<BoxError>>,
    {
        let mut session = self.session.lock().await;
        if session.number != number {
            return Ok(Some(session.token.clone()));
        }
        let request = Request::post(&*self.login_url)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(r#"{"user":"agent"}"#))?;
        let inner = inner.ready().await.map_err(Into::into)?;
        let response = inner.call(request).await.map_err(Into::into)?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let body = response.into_body().collect().await.map_err(Into::into)?;
        let body: Value = serde_json::from_slice(&body.to_bytes())?;
        session.token = bearer(body["token"].as_str().unwrap_or_default())?;
        session.number += 1;
        Ok(Some(session.token.clone()))
    }
}
