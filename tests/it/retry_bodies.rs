//! Bodies between two attempts: the request's that is still being sent, the response's that is discarded.

use std::{
    future::ready,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, SizeHint};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{BoxError, ReplayBody, ResponseExt};

use crate::retry::{quick, request};

/// A body of so many frames of so many bytes, that counts how many it gave, and its own end.
struct Counted {
    frames: usize,
    size: usize,
    /// The size that it says to have.
    known: Option<u64>,
    given: Arc<AtomicUsize>,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.given.fetch_add(1, Ordering::SeqCst);
        let Some(left) = self.frames.checked_sub(1) else {
            return Poll::Ready(None);
        };
        self.frames = left;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![0; self.size])))))
    }

    fn size_hint(&self) -> SizeHint {
        self.known
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[tokio::test(start_paused = true)]
async fn a_discarded_body_is_read_up_to_four_kibibytes() {
    for (frames, size, known, given) in [
        // To the end, which is a poll of its own.
        (4, 1024, None, 5),
        (1, 4096, None, 2),
        // The frame that is too much is the last.
        (9, 1024, None, 5),
        (1, 4097, None, 1),
        (usize::MAX, 0, None, 4097),
        // Known to be too long: not read at all.
        (9, 1024, Some(9 * 1024), 0),
    ] {
        let counter = Arc::new(AtomicUsize::new(0));
        let mut replies = vec![
            Response::new(Counted {
                frames: 0,
                size: 0,
                known: None,
                given: Arc::default(),
            }),
            Response::new(Counted {
                frames,
                size,
                known,
                given: Arc::clone(&counter),
            }),
        ];
        *replies[1].status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        let replies = Arc::new(Mutex::new(replies));
        let service = service_fn(move |_: Request<ReplayBody<Full<Bytes>>>| {
            ready(Ok::<_, BoxError>(replies.lock().unwrap().pop().unwrap()))
        });
        let response = quick()
            .layer(service)
            .oneshot(request("GET"))
            .await
            .unwrap();
        assert_eq!(response.retried().unwrap().attempts(), 2);
        assert_eq!(
            counter.load(Ordering::SeqCst),
            given,
            "{frames} of {size}, {known:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_goes_on_after_an_early_answer_takes_nothing_from_the_next_attempt() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let service = service_fn({
        let bodies = Arc::clone(&bodies);
        move |request: Request<ReplayBody<Counted>>| {
            let bodies = Arc::clone(&bodies);
            async move {
                let body = request.into_body();
                let is_first = bodies.lock().unwrap().is_empty();
                if is_first {
                    bodies.lock().unwrap().push(0);
                    // Goes on to read while the next attempt is waited for.
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(500)).await;
                        let read = body.collect().await;
                        assert!(read.is_err(), "a body cut short must not look whole");
                    });
                } else {
                    let read = body.collect().await?.to_bytes().len();
                    bodies.lock().unwrap().push(read);
                }
                let status = if is_first { 503 } else { 200 };
                let response = Response::builder().status(status);
                Ok::<_, BoxError>(response.body(Full::new(Bytes::new()))?)
            }
        }
    });
    let body = Counted {
        frames: 10,
        size: 100,
        known: None,
        given: Arc::default(),
    };
    // Shorter than the body: whoever reads it may do so once.
    let client = quick().replay_limit(500).layer(service);
    let put = Request::put("http://h/").body(body).unwrap();
    let response = client.oneshot(put).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(*bodies.lock().unwrap(), [0, 1000]);
}
