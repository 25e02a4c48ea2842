use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use proptest::prelude::*;

use super::*;
use crate::{
    headers::readable,
    redact::{Scrubber, scrub},
    text::one_line,
};

fn needles_of(name: &'static str, value: &[u8]) -> Vec<String> {
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static(name),
        HeaderValue::from_bytes(value).unwrap(),
    )]);
    let secrets = Secrets::of(&headers, &[]);
    let needles = Needles::of(&secrets, Address::default()).unwrap_or(Needles::NONE);
    let texts = needles.sorted.iter().map(|needle| needle.text.clone());
    texts.map(Cow::into_owned).collect()
}

#[test]
fn a_credential_is_cut_into_what_a_server_could_repeat() {
    for (name, value, parts) in [
        (
            "authorization",
            "Bearer opaque-token",
            &["Bearer opaque-token", "opaque-token"][..],
        ),
        (
            "authorization",
            "Basic c29tZWJvZHk6aHVudGVyMjI=",
            &[
                "Basic c29tZWJvZHk6aHVudGVyMjI=",
                "c29tZWJvZHk6aHVudGVyMjI=",
                "hunter22",
                "somebody",
                "somebody:hunter22",
            ],
        ),
        (
            "authorization",
            "AWS4-HMAC-SHA256 SignedHeaders=host;x-amz-date, Signature=abcdef012",
            &[
                "AWS4-HMAC-SHA256 SignedHeaders=host;x-amz-date, Signature=abcdef012",
                "SignedHeaders=host;x-amz-date, Signature=abcdef012",
                "abcdef012",
            ],
        ),
        (
            "cookie",
            "a=short; b=long-enough; c=\"quoted-one\"",
            &[
                "a=short; b=long-enough; c=\"quoted-one\"",
                "a=short; b=long-enough; c=\\\"quoted-one\\\"",
                "long-enough",
                "quoted-one",
            ],
        ),
        ("x-api-key", "with/slash", &["with/slash", "with\\/slash"]),
        (
            "x-api-key",
            "a+b&c<d>e",
            &[
                "a+b&c<d>e",
                "a+b\\u0026c\\u003cd\\u003ee",
                "a\\u002Bb\\u0026c\\u003Cd\\u003Ee",
            ],
        ),
        ("x-api-key", "  1234567", &[]),
    ] {
        for part in parts {
            let needles = needles_of(name, value.as_bytes());
            assert!(
                needles.iter().any(|needle| needle == part),
                "{value}: {part} in {needles:?}"
            );
        }
        assert_eq!(
            parts.is_empty(),
            needles_of(name, value.as_bytes()).is_empty()
        );
    }
}

#[test]
fn bytes_that_are_no_utf8_are_read_as_latin_1() {
    assert_eq!(
        needles_of("x-api-key", b"schl\xfcssel"),
        [
            "schl%C3%BCssel",
            "schl%c3%bcssel",
            "schl\\u00FCssel",
            "schl\\u00fcssel",
            "schlüssel"
        ]
    );
}

#[test]
fn the_longest_of_nested_needles_is_found() {
    let secrets = Secrets::default();
    let uri: Uri = "/?a=12345678&b=12345678-9&c=12345678-9-abc"
        .parse()
        .unwrap();
    let needles = Needles::of(&secrets, Address::of(&uri)).unwrap();
    for (text, end) in [
        ("12345678", Some(8)),
        ("12345678 9", Some(8)),
        ("12345678-9 abc", Some(10)),
        ("12345678-9-abc", Some(14)),
        ("12345678-9-abcd", Some(10)),
        ("123456789", None),
        ("1234567", None),
        ("", None),
    ] {
        assert_eq!(needles.end_at(text, 0), end, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn where_no_secret_may_stand_none_is_found(
        secret in "[aZ0+/é:%=-][a-c0%/+é-]{7,9}",
        is_basic: bool,
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "@", "@", "x", " ", "-", "\\", "\\n", "\\u0061", "%", "%61", "\u{1b}[1m", "\u{9b}", "é", "\u{200b}",
                "\u{1}", "\n", "a: ", ":\n", "[redacted]", "\"password\":\"", "/", "0", "aa",
            ]),
            0..6,
        ),
    ) {
        let value = match is_basic {
            true => format!("Basic {secret}"),
            false => secret.clone(),
        };
        let headers = HeaderMap::from_iter([(
            http::header::AUTHORIZATION,
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        )]);
        let secrets = Secrets::of(&headers, &[]);
        let text = pieces.concat().replace('@', &secret);
        let scrubber = Scrubber::new(&secrets, Address::default());
        if !scrubber.may_find_in(text.as_bytes()) {
            let nothing = Secrets::default();
            for text in [text.clone(), one_line(&text).into_owned(), readable(text.as_bytes())] {
                prop_assert_eq!(scrubber.scrub(&text), scrub(&text, &nothing, None));
            }
        }
    }
}
