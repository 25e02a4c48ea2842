//! The course that nearly every call takes, in one word: one attempt, begun with the call and answered.

use http::StatusCode;

use crate::sync::{AtomicU64, Ordering};

/// How far a call has come on the common course.
///
/// Steps along it are a comparison and a store, where the notes of a call take a lock, a reading of the
/// clock, and half a hundred instructions more. Whoever has anything else to say of the call
/// [takes](Self::take) the course into the notes first, under their lock, and from then on everything is
/// told there.
///
/// Nothing else is published by the word, so no order with other memory is asked for.
#[derive(Debug)]
pub(crate) struct Course(AtomicU64);

/// Where a call stands on its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Off it: everything is in the notes.
    Noted,
    /// The code that began the call is still on the stack; no attempt so far.
    Beginning,
    /// No attempt so far.
    Begun,
    /// The one attempt began with the call, and is under way.
    UnderWay,
    /// The attempt was answered, with a status that is no failure.
    Answered(StatusCode),
}

const NOTED: u64 = 0;
const BEGINNING: u64 = 1;
const BEGUN: u64 = 2;
const UNDER_WAY: u64 = 3;

impl Step {
    /// A status stands for itself: there is none below 100.
    #[inline]
    fn word(self) -> u64 {
        match self {
            Self::Noted => NOTED,
            Self::Beginning => BEGINNING,
            Self::Begun => BEGUN,
            Self::UnderWay => UNDER_WAY,
            Self::Answered(status) => u64::from(status.as_u16()),
        }
    }
}

impl Default for Course {
    /// Off the course.
    #[inline]
    fn default() -> Self {
        Self::at(Step::Noted)
    }
}

impl Course {
    #[inline]
    pub(crate) fn at(step: Step) -> Self {
        Self(AtomicU64::new(step.word()))
    }

    #[inline]
    pub(crate) fn is_at(&self, step: Step) -> bool {
        self.0.load(Ordering::Relaxed) == step.word()
    }

    /// Returns whether the call's attempt was answered, by whatever status.
    #[inline]
    pub(crate) fn is_answered(&self) -> bool {
        self.0.load(Ordering::Relaxed) > UNDER_WAY
    }

    /// Goes from one step to another; returns whether the call stood there.
    #[inline]
    pub(crate) fn go(&self, from: Step, to: Step) -> bool {
        let (from, to) = (from.word(), to.word());
        self.0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Leaves the course; returns how far the call had come.
    pub(crate) fn take(&self) -> Step {
        match self.0.swap(NOTED, Ordering::Relaxed) {
            BEGINNING => Step::Beginning,
            BEGUN => Step::Begun,
            UNDER_WAY => Step::UnderWay,
            word => u16::try_from(word)
                .ok()
                .and_then(|status| StatusCode::from_u16(status).ok())
                .map_or(Step::Noted, Step::Answered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_left_as_what_it_was_and_only_once() {
        let steps = [
            Step::Noted,
            Step::Beginning,
            Step::Begun,
            Step::UnderWay,
            Step::Answered(StatusCode::CONTINUE),
            Step::Answered(StatusCode::OK),
            Step::Answered(StatusCode::from_u16(999).unwrap()),
        ];
        for step in steps {
            let course = Course::at(step);
            assert!(course.is_at(step));
            assert_eq!(course.take(), step);
            assert_eq!(course.take(), Step::Noted);
        }
    }

    #[test]
    fn a_step_is_made_from_where_the_call_stands() {
        let course = Course::at(Step::Beginning);
        assert!(!course.go(Step::UnderWay, Step::Answered(StatusCode::OK)));
        assert!(course.go(Step::Beginning, Step::UnderWay));
        assert!(!course.go(Step::Beginning, Step::Begun));
        assert!(course.is_at(Step::UnderWay));
    }
}
