//! What holds of every text.

use proptest::prelude::*;

use super::*;

/// What stands around a secret in a server's words.
fn around() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ -~]{0,12}",
        any::<String>(),
        Just("https://host/path/".to_owned()),
        Just("\"message\":\"".to_owned()),
        Just("Bearer ".to_owned()),
        Just("token=".to_owned()),
        Just("?a=b&c=".to_owned()),
        Just("sk-abcdefgh ".to_owned()),
        Just("\"input\":{\"a\":".to_owned()),
    ]
}

/// What ends a word, raw, in JSON, in a URL and on a terminal.
fn edge() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        " ",
        "\n",
        "\"",
        "'",
        ":",
        "/",
        "(",
        ")",
        ",",
        ".",
        "=",
        "@",
        "\\n",
        "\\\"",
        "\\u0022",
        "%20",
        "\u{1b}[0m",
        "…",
        "：",
        "\u{2028}",
    ])
}

/// How a secret is sent: headers and URI for it.
fn sent(kind: usize, secret: &str) -> Option<(HeaderMap, Uri)> {
    const KINDS: &[(&str, &str)] = &[
        ("authorization", "Bearer "),
        ("authorization", ""),
        ("proxy-authorization", "Token "),
        ("cookie", "a=b; sid="),
        ("x-api-key", ""),
        ("api-key", ""),
        ("x-auth-token", ""),
        ("x-amz-security-token", ""),
        ("x-marked", ""),
    ];
    let mut map = HeaderMap::new();
    let mut uri = "http://host/path".to_owned();
    match KINDS.get(kind) {
        Some((name, prefix)) => {
            let mut value = HeaderValue::from_str(&format!("{prefix}{secret}")).ok()?;
            value.set_sensitive(*name == "x-marked");
            map.insert(*name, value);
        }
        None if kind == KINDS.len() => uri = format!("http://user:{secret}@host/path"),
        None => uri = format!("/path?a=b&key={secret}"),
    }
    Some((map, uri.parse().ok()?))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_planted_secret_survives(
        kind in 0_usize..11,
        secret in "[A-Za-z0-9][A-Za-z0-9._~+*$!-]{6,40}[A-Za-z0-9]",
        before in around(), left in edge(), right in edge(), behind in around(),
    ) {
        let Some((map, uri)) = sent(kind, &secret) else {
            return Ok(());
        };
        let secrets = Secrets::of(&map, &[]);
        let debug = format!("{secrets:?}");
        prop_assert!(!debug.contains(&secret));
        let text = format!("{before}{left}{secret}{right}{behind}");
        let shown = scrub(&text, &secrets, Some(&uri));
        prop_assert!(!shown.contains(&secret), "{text:?} -> {shown:?}");
        prop_assert_eq!(&scrub(&shown, &secrets, Some(&uri)), &shown, "from {:?}", text);
        let alone = scrub(&secret, &secrets, Some(&uri));
        prop_assert_eq!(alone, REDACTED);
    }

    #[test]
    fn scrubbing_twice_is_scrubbing_once(pieces in proptest::collection::vec(around(), 0..8), cookie in "[a-c =;]{0,60}") {
        let secrets = Secrets::of(&headers(&[("cookie", &cookie)]), &[]);
        let text = pieces.concat();
        let shown = scrub(&text, &secrets, None);
        prop_assert_eq!(&scrub(&shown, &secrets, None), &shown, "from {:?}", text);
    }
}

/// Returns the least time of three that `work` takes.
fn time(mut work: impl FnMut()) -> f64 {
    (0..3)
        .map(|_| {
            let start = tokio::time::Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min)
}

#[test]
fn the_work_grows_with_the_text_and_not_with_its_square() {
    let words = "a ".repeat(4_000);
    let nested: String = (8..60)
        .map(|len| format!("k={}; ", "a".repeat(len)))
        .collect();
    let map = headers(&[
        ("x-api-key", &words),
        ("cookie", &nested),
        ("x-token", "://a?a=/"),
    ]);
    let secrets = Secrets::of(&map, &[]);
    let scrubber = Scrubber::new(&secrets, None, "");
    for unit in [
        "a",
        "a ",
        "aaaaaaaaa ",
        "a b ",
        "://",
        "a://",
        "a://a:",
        "https://h/",
        "https://u:p@h/a?b=c ",
        "@",
        "?a",
        "/?a=",
        "/",
        ":\\/\\/",
        "Bearer ",
        "bearer:realm=",
        "bearer token ",
        "Bearer=",
        "basic:",
        "bearer-",
        "sk-",
        "sk-a.",
        "eyJ",
        "eyJa.",
        "AKIA",
        "\"",
        "\\\"",
        "\"token\":\"",
        "\"token\":\\\"",
        "\"input\":{",
        "\"input\":[\"",
        "\\\"input\\\":{",
        "\"pwd\":1",
        "\"a\"   :",
        "\\",
        "\\u00",
        "%2",
        "\u{1b}[",
        "\u{1b}]",
        "\u{9d}",
        "\u{301}",
        "é",
        "[redacted]",
        "[",
        "password=",
        "password=bearer=",
        "=",
    ] {
        let work = |len: usize| {
            let text = unit.repeat(len / unit.len());
            time(|| {
                std::hint::black_box(crate::text::one_line(&scrubber.scrub(&text)).len());
            })
        };
        // 8 times the text: 8 times the work, or 64 times if it grew with the square.
        for len in [4 * 1024, 32 * 1024] {
            let (once, eightfold) = (work(len), work(8 * len));
            assert!(
                eightfold < once * 28.0 + 0.01,
                "{unit:?}: {once} s, then {eightfold} s"
            );
        }
    }
}
