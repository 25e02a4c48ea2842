use proptest::prelude::*;

use super::*;

/// Wed, 21 Oct 2015 07:28:00 GMT
const NOW: u64 = 1_445_412_480;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
}

fn wait(lines: &[(&'static str, &[u8])]) -> Option<Duration> {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_bytes(value).unwrap());
    }
    retry_after(&headers, now())
}

#[test]
fn one_value() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let table: [(&[u8], Option<Duration>); 42] = [
        (b"1", seconds(1)),
        (b"007", seconds(7)),
        (b" 7 ", seconds(7)),
        (b"\t7\t ", seconds(7)),
        (b"3600", seconds(3600)),
        (b"18446744073709551615", seconds(u64::MAX)),
        (b"18446744073709551616", Some(Duration::MAX)),
        (
            b"99999999999999999999999999999999999999999",
            Some(Duration::MAX),
        ),
        (b"00000000000000000000000000000000000000007", seconds(7)),
        (b"0", None),
        (b"000", None),
        (b"", None),
        (b"   ", None),
        (b"-1", None),
        (b"+5", None),
        (b"1.5", None),
        (b"1e3", None),
        (b"0x10", None),
        (b"1_000", None),
        (b"5s", None),
        (b"5 6", None),
        (b"5, 6", None),
        (b"soon", None),
        (b"infinity", None),
        (b"NaN", None),
        (b"\xd9\xa5", None),
        (b"\xff\xfe", None),
        (b"5\xa0", None),
        // The three forms, 90 s ahead.
        (b"Wed, 21 Oct 2015 07:29:30 GMT", seconds(90)),
        (b"Wednesday, 21-Oct-15 07:29:30 GMT", seconds(90)),
        (b"Wed Oct 21 07:29:30 2015", seconds(90)),
        (b"  Wed, 21 Oct 2015 07:29:30 GMT ", seconds(90)),
        (b"Wed, 21 Oct 2015 07:28:00 GMT", None),
        (b"Wed, 21 Oct 2015 07:27:59 GMT", None),
        (b"Thu, 01 Jan 1970 00:00:00 GMT", None),
        (
            b"Fri, 31 Dec 9999 23:59:59 GMT",
            seconds(253_402_300_799 - NOW),
        ),
        (b"Sat, 01 Jan 10000 00:00:00 GMT", None),
        (b"Wed, 21 Oct 2015 07:29:30 CET", None),
        (b"Wed, 21 Oct 2015 25:29:30 GMT", None),
        (b"Wed, 32 Oct 2015 07:29:30 GMT", None),
        (b"2015-10-21T07:29:30Z", None),
        (b"1445412570", seconds(1_445_412_570)),
    ];
    for (value, expected) in table {
        let shown = String::from_utf8_lossy(value);
        assert_eq!(wait(&[("retry-after", value)]), expected, "{shown:?}");
    }
}

#[test]
fn milliseconds_win_over_seconds() {
    let micros = |micros| Some(Duration::from_micros(micros));
    let table: [(&[u8], Option<Duration>); 16] = [
        (b"250", micros(250_000)),
        (b" 250\t", micros(250_000)),
        (b"250.5", micros(250_500)),
        (b"250.0625", micros(250_062)),
        (b"0.5", micros(500)),
        (
            b"18446744073709551615",
            Some(Duration::from_millis(u64::MAX)),
        ),
        (b"18446744073709551616", Some(Duration::MAX)),
        (b"18446744073709551616.5", Some(Duration::MAX)),
        (b"1.99999999999999999999999", micros(1_999)),
        // Asks for no wait, and has the last word.
        (b"0", None),
        (b"0.0", None),
        // Cannot be read: as if it were not there.
        (b"-250", Some(Duration::from_secs(9))),
        (b"+250", Some(Duration::from_secs(9))),
        (b"250.", Some(Duration::from_secs(9))),
        (b".5", Some(Duration::from_secs(9))),
        (b"", Some(Duration::from_secs(9))),
    ];
    for (value, expected) in table {
        let lines: [(_, &[u8]); 2] = [("retry-after", b"9"), ("retry-after-ms", value)];
        let shown = String::from_utf8_lossy(value);
        assert_eq!(wait(&lines), expected, "{shown:?}");
    }
}

#[test]
fn the_largest_of_several_that_can_be_read() {
    let table: [(&[&[u8]], Option<u64>); 6] = [
        (&[], None),
        (&[b"2", b"7", b"5"], Some(7)),
        (&[b"soon", b"2", b""], Some(2)),
        (&[b"0", b"2"], Some(2)),
        (&[b"2", b"Wed, 21 Oct 2015 07:29:30 GMT"], Some(90)),
        (&[b"Wed, 21 Oct 2015 07:00:00 GMT", b"0"], None),
    ];
    for (values, expected) in table {
        let lines: Vec<_> = values.iter().map(|value| ("retry-after", *value)).collect();
        assert_eq!(
            wait(&lines),
            expected.map(Duration::from_secs),
            "{values:?}"
        );
    }
    assert_eq!(
        wait(&[("retry-after-ms", b"20"), ("retry-after-ms", b"30")]),
        Some(Duration::from_millis(30))
    );
}

#[test]
fn a_date_is_measured_from_the_responses_own() {
    let date: &[u8] = b"Wed, 21 Oct 2015 08:29:30 GMT";
    for (own, seconds) in [
        // An hour ahead of our clock, and an hour behind.
        (&b"Wed, 21 Oct 2015 08:29:00 GMT"[..], Some(30)),
        (b"Wed, 21 Oct 2015 06:29:30 GMT", Some(7200)),
        (b"Wed, 21 Oct 2015 08:30:00 GMT", None),
        (b"yesterday", Some(3690)),
        (b"", Some(3690)),
    ] {
        assert_eq!(
            wait(&[("retry-after", date), ("date", own)]),
            seconds.map(Duration::from_secs),
            "{own:?}"
        );
        // A number of seconds needs no clock.
        assert_eq!(
            wait(&[("retry-after", b"5"), ("date", own)]),
            Some(Duration::from_secs(5))
        );
    }
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_not(
        lines in prop::collection::vec((0..3_usize, "[ -~\t]{0,40}|[0-9.+ -]{0,25}"), 0..4),
        now in any::<u32>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in &lines {
            let name = ["retry-after", "retry-after-ms", "date"][*name];
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.into());
        prop_assert_ne!(retry_after(&headers, now), Some(Duration::ZERO));
    }

    #[test]
    fn seconds_are_read_exactly(seconds in 1..=u64::MAX, pad in "[ \t]{0,3}") {
        let value = format!("{pad}{seconds}{pad}");
        prop_assert_eq!(
            wait(&[("retry-after", value.as_bytes())]),
            Some(Duration::from_secs(seconds))
        );
    }

    #[test]
    fn every_form_of_a_date_is_read(ahead in 1..1_000_000_u32) {
        let when = now() + Duration::from_secs(ahead.into());
        let value = httpdate::fmt_http_date(when);
        prop_assert_eq!(
            wait(&[("retry-after", value.as_bytes())]),
            Some(Duration::from_secs(ahead.into()))
        );
    }
}
