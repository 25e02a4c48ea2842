//! What the server says, and what it should better not have said.

use crate::{plan::CallPlan, random::Random};

/// A body with the type that it claims.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) kind: &'static str,
    pub(super) encoding: Option<&'static str>,
    pub(super) text: Vec<u8>,
}

const JSON: &str = "application/json";

/// Draws the body of a failing answer.
pub(super) fn failing(random: &mut Random, call: &CallPlan) -> Words {
    let sentence = sentence(random, call);
    let quoted = sentence.replace('\\', "\\\\").replace('"', "\\\"");
    let quoted: String = quoted
        .chars()
        .flat_map(|c| match c {
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)).chars().collect(),
            c => vec![c],
        })
        .collect();
    let (kind, text) = match random.below(22) {
        0 => (JSON, format!(r#"{{"message":"{quoted}"}}"#)),
        1 => (
            JSON,
            format!(r#"{{"error":{{"message":"{quoted}","code":"bad_thing"}}}}"#),
        ),
        2 => (
            "application/problem+json",
            format!(r#"{{"title":"Bad","detail":"{quoted}","status":400}}"#),
        ),
        3 => (
            JSON,
            format!(r#"{{"errors":{{"name":["{quoted}"],"age":["too young"]}}}}"#),
        ),
        4 => (
            JSON,
            format!(r#"[{{"error":"invalid_grant","error_description":"{quoted}"}}]"#),
        ),
        5 => (
            JSON,
            format!(r#"{{"detail":[{{"loc":["body","a"],"msg":"{quoted}"}}]}}"#),
        ),
        // Not what it should look at.
        6 => (
            JSON,
            format!(r#"{{"stack":"{quoted}","config":{{"message":"{quoted}"}}}}"#),
        ),
        7 => ("text/plain; charset=utf-8", sentence),
        8 => (
            "text/html",
            format!("<html><body><h1>{sentence}</h1></body></html>"),
        ),
        // HTML whatever the label says.
        9 => (
            JSON,
            format!("<!DOCTYPE html>\n<html><title>{sentence}</title></html>"),
        ),
        10 => (
            "text/plain",
            format!("  <html><body>{sentence}</body></html>"),
        ),
        11 => (
            JSON,
            format!(r#"{{"message":"<html><body>{quoted}</body></html>"}}"#),
        ),
        12 => (
            "application/xml",
            format!("<Error><Code>NoSuchKey</Code><Message>{sentence}</Message></Error>"),
        ),
        13 => (
            "application/x-www-form-urlencoded",
            format!(
                "error=invalid&error_description={}",
                sentence.replace(' ', "+")
            ),
        ),
        14 => (
            "text/event-stream",
            format!("event: error\ndata: {{\"message\":\"{quoted}\"}}\n\n"),
        ),
        // Cut short, in the middle of whatever.
        15 | 16 => {
            let mut text = format!(r#"{{"a":[1,2],"message":"{quoted}","more":"{quoted}"}}"#);
            let mut at = random.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.truncate(at);
            (JSON, text)
        }
        17 => (JSON, "[".repeat(1 + random.index(40_000))),
        18 => (
            JSON,
            format!(r#""{}{quoted}""#, "pad ".repeat(random.index(6_000))),
        ),
        19 => {
            let length = random.index(20_000);
            return Words {
                kind: "application/octet-stream",
                encoding: None,
                text: random.noise(length),
            };
        }
        20 => (JSON, String::new()),
        _ => (
            JSON,
            format!(
                r#"{{"message":"{}","error":"x","code":17}}"#,
                format!("{quoted} | ").repeat(30)
            ),
        ),
    };
    Words {
        kind,
        encoding: random.percent(6).then_some("gzip"),
        text: text.into_bytes(),
    }
}

/// Draws the body of a good answer. With some protocols, it is not so good.
pub(super) fn good(random: &mut Random, call: &CallPlan) -> Words {
    let (kind, text) = match random.below(9) {
        0 => (JSON, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#.to_owned()),
        1 => (JSON, r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"disk full"}]}}"#.to_owned()),
        2 => (JSON, r#"{"data":null,"errors":[{"message":"unknown field"}]}"#.to_owned()),
        3 => (JSON, r#"{"ok":false,"error":"channel_not_found"}"#.to_owned()),
        4 => ("text/event-stream", "data: tick\n\ndata: tock\n\n".to_owned()),
        5 => ("text/plain", "x".repeat(random.index(100_000))),
        6 => ("text/plain", sentence(random, call)),
        7 => ("text/plain", String::new()),
        _ => (JSON, r#"{"fine":true}"#.to_owned()),
    };
    Words {
        kind,
        encoding: None,
        text: text.into_bytes(),
    }
}

fn sentence(random: &mut Random, call: &CallPlan) -> String {
    let secret = if call.secrets.is_empty() {
        "nothing"
    } else {
        random.pick(&call.secrets).as_str()
    };
    match random.below(12) {
        0 => "widget 17 is missing".to_owned(),
        1 => format!("the token {secret} has expired"),
        2 => format!("got 'Authorization: Bearer {secret}', expected another"),
        3 => format!("see https://user:hunter2hunter2@help.example/e?token={secret}&x=1 for more"),
        4 => format!("cookie theme=dark; sid={secret} is stale"),
        5 => "line one\r\nline two\u{1b}[31m red\u{202e} evil\u{2028}end\u{7}".to_owned(),
        6 => "Größe überschritten \u{1f980} 文字化け ".repeat(1 + random.index(40)),
        7 => "word ".repeat(random.index(3_000)),
        8 => secret.to_owned(),
        9 => format!("{{\"message\":\"inner {secret} words\"}}"),
        10 => format!("password={secret}, and that's \"that\""),
        _ => "x".repeat(random.index(1_000)),
    }
}
