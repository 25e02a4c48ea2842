use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::{Wake, Waker},
};

use bytes::Buf;
use http_body_util::{Empty, Full};
use proptest::prelude::*;

use super::*;
use script::{Act, Broken, Script, all, look, read, trailers};

#[path = "script.rs"]
mod script;

/// Keeps a body under a head, and wraps it for the first attempt.
pub(super) fn kept_with<B: Body>(
    head: &Parts,
    body: B,
    limit: usize,
) -> (ReplayBody<B>, Replay<B>) {
    let request = Request::from_parts(head.clone(), body);
    let mut replay = Replay::new(Head::of(&request), limit);
    (replay.wrap(request).into_body(), replay)
}

fn kept<B: Body>(body: B, limit: usize) -> (ReplayBody<B>, Replay<B>) {
    let head = Request::new(()).into_parts().0;
    kept_with(&head, body, limit)
}

fn next<B>(replay: &Replay<B>) -> ReplayBody<B> {
    replay.request().unwrap().into_body()
}

#[test]
fn a_body_that_was_not_read_is_read_by_the_next_attempt() {
    let script = Script::of(&["a", "b"]);
    let (first, replay) = kept(script.clone(), 10);
    drop(first);
    assert_eq!(all(next(&replay)), all(script));
}

#[test]
fn an_empty_body_is_empty_every_time() {
    let (first, replay) = kept(Empty::<Bytes>::new(), 0);
    assert!(matches!(first.source, Source::Alone(_)));
    for body in [first, next(&replay), next(&replay)] {
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
        assert_eq!(all(body).len(), 1);
    }
    assert!(replay.can_replay());
}

#[test]
fn an_empty_body_that_does_not_say_so_looks_the_same_every_time() {
    let script = Script {
        knows_size: false,
        knows_end: false,
        ..Script::of(&[])
    };
    let (mut body, replay) = kept(script.clone(), 0);
    for _ in 0..3 {
        assert_eq!(all(body), all(script.clone()));
        body = next(&replay);
    }
}

#[test]
fn the_limit_is_to_the_byte() {
    for (data, limit, replayable) in [
        (&["abc", "def"][..], 6, true),
        (&["abc", "def"], 5, false),
        (&["abc", "def"], 3, false),
        (&["abc", "def"], 0, false),
        (&["abcdef"], 6, true),
        (&["abcdef"], 5, false),
        (&["", "a", ""], 1, true),
        (&["", ""], 0, true),
        (&["a"], usize::MAX, true),
    ] {
        let mut script = Script::of(data);
        script.acts.push_back(trailers("t"));
        let (first, replay) = kept(script.clone(), limit);
        // The attempt goes on either way.
        assert_eq!(all(first), all(script.clone()), "{data:?} {limit}");
        assert_eq!(replay.can_replay(), replayable, "{data:?} {limit}");
        match replay.request() {
            Some(request) => assert_eq!(all(request.into_body()), all(script)),
            None => assert!(!replayable),
        }
    }
}

#[test]
fn past_the_limit_nothing_is_held() {
    let script = Script::of(&["abc", "def", "ghi"]);
    let (mut first, replay) = kept(script.clone(), 5);
    read(&mut first, 1);
    // The script, the body, and the frame that is kept.
    assert_eq!(script.holders(), 3);
    read(&mut first, 1);
    assert_eq!(script.holders(), 2);
    assert!(matches!(first.source, Source::Alone(_)));
    drop(first);
    assert_eq!(script.holders(), 1);
    assert!(replay.request().is_none());
}

#[test]
fn neither_empty_frames_nor_trailers_are_kept_without_bound() {
    let empty = Script::new(vec![Act::Data(Vec::new()); 3000]);
    let trailers = Script::new([Act::Trailers(http::HeaderMap::from_iter([(
        http::header::ETAG,
        http::HeaderValue::from_bytes(&[b'x'; 17_000]).unwrap(),
    )]))]);
    for script in [empty, trailers] {
        let (first, replay) = kept(script.clone(), usize::MAX);
        assert!(all(first) == all(script));
        assert!(!replay.can_replay());
    }
}

#[test]
fn an_error_is_for_the_attempt_that_read_it() {
    let script = Script::new([Act::Data(b"a".to_vec()), Act::Fail]);
    let (mut first, replay) = kept(script.clone(), 10);
    assert_eq!(read(&mut first, usize::MAX).0, all(script.clone()));
    assert!(!replay.can_replay());
    assert!(replay.request().is_none());
    assert_eq!(script.holders(), 1);
    assert_eq!(all(first).last().unwrap().frame, "end");

    // As it was made, with its type.
    let (mut first, _replay) = kept(Script::new([Act::Fail]), 10);
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(Err(error))) = Pin::new(&mut first).poll_frame(&mut cx) else {
        panic!("not an error");
    };
    assert!(error.is::<Broken>());
}

#[test]
fn a_body_that_panicked_is_not_polled_again() {
    let (mut first, replay) = kept(Script::new([Act::Panic]), 10);
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| all(&mut first)));
    assert!(polled.is_err());
    assert!(!replay.can_replay() && replay.request().is_none());
    assert_eq!(
        all(first)[0].frame,
        "request body panicked when it was read"
    );
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_newest_attempt_takes_over_and_the_one_before_is_told() {
    let script = Script::new([
        Act::Data(b"a".to_vec()),
        Act::Data(b"b".to_vec()),
        Act::Pend,
        Act::Data(b"c".to_vec()),
    ]);
    let (mut first, replay) = kept(script.clone(), 10);
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    read(&mut first, 2);
    assert!(look(&mut first, &mut cx).is_pending());
    let woken = count.0.load(Ordering::Relaxed);
    let mut second = next(&replay);
    assert_eq!(count.0.load(Ordering::Relaxed), woken + 1);

    assert!(!first.is_end_stream());
    assert_eq!(first.size_hint().upper(), None);
    let third = next(&replay);
    for body in [&mut first, &mut second] {
        // An end would make half a body look like a whole one.
        let seen = all(body);
        assert_eq!(
            seen[0].frame,
            "request body is being read by a later attempt"
        );
    }
    let bare = all(script);
    assert_eq!(all(third), bare);
    assert_eq!(all(next(&replay)), bare);
}

#[test]
fn the_next_attempt_keeps_what_could_be_replayed_when_it_was_made() {
    let script = Script::of(&["abc", "def"]);
    let (mut first, replay) = kept(script.clone(), 5);
    read(&mut first, 1);
    let second = next(&replay);
    // Would pass the limit.
    assert!(all(first)[0].frame.starts_with("request body"));
    assert!(replay.can_replay());
    assert_eq!(all(second), all(script));
    assert!(replay.request().is_none());
}

#[test]
fn when_there_will_be_no_other_attempt_nothing_more_is_kept() {
    let script = Script::of(&["a", "b", "c"]);
    for read_before in 0..=3 {
        let (mut first, replay) = kept(script.clone(), 10);
        read(&mut first, 3);
        let mut second = next(&replay);
        let mut seen = read(&mut second, read_before).0;
        drop((first, replay));
        seen.extend(all(&mut second));
        assert_eq!(seen, all(script.clone()));
        drop(second);
        assert_eq!(script.holders(), 1);
    }
    let (mut first, replay) = kept(script.clone(), 2);
    read(&mut first, 1);
    drop(replay);
    assert_eq!(script.holders(), 2);
    let rest = all(&mut first);
    assert_eq!(rest, all(script.clone())[1..]);
    assert!(matches!(first.source, Source::Ended(_)));
}

#[test]
fn what_passes_through_is_not_touched() {
    for script in [
        Script::of(&["a", "", "b"]),
        Script::new([Act::Data(b"a".to_vec()), Act::Pend, trailers("t")]),
        Script::new([Act::Fail]),
    ] {
        assert_eq!(all(ReplayBody::once(script.clone())), all(script));
    }
    let full = Full::<Bytes>::from("a");
    assert_eq!(all(ReplayBody::once(full.clone())), all(full));
}

#[test]
fn data_of_any_kind_is_kept() {
    let data = Bytes::from_static(b"ab").chain(Bytes::from_static(b"cd"));
    let (first, replay) = kept(Full::new(data), 4);
    assert_eq!(all(first)[0].frame, "Frame { kind: Data(b\"abcd\") }");
    assert_eq!(all(next(&replay))[0].bytes, 4);
}

#[test]
fn it_is_what_the_body_is() {
    fn is_send_and_sync(_: &(impl Send + Sync + Unpin)) {}
    let (body, replay) = kept(Script::of(&["a"]), 4);
    is_send_and_sync(&body);
    is_send_and_sync(&replay);
}

#[test]
fn attempts_on_several_threads_see_all_of_it() {
    for _ in 0..100 {
        let script = Script::new((0..20).flat_map(|byte| [Act::Pend, Act::Data(vec![byte])]));
        let bare = all(script.clone());
        let (first, replay) = kept(script, 20);
        std::thread::scope(|scope| {
            let mut threads = vec![scope.spawn(|| all(first))];
            for _ in 0..3 {
                let body = next(&replay);
                threads.push(scope.spawn(|| all(body)));
            }
            let newest = threads.pop().unwrap().join().unwrap();
            assert_eq!(newest, bare);
            for older in threads {
                let mut seen = older.join().unwrap();
                if seen.last().unwrap().frame != "end" {
                    seen.pop();
                }
                assert_eq!(seen[..], bare[..seen.len()]);
            }
        });
    }
}

fn any_script() -> impl Strategy<Value = Script> {
    let act = prop_oneof![
        2 => Just(Act::Pend),
        6 => prop::collection::vec(any::<u8>(), 0..4).prop_map(Act::Data),
        1 => Just(trailers("t")),
    ];
    let acts = prop::collection::vec(act, 0..12);
    (acts, any::<bool>(), any::<bool>()).prop_map(|(acts, knows_size, knows_end)| Script {
        knows_size,
        knows_end,
        ..Script::new(acts)
    })
}

proptest! {
    #[test]
    fn every_attempt_sees_the_bare_body(
        script in any_script(),
        limit in 0..40_usize,
        attempts in prop::collection::vec((0..14_usize, any::<bool>()), 0..6),
        replay_outlives in any::<bool>(),
    ) {
        let bare = all(script.clone());
        let mut alive = Vec::new();
        let (mut body, replay) = kept(script.clone(), limit);
        for (frames, survives) in attempts {
            let (seen, is_over) = read(&mut body, frames);
            prop_assert_eq!(&seen[..], &bare[..seen.len()]);
            let can_replay = replay.can_replay();
            let Some(request) = replay.request() else {
                prop_assert!(!can_replay);
                let read: usize = seen.iter().map(|seen| seen.bytes).sum();
                prop_assert!(read > limit);
                if !is_over {
                    prop_assert_eq!(&all(&mut body)[..], &bare[seen.len()..]);
                }
                break;
            };
            prop_assert!(can_replay);
            let before = std::mem::replace(&mut body, request.into_body());
            if survives {
                alive.push(before);
            }
            for old in &mut alive {
                let (seen, _) = read(old, 1);
                prop_assert!(matches!(&*seen[0].frame, "end" | "request body is being read by a later attempt"));
            }
        }
        let replay = replay_outlives.then_some(replay);
        if matches!(body.source, Source::Kept { .. }) {
            prop_assert_eq!(all(&mut body), bare);
        }
        drop((body, alive, replay));
        prop_assert_eq!(script.holders(), 1);
    }
}
