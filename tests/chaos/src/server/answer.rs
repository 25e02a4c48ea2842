//! Answers, before they are written in one version of HTTP or the other.

use crate::{plan::CallPlan, random::Random};

use super::words::{self, Words};

/// What the server answers, if nothing goes wrong on the way.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// Interim answers before the answer.
    pub(super) interim: Vec<u16>,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// The body goes on and on after that.
    pub(super) is_endless: bool,
    pub(super) trailers: Vec<(String, String)>,
    /// The method or the status leaves no room for a body.
    pub(super) is_bare: bool,
}

impl Answer {
    /// Draws an answer to `call`; it fails so many times in a hundred.
    pub(super) fn draw(random: &mut Random, call: &CallPlan, failing: u64, wrong: bool) -> Self {
        let fails = random.percent(failing.max(10));
        let status = if fails {
            *random.pick(&[
                400, 401, 403, 404, 407, 408, 409, 421, 422, 425, 429, 429, 500, 501, 502, 503,
                503, 503, 504, 505, 511, 529, 599, 600, 999,
            ])
        } else {
            *random.pick(&[200, 200, 200, 200, 201, 204, 206, 302, 304])
        };
        let Words {
            kind,
            encoding,
            text,
        } = if fails {
            words::failing(random, call)
        } else {
            words::good(random, call)
        };
        let mut headers = vec![
            ("content-type".to_owned(), kind.to_owned()),
            (
                "x-request-id".to_owned(),
                format!("req-{}", random.below(1_000)),
            ),
        ];
        let mut put = |name: &str, value: String| headers.push((name.to_owned(), value));
        if let Some(encoding) = encoding {
            put("content-encoding", encoding.to_owned());
        }
        for _ in 0..if fails { random.below(3) } else { 0 } {
            put("retry-after", retry_after(random));
        }
        if random.percent(4) {
            put(
                "retry-after-ms",
                random
                    .pick(&["5", "20", "-1", "x", "99999999999999999999"])
                    .to_string(),
            );
        }
        if random.percent(10) {
            put(
                "set-cookie",
                "sid=SENTINEL-set-by-the-server; HttpOnly".to_owned(),
            );
        }
        if random.percent(4) {
            put("x-request-id", "line\tbreak ".repeat(20));
        }
        if wrong && random.percent(10) {
            let (count, length) =
                *random.pick(&[(200, 10), (50, 1_000), (3, 30_000), (600, 1_000)]);
            for index in 0..count {
                put(&format!("x-flood-{index}"), "y".repeat(length));
            }
        }
        let interim = if wrong && random.percent(15) {
            let count = *random.pick(&[1, 3, 50, 500]);
            vec![*random.pick(&[100, 102, 103, 199]); count]
        } else {
            Vec::new()
        };
        let is_endless = wrong && random.percent(5);
        let mut body = text;
        if is_endless {
            // What follows is no part of the last word.
            body.push(b'\n');
        }
        Self {
            interim,
            status,
            headers,
            body,
            is_endless,
            trailers: if random.percent(10) {
                let status = random.pick(&["0", "5", "14", "x"]).to_string();
                vec![
                    ("grpc-status".to_owned(), status),
                    ("grpc-message".to_owned(), "not%20found".to_owned()),
                ]
            } else {
                Vec::new()
            },
            is_bare: call.method == http::Method::HEAD || matches!(status, 204 | 304),
        }
    }
}

fn retry_after(random: &mut Random) -> String {
    match random.below(12) {
        0..3 => random.below(4).to_string(),
        3 => random.below(100).to_string(),
        4 => "Wed, 21 Oct 2015 07:28:00 GMT".to_owned(),
        5 => "Fri, 31 Dec 9999 23:59:59 GMT".to_owned(),
        6 => "Sunday, 06-Nov-94 08:49:37 GMT".to_owned(),
        7 => "99999999999999999999999999".to_owned(),
        8 => "-5".to_owned(),
        9 => "1.5".to_owned(),
        10 => String::new(),
        _ => "soon".to_owned(),
    }
}
