//! The house has four floors, and imports point down only: vocabulary, pure functions, layers, the stack.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::source::{code_of, crate_paths, names_crate, rust_files};

/// What may be imported by everybody: plain data.
const VOCABULARY: &[&str] = &[
    "address",
    "scan",
    "harmless",
    "argument",
    "attempt",
    "attempts",
    "call",
    "class",
    "common",
    "copied",
    "course",
    "endpoint",
    "error",
    "extensions",
    "hook",
    "kept_error",
    "retry_marks",
    "names",
    "noted",
    "notes",
    "outcome",
    "path",
    "rare",
    "record",
    "request_timeout",
    "retried",
    "secret_shape",
    "sync",
    "target",
    "text",
    "texts",
    "timestamp",
];

/// Values in, values out.
const PURE: &[&str] = &[
    "backoff",
    "budget",
    "cause",
    "charset",
    "classify",
    "decision",
    "diagnosis",
    "json_entries",
    "excerpt",
    "extract",
    "json_field",
    "form",
    "protocol_found",
    "grpc",
    "headers",
    "hint",
    "html",
    "json",
    "json_lexer",
    "json_made",
    "line",
    "json_mask",
    "json_member",
    "redact_named",
    "redact_found",
    "redact_needles",
    "redact_pass",
    "payload",
    "json_phrase",
    "protocol",
    "percent",
    "redact",
    "remembered",
    "retry_after",
    "secrets",
    "sse",
    "transport",
    "json_words",
    "xml",
];

/// One directory each; they never import each other.
const LAYERS: &[&str] = &[
    "diagnose", "dispatch", "recorder", "reqwest", "respond", "retry", "timeout", "tonic",
];

const STACK: &[&str] = &["guide", "model_budget", "stack", "test_util"];

const FLOORS: [(&str, &[&str]); 4] = [
    ("vocabulary", VOCABULARY),
    ("pure functions", PURE),
    ("layers", LAYERS),
    ("the stack", STACK),
];

/// Crates that have no business below the layers.
const ABOVE_ONLY: &[&str] = &[
    "tokio",
    "tower",
    "tower_layer",
    "tower_service",
    "tower_http",
    "http_body",
    "http_body_util",
];

/// Who may name them all the same: those that look into the errors of others, and those that keep an instant
/// of the clock that tests can pause.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("error", "tokio"),
    ("error", "tower"),
    ("classify", "tokio"),
    ("classify", "tower"),
    ("cause", "tokio"),
    ("cause", "tower"),
    ("transport", "tokio"),
    ("transport", "tower"),
    ("record", "tokio"),
    ("attempts", "tokio"),
    ("budget", "tokio"),
    ("call", "tokio"),
    ("notes", "tokio"),
];

/// The longest that a file may be, in lines.
const LONGEST: usize = 400;

#[test]
fn imports_point_down_only() {
    let src = root().join("src");
    let faults: Vec<String> = rust_files(&src)
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            faults(file.strip_prefix(&src).unwrap(), &text)
        })
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_file_is_too_long_to_be_read() {
    let faults: Vec<String> = ["src", "tests", "examples", "benches", "fuzz/fuzz_targets"]
        .iter()
        .flat_map(|directory| rust_files(&root().join(directory)))
        .filter_map(|file| {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            (lines > LONGEST).then(|| {
                format!(
                    "{} has {lines} lines: {LONGEST} are allowed",
                    file.display()
                )
            })
        })
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_rules_find_what_breaks_them() {
    for (file, text, found) in [
        (
            "class.rs",
            "use crate::{\n    names::names,\n    text,\n};",
            None,
        ),
        (
            "class.rs",
            "use crate::retry::RetryLayer;",
            Some("class.rs: `crate::retry` points up from vocabulary to layers"),
        ),
        (
            "redact.rs",
            "fn f() { crate::stack::x() }",
            Some("redact.rs: `crate::stack` points up from pure functions to the stack"),
        ),
        (
            "class.rs",
            "use crate::{names::names, hint::{a, b}};",
            Some("class.rs: `crate::hint` points up from vocabulary to pure functions"),
        ),
        (
            "hint.rs",
            "use super::retry::x;",
            Some("hint.rs: `crate::retry` points up from pure functions to layers"),
        ),
        ("retry/future.rs", "use super::rules::x;", None),
        (
            "retry/future.rs",
            "use crate::{retry::rules, redact::scrub};",
            None,
        ),
        (
            "retry/future.rs",
            "use crate::timeout::Timeout;",
            Some("retry/future.rs: `crate::timeout` is a sibling: layers never import each other"),
        ),
        (
            "retry/future.rs",
            "use super::super::timeout;",
            Some("retry/future.rs: `crate::timeout` is a sibling: layers never import each other"),
        ),
        (
            "retry/future.rs",
            "use crate::RetryError;",
            Some(
                "retry/future.rs: `crate::RetryError` is no module: import it by the module that it lives in",
            ),
        ),
        ("stack.rs", "use crate::{retry, timeout, hint};", None),
        (
            "new.rs",
            "",
            Some("new.rs: `new` is on no floor: add it to one of the lists of this test"),
        ),
        (
            "hint.rs",
            "use tokio::time::Instant;",
            Some("hint.rs: `tokio` has no business below the layers"),
        ),
        (
            "hint.rs",
            "fn f(b: impl http_body::Body) {}",
            Some("hint.rs: `http_body` has no business below the layers"),
        ),
        (
            "error.rs",
            "fn f(e: tower::timeout::error::Elapsed) {}",
            None,
        ),
        (
            "error.rs",
            "use http_body::Body;",
            Some("error.rs: `http_body` has no business below the layers"),
        ),
        ("retry/future.rs", "use tokio::time::Sleep;", None),
        (
            "class.rs",
            "// use crate::retry;\n/// [`crate::stack`]\n/* crate::retry */ const A: &str = \"crate::retry\";",
            None,
        ),
        (
            "class.rs",
            "const A: char = '\"'; use crate::retry;",
            Some("class.rs: `crate::retry` points up from vocabulary to layers"),
        ),
        (
            "class.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { use crate::retry::x; }",
            None,
        ),
        (
            "class.rs",
            "macro_rules! m { () => { $crate::names::x } }",
            None,
        ),
    ] {
        let faults = faults(Path::new(file), text);
        assert_eq!(faults.first().map(String::as_str), found, "{file}: {text}");
    }
}

/// Returns what is wrong with the imports of one file, whose path is relative to `src`.
fn faults(file: &Path, text: &str) -> Vec<String> {
    let shown = file.display();
    let Some(own) = module(file) else {
        return Vec::new();
    };
    let Some(floor) = floor_of(&own) else {
        return vec![format!(
            "{shown}: `{own}` is on no floor: add it to one of the lists of this test"
        )];
    };
    let code = code_of(text);
    let mut faults = Vec::new();
    for name in crate_paths(&code, file.components().count()) {
        if name == own || name == "self" {
            continue;
        }
        match floor_of(&name) {
            None => faults.push(format!(
                "{shown}: `crate::{name}` is no module: import it by the module that it lives in"
            )),
            Some(other) if other > floor => faults.push(format!(
                "{shown}: `crate::{name}` points up from {} to {}",
                FLOORS[floor].0, FLOORS[other].0
            )),
            Some(other) if other == floor && FLOORS[floor].1 == LAYERS => faults.push(format!(
                "{shown}: `crate::{name}` is a sibling: layers never import each other"
            )),
            Some(_) => {}
        }
    }
    if floor < 2 {
        for name in ABOVE_ONLY {
            if names_crate(&code, name) && !EXCEPTIONS.contains(&(&own, name)) {
                faults.push(format!(
                    "{shown}: `{name}` has no business below the layers"
                ));
            }
        }
    }
    faults
}

/// Returns the top module that a file belongs to; none for the root itself.
fn module(file: &Path) -> Option<String> {
    let first = Path::new(file.components().next()?.as_os_str());
    let name = first.file_stem()?.to_str()?;
    (name != "lib").then(|| name.to_owned())
}

fn floor_of(module: &str) -> Option<usize> {
    FLOORS
        .iter()
        .position(|(_, modules)| modules.contains(&module))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
