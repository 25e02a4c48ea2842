//! Reads Rust source well enough to know what it imports.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Returns the code of a file: without comments, the insides of literals, and the tests at its end.
pub(crate) fn code_of(text: &str) -> String {
    let text = without_tests(text);
    let mut code = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            string_len(rest)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = &rest[len..];
    }
    code
}

/// Cuts the module of tests out, whether it stands in the file or beside it.
fn without_tests(text: &str) -> String {
    let starts = ["#[cfg(test)]\nmod ", "#[cfg(test)]\n#[path"];
    let Some(start) = starts.iter().filter_map(|start| text.find(start)).min() else {
        return text.to_owned();
    };
    let (before, tests) = text.split_at(start);
    let end = ["\nmod tests;", "\n}"]
        .iter()
        .filter_map(|end| Some(tests.find(end)? + end.len()))
        .min();
    [before, &tests[end.unwrap_or(tests.len())..]].concat()
}

fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// Returns the first names behind `crate::`, and behind as many `super::` as lead to the root.
pub(crate) fn crate_paths(code: &str, depth: usize) -> BTreeSet<String> {
    let up = "super::".repeat(depth);
    let mut names = BTreeSet::new();
    for root in ["crate::", &up] {
        for (at, _) in code.match_indices(root) {
            let is_longer = code[..at].ends_with(|c: char| is_name(c) || c == ':');
            let behind = code[at + root.len()..].trim_start();
            if !is_longer && !behind.starts_with("super::") {
                names.extend(first_names(behind));
            }
        }
    }
    names
}

/// Returns the name at the start of a path, or those of a group: `{a::x, b::{y, z}}` is a and b.
fn first_names(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![name_at(path)];
    };
    let mut depth = 0;
    let mut items = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            _ if depth == 0 => items.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    items
        .iter()
        .map(|item| name_at(item.trim()))
        .filter(|name| !name.is_empty())
        .collect()
}

fn name_at(path: &str) -> String {
    path.chars().take_while(|c| is_name(*c)).collect()
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns whether a path of the code begins with this crate.
pub(crate) fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = &code[..at];
        let behind = &code[at + name.len()..];
        !before.ends_with(|c: char| is_name(c) || c == ':' || c == '.')
            && (behind.starts_with("::") || before.trim_end().ends_with("use"))
            && !behind.starts_with(is_name)
    })
}

/// Returns every Rust file below a directory, except those that a build has made.
pub(crate) fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                files.extend(rust_files(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
