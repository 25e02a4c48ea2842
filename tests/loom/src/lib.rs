//! What calls share, with the atomics of a model checker in place of the real ones.

#![allow(dead_code, missing_docs, unreachable_pub)]

mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../../../src/budget.rs"]
mod budget;

pub use budget::RetryBudget;

/// Saves what one call is worth.
pub fn deposit(budget: &RetryBudget) {
    budget.deposit();
}

/// Takes out one repetition, which is made or goes back. Returns how many were made.
pub fn withdraw(budget: &RetryBudget, is_made: bool) -> u32 {
    match budget.withdraw() {
        Some(withdrawal) if is_made => {
            withdrawal.spend();
            1
        }
        _ => 0,
    }
}
