//! A body that differs from the one inside is found out.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tower_diagnose::{
    BoxError,
    test_util::{BodyConformance, ScriptError, ScriptedBody},
};

/// How a wrapper is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    NotAtAll,
    WrapsErrors,
    ChangesErrors,
    SwallowsErrors,
    SwallowsTrailers,
    SwallowsEmptyFrames,
    ChangesBytes,
    ForgetsItsSize,
    ForgetsItsEnd,
    Sleeps,
    PollsOn,
    NeverEnds,
}

struct Wrapper {
    inner: ScriptedBody,
    wrong: Wrong,
    is_over: bool,
}

type Item = Option<Result<Frame<Bytes>, BoxError>>;

impl Body for Wrapper {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Item> {
        if self.is_over {
            return match self.wrong {
                Wrong::PollsOn => self.inner_frame(cx),
                Wrong::NeverEnds => Poll::Ready(Some(Ok(Frame::data("more".into())))),
                _ => Poll::Ready(None),
            };
        }
        let item = match self.inner_frame(cx) {
            Poll::Ready(item) => item,
            // Whoever woke the one is not the one that waits.
            Poll::Pending if self.wrong == Wrong::Sleeps => {
                let mut other = Context::from_waker(std::task::Waker::noop());
                match self.inner_frame(&mut other) {
                    Poll::Ready(item) => item,
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Pending => return Poll::Pending,
        };
        self.is_over = !matches!(item, Some(Ok(_)));
        let item = match (self.wrong, item) {
            (Wrong::WrapsErrors, Some(Err(error))) => {
                Some(Err(std::io::Error::other(error).into()))
            }
            (Wrong::ChangesErrors, Some(Err(_))) => Some(Err("something else".into())),
            (Wrong::SwallowsErrors, Some(Err(_))) => None,
            (Wrong::SwallowsTrailers, Some(Ok(frame))) if frame.is_trailers() => {
                self.is_over = true;
                None
            }
            (Wrong::SwallowsEmptyFrames, Some(Ok(frame)))
                if frame.data_ref().is_some_and(Bytes::is_empty) =>
            {
                return self.poll_frame(cx);
            }
            (Wrong::ChangesBytes, Some(Ok(frame))) => Some(Ok(frame.map_data(|mut data| {
                if data.len() > 20_000 {
                    data.truncate(20_000);
                }
                data
            }))),
            (Wrong::NeverEnds, None) => Some(Ok(Frame::data("more".into()))),
            (_, item) => item,
        };
        Poll::Ready(item)
    }

    fn is_end_stream(&self) -> bool {
        self.wrong != Wrong::ForgetsItsEnd && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.wrong == Wrong::ForgetsItsSize {
            return SizeHint::default();
        }
        self.inner.size_hint()
    }
}

impl Wrapper {
    fn inner_frame(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(|ScriptError| ScriptError.into())))
    }
}

/// Returns what is said of a wrapper that is wrong in this way.
fn fault(wrong: Wrong) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let checks = BodyConformance::new()
        .pauses(Duration::from_secs(1))
        .polls_on(true);
    let check = checks.check(async |inner| Wrapper {
        inner,
        wrong,
        is_over: false,
    });
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.block_on(check))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
}

#[test]
fn a_good_wrapper_passes() {
    assert_eq!(fault(Wrong::NotAtAll), None);
    assert_eq!(fault(Wrong::WrapsErrors), None);
}

#[test]
fn a_wrong_one_is_found_out_by_the_shortest_script() {
    for (wrong, said) in [
        (
            Wrong::ChangesErrors,
            "the error \"something else\") where the body shows",
        ),
        (
            Wrong::SwallowsErrors,
            "Some(the end) where the body shows Some(the error of the script)",
        ),
        (Wrong::SwallowsTrailers, "steps: [Trailers("),
        (
            Wrong::SwallowsEmptyFrames,
            "where the body shows Some(the data b\"\")",
        ),
        (Wrong::ChangesBytes, "Some(20000 bytes of data) where"),
        (Wrong::ForgetsItsSize, "a size hint of 0 to None"),
        (Wrong::ForgetsItsEnd, "is_end_stream false) where"),
        (
            Wrong::Sleeps,
            "the wrapper hangs, and nobody would wake it, over",
        ),
        (Wrong::PollsOn, "polled after its end"),
        (
            Wrong::NeverEnds,
            "Some(the data b\"more\") where the body shows Some(the end)",
        ),
    ] {
        let fault = fault(wrong).unwrap_or_default();
        assert!(fault.contains(said), "{wrong:?}: {fault:?}");
    }
}
