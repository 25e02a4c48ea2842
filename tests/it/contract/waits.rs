//! How long a retry waits: backoff, Retry-After in all its forms, the budget, and the drain.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{
    Backoff, BoxError, DiagnoseLayer, Jitter, ResponseExt, RetryBudget, RetryLayer, StopReason,
};

use crate::support::{
    outside::{
        Step::{Data, Forever, Stall},
        response, steps,
    },
    scripted::Scripted,
};

type Sent = Request<Full<Bytes>>;

fn sent() -> Sent {
    Request::get("/a").body(Full::default()).unwrap()
}

fn fixed(millis: u64) -> RetryLayer {
    let wait = Duration::from_millis(millis);
    RetryLayer::new()
        .without_budget()
        .max_attempts(2)
        .backoff(Backoff::exponential(wait, wait).jitter(Jitter::None))
}

/// Answers `status` with `headers` once, then 200; gives the wait, or nothing if there was no retry.
async fn wait(layer: &RetryLayer, status: u16, headers: &str) -> Option<Duration> {
    let count = AtomicUsize::new(0);
    let service = layer.layer(service_fn(|_: Request<_>| {
        let first = count.fetch_add(1, SeqCst) == 0;
        let answer = match first {
            true => response(status, headers, Full::<Bytes>::default()),
            false => response(200, "", Full::default()),
        };
        std::future::ready(Ok::<_, BoxError>(answer))
    }));
    let begun = Instant::now();
    let answer = service.oneshot(sent()).await.unwrap();
    (answer.status() == 200).then(|| begun.elapsed())
}

#[expect(clippy::disallowed_methods, reason = "dates are of the wall clock")]
fn date(from_now: i64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64;
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs((now + from_now) as u64))
}

#[tokio::test(start_paused = true)]
async fn retry_after_in_all_its_forms() {
    const BACKOFF: Option<Duration> = Some(Duration::from_millis(50));
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let layer = fixed(50);
    for (headers, wanted) in [
        ("", BACKOFF),
        ("retry-after: 2", seconds(2)),
        ("retry-after:  2 ", seconds(2)),
        ("retry-after: 30", seconds(30)),
        ("retry-after: 31", None),
        ("retry-after: 999999", None),
        ("retry-after: 18446744073709551616", None),
        (
            "retry-after: 99999999999999999999999999999999999999999",
            None,
        ),
        ("retry-after: 0", BACKOFF),
        ("retry-after: 00", BACKOFF),
        ("retry-after: -1", BACKOFF),
        ("retry-after: +1", BACKOFF),
        ("retry-after: 1.5", BACKOFF),
        ("retry-after: soon", BACKOFF),
        ("retry-after: 0x10", BACKOFF),
        ("retry-after: Wed, 21 Oct 2015 07:28:00 GMT", BACKOFF),
        ("retry-after: Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("retry-after: Wed, 99 Oct 2015 07:28:00 GMT", BACKOFF),
        ("retry-after: \u{a0}\u{e9}", BACKOFF),
        ("retry-after: 1\nretry-after: 3\nretry-after: x", seconds(3)),
        ("retry-after: 1\nretry-after: 99", None),
        (
            "retry-after: 5\nretry-after-ms: 250",
            Some(Duration::from_millis(250)),
        ),
        (
            "retry-after-ms: 250\nretry-after: 1",
            Some(Duration::from_millis(250)),
        ),
        ("retry-after-ms: x\nretry-after: 1", seconds(1)),
        ("retry-after-ms: 10", BACKOFF),
        ("retry-after-ms: 31000", None),
        // Against the response's own date, in three forms.
        (
            "date: Wed, 21 Oct 2015 07:28:00 GMT\nretry-after: Wed, 21 Oct 2015 07:28:07 GMT",
            seconds(7),
        ),
        (
            "date: Wed, 21 Oct 2015 07:28:00 GMT\nretry-after: Wednesday, 21-Oct-15 07:28:07 GMT",
            seconds(7),
        ),
        (
            "date: Wed, 21 Oct 2015 07:28:00 GMT\nretry-after: Wed Oct 21 07:28:07 2015",
            seconds(7),
        ),
        (
            "date: Wed, 21 Oct 2015 07:28:00 GMT\nretry-after: Wed, 21 Oct 2015 07:27:00 GMT",
            BACKOFF,
        ),
        (
            "date: Wed, 21 Oct 2015 07:28:00 GMT\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT",
            BACKOFF,
        ),
        (
            "date: Wed, 21 Oct 2015 07:28:00 GMT\nretry-after: Wed, 21 Oct 2015 08:28:00 GMT",
            None,
        ),
    ] {
        for status in [408, 429, 500, 503] {
            assert_eq!(wait(&layer, status, headers).await, wanted, "{headers}");
        }
    }
    // Without a date of its own, the wall clock's.
    let waited = wait(&layer, 503, &format!("retry-after: {}", date(10)))
        .await
        .unwrap();
    assert!(
        waited >= Duration::from_secs(8) && waited <= Duration::from_secs(10),
        "{waited:?}"
    );
    assert_eq!(
        wait(&layer, 503, &format!("retry-after: {}", date(-10))).await,
        BACKOFF
    );

    // A skewed clock is told by the date.
    let skewed = format!("date: {}\nretry-after: {}", date(3600), date(3605));
    assert_eq!(wait(&layer, 503, &skewed).await, seconds(5));
}

#[tokio::test(start_paused = true)]
async fn retry_after_against_what_was_configured() {
    let longer = fixed(5000);
    assert_eq!(
        wait(&longer, 503, "retry-after: 2").await,
        Some(Duration::from_secs(5))
    );
    let limited = fixed(50).retry_after_limit(Duration::from_secs(2));
    assert_eq!(
        wait(&limited, 503, "retry-after: 2").await,
        Some(Duration::from_secs(2))
    );
    assert_eq!(wait(&limited, 503, "retry-after: 3").await, None);
    let ignoring = fixed(50).ignore_retry_after();
    assert_eq!(
        wait(&ignoring, 503, "retry-after: 3600").await,
        Some(Duration::from_millis(50))
    );
    let unlimited = fixed(50).retry_after_limit(Duration::MAX);
    assert_eq!(
        wait(&unlimited, 503, "retry-after: 3600").await,
        Some(Duration::from_secs(3600))
    );
    let total = fixed(50).total_limit(Duration::from_secs(1));
    assert_eq!(wait(&total, 503, "retry-after: 2").await, None);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_asked_for_is_told() {
    for (headers, wanted) in [
        ("retry-after: 120", Some(Duration::from_secs(120))),
        ("retry-after-ms: 1500", Some(Duration::from_millis(1500))),
        ("retry-after: 0", None),
        ("retry-after: never", None),
        ("", None),
    ] {
        let inner = service_fn(|_: Request<_>| {
            std::future::ready(Ok::<_, BoxError>(response(
                429,
                headers,
                Full::<Bytes>::default(),
            )))
        });
        let service =
            DiagnoseLayer::new().layer(fixed(1).retry_after_limit(Duration::ZERO).layer(inner));
        let answer = service.oneshot(sent()).await.unwrap();
        let diagnosis = answer.diagnosis().unwrap();
        assert_eq!(diagnosis.retry_after(), wanted, "{headers}");
        if let Some(retried) = answer.retried().filter(|_| wanted.is_some()) {
            assert_eq!(
                (retried.attempts(), retried.stop()),
                (1, StopReason::RetryAfterBeyondLimit)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_usual_backoff_is_200_ms_doubling_to_2_s_with_full_jitter() {
    let layer = RetryLayer::new().without_budget().max_attempts(8);
    let mut most = [Duration::ZERO; 7];
    let mut firsts = std::collections::HashSet::new();
    for _ in 0..200 {
        let inner = Scripted::statuses([503]);
        layer.layer(inner.clone()).oneshot(sent()).await.unwrap();
        let times = inner.times();
        firsts.insert(times[1]);
        for (index, most) in most.iter_mut().enumerate() {
            *most = (*most).max(times[index + 1] - times[index]);
        }
    }
    // The clock of the runtime counts whole milliseconds.
    let ceilings = [200, 400, 800, 1600, 2000, 2000, 2000].map(Duration::from_millis);
    for (most, ceiling) in most.into_iter().zip(ceilings) {
        assert!(
            most <= ceiling + Duration::from_millis(1),
            "{most:?} of {ceiling:?}"
        );
        assert!(most >= ceiling * 3 / 4, "{most:?} of {ceiling:?}");
    }
    assert!(firsts.len() > 50, "requests differ: {}", firsts.len());
}

#[tokio::test(start_paused = true)]
async fn strange_backoffs_are_no_panics() {
    let second = Duration::from_secs(1);
    for (base, cap) in [
        (Duration::ZERO, Duration::ZERO),
        (Duration::MAX, Duration::ZERO),
        (Duration::MAX, second),
        (second, Duration::from_millis(1)),
        (Duration::from_nanos(1), second),
        (Duration::ZERO, Duration::MAX),
    ] {
        for jitter in [Jitter::Full, Jitter::None] {
            let layer = RetryLayer::new()
                .without_budget()
                .max_attempts(40)
                .backoff(Backoff::exponential(base, cap).jitter(jitter));
            let inner = Scripted::statuses([503]);
            layer.layer(inner.clone()).oneshot(sent()).await.unwrap();
            let times = inner.times();
            assert_eq!(times.len(), 40);
            for pair in times.windows(2) {
                assert!(
                    pair[1] - pair[0] <= cap.saturating_add(Duration::from_millis(1)),
                    "{base:?} {cap:?}"
                );
            }
        }
    }
    // Beyond any clock: either it waits for good, or it gives up at once; it does not panic.
    let layer =
        fixed(1).backoff(Backoff::exponential(Duration::MAX, Duration::MAX).jitter(Jitter::None));
    let call = layer.layer(Scripted::statuses([503])).oneshot(sent());
    let _ = tokio::time::timeout(Duration::from_secs(60), call).await;
    let layer = layer.total_limit(Duration::MAX);
    let call = layer.layer(Scripted::statuses([503])).oneshot(sent());
    let _ = tokio::time::timeout(Duration::from_secs(60), call).await;
}

#[tokio::test(start_paused = true)]
async fn the_budget_allows_a_reserve_and_a_fifth() {
    let budget = RetryBudget::new(20, 10, 1);
    assert_eq!(budget.balance(), 10);
    let layer = fixed(0).budget(budget.clone());
    // No time passes: the reserve, and 20 % of the calls.
    let inner = Scripted::statuses([503]);
    for _ in 0..100 {
        layer.layer(inner.clone()).oneshot(sent()).await.unwrap();
    }
    assert_eq!(inner.calls(), 100 + 10 + 20);
    assert_eq!(budget.balance(), 0);
    let answer = layer.layer(inner.clone()).oneshot(sent()).await.unwrap();
    let retried = answer.retried().unwrap();
    assert_eq!(
        (retried.attempts(), retried.stop()),
        (1, StopReason::BudgetExhausted)
    );

    // Refilled to the reserve, and no further, however long it was idle.
    tokio::time::sleep(Duration::from_millis(3500)).await;
    assert_eq!(budget.balance(), 3);
    tokio::time::sleep(Duration::from_secs(365 * 24 * 3600)).await;
    assert_eq!(budget.balance(), 10);

    // Good calls save up to a hundred.
    let fine = layer.layer(Scripted::statuses([200]));
    for _ in 0..2000 {
        fine.clone().oneshot(sent()).await.unwrap();
    }
    let saved = budget.balance();
    assert!(saved == 100 || saved == 110, "{saved}");
    for (percent, reserve, refill) in [(0, 0, 0), (u32::MAX, u32::MAX, u32::MAX), (0, 1, 0)] {
        let budget = RetryBudget::new(percent, reserve, refill);
        let before = budget.balance();
        tokio::time::sleep(Duration::from_secs(1_000_000)).await;
        assert!(budget.balance() >= before);
    }
}

#[test]
fn a_budget_shared_by_threads_gives_no_more_than_it_has() {
    for _ in 0..20 {
        let budget = RetryBudget::new(0, 100, 0);
        let calls = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let layer = fixed(0).budget(budget.clone());
                let calls = Arc::clone(&calls);
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .unwrap();
                    runtime.block_on(async {
                        let inner = Scripted::statuses([503]);
                        for _ in 0..50 {
                            layer.layer(inner.clone()).oneshot(sent()).await.unwrap();
                        }
                        calls.fetch_add(inner.calls(), SeqCst);
                    });
                });
            }
        });
        assert_eq!(calls.load(SeqCst), 8 * 50 + 100);
        assert_eq!(budget.balance(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_discarded_response_is_drained_a_little() {
    let taken = async |first: Vec<crate::support::outside::Step>| {
        let body = steps(first);
        let polls = Arc::clone(&body.polls);
        let answers =
            std::sync::Mutex::new(vec![response(200, "", steps([])), response(503, "", body)]);
        let inner = service_fn(|_: Request<_>| {
            let answer = answers.lock().unwrap().pop().unwrap();
            std::future::ready(Ok::<_, BoxError>(answer))
        });
        let begun = Instant::now();
        let answer = fixed(0).layer(inner).oneshot(sent()).await.unwrap();
        assert_eq!(answer.status(), 200);
        (polls.load(SeqCst), begun.elapsed())
    };
    // Read to its end, so that the connection is free again.
    let (polls, took) = taken(vec![Data(&[b'x'; 1024]), Data(&[b'x'; 1024])]).await;
    assert!(
        polls >= 2 && took <= Duration::from_millis(1),
        "{polls} {took:?}"
    );
    // 4 KiB and no more.
    let (polls, took) = taken(vec![Forever(&[b'x'; 1024])]).await;
    assert!(
        polls <= 6 && took <= Duration::from_millis(1),
        "{polls} {took:?}"
    );
    // 100 ms and no more.
    let (_, took) = taken(vec![Data(b"x"), Stall]).await;
    assert!(took <= Duration::from_millis(102), "{took:?}");
}

#[tokio::test]
async fn empty_frames_without_end_do_not_hold_a_retry() {
    let answers = std::sync::Mutex::new(vec![
        response(200, "", steps([])),
        response(503, "", steps([Forever(b"")])),
    ]);
    let inner = service_fn(|_: Request<_>| {
        let answer = answers.lock().unwrap().pop().unwrap();
        std::future::ready(Ok::<_, BoxError>(answer))
    });
    let call = fixed(0).layer(inner).oneshot(sent());
    let answer = tokio::time::timeout(Duration::from_secs(5), call).await;
    assert_eq!(answer.expect("in time").unwrap().status(), 200);
}
