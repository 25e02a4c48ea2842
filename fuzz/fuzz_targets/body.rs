//! Whatever a body does, the caller sees what it would have seen without the layer.

#![no_main]

use std::collections::VecDeque;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use libfuzzer_sys::fuzz_target;
use tower_diagnose::DiagnoseLayer;
use tower_diagnose_fuzz::{Scripted, Step, call, frames, run};

/// Reads a script: a byte for the body cap, one for whether the size is known, then steps of two bytes.
fn script(data: &[u8]) -> Option<(usize, Scripted)> {
    let [cap, is_sized, steps @ ..] = data else {
        return None;
    };
    let mut script = VecDeque::new();
    let mut ends = false;
    for step in steps.chunks_exact(2).take(64) {
        let (kind, value) = (step[0], step[1]);
        script.push_back(match kind % 8 {
            0..=3 => Step::Data(Bytes::from(vec![value; usize::from(kind / 8)])),
            4 | 5 => Step::Pending,
            6 => Step::Trailers(value),
            _ => Step::Fail,
        });
        // Nothing follows trailers or an error.
        ends = matches!(script.back(), Some(Step::Trailers(_) | Step::Fail));
        if ends {
            break;
        }
    }
    // A body of known size keeps its word, and ends.
    let is_sized = is_sized % 2 == 1 && !matches!(script.back(), Some(Step::Fail));
    if !ends && matches!(script.back(), Some(Step::Pending)) {
        script.push_back(Step::Data(Bytes::from_static(b"end")));
    }
    Some((usize::from(*cap), Scripted::new(script, is_sized)))
}

fuzz_target!(|data: &[u8]| {
    let Some((cap, body)) = script(data) else {
        return;
    };
    run(async {
        let bare = frames(body.clone()).await;
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::BAD_REQUEST;
        let layer = DiagnoseLayer::new().body_cap(cap);
        let request = Request::post("/path/to").body(()).expect("a request");
        let wrapped = frames(call(&layer, request, response).await.into_body()).await;
        assert_eq!(wrapped, bare);
    });
});
