use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const MAX: Duration = Duration::MAX;
const ZERO: Duration = Duration::ZERO;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn doubles_up_to_the_cap() {
    for (base, cap, attempt, wait) in [
        (ms(200), ms(2000), 0, ms(200)),
        (ms(200), ms(2000), 1, ms(200)),
        (ms(200), ms(2000), 2, ms(400)),
        (ms(200), ms(2000), 4, ms(1600)),
        (ms(200), ms(2000), 5, ms(2000)),
        (ms(200), ms(2000), u32::MAX, ms(2000)),
        (ms(300), ms(200), 1, ms(200)),
        (ZERO, MAX, u32::MAX, ZERO),
        (ZERO, ZERO, 1, ZERO),
        (ms(1), ZERO, 7, ZERO),
        (MAX, MAX, 1, MAX),
        (MAX, MAX, u32::MAX, MAX),
        (MAX, ms(1), u32::MAX, ms(1)),
        (
            Duration::from_nanos(1),
            MAX,
            94,
            Duration::from_nanos(1 << 40) * (1 << 30) * (1 << 23),
        ),
        (Duration::from_nanos(1), MAX, 95, MAX),
        (Duration::from_nanos(1), MAX, 128, MAX),
        (Duration::from_nanos(1), MAX, 129, MAX),
        (Duration::from_nanos(1), MAX, 130, MAX),
    ] {
        let backoff = Backoff::exponential(base, cap).jitter(Jitter::None);
        for random in [0, u64::MAX] {
            assert_eq!(
                backoff.delay(attempt, random),
                wait,
                "{base:?} {cap:?} {attempt}"
            );
        }
    }
}

#[test]
fn jitter_reaches_both_ends() {
    for (cap, attempt) in [(ms(2000), 1), (ms(2000), 9), (MAX, 200), (ZERO, 1)] {
        let backoff = Backoff::exponential(ms(200), cap);
        assert_eq!(backoff.delay(attempt, 0), ZERO);
        let whole = backoff.jitter(Jitter::None).delay(attempt, 0);
        let last = backoff.delay(attempt, u64::MAX);
        // 64 random bits cannot hit every nanosecond of an age.
        assert!(
            last <= whole && whole - last <= whole / (1 << 31),
            "{cap:?} {last:?}"
        );
    }
    let few = Backoff::exponential(Duration::from_nanos(2), MAX);
    let third = u64::MAX / 3;
    for (random, nanos) in [
        (0, 0),
        (third, 0),
        (third + 1, 1),
        (2 * third + 2, 2),
        (u64::MAX, 2),
    ] {
        assert_eq!(
            few.delay(1, random),
            Duration::from_nanos(nanos),
            "{random}"
        );
    }
}

#[test]
fn jitter_is_even() {
    let backoff = Backoff::exponential(ms(1000), ms(1000));
    let random = Random::seeded(7);
    let mut tenths = [0; 10];
    for _ in 0..10_000 {
        let millis = backoff.delay(1, random.draw()).as_millis();
        tenths[usize::try_from(millis / 100).unwrap().min(9)] += 1;
    }
    // 1,000 each; five standard deviations are 150.
    assert!(
        tenths.iter().all(|count| (850..1150).contains(count)),
        "{tenths:?}"
    );
}

#[test]
fn the_default_is_200_ms_to_2_s_with_full_jitter() {
    assert_eq!(Backoff::default(), Backoff::exponential(ms(200), ms(2000)));
    assert_eq!(Backoff::default(), Backoff::default().jitter(Jitter::Full));
    assert_eq!(Jitter::default(), Jitter::Full);
}

#[test]
fn a_seed_repeats_its_numbers_and_no_draw_repeats_another() {
    let (one, same) = (Random::seeded(42), Random::seeded(42));
    let draws = (0..10_000).map(|_| one.draw()).collect::<HashSet<_>>();
    assert_eq!(draws.len(), 10_000);
    assert!((0..10_000).all(|_| draws.contains(&same.draw())));
    assert_ne!(Random::new().draw(), Random::new().draw());
}

fn any_duration() -> impl Strategy<Value = Duration> {
    let any = (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(s, n)| Duration::new(s, n));
    prop_oneof![
        Just(ZERO),
        Just(MAX),
        any,
        (0..100_000_u64).prop_map(Duration::from_nanos)
    ]
}

proptest! {
    #[test]
    fn never_over_the_cap_and_never_over_the_ceiling(
        base in any_duration(),
        cap in any_duration(),
        attempt in prop_oneof![0..200_u32, any::<u32>()],
        random: u64,
    ) {
        let backoff = Backoff::exponential(base, cap);
        let ceiling = backoff.jitter(Jitter::None).delay(attempt, random);
        let wait = backoff.delay(attempt, random);
        prop_assert!(ceiling <= cap);
        prop_assert!(wait <= ceiling);
        prop_assert!(backoff.jitter(Jitter::None).delay(attempt.saturating_add(1), 0) >= ceiling);
        let more = backoff.delay(attempt, random.saturating_add(1));
        prop_assert!(more >= wait);
    }
}
