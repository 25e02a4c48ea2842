use std::{fmt, future::poll_fn, pin::Pin, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use tokio::time::timeout;

use super::{
    script::{ScriptError, ScriptedBody},
    scripts::{self, Script},
};
use crate::{
    backoff::Random,
    error::{BoxError, find},
};

/// How long a body may take beyond the waits of its script, by tokio's clock.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many frames a body that never ends may give.
const FRAMES_LIMIT: usize = 10_000;

/// Holds a body that wraps another against the bare one, frame by frame.
///
/// A wrapper must show the same data, trailers and end, and before each frame the same `size_hint` and
/// `is_end_stream`; an error must be the one from inside, or hold it. It must not poll the inner body after
/// its end, nor sleep where nobody wakes it.
///
/// It is driven over every script of up to three steps, then over long ones that are drawn at random from
/// a seed: with data, empty frames, trailers, errors, pauses at any place, known and unknown lengths.
///
/// ```
/// use http_body_util::BodyExt;
/// use tower_diagnose::test_util::BodyConformance;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// // In place of `map_err` stands your own body.
/// let wrap = async |body| BodyExt::map_err(body, |error| error);
/// BodyConformance::new().check(wrap).await;
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is checked before `check`"]
pub struct BodyConformance {
    seed: u64,
    scripts: u32,
    longest_pause: Duration,
    polls_on: bool,
}

impl BodyConformance {
    /// Checks over all short scripts and 300 long ones, with pauses that take no time.
    pub const fn new() -> Self {
        Self {
            seed: 0,
            scripts: 300,
            longest_pause: Duration::ZERO,
            polls_on: false,
        }
    }

    /// Sets what the long scripts are drawn from. Default: 0, the same ones every time.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how many long scripts there are. Default: 300.
    pub const fn scripts(mut self, scripts: u32) -> Self {
        self.scripts = scripts;
        self
    }

    /// Lets bodies pause between two frames for up to so long, by tokio's clock, which had better be
    /// paused. Default: they pause, and go on at once.
    pub const fn pauses(mut self, longest: Duration) -> Self {
        self.longest_pause = longest;
        self
    }

    /// Polls every wrapper once more after its end: it must still be over, and must not pass that poll
    /// on. Default: false, for a caller has no right to this.
    pub const fn polls_on(mut self, polls_on: bool) -> Self {
        self.polls_on = polls_on;
        self
    }

    /// Checks what `wrap` makes of a body. It may send it through a layer, in the response of a service.
    ///
    /// # Panics
    ///
    /// At the first script for which the wrapper differs, with that script, the seed it came from,
    /// and what was seen. If there is no tokio clock.
    pub async fn check<W, B>(&self, wrap: W)
    where
        W: AsyncFn(ScriptedBody) -> B,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        for script in scripts::short() {
            self.check_one(&wrap, &script).await;
        }
        let random = Random::seeded(self.seed);
        for _ in 0..self.scripts {
            let script = scripts::long(&random, self.longest_pause);
            self.check_one(&wrap, &script).await;
        }
    }

    async fn check_one<W, B>(&self, wrap: &W, script: &Script)
    where
        W: AsyncFn(ScriptedBody) -> B,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let bare = seen(script.body(), false).await;
        let patience = PATIENCE.saturating_add(self.longest_pause.saturating_mul(20));
        let wrapped = async { seen(wrap(script.body()).await, self.polls_on).await };
        let Ok(wrapped) = timeout(patience, wrapped).await else {
            panic!("the wrapper hangs, and nobody would wake it, over {script:?}");
        };
        let differ = wrapped
            .iter()
            .zip(&bare)
            .position(|(one, other)| one != other);
        let at = match differ {
            None if wrapped.len() == bare.len() => return,
            None => wrapped.len().min(bare.len()),
            Some(at) => at,
        };
        panic!(
            "the wrapper shows {:?} where the body shows {:?}, as number {at} over {script:?} (seed {})",
            wrapped.get(at),
            bare.get(at),
            self.seed,
        );
    }
}

impl Default for BodyConformance {
    fn default() -> Self {
        Self::new()
    }
}

/// What a consumer sees of a body: what it says of itself before each frame, and the frame.
#[derive(PartialEq)]
enum Seen {
    Hints {
        lower: u64,
        upper: Option<u64>,
        is_end_stream: bool,
    },
    Data(Bytes),
    Trailers(HeaderMap),
    /// The script's own error.
    Failed,
    FailedOtherwise(String),
    End,
    /// More, where it was over.
    WentOn,
}

async fn seen<B>(body: B, polls_on: bool) -> Vec<Seen>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = Box::pin(body);
    let mut all = Vec::new();
    loop {
        let hint = body.size_hint();
        all.push(Seen::Hints {
            lower: hint.lower(),
            upper: hint.upper(),
            is_end_stream: body.is_end_stream(),
        });
        let frame = match next(body.as_mut()).await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                let error = error.into();
                all.push(match find::<ScriptError>(&*error) {
                    Some(_) => Seen::Failed,
                    None => Seen::FailedOtherwise(error.to_string()),
                });
                break;
            }
            None => {
                all.push(Seen::End);
                break;
            }
        };
        all.push(match frame.into_data() {
            Ok(data) => Seen::Data(data),
            Err(frame) => Seen::Trailers(frame.into_trailers().unwrap_or_default()),
        });
        if all.len() > FRAMES_LIMIT {
            break;
        }
    }
    // What a body says of itself once it is over is its own affair.
    if polls_on && next(body.as_mut()).await.is_some() {
        all.push(Seen::WentOn);
    }
    all
}

async fn next<B: Body>(mut body: Pin<&mut B>) -> Option<Result<Frame<B::Data>, B::Error>> {
    poll_fn(|cx| body.as_mut().poll_frame(cx)).await
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hints {
                lower,
                upper,
                is_end_stream,
            } => write!(
                f,
                "a size hint of {lower} to {upper:?} and is_end_stream {is_end_stream}"
            ),
            Self::Data(data) if data.len() > 100 => write!(f, "{} bytes of data", data.len()),
            Self::Data(data) => write!(f, "the data {data:?}"),
            Self::Trailers(trailers) => write!(f, "the trailers {trailers:?}"),
            Self::Failed => f.write_str("the error of the script"),
            Self::FailedOtherwise(error) => write!(f, "the error {error:?}"),
            Self::End => f.write_str("the end"),
            Self::WentOn => f.write_str("more after the end"),
        }
    }
}
