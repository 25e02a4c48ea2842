//! What must hold of every text that is printed.

use tower_diagnose::{CallRecord, Diagnosis};

use crate::plan::{DOMAIN, SENTINEL};

const HTML: [&str; 6] = ["<html", "<!doctype", "<body", "<title", "<h1", "</"];

/// Returns what is wrong with what a diagnosis prints.
#[must_use]
pub fn of_diagnosis(diagnosis: &Diagnosis) -> Vec<String> {
    let mut faults = Vec::new();
    let line = diagnosis.to_string();
    if line.chars().count() > 300 {
        faults.push(format!("a line of {} characters", line.chars().count()));
    }
    if line.chars().any(is_unprintable) {
        faults.push(format!("not one line: {line:?}"));
    }
    if has_query(&line) {
        faults.push(format!("a query in the line: {line}"));
    }
    let lower = line.to_lowercase();
    if HTML.iter().any(|tag| lower.contains(tag)) {
        faults.push(format!("HTML in the line: {line}"));
    }
    let debug = format!("{diagnosis:?}");
    for text in [&line, &debug] {
        if text.contains(DOMAIN) {
            faults.push(format!("a host in {text}"));
        }
    }
    let payload = diagnosis.payload("tool");
    let texts = [
        format!("{diagnosis:#}"),
        format!("{payload:?}"),
        json(&payload),
        json(diagnosis),
    ];
    for text in [line, debug].iter().chain(&texts) {
        faults.extend(secrets(text));
    }
    faults
}

/// Returns what is wrong with what a record prints.
#[must_use]
pub fn of_record(record: &CallRecord) -> Vec<String> {
    let mut faults = Vec::new();
    for text in [format!("{record:?}"), json(record)] {
        faults.extend(secrets(&text));
        if text.contains(DOMAIN) {
            faults.push(format!("a host in {text}"));
        }
    }
    faults
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{SENTINEL}: {error}"))
}

/// Returns what no text may hold.
#[must_use]
pub fn secrets(text: &str) -> Option<String> {
    let is_bad = text.contains(SENTINEL) || text.contains("hunter2");
    is_bad.then(|| format!("a secret in {text:?}"))
}

/// Everything that is no part of a line: control characters, line and paragraph separators, and what
/// turns the direction of writing.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
        )
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

/// Returns whether a question mark stands where that of a URL or a path does, with something behind it. One
/// with nothing behind it ends a sentence, or a body that was cut there; others stand in bodies of random
/// bytes.
fn has_query(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        word.split_once('?').is_some_and(|(before, behind)| {
            let is_path = before.contains('/') && before.is_ascii();
            is_path && !matches!(behind, "" | "…")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::has_query;

    #[test]
    fn a_query_is_told_from_other_question_marks() {
        for line in [
            "GET /call/1?key=s failed (400 Bad Request)",
            "see https://help.example/e?sig=s now",
        ] {
            assert!(has_query(line), "{line}");
        }
        for line in [
            "GET /call/1 failed (400 Bad Request): who?",
            "see https://help.example/e?",
            "see https://help.example/e?…",
            "\u{bf}B\u{d2}Fh?\u{b6}{l",
        ] {
            assert!(!has_query(line), "{line}");
        }
    }
}
