//! The page of recent calls in a real browser.
//!
//! It needs Chromium and its driver, so it runs only when asked for:
//!
//! ```text
//! cargo test --package tower-diagnose-ecosystem-tests --test browser -- --ignored
//! ```

mod driver;

use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_diagnose::{ClientStack, RecentCalls, ReplayBody};

use crate::driver::Browser;

/// What would be a script and an image, were it not escaped.
const HOSTILE: &str = "'\"><script>document.title='hit'</script><img src=x onerror=alert(1)>";

/// Makes one call that ends as the first part of its path says.
async fn call(calls: &RecentCalls, path: &str) {
    let client = service_fn(async |request: Request<ReplayBody<Empty<Bytes>>>| {
        let status = request.uri().path().split('/').nth(1).unwrap_or_default();
        let status = match status.parse() {
            Ok(0) => std::future::pending().await,
            Ok(status) => status,
            Err(_) => 418,
        };
        let body = json!({ "code": HOSTILE, "message": HOSTILE }).to_string();
        let response = Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .header("x-request-id", HOSTILE);
        Ok::<_, BoxError>(response.body(Full::<Bytes>::from(body))?)
    });
    let client = ClientStack::new(Duration::from_millis(1))
        .without_retry()
        .record(calls.clone())
        .layer(client);
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = path.parse().unwrap();
    if let Ok(response) = client.oneshot(request).await {
        response.into_body().collect().await.unwrap();
    }
}

async fn serve(calls: &RecentCalls) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().nest("/debug", calls.router());
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/debug/calls.html")
}

/// The endpoints that the page lists, from the top.
async fn listed(browser: &Browser) -> Value {
    let cells = "return [...document.querySelectorAll('.calls tbody td:nth-child(2)')]";
    browser
        .evaluate(&format!("{cells}.map(cell => cell.textContent)"))
        .await
}

/// Sends the form, and waits for the page that comes of it.
async fn show(browser: &Browser) {
    browser.evaluate("window.isOld = true").await;
    browser.click("form button").await;
    let is_new = "return !window.isOld && document.readyState === 'complete'";
    let arrives = async { while browser.evaluate(is_new).await != true {} };
    tokio::time::timeout(Duration::from_secs(30), arrives)
        .await
        .expect("a page");
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn calls_are_shown_and_filtered() {
    let calls = RecentCalls::new(100);
    for path in ["/200/a", "/503/b", "/404/c", "/0/d", "/0/e"] {
        call(&calls, path).await;
    }
    let browser = Browser::start().await;
    browser.open(&serve(&calls).await).await;
    assert_eq!(
        browser.evaluate("return document.title").await,
        "Recent calls"
    );
    let all = [
        "GET /0/e",
        "GET /0/d",
        "GET /404/c",
        "GET /503/b",
        "GET /200/a",
    ];
    assert_eq!(listed(&browser).await, json!(all));
    let bars = "return Object.fromEntries([...document.querySelectorAll('.chart svg')].map(svg => [
        svg.classList[0],
        [...svg.querySelectorAll('rect')].every(bar => {
            const place = bar.getBoundingClientRect();
            return place.width > 0 && place.height > 0;
        }),
    ]))";
    assert_eq!(
        browser.evaluate(bars).await,
        json!({ "ok": true, "http": true, "timeout": true })
    );

    browser.click("input[value=timeout]").await;
    show(&browser).await;
    assert_eq!(listed(&browser).await, json!(["GET /0/e", "GET /0/d"]));

    // What was chosen is still chosen.
    browser.click("input[value=http]").await;
    show(&browser).await;
    assert_eq!(listed(&browser).await, json!(all[..4]));

    browser.click("input[value=proxy]").await;
    show(&browser).await;
    assert_eq!(listed(&browser).await, json!([]));
    let text = browser.evaluate("return document.body.textContent").await;
    assert!(text.as_str().unwrap().contains("No calls match."));
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn what_strangers_say_is_text_and_nothing_else() {
    let calls = RecentCalls::new(10);
    call(&calls, "/400/a").await;
    let browser = Browser::start().await;
    let page = serve(&calls).await;
    for uri in [
        page.clone(),
        format!("{page}?endpoint={}", HOSTILE.replace(' ', "%20")),
    ] {
        browser.open(&uri).await;
        let title = browser.evaluate("return document.title").await;
        assert_eq!(title, "Recent calls");
        let active = "return document.querySelectorAll('script, img, [onerror]').length";
        assert_eq!(browser.evaluate(active).await, 0);
        // Nothing was loaded but the page.
        let loaded = "return performance.getEntriesByType('resource').length";
        assert_eq!(browser.evaluate(loaded).await, 0);
    }
    let asked = "return document.querySelector('[name=endpoint]').value";
    assert_eq!(browser.evaluate(asked).await, HOSTILE);

    // A code or an id is a short word, or none.
    let text = browser.evaluate("return document.body.textContent").await;
    assert!(!text.as_str().unwrap().contains("onerror"), "{text}");
    browser.close().await;
}
