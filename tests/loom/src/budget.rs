//! What is not public of the budget.

use crate::budget::RetryBudget;

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
