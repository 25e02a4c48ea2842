//! Clients that failed at the same moment: when does each of them come back?

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::Request;
use tokio::{task::JoinSet, time::Instant};
use tower::{Layer, ServiceExt, service_fn};
use tower_diagnose::{Backoff, Jitter, RetryLayer};

use super::{Body, unavailable};

/// Lets clients fail together once, and returns when each of them comes back.
pub(crate) async fn returns(jitter: Jitter) -> Vec<Duration> {
    let start = Instant::now();
    let returns = Arc::new(Mutex::new(Vec::new()));
    let layer = RetryLayer::new().max_attempts(2).without_budget().backoff(
        Backoff::exponential(Duration::from_millis(200), Duration::from_secs(2)).jitter(jitter),
    );
    let mut clients = JoinSet::new();
    for _ in 0..1_000 {
        let returns = Arc::clone(&returns);
        let attempts = Arc::new(AtomicU32::new(0));
        let service = layer.layer(service_fn(move |_: Request<_>| {
            if attempts.fetch_add(1, Ordering::Relaxed) > 0 {
                returns.lock().unwrap().push(start.elapsed());
            }
            async { Ok::<_, Infallible>(unavailable()) }
        }));
        clients.spawn(service.oneshot(Request::new(Body::new())));
    }
    clients.join_all().await;
    let mut returns = std::mem::take(&mut *returns.lock().unwrap());
    returns.sort_unstable();
    returns
}

pub(crate) fn print(name: &str, returns: &[Duration]) {
    let at = |percent: usize| returns[(returns.len() - 1) * percent / 100].as_millis();
    let mut tenths = [0_u32; 300];
    for time in returns {
        tenths[(time.as_millis() / 10).min(299) as usize] += 1;
    }
    println!(
        "{name:<28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>14}",
        at(0),
        at(10),
        at(50),
        at(90),
        at(100),
        tenths.iter().max().unwrap_or(&0),
    );
}
