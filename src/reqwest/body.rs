//! The body of a request, made reqwest's.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::error::BoxError;

/// Boxes a body, for reqwest takes no other. No body is reqwest's own empty one, which it can send again
/// where it follows a redirect.
pub(super) fn boxed<B>(body: B) -> reqwest::Body
where
    B: Body + Send + Sync + 'static,
    B::Data: Into<Bytes>,
    B::Error: Into<BoxError>,
{
    let body = Measured::new(body);
    if body.is_end_stream() {
        return reqwest::Body::default();
    }
    reqwest::Body::wrap(body)
}

pin_project! {
    /// A body that is asked for its length once.
    ///
    /// reqwest and hyper ask three times before they read it, and under the retries each time takes a
    /// lock: some 200 instructions.
    struct Measured<B> {
        #[pin]
        body: B,
        // If it is known and not zero: then there is something to read. `None` once it is read.
        length: Option<u64>,
    }
}

impl<B: Body> Measured<B> {
    fn new(body: B) -> Self {
        let length = body.size_hint().exact().filter(|length| *length > 0);
        Self { body, length }
    }
}

impl<B: Body> Body for Measured<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        *this.length = None;
        this.body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.length.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Some(length) => SizeHint::with_exact(length),
            None => self.body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_util::BodyConformance;

    #[tokio::test(start_paused = true)]
    async fn it_looks_like_the_callers_own_at_every_point() {
        BodyConformance::new()
            .check(async |body| Measured::new(body))
            .await;
    }
}
