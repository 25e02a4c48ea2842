use http::{HeaderMap, HeaderName, HeaderValue, header};
use proptest::prelude::*;

use super::*;
use crate::retry_marks::Marks;

fn values(secrets: &Secrets) -> Vec<(bool, String)> {
    secrets
        .values()
        .map(|sent| match sent {
            Sent::Cookie(bytes) => (true, String::from_utf8_lossy(bytes).into_owned()),
            Sent::Value(bytes) => (false, String::from_utf8_lossy(bytes).into_owned()),
        })
        .collect()
}

#[test]
fn credentials_are_told_by_the_name_of_their_header() {
    for name in [
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "api-key",
        "apikey",
        "api_key",
        "x-auth-token",
        "x-access-token",
        "x-csrf-token",
        "private-token",
        "x-amz-security-token",
        "x-goog-api-key",
        "x-functions-key",
        "ocp-apim-subscription-key",
        "dd-application-key",
        "client-secret",
        "x-password",
        "x-hub-signature",
        "x-registry-auth",
        "x-jwt",
    ] {
        let kind = Kind::named(name);
        assert!(matches!(kind, Kind::Credential | Kind::Cookie), "{name}");
        assert_eq!(Kind::of(&HeaderName::from_static(name)), kind, "{name}");
    }
    for name in [
        "accept",
        "accept-language",
        "age",
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "date",
        "host",
        "sec-websocket-key",
        "te",
        "traceparent",
        "user-agent",
        "x-amz-meta-description",
        "x-request-id",
    ] {
        assert_eq!(Kind::named(name), Kind::Ordinary, "{name}");
        let name = HeaderName::from_static(name);
        assert_eq!(Kind::of(&name), Kind::Ordinary, "{name}");
    }
    assert_eq!(Kind::named("idempotency-key"), Kind::IdempotencyKey);
}

#[test]
fn nothing_to_remember_takes_no_block() {
    let mut headers = HeaderMap::new();
    assert!(Secrets::of(&headers, &[]).block.is_none());
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::AUTHORIZATION, HeaderValue::from_static("short"));
    assert!(Secrets::of(&headers, &[]).block.is_none());
    assert!(size_of::<Secrets>() <= 16);
}

#[test]
fn every_value_of_a_credential_is_remembered_once_in_one_block() {
    let mut headers = HeaderMap::new();
    headers.append(header::COOKIE, HeaderValue::from_static("a=12345678"));
    headers.append(header::COOKIE, HeaderValue::from_static("b=87654321"));
    headers.insert("x-mine", HeaderValue::from_static("named by the user"));
    headers.insert("x-other", HeaderValue::from_static("ordinary value"));
    let mut marked = HeaderValue::from_static("marked sensitive");
    marked.set_sensitive(true);
    headers.insert("x-marked", marked);
    let secrets = Secrets::of(&headers, &[HeaderName::from_static("x-mine")]);
    let mut found = values(&secrets);
    found.sort();
    assert_eq!(
        found,
        [
            (false, "marked sensitive".to_owned()),
            (false, "named by the user".to_owned()),
            (true, "a=12345678".to_owned()),
            (true, "b=87654321".to_owned()),
        ]
    );
    assert!(!secrets.is_over_cap());
    assert_eq!(format!("{secrets:?}"), "Secrets([redacted])");
}

#[test]
fn more_than_the_cap_is_remembered_as_such() {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&"x".repeat(CAP - 2)).unwrap();
    headers.insert(header::AUTHORIZATION, value);
    let secrets = Secrets::of(&headers, &[]);
    assert!(!secrets.is_over_cap());
    assert_eq!(values(&secrets).len(), 1);
    headers.insert("x-api-key", HeaderValue::from_static("one more"));
    let secrets = Secrets::of(&headers, &[]);
    assert!(secrets.is_over_cap());
    assert!(values(&secrets).is_empty());
}

#[test]
fn a_session_that_is_marked_sensitive_is_remembered_too() {
    let mut session = HeaderValue::from_static("a-session-of-somebody");
    let sighted = |session: &HeaderValue, extra: &[HeaderName]| {
        let name = HeaderName::from_static("mcp-session-id");
        let headers = HeaderMap::from_iter([(name, session.clone())]);
        let sighted = Sighted::of(&headers, extra);
        assert!(sighted.noted.has_mcp_session());
        sighted.secrets.block.is_some()
    };
    assert!(!sighted(&session, &[]));
    assert!(sighted(
        &session,
        &[HeaderName::from_static("mcp-session-id")]
    ));
    session.set_sensitive(true);
    assert!(sighted(&session, &[]));
}

/// How the names of credentials end, and what else names end in.
const LAST: &[&str] = &[
    "token",
    "cookie",
    "secret",
    "password",
    "auth",
    "jwt",
    "-jwt",
    "-key",
    "_key",
    "apikey",
    "signature",
    "credentials",
    "authorization",
    "idempotency-key",
    "session-id",
    "mcp-session-id",
    "connection",
];

proptest! {
    #[test]
    fn what_is_told_by_four_letters_is_what_a_look_at_whole_names_tells(
        names in proptest::collection::vec(
            ("[a-z0-9-]{0,12}", proptest::option::of(proptest::sample::select(LAST)), "[!-~]{0,20}", any::<bool>()),
            0..6,
        ),
        mine in any::<bool>(),
    ) {
        let mut headers = HeaderMap::new();
        for (start, end, value, sensitive) in names {
            let Ok(name) = HeaderName::try_from(start + end.unwrap_or_default()) else {
                continue;
            };
            let mut value = HeaderValue::try_from(value).unwrap();
            value.set_sensitive(sensitive);
            headers.append(name, value);
        }
        let extra = match headers.keys().next() {
            Some(name) if mine => vec![name.clone()],
            _ => Vec::new(),
        };
        let mut expected = Vec::new();
        for (name, value) in &headers {
            let kind = Kind::named(name.as_str());
            prop_assert_eq!(kind, Kind::of(name), "{}", name);
            prop_assert!(kind == Kind::Ordinary || Kind::may_matter(name), "{name}");
            if is_secret(kind, name, value, &extra) {
                let text = value.to_str().unwrap().to_owned();
                expected.push((name.as_str().ends_with("cookie"), text));
            }
        }
        prop_assert_eq!(values(&Secrets::of(&headers, &extra)), expected);
        let sighted = Sighted::of(&headers, &extra);
        prop_assert_eq!(sighted.noted.has_mcp_session(), headers.contains_key(MCP_SESSION_ID));
        prop_assert_eq!(sighted.noted.has_idempotency_key(), Marks::of(&headers).has_idempotency_key(&headers));
    }
}
