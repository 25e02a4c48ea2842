//! Which seed a panic belongs to, wherever it is caught.

use std::{
    collections::HashMap,
    future::Future,
    panic,
    sync::{LazyLock, Mutex},
};

tokio::task_local! {
    static SEED: u64;
}

static SEEN: LazyLock<Mutex<HashMap<u64, String>>> = LazyLock::new(Mutex::default);

/// Notes from now on every panic, and prints those that belong to no seed.
pub fn watch() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| match SEED.try_with(|seed| *seed) {
        Ok(seed) => {
            let mut seen = SEEN.lock().unwrap_or_else(|poison| poison.into_inner());
            seen.entry(seed).or_insert_with(|| format!("panic: {info}"));
        }
        Err(_) => usual(info),
    }));
}

/// Runs a future on behalf of a seed.
pub fn of_seed<F: Future>(seed: u64, future: F) -> impl Future<Output = F::Output> {
    SEED.scope(seed, future)
}

/// Returns the seed on whose behalf this runs.
#[must_use]
pub fn seed() -> Option<u64> {
    SEED.try_with(|seed| *seed).ok()
}

/// Notes what is as bad as a panic.
pub fn note(seed: u64, what: String) {
    let mut seen = SEEN.lock().unwrap_or_else(|poison| poison.into_inner());
    seen.entry(seed).or_insert(what);
}

/// Takes what was noted of a seed.
#[must_use]
pub fn take(seed: u64) -> Option<String> {
    SEEN.lock()
        .unwrap_or_else(|poison| poison.into_inner())
        .remove(&seed)
}
