//! Laws of the line, whatever was sent and whatever came back.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use proptest::prelude::*;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{DiagnoseLayer, Diagnosis, Refused, ResponseExt};

use crate::diagnose_secrets::forms;

/// One that no text holds by chance, of characters that need no escape anywhere.
fn secret(name: &'static str) -> impl Strategy<Value = String> {
    "[a-z0-9]{9,20}".prop_map(move |random| format!("{name}-Q{random}Q"))
}

#[derive(Clone, Debug)]
struct Secrets {
    password: String,
    query: String,
    token: String,
    cookie: String,
    key: String,
    marked: String,
}

impl Secrets {
    fn all(&self) -> [&str; 6] {
        [
            &self.password,
            &self.query,
            &self.token,
            &self.cookie,
            &self.key,
            &self.marked,
        ]
    }
}

fn secrets() -> impl Strategy<Value = Secrets> {
    let part = |name| secret(name);
    (
        part("password"),
        part("query"),
        part("token"),
        part("cookie"),
        part("key"),
        part("marked"),
    )
        .prop_map(|(password, query, token, cookie, key, marked)| Secrets {
            password,
            query,
            token,
            cookie,
            key,
            marked,
        })
}

fn request(secrets: &Secrets, method: Method, path: &str) -> Request<()> {
    let Secrets {
        password,
        query,
        token,
        cookie,
        key,
        marked,
    } = secrets;
    let uri = format!("http://user:{password}@host.example:8080{path}?page=2&secret={query}");
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header("authorization", format!("Bearer {token}"))
        .header("cookie", format!("a=b; session={cookie}"))
        .header("x-api-key", key.as_str())
        .body(())
        .unwrap();
    let mut marked = HeaderValue::from_str(marked).unwrap();
    marked.set_sensitive(true);
    request.headers_mut().insert("x-mine", marked);
    request
}

/// Words, things that break a line, and the numbers of secrets.
fn words() -> impl Strategy<Value = Vec<Result<String, usize>>> {
    let word = prop_oneof![
        "[a-zA-Z]{1,12}",
        "\\PC{0,20}",
        "[\u{0}-\u{1f}\u{7f}-\u{9f}]{1,4}",
        prop::sample::select(vec![
            "<html>",
            "<!DOCTYPE html><p>x</p>",
            "\u{1b}[31mred\u{1b}[0m",
            "\u{2028}",
            "\u{202e}",
            "\u{1f980}",
            "a\r\nb",
            "\"",
            "\\",
            "{\"a\":",
            "]]>",
            "&lt;html&gt;",
            "?",
            "%0a",
        ])
        .prop_map(str::to_owned),
        "x{100,400}",
    ];
    prop::collection::vec(
        prop_oneof![4 => word.prop_map(Ok), 1 => (0..6_usize).prop_map(Err)],
        0..12,
    )
}

fn text(words: &[Result<String, usize>], secrets: &Secrets) -> String {
    let words = words.iter().map(|word| match word {
        Ok(word) => word.clone(),
        Err(number) => secrets.all()[*number].to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A label, and how a text stands in a body of that kind.
fn body(kind: usize, text: &str) -> (&'static str, Vec<u8>) {
    let quoted = serde_json::to_string(text).unwrap();
    let (label, body) = match kind {
        0 => ("application/json", format!("{{\"message\":{quoted}}}")),
        1 => (
            "application/problem+json",
            format!("{{\"title\":\"no\",\"detail\":{quoted}}}"),
        ),
        2 => (
            "application/json",
            format!("{{\"errors\":{{{quoted}:[{quoted}]}}}}"),
        ),
        3 => (
            "application/json",
            format!("{{\"message\":{quoted},\"rest\":{quoted}"),
        ),
        4 => ("text/plain", text.to_owned()),
        5 => (
            "application/xml",
            format!("<Error><Code>X</Code><Message>{text}</Message></Error>"),
        ),
        6 => ("text/html", text.to_owned()),
        7 => (
            "text/event-stream",
            format!("data: {{\"message\":{quoted}}}\n\n"),
        ),
        _ => ("", text.to_owned()),
    };
    (label, body.into_bytes())
}

async fn answered(
    layer: DiagnoseLayer,
    request: Request<()>,
    answer: Response<Full<Bytes>>,
) -> Diagnosis {
    let service = service_fn(|_: Request<()>| async { Ok::<_, BoxError>(answer.clone()) });
    let response = layer.layer(service).oneshot(request).await.unwrap();
    response.diagnosis().unwrap().clone()
}

fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(test)
}

fn holds(diagnosis: &Diagnosis, secrets: &Secrets, method: &Method) -> Result<(), TestCaseError> {
    let line = diagnosis.to_string();
    prop_assert_eq!(&*diagnosis.line(), &line);
    prop_assert!(line.chars().count() <= 300, "{}", line);
    let breaks = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
            )
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    prop_assert!(!line.contains(breaks), "{:?}", line);
    prop_assert!(!line.to_lowercase().contains("<html"), "{}", line);
    prop_assert!(!line.contains("  "), "{:?}", line);
    let mut parts = line.split(' ');
    prop_assert_eq!(parts.next(), Some(method.as_str()), "{}", line);
    let path = parts.next().unwrap_or_default();
    prop_assert!(path.starts_with('/') && !path.contains('?'), "{}", line);
    prop_assert!(path.chars().count() <= 120, "{}", line);
    prop_assert_eq!(
        parts.next().map(|word| word.trim_end_matches(':')),
        Some("failed"),
        "{}",
        line
    );
    for shown in forms(diagnosis) {
        for secret in secrets.all() {
            prop_assert!(!shown.contains(secret), "{} in {}", secret, shown);
        }
    }
    prop_assert!(
        !format!("{line} {diagnosis:?}").contains("host.example"),
        "{}",
        line
    );
    Ok(())
}

fn methods() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![
        Method::GET,
        Method::POST,
        Method::DELETE,
        Method::from_bytes(b"PURGE").unwrap(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_an_answer(
        secrets in secrets(),
        method in methods(),
        path in "(/[a-zA-Z0-9._~%:@-]{0,40}){1,6}",
        status in 400..600_u16,
        kind in 0..9_usize,
        words in words(),
        cap in prop_oneof![Just(16 * 1024), 0..300_usize],
        plain_text: bool,
    ) {
        let (label, body) = body(kind, &text(&words, &secrets));
        let answer = Response::builder()
            .status(StatusCode::from_u16(status).unwrap())
            .header("content-type", label)
            .body(Full::from(body))
            .unwrap();
        let layer = DiagnoseLayer::new().plain_text(plain_text).body_cap(cap);
        let request = request(&secrets, method.clone(), &path);
        let diagnosis = block_on(answered(layer, request, answer));
        holds(&diagnosis, &secrets, &method)?;
    }

    #[test]
    fn of_a_refusal(secrets in secrets(), method in methods(), words in words()) {
        let text = text(&words, &secrets);
        let request = request(&secrets, method.clone(), "/a");
        let service = service_fn(|_: Request<()>| async {
            Err::<Response<Full<Bytes>>, _>(Refused::new(text.clone()))
        });
        let error = block_on(DiagnoseLayer::new().layer(service).oneshot(request)).unwrap_err();
        holds(error.diagnosis(), &secrets, &method)?;
        prop_assert!(error.to_string().ends_with(" (not sent)"), "{}", error);
    }
}
