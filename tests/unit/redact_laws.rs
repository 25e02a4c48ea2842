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

/// What looks like a secret, and what is called one.
const SHAPED: &[&str] = &[
    "Bearer abcdefgh1",
    "bearer tok_12345678",
    "basic dXNlcjpwYXNzd29yZA==",
    "BASIC dXNlcjpwYXNzd29yZA==",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "AKIAABCDEFGHIJKL",
    "ASIAABCDEFGHIJKL",
    "AIzaabcdefghijklmnopqrstuvwx",
    "SG.abcdefghijklmnopqrstuvwx",
    "dop_v1_0123456789abcdef",
    "ghp_0123456789abcdef",
    "github_pat_0123456789abcdef",
    "glpat-0123456789ab",
    "hf_0123456789abcdef",
    "npm_0123456789abcdef",
    "pypi-0123456789abcdef",
    "rk_live_01234567",
    "sk-012345",
    "sk_test_01234567",
    "shpat_0123456789abcdef",
    "whsec_0123456789ab",
    "xoxb-01234567",
    "xapp-01234567",
    "ya29.0123456789abcdef",
    "password=hunter22",
    "client_secret='hunter22'",
    "\"token\": \"hunter22\"",
    "https://user:pass@host/path?a=b",
    "/hooks/T0aB1cD2eF3gH4iJ5kL6mN7o",
    "/bot123456:AAF-abc",
];

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |chunk: &[u8]| -> String {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |at: u32| char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]);
        (0..4)
            .map(|at| {
                if at as usize > chunk.len() {
                    '='
                } else {
                    digit(at)
                }
            })
            .collect()
    };
    text.as_bytes().chunks(3).map(encode).collect()
}

/// How a secret of any characters is sent: headers and URI for it.
fn sent_encoded(kind: usize, secret: &str) -> Option<(HeaderMap, Uri)> {
    let mut map = HeaderMap::new();
    let mut uri = "/".to_owned();
    let encoded = percent(secret);
    match kind {
        0 => uri = format!("/path?key={encoded}"),
        1 => uri = format!("http://user:{encoded}@host/"),
        2 => uri = format!("http://{encoded}@host/"),
        3 => {
            let value = format!("Basic {}", base64(&format!("user:{secret}")));
            map.insert("authorization", value.parse().ok()?);
        }
        4 => {
            map.insert("cookie", format!("sid={encoded}").parse().ok()?);
        }
        _ => {
            let value = HeaderValue::from_bytes(secret.as_bytes()).ok()?;
            map.insert("x-api-key", value);
        }
    }
    Some((map, uri.parse().ok()?))
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
    fn no_secret_of_any_characters_survives_in_any_encoding(
        kind in 0_usize..6,
        secret in "[a-zA-Z0-9äß€😀][ !-~äß€😀]{6,40}[a-zA-Z0-9äß€😀]",
        left in edge(), right in edge(), behind in around(),
    ) {
        let Some((map, uri)) = sent_encoded(kind, &secret) else {
            return Ok(());
        };
        let secrets = Secrets::of(&map, &[]);
        let json = serde_json::to_string(&secret).unwrap();
        let json = &json[1..json.len() - 1];
        for echoed in [secret.as_str(), json, &json.replace('/', "\\/")] {
            let text = format!("{left}{echoed}{right}{behind}");
            let shown = scrub(&text, &secrets, Some(&uri));
            prop_assert!(!shown.contains(echoed), "{text:?} -> {shown:?}");
            prop_assert_eq!(&scrub(&shown, &secrets, Some(&uri)), &shown, "from {:?}", text);
        }
    }

    #[test]
    fn what_is_called_harmless_is_what_scrubbing_and_tidying_leave_as_it_is(
        pieces in proptest::collection::vec(
            prop_oneof![
                4 => "[a-zA-Z0-9_]{1,8}",
                3 => Just(" ".to_owned()),
                2 => "[ -~]{0,3}",
                1 => around(),
                2 => proptest::sample::select(SHAPED).prop_map(str::to_owned),
            ],
            0..8,
        ),
        secret in "[a-z]{8,12}",
    ) {
        let text = pieces.concat();
        let sent = Secrets::of(&headers(&[("x-api-key", &secret)]), &[]);
        for secrets in [Secrets::default(), sent] {
            let scrubber = Scrubber::new(&secrets, Address::default());
            let texts = [text.clone(), format!("{text}{secret}"), format!("{secret}{text}")];
            for text in texts.iter().filter(|text| scrubber.is_harmless(text)) {
                prop_assert_eq!(&scrubber.scrub(text), text);
                prop_assert_eq!(&crate::text::one_line(text), text);
            }
        }
    }

    #[test]
    fn a_path_that_is_called_plain_is_one_without_secrets(
        pieces in proptest::collection::vec(
            prop_oneof![
                4 => "[a-zA-Z0-9_.~-]{1,30}",
                4 => Just("/".to_owned()),
                1 => "[!-~]{0,3}",
                1 => any::<String>(),
                2 => proptest::sample::select(SHAPED).prop_map(str::to_owned),
            ],
            0..8,
        ),
    ) {
        let path = pieces.concat();
        if crate::path::is_plain(path.as_bytes()) {
            prop_assert_eq!(&crate::path::redact_path(&path), &path);
        }
    }

    #[test]
    fn scrubbing_twice_is_scrubbing_once(pieces in proptest::collection::vec(around(), 0..8), cookie in "[a-c =;]{0,60}") {
        let secrets = Secrets::of(&headers(&[("cookie", &cookie)]), &[]);
        let text = pieces.concat();
        let shown = scrub(&text, &secrets, None);
        prop_assert_eq!(&scrub(&shown, &secrets, None), &shown, "from {:?}", text);
    }
}

#[test]
fn what_comes_together_where_something_was_taken_out_is_looked_at_too() {
    let text = "Bearer ?]token=\"input\":{\"a\":";
    let shown = scrub(text, &Secrets::default(), None);
    assert_eq!(scrub(&shown, &Secrets::default(), None), shown);
}

#[test]
fn a_secret_goes_behind_what_a_terminal_would_swallow() {
    for before in [
        "\u{1b}[31m",
        "\u{1b}[0 q",
        "\u{1b}[_",
        "\u{1b}[",
        "\u{1b}c",
        "\u{1b}M",
        "\u{1b}(B",
        "\u{1b}\\",
        "\u{1b}",
        "\u{9b}31m",
        "\u{9b}",
        "\\u001b[31m",
        "\\u009B31m",
    ] {
        for secret in [
            "nopq12345",
            "31mabcde",
            "csentinel",
            "Bsentinel",
            "12345678",
        ] {
            let text = format!("is {before}{secret} here");
            let shown = with_headers(&[("x-api-key", secret)], &text);
            assert!(!shown.contains(secret), "{text:?} -> {shown:?}");
            assert_eq!(with_headers(&[("x-api-key", secret)], &shown), shown);
        }
        for secret in ["sk-abcdef1", "Bearer abc123.d"] {
            let shown = plain(&format!("is {before}{secret} here"));
            assert!(shown.ends_with("[redacted] here"), "{before:?} {shown:?}");
        }
    }
}

#[test]
fn most_texts_and_paths_are_told_to_be_harmless() {
    let secrets = Secrets::default();
    let scrubber = Scrubber::new(&secrets, Address::default());
    for text in [
        "no module named 'billing'",
        "not_found",
        "Rate exceeded; try (again) later.",
    ] {
        assert!(scrubber.is_harmless(text), "{text}");
    }
    for text in SHAPED {
        assert!(!scrubber.is_harmless(text), "{text}");
        assert!(!scrubber.is_harmless(&format!("see 'a' ({text}")), "{text}");
        assert!(
            !crate::path::is_plain(format!("/a/{text}").as_bytes())
                || text.contains(['=', '?', '"'])
        );
    }
    for path in [
        "/",
        "",
        "*",
        "/api/modules/42",
        "/a/b/c/d/e/f/g/h/i/j/k/l/m/n",
    ] {
        assert!(crate::path::is_plain(path.as_bytes()), "{path}");
    }
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
    let scrubber = Scrubber::new(&secrets, Address::default());
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
        let time = |len: usize| {
            let text = unit.repeat(len / unit.len());
            let start = tokio::time::Instant::now();
            std::hint::black_box(crate::text::one_line(&scrubber.scrub(&text)).len());
            start.elapsed().as_secs_f64()
        };
        // 64 times the text: 64 times the work, or 4096 times if it grew with the square. Others use
        // the machine meanwhile, which costs the longer run more: hence the width of the bound.
        let is_linear = (0..5).any(|_| time(256 * 1024) < time(4 * 1024) * 640.0);
        assert!(is_linear, "{unit:?}");
    }
}
