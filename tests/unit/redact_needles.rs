use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::*;

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

#[test]
fn encodings_are_undone() {
    for (encoded, text) in [
        ("a%20b", Some("a b")),
        ("%C3%BC", Some("ü")),
        ("%FF", None),
        ("100%", Some("100%")),
        ("%zz%4", Some("%zz%4")),
        ("none", None),
    ] {
        assert_eq!(from_percent(encoded).as_deref(), text, "{encoded}");
    }
    for (encoded, text) in [
        ("dTpw", Some("u:p")),
        ("dTpwdw==", Some("u:pw")),
        ("dTpwdw", Some("u:pw")),
        ("dTr_", Some("u:ÿ")),
        ("not base64!", None),
        ("", Some("")),
    ] {
        assert_eq!(from_base64(encoded).as_deref(), text, "{encoded}");
    }
}
