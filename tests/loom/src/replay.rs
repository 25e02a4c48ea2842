//! What is not public of the body that may be sent once more.

use http::Request;
use http_body::Body;

use super::{
    replay::{Replay, ReplayBody},
    snapshot::Head,
};

/// A request that may be sent once more. Dropped when there will be no further attempt.
#[derive(Debug)]
pub struct Kept<B>(Replay<B>);

/// Keeps up to `limit` bytes of a request's body. Returns that of the first attempt, too.
pub fn keep<B: Body>(body: B, limit: usize) -> (Kept<B>, ReplayBody<B>) {
    let request = Request::new(body);
    let mut replay = Replay::new(Head::of(&request), limit);
    let first = replay.wrap(request).into_body();
    (Kept(replay), first)
}

impl<B> Kept<B> {
    /// Returns the body of the next attempt, if there can be one.
    pub fn again(&self) -> Option<ReplayBody<B>> {
        self.0.request().map(Request::into_body)
    }
}
