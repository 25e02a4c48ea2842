use http::Request;
use proptest::prelude::*;

use super::*;

fn round_trip(head: &Parts) -> Option<Parts> {
    let mut snapshot = Snapshot::empty();
    let request = Request::from_parts(head.clone(), ());
    let head = Head::of(&request);
    snapshot.fill(head);
    assert_eq!(snapshot.long.is_empty(), length(head) <= IN_PLACE);
    snapshot.restore()
}

fn assert_same(head: &Parts, again: &Parts) {
    assert_eq!(head.method, again.method);
    assert_eq!(head.version, again.version);
    assert_eq!(head.uri, again.uri);
    // `Uri` compares a host without regard to case.
    assert_eq!(head.uri.to_string(), again.uri.to_string());
    assert_eq!(head.uri.path_and_query(), again.uri.path_and_query());
    assert_eq!(lines(&head.headers), lines(&again.headers));
    assert_eq!(head.headers, again.headers);
    assert!(again.extensions.is_empty());
}

fn lines(headers: &HeaderMap) -> Vec<(&HeaderName, &[u8], bool)> {
    headers
        .iter()
        .map(|(name, value)| (name, value.as_bytes(), value.is_sensitive()))
        .collect()
}

fn head(method: &str, uri: Uri) -> Parts {
    let request = Request::builder().method(method).uri(uri);
    request.body(()).unwrap().into_parts().0
}

#[test]
fn every_form_of_uri_survives() {
    let scheme = "git+SSH".parse().unwrap();
    let odd = http::uri::Builder::new()
        .scheme::<Scheme>(scheme)
        .authority("h")
        .path_and_query("?q");
    let long = format!("http://h/{}", "x".repeat(60_000)).parse().unwrap();
    for uri in [
        Uri::from_static("/"),
        Uri::from_static("*"),
        Uri::from_static("/a/b?c=d&e"),
        Uri::from_static("/a?"),
        Uri::from_static("example.com:443"),
        Uri::from_static("u:p@Example.COM:443"),
        Uri::from_static("[::1]:8080"),
        Uri::from_static("x"),
        Uri::from_static("http://example.com"),
        Uri::from_static("http://example.com?q=1"),
        Uri::from_static("HTTPS://User:Pass@Example.com:8443/A/b%20c?d=e/f?g"),
        Uri::from_static("ws+unix://h/%2Fvar"),
        // What parsing cannot give and building can.
        Uri::from(PathAndQuery::from_static("?a=b")),
        Uri::builder().path_and_query("").build().unwrap(),
        odd.build().unwrap(),
        "/caf\u{e9}".parse().unwrap_or_default(),
        long,
    ] {
        for method in ["GET", "CONNECT"] {
            let head = head(method, uri.clone());
            assert_same(&head, &round_trip(&head).unwrap());
        }
    }
}

#[test]
fn every_method_and_version_survives() {
    let long = "x".repeat(3000);
    for method in [
        "GET",
        "PATCH",
        "QUERY",
        "!#$%&'*+-.^_`|~",
        "propfind",
        &long,
    ] {
        for version in [
            Version::HTTP_09,
            Version::HTTP_10,
            Version::HTTP_11,
            Version::HTTP_2,
            Version::HTTP_3,
        ] {
            let mut head = head(method, Uri::from_static("/"));
            head.version = version;
            assert_same(&head, &round_trip(&head).unwrap());
        }
    }
}

#[test]
fn a_head_fits_in_place_to_the_byte() {
    let value = HeaderValue::from_bytes(b"\t \xff\x80 \t").unwrap();
    let last = IN_PLACE - 34 - Mark::LENGTH - 1;
    for fill in [0, 1, 500, last - 1, last, last + 1, 1000, 100_000] {
        let mut head = head("PUT", Uri::from_static("http://h/a"));
        head.headers.insert("a", HeaderValue::from_static(""));
        head.headers.insert("b", value.clone());
        assert_eq!(length(Head::of(&Request::from_parts(head.clone(), ()))), 34);
        let fill = HeaderValue::from_bytes(&vec![b'x'; fill]).unwrap();
        head.headers.insert("c", fill);
        assert_same(&head, &round_trip(&head).unwrap());
    }
}

#[test]
fn a_map_as_large_as_can_be_survives() {
    let mut head = head("GET", Uri::from_static("/"));
    for index in 0..24_576 {
        let name = HeaderName::try_from(format!("x-{index}")).unwrap();
        head.headers.insert(name, HeaderValue::from(index));
        if index % 5000 == 0 {
            head.headers.append("x-0", HeaderValue::from(index));
        }
    }
    assert_same(&head, &round_trip(&head).unwrap());
}

fn any_name() -> impl Strategy<Value = HeaderName> {
    let long = "x".repeat(300);
    let names = ["accept", "cookie", "a", "b", "c", "!#$%&'*+.^_`|~-0", &long];
    prop::sample::select(
        names
            .map(|name| HeaderName::try_from(name).unwrap())
            .to_vec(),
    )
}

fn any_value() -> impl Strategy<Value = HeaderValue> {
    (prop::collection::vec(any::<u8>(), 0..60), any::<bool>()).prop_map(|(mut bytes, sensitive)| {
        for byte in &mut bytes {
            if byte.is_ascii_control() {
                *byte = b'\t';
            }
        }
        let mut value = HeaderValue::from_bytes(&bytes).unwrap();
        value.set_sensitive(sensitive);
        value
    })
}

proptest! {
    #[test]
    fn headers_come_back_in_order_with_their_marks(
        lines in prop::collection::vec((any_name(), any_value(), any::<bool>()), 0..20),
        removed in any_name(),
        path in "/[a-z]{0,20}(\\?[a-z=&]{0,20})?",
    ) {
        let mut head = head("POST", path.parse().unwrap());
        for (name, value, replaces) in lines {
            if replaces {
                head.headers.insert(name, value);
            } else {
                head.headers.append(name, value);
            }
        }
        // Taking one out leaves the others in another order.
        head.headers.remove(&removed);
        let again = round_trip(&head).unwrap();
        assert_same(&head, &again);
        // And what came back can be kept and come back again.
        assert_same(&head, &round_trip(&again).unwrap());
    }
}
