use super::*;
use crate::path::REDACTED;

fn redacted(headers: &HeaderMap, extra: &[HeaderName]) -> RedactedHeaders {
    let head = Head::read(headers, extra);
    let mut rows = String::new();
    head.write_rows(&mut rows);
    RedactedHeaders::of_rows(&rows, head.omitted())
}

fn map(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_bytes(value).unwrap(),
            )
        })
        .collect()
}

#[test]
fn only_what_is_allowed_is_shown() {
    for (name, value, shown) in [
        (
            "content-type",
            b"text/html; charset=x".as_slice(),
            "text/html; charset=x",
        ),
        ("content-length", b"12", "12"),
        ("retry-after", b"3", "3"),
        ("server", b"nginx\t \xe2\x80\xae1.2", "nginx 1.2"),
        ("via", b"1.1 varnish", "1.1 varnish"),
        (
            "date",
            b"Tue, 01 Dec 2026 00:00:00 GMT",
            "Tue, 01 Dec 2026 00:00:00 GMT",
        ),
        ("x-request-id", b"r-1", "r-1"),
        ("cf-ray", b"8f-FRA", "8f-FRA"),
        ("server", b"bytes \xff\xfe", "bytes \u{fffd}\u{fffd}"),
        ("set-cookie", b"sid=SENTINEL", "[redacted]"),
        ("location", b"/u?sig=SENTINEL", "[redacted]"),
        ("www-authenticate", b"Bearer realm=SENTINEL", "[redacted]"),
        ("x-anything", b"", "[redacted]"),
    ] {
        let shown_headers = redacted(&map(&[(name, value)]), &[]);
        assert_eq!(shown_headers.get(name), Some(shown), "{name}");
        assert_eq!(shown_headers.to_string(), format!("{name}: {shown}"));
        assert_eq!(
            format!("{shown_headers:?}"),
            format!("{{{name:?}: {shown:?}}}")
        );
        let json = serde_json::to_string(&shown_headers).unwrap();
        assert_eq!(json, format!("{{{name:?}:{shown:?}}}"));
    }
}

#[test]
fn sensitive_values_and_those_of_extra_names_are_never_shown() {
    let mut headers = map(&[("server", b"nginx"), ("x-request-id", b"r-1")]);
    let extra = [HeaderName::from_static("server")];
    headers.get_mut("x-request-id").unwrap().set_sensitive(true);
    let shown = redacted(&headers, &extra);
    assert_eq!(shown.get("server"), Some("[redacted]"));
    assert_eq!(shown.get("x-request-id"), Some("[redacted]"));
    assert_eq!(request_id(&headers), None);
}

#[test]
fn what_looks_like_a_credential_is_not_shown_as_an_id() {
    for secret in [
        "sk-abcdef12",
        "AKIASENTINEL",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
    ] {
        let shown = redacted(&map(&[("x-request-id", secret.as_bytes())]), &[]);
        assert!(shown.get("x-request-id").unwrap().starts_with(REDACTED));
    }
}

#[test]
fn a_flood_is_cut() {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&"x".repeat(10_000)).unwrap();
    for index in 0..1_000 {
        let name = HeaderName::try_from(format!("x-{}-{index}", "n".repeat(100))).unwrap();
        headers.insert(name, value.clone());
        headers.append("server", value.clone());
    }
    let shown = redacted(&headers, &[]);
    assert_eq!(shown.iter().count(), 64);
    assert!(shown.lines.len() < 64 * 280);
    assert!(shown.to_string().ends_with("… (1936 more headers)"));
    assert!(redacted(&HeaderMap::new(), &[]).is_empty());
}

#[test]
fn the_most_telling_id_is_taken() {
    const TRACE: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (pairs, id) in [
        (&[("x-request-id", b"r-1".as_slice())][..], Some("r-1")),
        (
            &[("cf-ray", b"8f-FRA"), ("x-request-id", b"r-1")],
            Some("r-1"),
        ),
        (
            &[("x-request-id", b""), ("cf-ray", b"8f-FRA")],
            Some("8f-FRA"),
        ),
        (&[("x-correlation-id", b"c-1")], Some("c-1")),
        (&[("request-id", b"q-1")], Some("q-1")),
        (&[("x-amzn-requestid", b"a-1")], Some("a-1")),
        (&[("x-ms-request-id", b"m-1")], Some("m-1")),
        (
            &[("traceparent", TRACE)],
            Some("4bf92f3577b34da6a3ce929d0e0e4736"),
        ),
        (
            &[(
                "traceparent",
                b"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            )],
            None,
        ),
        (&[("traceparent", b"nonsense")], None),
        (
            &[("x-cloud-trace-context", b"105445aa/1;o=1")],
            Some("105445aa"),
        ),
        (&[("x-request-id", b"two words")], None),
        (&[("x-request-id", b"caf\xc3\xa9")], None),
        (&[("x-request-id", b"\xff")], None),
        (&[("x-request-id", &[b'x'; 128])], Some(&"x".repeat(128))),
        (&[("x-request-id", &[b'x'; 129])], None),
        (&[("content-type", b"text/html")], None),
    ] {
        let headers = map(pairs);
        assert_eq!(request_id(&headers).as_deref(), id, "{pairs:?}");
        assert_eq!(Head::read(&headers, &[]).request_id, id, "{pairs:?}");
    }
}

#[test]
fn an_id_that_is_a_credential_is_not_kept() {
    for (id, kept) in [
        ("eyJhbGciOiJIUzI1NiJ9.eyJzIjoxfQ.c2lnbmF0dXJl", "[redacted]"),
        ("r-1/sk-0123456789abcdef", "r-1/[redacted]"),
        (
            "0e6f1c52-5a4e-4f0b-9d52-000000000001",
            "0e6f1c52-5a4e-4f0b-9d52-000000000001",
        ),
    ] {
        let headers = map(&[("x-request-id", id.as_bytes())]);
        assert_eq!(request_id(&headers).as_deref(), Some(kept));
    }
}
