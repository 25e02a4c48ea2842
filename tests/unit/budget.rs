use std::{
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread,
};

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NANO: Duration = Duration::from_nanos(1);

fn spend_all(budget: &RetryBudget) -> u32 {
    let mut spent = 0;
    while let Some(withdrawal) = budget.withdraw() {
        withdrawal.spend();
        spent += 1;
    }
    spent
}

fn in_paused_time(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test);
}

#[test]
fn nothing_is_rounded_in_favour_of_a_repetition() {
    for (percent, calls, granted) in [
        (60, 100, 60),
        (60, 1, 0),
        (60, 2, 1),
        (60, 4, 2),
        (60, 5, 3),
        (20, 4, 0),
        (20, 5, 1),
        (1, 99, 0),
        (1, 100, 1),
        (100, 7, 7),
        (250, 2, 5),
        (0, 1000, 0),
        (20, 500, 100),
        (20, 10_000, 100),
        (u32::MAX, 1, 100),
        (u32::MAX, 3, 100),
    ] {
        let budget = RetryBudget::new(percent, 3, 0);
        (0..calls).for_each(|_| budget.deposit());
        assert_eq!(budget.balance(), granted + 3, "{percent} % of {calls}");
        assert_eq!(spend_all(&budget), granted + 3, "{percent} % of {calls}");
        assert_eq!(budget.balance(), 0);
    }
}

#[test]
fn a_thousand_calls_pay_for_their_percentage() {
    let budget = RetryBudget::new(60, 10, 0);
    let mut granted = 0;
    for _ in 0..1000 {
        budget.deposit();
        granted += spend_all(&budget);
    }
    assert_eq!(granted, 600 + 10);
}

#[test]
fn the_default_is_a_fifth_and_ten() {
    let budget = RetryBudget::default();
    assert_eq!(budget.balance(), 10);
    (0..5).for_each(|_| budget.deposit());
    assert_eq!(budget.balance(), 11);
    assert_eq!(format!("{budget:?}"), "RetryBudget { balance: 11 }");
}

#[test]
fn an_unspent_repetition_goes_back_to_where_it_came_from() {
    let budget = RetryBudget::new(100, 1, 0);
    budget.deposit();
    let saved = budget.withdraw().unwrap();
    let reserve = budget.withdraw().unwrap();
    assert!(budget.withdraw().is_none());
    drop(reserve);
    assert_eq!(budget.account.reserve.balance(), 1);
    drop(saved);
    assert_eq!(budget.account.reserve.balance(), 1);
    assert_eq!(budget.balance(), 2);
    budget.withdraw().unwrap().spend();
    assert_eq!(budget.balance(), 1);
}

#[test]
fn what_goes_back_does_not_pass_the_caps() {
    let budget = RetryBudget::new(100, 1, 0);
    (0..100).for_each(|_| budget.deposit());
    let withdrawal = budget.withdraw();
    budget.deposit();
    drop(withdrawal);
    assert_eq!(budget.balance(), 101);
}

#[test]
fn a_clone_shares() {
    let budget = RetryBudget::new(100, 0, 0);
    budget.clone().deposit();
    assert_eq!(budget.balance(), 1);
    budget.clone().withdraw().unwrap().spend();
    assert_eq!(budget.balance(), 0);
}

#[test]
fn a_refill_comes_on_the_nanosecond() {
    in_paused_time(async {
        let budget = RetryBudget::new(0, 2, 3);
        tokio::time::advance(Duration::from_millis(123)).await;
        assert_eq!(spend_all(&budget), 2);
        // A third of a second is 333,333,333.3 ns: the first repetition comes at ...334, the second at
        // ...667, and the thirds that were rounded up are not lost: the third comes at a whole second.
        for wait in [333_333_334, 333_333_333, 333_333_333] {
            tokio::time::advance(Duration::from_nanos(wait - 1)).await;
            assert_eq!(budget.balance(), 0);
            tokio::time::advance(NANO).await;
            assert_eq!(spend_all(&budget), 1);
        }
    });
}

#[test]
fn a_full_bucket_begins_to_be_refilled_when_it_is_drawn_on() {
    in_paused_time(async {
        let budget = RetryBudget::new(0, 2, 1);
        tokio::time::advance(Duration::from_millis(900)).await;
        budget.withdraw().unwrap().spend();
        tokio::time::advance(Duration::from_millis(200)).await;
        assert_eq!(budget.balance(), 1);
        tokio::time::advance(Duration::from_millis(800) - NANO).await;
        assert_eq!(budget.balance(), 1);
        tokio::time::advance(NANO).await;
        assert_eq!(budget.balance(), 2);
    });
}

#[test]
fn a_year_of_idling_fills_it_and_no_more() {
    for (reserve, per_second) in [(10, 1), (10, 29), (1000, 30), (7, 999_983), (5, u32::MAX)] {
        in_paused_time(async {
            let budget = RetryBudget::new(20, reserve, per_second);
            spend_all(&budget);
            for _ in 0..19 {
                tokio::time::advance(SECOND * 366 * 24 * 3600).await;
                assert_eq!(budget.balance(), reserve, "{per_second}");
                // With the clock at rest.
                assert_eq!(spend_all(&budget), reserve, "{per_second}");
            }
        });
    }
}

#[test]
fn the_largest_arguments_do_no_harm() {
    in_paused_time(async {
        let budget = RetryBudget::new(u32::MAX, u32::MAX, u32::MAX);
        budget.deposit();
        assert_eq!(budget.balance(), u32::MAX);
        let withdrawal = budget.withdraw();
        tokio::time::advance(SECOND * u32::MAX).await;
        assert_eq!(budget.balance(), u32::MAX);
        drop(withdrawal);
        budget.withdraw().unwrap().spend();
        assert!(budget.withdraw().is_some());
    });
}

#[test]
fn it_needs_no_runtime() {
    let budget = RetryBudget::new(0, 1, 1000);
    budget.withdraw().unwrap().spend();
    thread::sleep(Duration::from_millis(2));
    assert_eq!(budget.balance(), 1);
}

#[test]
fn sixteen_threads_get_what_there_is_and_not_one_more() {
    for (savings, reserve) in [(100, 0), (100, 10), (0, 100)] {
        let budget = RetryBudget::new(100, reserve, 0);
        (0..savings).for_each(|_| budget.deposit());
        let (granted, start) = (AtomicU32::new(0), Barrier::new(16));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    start.wait();
                    for round in 0..1000 {
                        match budget.withdraw() {
                            // Now and then one goes back.
                            Some(withdrawal) if round % 3 == 1 => drop(withdrawal),
                            Some(withdrawal) => {
                                withdrawal.spend();
                                granted.fetch_add(1, Relaxed);
                            }
                            None => {}
                        }
                    }
                });
            }
        });
        // One that was on its way back may have been missed by those who gave up.
        let granted = granted.into_inner() + spend_all(&budget);
        assert_eq!(granted, savings + reserve);
    }
}

proptest! {
    /// Against a bucket that is counted in thirds of nanoseconds, or whatever is exact, in 128 bits.
    #[test]
    fn the_reserve_is_an_exact_bucket(
        tokens in 0..20_u32,
        per_second in 0..29_u32,
        steps in prop::collection::vec((0..3_000_000_000_u64, 0..4_u32, any::<bool>()), 0..40),
    ) {
        in_paused_time(async {
            const TOKEN: u128 = 1_000_000_000;
            let budget = RetryBudget::new(0, tokens, per_second);
            let full = u128::from(tokens) * TOKEN;
            let mut level = full;
            for (nanos, withdrawals, refund) in steps {
                tokio::time::advance(Duration::from_nanos(nanos)).await;
                level = full.min(level + u128::from(nanos) * u128::from(per_second));
                assert_eq!(u128::from(budget.balance()), level / TOKEN);
                for _ in 0..withdrawals {
                    let withdrawal = budget.withdraw();
                    assert_eq!(withdrawal.is_some(), level >= TOKEN);
                    match withdrawal {
                        Some(withdrawal) if !refund => {
                            withdrawal.spend();
                            level -= TOKEN;
                        }
                        _ => {}
                    }
                }
            }
        });
    }
}
