//! Whatever a failing body does, the response comes through, in time and whole.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{DiagnoseLayer, ResponseExt, diagnose::ResponseBody};

async fn through<B: Body>(
    layer: DiagnoseLayer,
    method: &str,
    response: Response<B>,
) -> Response<ResponseBody<B>> {
    let mut response = Some(response);
    let service = service_fn(move |_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(response.take().unwrap()))
    });
    let request = Request::builder()
        .method(method)
        .uri("/a")
        .body(())
        .unwrap();
    layer.layer(service).oneshot(request).await.unwrap()
}

fn failing<B>(body: B) -> Response<B> {
    Response::builder().status(500).body(body).unwrap()
}

/// A body made by a function of how many frames were asked for so far.
struct Made<F> {
    make: F,
    asked: u64,
}

fn made<F, D>(make: F) -> Made<F>
where
    F: FnMut(u64) -> Poll<Option<Result<Frame<D>, std::io::Error>>> + Unpin,
{
    Made { make, asked: 0 }
}

impl<F, D: Buf> Body for Made<F>
where
    F: FnMut(u64) -> Poll<Option<Result<Frame<D>, std::io::Error>>> + Unpin,
{
    type Data = D;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<D>, std::io::Error>>> {
        self.asked += 1;
        let asked = self.asked;
        (self.make)(asked)
    }
}

fn data(bytes: &'static [u8]) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(bytes)))))
}

#[tokio::test(start_paused = true)]
async fn a_stall_costs_the_peek_timeout_and_no_more() {
    let start = Instant::now();
    let body = made(|asked| match asked {
        1 => data(b"{\"mess"),
        _ => Poll::Pending,
    });
    let layer = DiagnoseLayer::new().peek_timeout(Duration::from_millis(250));
    let response = through(layer, "GET", failing(body)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(250));
    assert_eq!(
        response.diagnosis().unwrap().to_string(),
        "GET /a failed (500 Internal Server Error): Internal Server Error"
    );
    let mut body = pin!(response.into_body());
    let frame = poll_fn(|cx| body.as_mut().poll_frame(cx))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(frame.into_data().unwrap(), "{\"mess");
}

#[tokio::test(start_paused = true)]
async fn a_whole_message_is_not_waited_for() {
    let start = Instant::now();
    let body = made(|asked| match asked {
        1 => data(b"{\"message\": \"it is }"),
        2 => data(b" all here\"}"),
        _ => Poll::Pending,
    });
    let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(
        response.diagnosis().unwrap().message(),
        Some("it is } all here")
    );
}

#[tokio::test(start_paused = true)]
async fn html_is_not_waited_for() {
    let start = Instant::now();
    let body = made(|asked| match asked {
        1 => data(b"\n<!doctype HTML><p>"),
        _ => Poll::Pending,
    });
    let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(response.diagnosis().unwrap().message(), None);
    assert_eq!(
        serde_json::to_value(response.diagnosis().unwrap().payload("t")).unwrap()["bodyExcerpt"],
        "[HTML body omitted]"
    );
}

#[tokio::test]
async fn bodies_that_never_end_are_read_up_to_the_cap() {
    // In pieces of every size, empty ones and single bytes among them, always ready.
    for piece in [&b""[..], b"x", b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"] {
        let body = made(move |_| data(piece));
        let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
        assert!(response.diagnosis().is_some());
    }
}

#[tokio::test]
async fn a_gibibyte_passes_with_a_cap_and_a_frame_held() {
    /// A frame that counts how many bytes of its kind are alive.
    struct Counted {
        bytes: Bytes,
        held: Arc<AtomicU64>,
        len: u64,
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.held.fetch_sub(self.len, Ordering::Relaxed);
        }
    }
    impl Buf for Counted {
        fn remaining(&self) -> usize {
            self.bytes.remaining()
        }
        fn chunk(&self) -> &[u8] {
            self.bytes.chunk()
        }
        fn advance(&mut self, count: usize) {
            self.bytes.advance(count);
        }
    }
    const FRAME: u64 = 64 * 1024;
    const TOTAL: u64 = 1 << 30;
    let block = Bytes::from(vec![b'x'; FRAME as usize]);
    let held = Arc::new(AtomicU64::new(0));
    let peak = Arc::new(AtomicU64::new(0));
    let body = made({
        let (held, peak) = (Arc::clone(&held), Arc::clone(&peak));
        move |asked| {
            if asked > TOTAL / FRAME {
                return Poll::Ready(None);
            }
            let now = held.fetch_add(FRAME, Ordering::Relaxed) + FRAME;
            peak.fetch_max(now, Ordering::Relaxed);
            Poll::Ready(Some(Ok(Frame::data(Counted {
                bytes: block.clone(),
                held: Arc::clone(&held),
                len: FRAME,
            }))))
        }
    });
    let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
    let mut body = pin!(response.into_body());
    let mut total = 0;
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        total += frame.unwrap().into_data().ok().unwrap().remaining() as u64;
    }
    assert_eq!(total, TOTAL);
    assert!(peak.load(Ordering::Relaxed) <= 16 * 1024 + FRAME);
}

#[tokio::test]
async fn a_break_in_the_middle_still_tells_what_came_before() {
    let body = made(|asked| match asked {
        1 => data(b"{\"message\": \"whole\"}"),
        2 => Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into()))),
        _ => panic!("polled after its end"),
    });
    let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
    assert_eq!(response.diagnosis().unwrap().message(), Some("whole"));
    let error = response.into_body().collect().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);

    let body = made(|_| {
        Poll::Ready(Some(Err::<Frame<Bytes>, _>(
            std::io::ErrorKind::Other.into(),
        )))
    });
    let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
    assert!(response.diagnosis().is_some());
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn no_body_is_read_where_there_is_none_to_read() {
    for (method, status) in [
        ("HEAD", 500),
        ("CONNECT", 502),
        ("GET", 101),
        ("GET", 204),
        ("GET", 304),
        ("GET", 200),
    ] {
        let body = made(|_| -> Poll<Option<Result<Frame<Bytes>, _>>> { panic!("polled") });
        let mut response = failing(body);
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
        let layer = DiagnoseLayer::new().failure_when(|status| status != 200);
        let response = through(layer, method, response).await;
        assert_eq!(
            response.diagnosis().is_some(),
            status != 200,
            "{method} {status}"
        );
    }
    let body = made(|_| -> Poll<Option<Result<Frame<Bytes>, _>>> { panic!("polled") });
    let response = through(DiagnoseLayer::new().body_cap(0), "GET", failing(body)).await;
    assert!(response.diagnosis().is_some());
}

#[tokio::test]
async fn a_frame_in_two_pieces_is_read_as_one() {
    let body = made(|asked| {
        let opening = Bytes::from_static(b"{\"message\":");
        Poll::Ready((asked == 1).then(|| {
            Ok(Frame::data(
                opening.chain(Bytes::from_static(b" \"joined\"}")),
            ))
        }))
    });
    let response = through(DiagnoseLayer::new(), "GET", failing(body)).await;
    assert_eq!(response.diagnosis().unwrap().message(), Some("joined"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "{\"message\": \"joined\"}");
}
