use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::*;

#[path = "redact_laws.rs"]
mod laws;

/// A request's headers, by name and value.
fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        })
        .collect()
}

fn with_headers(pairs: &[(&'static str, &str)], text: &str) -> String {
    let secrets = Secrets::of(&headers(pairs), &[]);
    scrub(text, &secrets, None).into_owned()
}

fn with_uri(uri: &str, text: &str) -> String {
    let uri: Uri = uri.parse().unwrap();
    scrub(text, &Secrets::default(), Some(&uri)).into_owned()
}

fn plain(text: &str) -> String {
    scrub(text, &Secrets::default(), None).into_owned()
}

#[test]
fn what_looks_like_a_credential_goes() {
    for (text, shown) in [
        (
            "Incorrect API key provided: sk-test-SENTINEL. Find your key in the console.",
            "Incorrect API key provided: [redacted]. Find your key in the console.",
        ),
        (
            "Incorrect API key provided: sk-abcde***************wxyz.",
            "Incorrect API key provided: [redacted].",
        ),
        ("key AKIASENTINEL is disabled", "key [redacted] is disabled"),
        ("ASIAY34FZKBOKMUTVV7A expired", "[redacted] expired"),
        ("(ghp_16C7e42F292c6912E7710c838347Ae178B4a)", "([redacted])"),
        ("token xoxb-12-34-AbCdEf: bad", "token [redacted]: bad"),
        (
            "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln expired",
            "jwt [redacted] expired",
        ),
        (
            "\"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.\"",
            "\"[redacted].\"",
        ),
        (
            "Bearer abc123.def is expired",
            "Bearer [redacted] is expired",
        ),
        ("bearer SENTINEL", "bearer [redacted]"),
        ("Bearer secret", "Bearer [redacted]"),
        ("Bearer tok123", "Bearer [redacted]"),
        (
            "Authorization: Bearer  'SENTINEL'",
            "Authorization: Bearer  '[redacted]'",
        ),
        (
            "Bearer token abc12345 is bad",
            "Bearer token [redacted] is bad",
        ),
        ("got Basic dXNlcjpwYXNz.", "got Basic [redacted]."),
        ("Bearer%20SENTINEL1", "Bearer%20[redacted]"),
        ("line\\nsk-test-SENTINEL", "line\\n[redacted]"),
        (
            "a\\u0022sk-test-SENTINEL\\u0022",
            "a\\u0022[redacted]\\u0022",
        ),
        (
            "\u{1b}[31msk-test-SENTINEL\u{1b}[0m",
            "\u{1b}[31m[redacted]\u{1b}[0m",
        ),
        ("密钥无效：sk-test-SENTINEL。", "密钥无效：[redacted]。"),
    ] {
        assert_eq!(plain(text), shown, "{text:?}");
    }
}

#[test]
fn ordinary_words_stay() {
    for text in [
        "commentId must be a UUID",
        "Missing Bearer token",
        "BEARER TOKEN REQUIRED",
        "Basic HTTP authentication is off",
        "a Bearer JWT or OAuth2 is needed",
        "Bearer token-based access only",
        "Bearer authentication is required",
        "Bearer realm=\"api\", error=\"invalid_token\"",
        "Basic auth or bearer tokens are needed",
        "Basic subscription limit reached",
        "the Basic plan allows 3 users",
        "task-risk-assessment failed",
        "locale sk-SK is unknown",
        "no such file: messages.sk-SK.json",
        "eyJack is no user",
        "page token: expired",
        "Why? Because a=b",
        "10% of 20%",
        "field password must have 12 characters",
        "\"password\": must have 12 characters",
        "ratio 3:4, at 10:20",
        "see https://docs.example/rest/errors#",
        "already [redacted] here",
        "",
    ] {
        let shown = plain(text);
        assert_eq!(shown, text.trim_end_matches('#'), "{text:?}");
    }
}

#[test]
fn urls_lose_userinfo_query_and_fragment() {
    for (text, shown) in [
        ("call //user:pw@h.example/a?b=c", "call //h.example/a"),
        ("(//user:p@w@h.example)", "(//h.example)"),
        (
            "//team@h.example // by a:b, c@d",
            "//team@h.example // by a:b, c@d",
        ),
        ("see https://h/a/b.", "see https://h/a/b."),
        (
            "GET https://u:p@h:1/a?b=c#d failed",
            "GET https://h:1/a failed",
        ),
        ("(https://h/a?sig=x)", "(https://h/a)"),
        ("<https://u@h?x>,", "<https://h>,"),
        // Cut off in front of the host.
        ("see https://user:hunt", "see https://[redacted]"),
        ("see https://user:hunt!", "see https://[redacted]!"),
        ("see https://host:8", "see https://host:8"),
        ("see https://host:", "see https://host:"),
        ("see https://[::1]", "see https://[::1]"),
        (
            "postgres://app:pa/ss#w@db:5432/x down",
            "postgres://db:5432/x down",
        ),
        (
            "\"https:\\/\\/u:p@h\\/a?b=1\\u0026c=2\"",
            "\"https:\\/\\/h\\/a\"",
        ),
        ("https://h/r?to=https://u:p@i/x", "https://h/r"),
        ("https://h/http://u:p@i/x end", "https://h/http://i/x end"),
        ("http://[::1]:80/users/@me", "http://[::1]:80/users/@me"),
        ("http://h/bot12:abc/getMe", "http://h/bot[redacted]/getMe"),
        (
            "http://h/T0aB1cD2eF3gH4iJ5kL6mN7o/x",
            "http://h/[redacted]/x",
        ),
        ("Cannot GET /x?api_key=abc", "Cannot GET /x"),
        ("Cannot GET /x?filter[name]=abc.", "Cannot GET /x."),
        (
            "Cannot GET /x?[redacted]=abc",
            "Cannot GET /x?[redacted]=abc",
        ),
        (
            "Cannot POST /bot12:abc/getMe.",
            "Cannot POST /bot[redacted]/getMe.",
        ),
        ("见 https://h/a?b=c。请", "见 https://h/a。请"),
        ("Is it? Or /a?b", "Is it? Or /a?b"),
    ] {
        assert_eq!(plain(text), shown, "{text:?}");
    }
}

#[test]
fn values_named_as_secrets_go() {
    for (text, shown) in [
        (
            r#"{"password":"hunter2","x":1}"#,
            r#"{"password":"[redacted]","x":1}"#,
        ),
        (
            r#"{"clientSecret" : "a\"b", "x":"y"}"#,
            r#"{"clientSecret" : "[redacted]", "x":"y"}"#,
        ),
        (r#"{"access_token":null}"#, r#"{"access_token":null}"#),
        (r#"{"pwd":123456}"#, r#"{"pwd":[redacted]}"#),
        (
            r#"{"input":{"a":["}"]},"msg":"m"}"#,
            r#"{"input":[redacted],"msg":"m"}"#,
        ),
        (
            r#"{"input":"hunter2-SENTINEL"}"#,
            r#"{"input":"[redacted]"}"#,
        ),
        (r#"{"rejectedValue":-5}"#, r#"{"rejectedValue":[redacted]}"#),
        (r#"{"token":"cut off he"#, r#"{"token":"[redacted]"#),
        (
            r#""{\"password\":\"x y\",\"a\":1}""#,
            r#""{\"password\":\"[redacted]\",\"a\":1}""#,
        ),
        (
            r#"{"loc":["body","password"],"msg":"short"}"#,
            r#"{"loc":["body","password"],"msg":"short"}"#,
        ),
        (
            "client_secret=abc&grant=x",
            "client_secret=[redacted]&grant=x",
        ),
        ("password='abc def'", "password='[redacted] def'"),
        ("token=Bearer SENTINEL", "token=Bearer [redacted]"),
        ("PHPSESSID=abc; path=/", "PHPSESSID=[redacted]; path=/"),
    ] {
        assert_eq!(plain(text), shown, "{text:?}");
    }
}

#[test]
fn what_the_request_sent_goes_as_whole_tokens() {
    for (name, value, text, shown) in [
        (
            "authorization",
            "Bearer opaque-token-1",
            "bad opaque-token-1!",
            "bad [redacted]!",
        ),
        (
            "authorization",
            "Basic dXNlcm5hbWU6aHVudGVyMjI=",
            "no user username",
            "no user [redacted]",
        ),
        (
            "authorization",
            "Basic dXNlcm5hbWU6aHVudGVyMjI=",
            "'hunter22' is wrong",
            "'[redacted]' is wrong",
        ),
        (
            "authorization",
            "Digest username=\"somebody\", realm=\"the realm\"",
            "somebody in the realm",
            "[redacted] in the realm",
        ),
        (
            "proxy-authorization",
            "Bearer opaque-token-1",
            "opaque-token-1",
            "[redacted]",
        ),
        (
            "cookie",
            "theme=dark; sid=electron",
            "electron, dark, electronics",
            "[redacted], dark, electronics",
        ),
        (
            "cookie",
            "sid=\"elec%20tron\"",
            "elec tron and elec%20tron",
            "[redacted] and [redacted]",
        ),
        (
            "x-api-key",
            "key/with+slash",
            "raw key\\/with+slash or key/with+slash",
            "raw [redacted] or [redacted]",
        ),
        (
            "x-amz-security-token",
            "session-token-x",
            "session-token-x",
            "[redacted]",
        ),
        (
            "x-api-key",
            "password",
            "password_reset for passwordless",
            "password_reset for passwordless",
        ),
        ("x-api-key", "short", "short", "short"),
        ("x-api-key", "$dollar$$", "a$dollar$$ b", "a[redacted] b"),
        (
            "x-api-key",
            "schlüssel",
            "der schlüssel, die schlüsselung",
            "der [redacted], die schlüsselung",
        ),
        (
            "x-request-id",
            "some-request-id",
            "some-request-id",
            "some-request-id",
        ),
        ("x-api-key", "[redacted]x", "[redacted]x", "[redacted]x"),
    ] {
        assert_eq!(
            with_headers(&[(name, value)], text),
            shown,
            "{name}: {value}"
        );
    }
}

#[test]
fn a_long_secret_goes_even_if_only_its_beginning_is_shown() {
    let secret = "correct horse battery staple ".repeat(4);
    let text = format!("denied: {}... (cut)", &secret[..70]);
    assert_eq!(
        with_headers(&[("x-api-key", &secret)], &text),
        "denied: [redacted]... (cut)"
    );
    let text = format!("denied: {}", &secret[..20]);
    assert_eq!(
        with_headers(&[("x-api-key", &secret)], &text),
        "denied: [redacted]"
    );
}

#[test]
fn what_the_uri_sent_goes() {
    for (uri, text, shown) in [
        (
            "/x?key=sentinel1&page=2",
            "sentinel1 on page 2",
            "[redacted] on page 2",
        ),
        (
            "/x?q=a%20sentinel%2F1",
            "got 'a sentinel/1' (a%20sentinel%2F1)",
            "got '[redacted]' ([redacted])",
        ),
        ("/x?q=two+sentinels", "two sentinels", "[redacted]"),
        ("/x?sentinel1", "sentinel1", "[redacted]"),
        (
            "http://somebody:p%40ssword@h/",
            "somebody p@ssword p%40ssword",
            "[redacted] [redacted] [redacted]",
        ),
        (
            "/bot123:sentinel/x",
            "bot123:sentinel, 123:sentinel, sentinel",
            "[redacted], [redacted], [redacted]",
        ),
        (
            "/h/T0aB1cD2eF3gH4iJ5kL6mN7o",
            "hook T0aB1cD2eF3gH4iJ5kL6mN7o is off",
            "hook [redacted] is off",
        ),
    ] {
        assert_eq!(with_uri(uri, text), shown, "{uri}");
    }
}

#[test]
fn of_too_many_credentials_to_remember_none_is_shown() {
    let flood = "k=sentinel; ".repeat(4_000);
    let shown = with_headers(
        &[("cookie", &flood), ("x-api-key", "sentinel")],
        "no such sentinel",
    );
    assert_eq!(shown, "[redacted]");
    assert_eq!(with_headers(&[("cookie", &flood)], ""), "");
}

#[test]
fn nothing_found_is_nothing_allocated() {
    let secrets = Secrets::of(&headers(&[("authorization", "Bearer opaque-token-1")]), &[]);
    let text = "commentId must be a UUID, see https://docs.example/errors";
    assert!(matches!(scrub(text, &secrets, None), Cow::Borrowed(_)));
}
