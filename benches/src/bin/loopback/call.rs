//! One call, from the making of its request to the last byte of its answer, whatever the client.

use std::{future::Future, hint::black_box, pin::pin, sync::Arc, time::Duration};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use tokio::{runtime::Runtime, task::JoinSet, time::Instant};
use tower::{BoxError, Service, ServiceExt};
use tower_diagnose_benches::requests::{Body, Configured, JSON, Shape, fill_h10, settings};

/// Makes calls of the shape `H10`.
pub trait Call: Clone + Send + 'static {
    fn call(&mut self, number: u64) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Bytes of what a call awaits.
    fn future_bytes(&mut self) -> usize;
}

/// A client that is a service of `http` requests.
#[derive(Clone)]
pub struct Tower<S> {
    pub service: S,
    pub configured: Arc<Configured>,
}

impl<S, R> Call for Tower<S>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
    R: http_body::Body + Send,
    R::Data: Send,
    R::Error: Into<BoxError> + Send,
{
    async fn call(&mut self, number: u64) -> Result<(), BoxError> {
        let request = Shape::H10.build(&self.configured, number);
        let service = self.service.ready().await.map_err(Into::into)?;
        let response = service.call(request).await.map_err(Into::into)?;
        let mut body = pin!(response.into_body());
        while let Some(frame) = body.frame().await {
            black_box(frame.map_err(Into::into)?);
        }
        Ok(())
    }

    fn future_bytes(&mut self) -> usize {
        size_of::<S::Future>()
    }
}

/// reqwest's client, bare or with its middleware.
#[derive(Clone)]
pub struct Reqwest<C> {
    pub client: C,
    pub configured: Arc<Configured>,
}

pub trait Execute: Clone + Send + Sync + 'static {
    fn execute(
        &self,
        request: reqwest::Request,
    ) -> impl Future<Output = Result<reqwest::Response, BoxError>> + Send;

    fn future_bytes(&self, request: reqwest::Request) -> usize;
}

impl Execute for reqwest::Client {
    async fn execute(&self, request: reqwest::Request) -> Result<reqwest::Response, BoxError> {
        Ok(Self::execute(self, request).await?)
    }

    fn future_bytes(&self, request: reqwest::Request) -> usize {
        size_of_val(&Self::execute(self, request))
    }
}

impl Execute for reqwest_middleware::ClientWithMiddleware {
    async fn execute(&self, request: reqwest::Request) -> Result<reqwest::Response, BoxError> {
        Ok(Self::execute(self, request).await?)
    }

    fn future_bytes(&self, request: reqwest::Request) -> usize {
        size_of_val(&Self::execute(self, request))
    }
}

impl<C> Reqwest<C> {
    fn request(&self, number: u64) -> Result<reqwest::Request, BoxError> {
        let url = reqwest::Url::parse(&settings(&self.configured, number))?;
        let mut request = reqwest::Request::new(Method::PUT, url);
        fill_h10(request.headers_mut(), &self.configured, number);
        *request.body_mut() = Some(JSON.to_owned().into());
        Ok(request)
    }
}

impl<C: Execute> Call for Reqwest<C> {
    async fn call(&mut self, number: u64) -> Result<(), BoxError> {
        let request = self.request(number)?;
        let mut response = self.client.execute(request).await?;
        while let Some(chunk) = response.chunk().await? {
            black_box(chunk);
        }
        Ok(())
    }

    fn future_bytes(&mut self) -> usize {
        let request = self.request(0);
        request.map_or(0, |request| self.client.future_bytes(request))
    }
}

/// A client that was given up its type.
pub trait Client {
    /// Makes calls one after the other, and says how long each took.
    fn one_by_one(&mut self, runtime: &Runtime, calls: u64) -> Vec<Duration>;

    /// Makes `calls` calls in each of so many tasks, and says how long all of them took.
    fn at_once(&mut self, runtime: &Runtime, tasks: u64, calls: u64) -> Duration;

    fn future_bytes(&mut self) -> usize;
}

impl<C: Call> Client for C {
    fn one_by_one(&mut self, runtime: &Runtime, calls: u64) -> Vec<Duration> {
        runtime.block_on(async {
            let mut took = Vec::with_capacity(usize::try_from(calls).unwrap_or(0));
            for number in 0..calls {
                let started = Instant::now();
                self.call(number).await.expect("the server answers");
                took.push(started.elapsed());
            }
            took
        })
    }

    fn at_once(&mut self, runtime: &Runtime, tasks: u64, calls: u64) -> Duration {
        runtime.block_on(async {
            let started = Instant::now();
            let mut running = JoinSet::new();
            for task in 0..tasks {
                let mut client = self.clone();
                running.spawn(async move {
                    for number in task * calls..(task + 1) * calls {
                        client.call(number).await.expect("the server answers");
                    }
                });
            }
            running.join_all().await;
            started.elapsed()
        })
    }

    fn future_bytes(&mut self) -> usize {
        Call::future_bytes(self)
    }
}
