//! Whatever a server makes of the secrets that it was sent, none of them is shown in any form.

#![no_main]

use http::Request;
use libfuzzer_sys::fuzz_target;
use tower_diagnose::ResponseExt;
use tower_diagnose_fuzz::{Input, call, run};

/// What the request sends, each as a value of its own.
const SECRETS: [&str; 6] = [
    "SENTINEL-bearer-0001",
    "SENTINEL-cookie-0002",
    "SENTINEL-apikey-0003",
    "SENTINEL-query-0004",
    "SENTINEL-passwd-0005",
    "SENTINEL-marked-0006",
];

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data) else {
        return;
    };
    // The fuzzer learns the words that it is compared with; one that it writes itself may touch another.
    if input.body.windows(8).any(|window| window.eq_ignore_ascii_case(b"SENTINEL")) {
        return;
    }
    // The bytes 0 to 5 stand for the secrets. A secret is looked for as a token, so no word may touch it.
    let mut body = Vec::new();
    for byte in input.body {
        match SECRETS.get(usize::from(*byte)) {
            Some(secret) => {
                body.push(b' ');
                body.extend_from_slice(secret.as_bytes());
                body.push(b' ');
            }
            None => body.push(*byte),
        }
    }
    let mut marked = http::HeaderValue::from_static(SECRETS[5]);
    marked.set_sensitive(true);
    let uri = format!("http://user:{}@host/path/to?key={}", SECRETS[4], SECRETS[3]);
    let request = Request::post(uri)
        .header("authorization", format!("Bearer {}", SECRETS[0]))
        .header("cookie", format!("theme=dark; sid={}", SECRETS[1]))
        .header("x-api-key", SECRETS[2])
        .header("x-marked", marked)
        .body(())
        .expect("a request");
    run(async {
        let response = call(&input.layer(), request, input.response(&body)).await;
        let Some(diagnosis) = response.diagnosis() else {
            return;
        };
        let shown = [
            diagnosis.to_string(),
            format!("{diagnosis:#}"),
            format!("{diagnosis:?}"),
            serde_json::to_string(diagnosis).expect("a diagnosis serializes"),
            serde_json::to_string(&diagnosis.payload("tool")).expect("a payload serializes"),
            diagnosis.message().unwrap_or_default().to_owned(),
            diagnosis.code().unwrap_or_default().to_owned(),
            diagnosis.excerpt().unwrap_or_default().to_owned(),
        ];
        for text in shown {
            for secret in SECRETS {
                assert!(!text.contains(secret), "{secret} is shown: {text:?}");
            }
        }
    });
});
