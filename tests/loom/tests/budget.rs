//! Every order in which threads can get at a budget.

use loom::thread;
use tower_diagnose_loom::{
    RetryBudget,
    model_budget::{deposit, withdraw},
};

#[test]
fn no_more_is_granted_than_there_is_and_no_less() {
    loom::model(|| {
        let budget = RetryBudget::new(100, 1, 0);
        deposit(&budget);
        let threads = [0, 1].map(|_| {
            let budget = budget.clone();
            thread::spawn(move || withdraw(&budget, true))
        });
        let mut granted = withdraw(&budget, true);
        for thread in threads {
            granted += thread.join().unwrap();
        }
        assert_eq!(granted, 2);
        assert_eq!(budget.balance(), 0);
    });
}

#[test]
fn what_goes_back_and_what_is_saved_meanwhile_is_not_lost() {
    loom::model(|| {
        let budget = RetryBudget::new(50, 1, 0);
        deposit(&budget);
        let saver = {
            let budget = budget.clone();
            thread::spawn(move || deposit(&budget))
        };
        let waverer = {
            let budget = budget.clone();
            thread::spawn(move || withdraw(&budget, false))
        };
        let granted = withdraw(&budget, true);
        saver.join().unwrap();
        waverer.join().unwrap();
        assert_eq!(granted + budget.balance(), 2);
    });
}
