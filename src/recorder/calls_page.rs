//! The recent calls, for people and programs to look at.

use std::{fmt::Write, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Query, response::Response, routing::get};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
};
use serde::Serialize;

use super::{
    calls_query::{BadParameter, CallsQuery},
    recent::RecentCalls,
    recording::wall_clock,
};
use crate::{
    class::{ErrorClass, FaultDomain},
    record::CallRecord,
    timestamp::timestamp,
};

/// How finely the chart divides the time.
const COLUMNS: usize = 60;

const STYLE: &str = include_str!("calls_page.css");

/// No script at all, and nothing from elsewhere.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; form-action 'self'");

type Pairs = Query<Vec<(String, String)>>;

impl RecentCalls {
    /// Returns routes that show these calls, to be merged or nested into any axum app.
    ///
    /// `GET /calls` is an array of records in JSON, newest first; `GET /calls.html` is the same as a
    /// page, with the failures of each class over time. Both take
    ///
    /// | parameter | is | default |
    /// |---|---|---|
    /// | `error_class`, `fault_domain`, `status` | one or several, `timeout,network` | all |
    /// | `endpoint` | `GET /users/{id}`, or the path alone | all |
    /// | `since` | made in the last so many seconds | all |
    /// | `limit` | how many, from 1 to 1000 | 50 |
    ///
    /// and answer 400 with a problem ([RFC 9457]) that names the parameter and what is allowed, if
    /// they do not understand. A record tells strangers what your program calls and how that fails:
    /// mount the routes where only those who should know can reach them.
    ///
    /// ```
    /// use axum::Router;
    /// use tower_diagnose::RecentCalls;
    ///
    /// let calls = RecentCalls::new(1000);
    /// let app: Router = Router::new().nest("/debug", calls.router());
    /// # drop(app);
    /// ```
    ///
    /// [RFC 9457]: https://www.rfc-editor.org/rfc/rfc9457
    #[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let (json, page) = (self.clone(), self.clone());
        Router::new()
            .route(
                "/calls",
                get(move |Query(pairs): Pairs| async move { answer(json.as_json(pairs)) }),
            )
            .route(
                "/calls.html",
                get(move |Query(pairs): Pairs| async move { answer(page.as_page(pairs)) }),
            )
    }

    fn as_json(&self, pairs: Vec<(String, String)>) -> Result<Response, BadParameter> {
        let query = CallsQuery::of(pairs, wall_clock())?;
        let records: Vec<_> = self.newest(&query.filter).take(query.limit).collect();
        let records: Vec<&CallRecord> = records.iter().map(|record| &**record).collect();
        Ok(json(StatusCode::OK, "application/json", &records))
    }

    fn as_page(&self, pairs: Vec<(String, String)>) -> Result<Response, BadParameter> {
        let query = CallsQuery::of(pairs, wall_clock())?;
        let records: Vec<_> = self.newest(&query.filter).collect();
        let mut page = String::with_capacity(16 * 1024);
        // Writing to a String does not fail.
        write_page(&mut page, &query, &records).ok();
        let mut response = respond(StatusCode::OK, "text/html; charset=utf-8", page.into());
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, POLICY);
        Ok(response)
    }
}

fn answer(result: Result<Response, BadParameter>) -> Response {
    result.unwrap_or_else(|bad| json(StatusCode::BAD_REQUEST, "application/problem+json", &bad))
}

fn json(status: StatusCode, kind: &'static str, value: &impl Serialize) -> Response {
    // Text, numbers and lists of them always have a form in JSON.
    let text = serde_json::to_vec(value).unwrap_or_default();
    respond(status, kind, text.into())
}

fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn write_page(
    page: &mut String,
    query: &CallsQuery,
    records: &[Arc<CallRecord>],
) -> std::fmt::Result {
    write!(
        page,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Recent calls</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\
         <h1>Recent calls</h1>"
    )?;
    write_form(page, query)?;
    write_chart(page, records)?;
    write_table(page, query.limit, records)
}

fn write_form(page: &mut String, query: &CallsQuery) -> std::fmt::Result {
    let other = |name: &str| {
        let mut values = query.others.iter().filter(|(other, _)| other == name);
        values.next_back().map_or("", |(_, value)| value)
    };
    page.push_str("<form>");
    write_boxes(page, "error_class", ErrorClass::ALL, &query.classes)?;
    write_boxes(page, "fault_domain", FaultDomain::ALL, &query.domains)?;
    page.push_str("<fieldset>");
    for (name, example) in [
        ("status", "503"),
        ("endpoint", "GET /users/{id}"),
        ("since", "seconds"),
        ("limit", "50"),
    ] {
        write!(
            page,
            "<label>{name} <input name=\"{name}\" value=\"{}\" placeholder=\"{example}\"></label>",
            Escaped(other(name))
        )?;
    }
    page.push_str("<button>Show</button></fieldset></form>");
    Ok(())
}

fn write_boxes<T: PartialEq + std::fmt::Display>(
    page: &mut String,
    name: &str,
    all: &[T],
    chosen: &[T],
) -> std::fmt::Result {
    write!(page, "<fieldset><legend>{name}</legend>")?;
    for value in all {
        let checked = if chosen.contains(value) {
            " checked"
        } else {
            ""
        };
        write!(
            page,
            "<label><input type=\"checkbox\" name=\"{name}\" value=\"{value}\"{checked}>{value}</label>"
        )?;
    }
    page.push_str("</fieldset>");
    Ok(())
}

/// One row for each class that occurs: how many there were, and when.
fn write_chart(page: &mut String, records: &[Arc<CallRecord>]) -> std::fmt::Result {
    let times = || records.iter().map(|record| record.started_at());
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return Ok(());
    };
    let span = last.duration_since(first).unwrap_or_default();
    let column = |record: &CallRecord| {
        let age = record.started_at().duration_since(first);
        let share = age.unwrap_or_default().as_secs_f64() / span.as_secs_f64().max(0.001);
        // A float becomes the nearest integer that there is.
        ((share * COLUMNS as f64) as usize).min(COLUMNS - 1)
    };
    let classes = ErrorClass::ALL.iter().copied().map(Some);
    let rows = std::iter::once(None).chain(classes).map(|class| {
        let mut row = [0_u32; COLUMNS];
        for record in records
            .iter()
            .filter(|record| record.error_class() == class)
        {
            if let Some(count) = row.get_mut(column(record)) {
                *count += 1;
            }
        }
        (class.map_or("ok", ErrorClass::as_str), row)
    });
    let rows: Vec<_> = rows
        .filter(|(_, row)| row.iter().any(|count| *count > 0))
        .collect();
    write!(
        page,
        "<table class=\"chart\"><caption>{} calls from {} to {}</caption>",
        records.len(),
        timestamp(first),
        timestamp(last),
    )?;
    for (name, row) in rows {
        // Each row has its own scale: a rare class would not show beside a common one.
        let highest = row.iter().copied().max().unwrap_or(1).max(1);
        let total: u32 = row.iter().sum();
        write!(
            page,
            "<tr><th>{name}<td class=\"n\">{total}<td><svg class=\"{name}\" viewBox=\"0 0 600 24\" \
             role=\"img\" aria-label=\"{name} over time\" preserveAspectRatio=\"none\">"
        )?;
        for (at, count) in row.iter().enumerate().filter(|(_, count)| **count > 0) {
            let height = (24 * count / highest).max(2);
            let (x, y) = (at * 10, 24 - height);
            write!(
                page,
                "<rect x=\"{x}\" y=\"{y}\" width=\"9\" height=\"{height}\"><title>{count}</title></rect>"
            )?;
        }
        page.push_str("</svg>");
    }
    page.push_str("</table>");
    Ok(())
}

fn write_table(page: &mut String, limit: usize, records: &[Arc<CallRecord>]) -> std::fmt::Result {
    page.push_str("<table class=\"calls\"><thead><tr>");
    for name in [
        "started",
        "endpoint",
        "status",
        "class",
        "fault",
        "delivery",
        "attempts",
        "duration",
        "body",
        "request id",
        "code",
    ] {
        write!(page, "<th>{name}")?;
    }
    page.push_str("<tbody>");
    for record in records.iter().take(limit) {
        let class = record.error_class().map_or("ok", ErrorClass::as_str);
        write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td class=\"{class}\">{class}<td>{}<td>{}<td class=\"n\">{}\
             <td class=\"n\">{:?}<td>{}<td>{}<td>{}",
            timestamp(record.started_at()),
            Escaped(&record.endpoint().to_string()),
            record.status().as_ref().map_or("", StatusCode::as_str),
            record.fault_domain().map_or("", FaultDomain::as_str),
            record.delivery(),
            record.attempts(),
            rounded(record.duration()),
            record.body_end().map_or("", |end| end.as_str()),
            Escaped(record.request_id().unwrap_or_default()),
            Escaped(record.remote_code().unwrap_or_default()),
        )?;
    }
    page.push_str("</table>");
    if records.is_empty() {
        page.push_str("<p>No calls match.");
    }
    Ok(())
}

/// Microseconds are as fine as anybody reads.
fn rounded(duration: Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// Text that means nothing to a browser but itself, between tags and in quoted attributes.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
