//! Whatever a server answers, the call ends, the line is one line, and the caller gets the body.

#![no_main]

use http::Request;
use libfuzzer_sys::fuzz_target;
use tower_diagnose::ResponseExt;
use tower_diagnose_fuzz::{Input, Step, assert_is_line, call, frames, run};

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data) else {
        return;
    };
    run(async {
        let request = Request::post("/path/to?a=b").body(()).expect("a request");
        let response = call(&input.layer(), request, input.response(input.body)).await;
        assert_eq!(response.status(), input.status);
        let is_failure = input.status.is_client_error() || input.status.is_server_error();
        assert_eq!(response.diagnosis().is_some(), is_failure);
        if let Some(diagnosis) = response.diagnosis() {
            assert_is_line(&diagnosis.to_string());
            assert!(!format!("{diagnosis:#}").is_empty());
            assert!(serde_json::to_string(diagnosis).is_ok());
            assert!(serde_json::to_string(&diagnosis.payload("tool")).is_ok());
        }
        let mut body = Vec::new();
        for (_, _, step) in frames(response.into_body()).await {
            if let Some(Step::Data(data)) = step {
                body.extend_from_slice(&data);
            }
        }
        assert_eq!(body, input.body);
    });
});
