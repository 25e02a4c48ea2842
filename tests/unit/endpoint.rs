use proptest::prelude::*;

use super::*;
use crate::address::Address;

fn endpoint(method: &str, uri: &str) -> Endpoint {
    Endpoint::of(&Request::builder().method(method).uri(uri).body(()).unwrap())
}

#[test]
fn prints_method_and_path_and_never_the_rest() {
    let long = format!("http://h/{}", "a/".repeat(100));
    for (method, uri, short, url) in [
        (
            "GET",
            "/api/modules?key=1",
            "GET /api/modules",
            "/api/modules",
        ),
        ("GET", "http://u:p@h:1/a?b#c", "GET /a", "http://h:1/a"),
        ("POST", "https://h", "POST /", "https://h/"),
        ("OPTIONS", "*", "OPTIONS *", "*"),
        ("CONNECT", "u:p@h:443", "CONNECT h:443", "h:443"),
        (
            "GET",
            "/bot1:abc/x",
            "GET /bot[redacted]/x",
            "/bot[redacted]/x",
        ),
        (
            "GET",
            &long,
            &format!("GET /{}a/a/a/a/…", "a/".repeat(55)),
            &long,
        ),
    ] {
        let endpoint = endpoint(method, uri);
        assert_eq!(endpoint.to_string(), short, "{uri}");
        assert_eq!(format!("{endpoint:#}"), url, "{uri}");
    }
}

#[test]
fn a_template_replaces_the_path_and_keeps_the_origin() {
    let endpoint = endpoint("GET", "http://h:1/users/42").with_path("/users/{id}");
    assert_eq!(endpoint.to_string(), "GET /users/{id}");
    assert_eq!(format!("{endpoint:#}"), "http://h:1/users/{id}");
}

fn with_query(method: &Method, uri: &http::Uri) -> Target {
    let mut target = Target::nothing();
    target.keep_whole(method, uri);
    target
}

#[test]
fn how_it_is_stored_does_not_show() {
    let uri = "http://host.example/a/path?with=query";
    let request = Request::builder().uri(uri).body(()).unwrap();
    let copied = Target::of(&request).into_endpoint();
    let cloned = with_query(request.method(), request.uri()).into_endpoint();
    assert_eq!(copied, cloned);
    assert_eq!(
        format!("{copied:#} {copied}"),
        format!("{cloned:#} {cloned}")
    );
}

#[test]
fn what_a_layer_keeps_is_small_and_loses_nothing() {
    assert!(size_of::<Target>() <= 96, "{}", size_of::<Target>());
    let long = format!("https://user:secret@h/{}", "a/".repeat(100));
    for (method, uri) in [
        ("GET", "http://user:secret@h:1/a?b=secret"),
        ("CONNECT", "user:secret@h:443"),
        ("PROPFIND", "http://h/a?b=secret"),
        ("PURGE", "/a"),
        ("OPTIONS", "*"),
        ("GET", "ftp://h/a"),
        ("PATCH", &long),
    ] {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let (plain, whole) = (
            Target::of(&request),
            with_query(request.method(), request.uri()),
        );
        assert_eq!(plain.method(), method);
        assert_eq!(plain.endpoint(), whole.endpoint(), "{uri}");
        assert!(!format!("{plain:?} {whole:?}").contains("secret"), "{uri}");
        assert_eq!(whole.method(), method);
        let (sent, uri) = (whole.address(), request.uri());
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        assert_eq!(sent.authority, authority, "{uri}");
        assert_eq!(
            (sent.path, sent.query),
            (uri.path(), uri.query().unwrap_or_default())
        );
    }
}

#[test]
fn a_blank_template_does_not_hide_the_method() {
    let mut request = Request::post("/users/42").body(()).unwrap();
    request
        .extensions_mut()
        .insert(crate::record::PathTemplate::new(""));
    let target = Target::templated(&request);
    assert_eq!(target.method(), Method::POST);
    assert_eq!(target.endpoint().to_string(), "POST /users/42");
}

#[test]
fn a_path_that_is_not_there_reads_as_the_root() {
    assert_eq!(Target::nothing().endpoint().to_string(), "GET /");
    let request = Request::post("http://h?b=secret").body(()).unwrap();
    let endpoint = Endpoint::of(&request);
    assert_eq!(format!("{endpoint} {endpoint:#}"), "POST / http://h/");
}

#[test]
fn what_is_kept_in_place_is_given_back_as_it_came_or_not_kept() {
    let long = format!("http://h/{}", "x".repeat(100));
    for (uri, fits) in [
        ("/", true),
        ("*", true),
        ("/a/b?c=d&e", true),
        ("/a?", true),
        ("example.com:443", true),
        ("u:p@Example.COM:443", true),
        ("[::1]:8080", true),
        ("http://example.com", true),
        ("HTTPS://User:Pass@Example.com:8443/A/b%20c?d=e/f?g", true),
        ("http://example.com?q=1", false),
        ("ws+unix://h/%2Fvar", false),
        (&long, false),
    ] {
        let uri: http::Uri = uri.parse().unwrap();
        let mut copied = Copied::NOTHING;
        let kept = copied.keep_whole(&Method::PATCH, &uri);
        assert_eq!(kept.is_some(), fits, "{uri}");
        if !fits {
            continue;
        }
        let (method, again) = copied.restore().unwrap();
        assert_eq!((method, &again), (Method::PATCH, &uri));
        // `Uri` compares a host without regard to case.
        assert_eq!(again.to_string(), uri.to_string());
        assert_eq!(again.path_and_query(), uri.path_and_query());
    }
}

#[test]
fn a_plain_url_is_printed_as_any_other() {
    for uri in [
        "/",
        "*",
        "/a/b",
        "/a?b=c",
        "http://h:1/a/b",
        "https://h",
        "http://u@h/a",
        "example.com:443",
        "/bot1:abc/x",
        "/a/boat/bees",
        "/keys/sk-test-1234567890",
    ] {
        for method in [Method::GET, Method::CONNECT, Method::DELETE] {
            let target = with_query(&method, &uri.parse().unwrap());
            let endpoint = target.address().endpoint(&method);
            for plain in target
                .plain()
                .map(|plain| Endpoint::from(*plain))
                .into_iter()
                .chain([target.endpoint()])
            {
                assert_eq!(plain, endpoint, "{uri}");
                assert_eq!(
                    format!("{plain} {plain:#}"),
                    format!("{endpoint} {endpoint:#}")
                );
            }
        }
    }
}

/// A segment of a path, as long as what matters is, and what may be a secret in it.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_.~;@:=+-]{0,6}",
        "[aA1b%-]{22,26}",
        "(aB1%2F){3,6}",
        "[bB][oO][tT][0-9]{0,2}(:|%3A|%3a|;)?[a-z]{0,3}",
        "(sk-|AKIA|SG\\.|eyJ|ghp_|sk_live_|Bearer|x)[a-zA-Z0-9.]{0,24}",
        "[äß€]{0,12}[aA1]{0,3}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_printed_of_a_uri_is_what_the_exact_way_makes_of_it(
        method in proptest::sample::select(vec!["GET", "POST", "CONNECT", "OPTIONS", "PURGE"]),
        origin in proptest::sample::select(vec![
            "", "http://h", "https://h:1", "http://u:p@h", "HTTP://[::1]:80", "ftp://h", "http://%40:@h",
        ]),
        segments in proptest::collection::vec(segment(), 0..8),
        query in "(\\?[a-z?/=@&]{0,9})?(#[a-z?]{0,3})?",
        padding in 0_usize..100,
        pads in any::<bool>(),
    ) {
        let mut path: String = segments.iter().map(|segment| format!("/{segment}")).collect();
        if pads && path.len() < padding {
            path.push('/');
            path.push_str(&"x/".repeat(padding / 2)[..padding.saturating_sub(path.len())]);
        }
        let uri = format!("{origin}{path}{query}");
        let Ok(request) = Request::builder().method(method).uri(&uri).body(()) else {
            return Ok(());
        };
        let (sent, uri) = (request.uri(), request.uri().to_string());
        let exact = Address { is_odd: true, ..Address::of(sent) };
        let expected = exact.endpoint(request.method());
        for target in [Target::of(&request), Target::whole(&request)] {
            for endpoint in target.plain().map(|plain| Endpoint::from(*plain)).into_iter().chain([target.endpoint()]) {
                prop_assert_eq!(&endpoint, &expected, "{}", uri);
                prop_assert_eq!(format!("{endpoint} {endpoint:#}"), format!("{expected} {expected:#}"));
            }
            prop_assert_eq!(format!("{target:?}"), format!("{expected:?}"));
        }
        let whole = Target::whole(&request);
        let (kept, all) = (whole.address(), Address::of(sent));
        prop_assert_eq!(
            [kept.scheme, kept.authority, kept.path, kept.query],
            [all.scheme, all.authority, all.path, all.query]
        );
        prop_assert_eq!(kept.is_odd, all.is_odd);
        // Where nothing odd is seen, nothing that was sent needs to be looked for.
        if whole.plain().is_some() {
            prop_assert!(all.query.is_empty() && !all.authority.contains('@') && !all.is_odd, "{uri}");
        }
    }
}
