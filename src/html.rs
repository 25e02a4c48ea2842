//! What is HTML, so that none of it is shown.

use crate::scan;

/// Elements that a page or a piece of one begins with.
const ELEMENTS: &[&str] = &[
    "html", "head", "body", "title", "meta", "link", "script", "style", "center", "h1", "h2", "h3",
    "h4", "h5", "h6", "p", "div", "span", "a", "b", "i", "u", "em", "strong", "code", "pre", "br",
    "hr", "table", "tr", "td", "th", "img", "font", "ul", "ol", "li", "form", "iframe", "section",
    "main", "header", "footer", "article", "nav", "svg", "small",
];

/// Beginnings of a page inside a text, and of what is no text of a page.
const PAGES: &[&str] = &[
    "<!doctype html",
    "<html",
    "<head>",
    "<body",
    "<title>",
    "<script",
    "<style",
];

/// Returns whether a document begins as most pages do.
pub(crate) fn is_doctype(start: &[u8]) -> bool {
    const DOCTYPE: &[u8] = b"<!doctype html";
    let start = start.get(..DOCTYPE.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(DOCTYPE))
}

/// Returns whether a document that begins with `<` is HTML, by its first tag.
///
/// Byte-order mark, comments, an XML declaration and a document type are passed over. Looks at no
/// more than a few hundred bytes of a page.
pub(crate) fn is_html(text: &str) -> bool {
    let mut rest = trim(text);
    let mut commented = false;
    for _ in 0..8 {
        if let Some(comment) = rest.strip_prefix("<!--") {
            commented = true;
            let Some((_, after)) = comment.split_once("-->") else {
                return true;
            };
            rest = trim(after);
        } else if let Some(declaration) = rest.strip_prefix("<?") {
            let Some((_, after)) = declaration.split_once("?>") else {
                return false;
            };
            rest = trim(after);
        } else if starts_with(rest, "<!doctype") {
            let name = trim(rest.get(9..).unwrap_or_default());
            return starts_with(name, "html");
        } else {
            break;
        }
    }
    match rest.strip_prefix('<') {
        Some(tag) => is_element(tag),
        // A comment and then something else than a tag.
        None => commented,
    }
}

/// Returns `text` without the tags of HTML that are in it, up to where a page begins; `None` if it
/// has none.
///
/// Nothing else in angle brackets is touched: `limit must be <= 100`, `Vec<String>`.
pub(crate) fn strip(text: &str) -> Option<String> {
    if !scan::has(text.as_bytes(), b'<') {
        return None;
    }
    let mut stripped = strip_once(text);
    if stripped.len() == text.len() {
        return None;
    }
    // What stood around a tag may be one when it is gone; who writes that is not worth reading.
    for _ in 0..4 {
        let again = strip_once(&stripped);
        if again.len() == stripped.len() {
            return Some(stripped);
        }
        stripped = again;
    }
    Some(String::new())
}

fn strip_once(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let end = PAGES.iter().filter_map(|page| lower.find(page)).min();
    let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        kept.push_str(before);
        let tag = after.strip_prefix('/').unwrap_or(after);
        if !is_element(tag) {
            kept.push('<');
            rest = after;
            continue;
        }
        // No tag is longer than this, and nobody makes us look for its end again and again.
        let end = after.bytes().take(256).position(|byte| byte == b'>');
        match end.and_then(|end| after.get(end + 1..)) {
            Some(behind) => rest = behind,
            None => {
                kept.push('<');
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Returns whether `tag`, which stands behind a `<`, names an element of HTML.
fn is_element(tag: &str) -> bool {
    let end = tag
        .bytes()
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or(tag.len());
    let (name, rest) = tag.split_at_checked(end).unwrap_or_default();
    let closed =
        rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || "/>".contains(c));
    closed
        && ELEMENTS
            .iter()
            .any(|element| element.eq_ignore_ascii_case(name))
}

fn trim(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
