//! A real browser, moved by the WebDriver protocol (<https://www.w3.org/TR/webdriver2/>).

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};

/// Nothing that would look for a network beyond this machine.
const ARGUMENTS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// The name under which the protocol hands out an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Headless Chromium with one window. Ended when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    client: Client<HttpConnector, Full<Bytes>>,
    /// What all requests begin with.
    session: String,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver, of Debian's package chromium-driver");
        let port = port(&mut driver);
        let mut browser = Self {
            driver,
            client: Client::builder(TokioExecutor::new()).build_http(),
            session: format!("http://127.0.0.1:{port}/session"),
        };
        let options = json!({ "args": ARGUMENTS });
        let wanted = json!({ "alwaysMatch": { "goog:chromeOptions": options } });
        let session = browser.post("", json!({ "capabilities": wanted })).await;
        let id = session["sessionId"].as_str().expect("a session");
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    pub(crate) async fn open(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Returns what the body of a function returns in the page.
    pub(crate) async fn evaluate(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
            .await
    }

    /// Clicks on the one element that matches, as a person would: it has to be visible.
    pub(crate) async fn click(&self, selector: &str) {
        let query = json!({ "using": "css selector", "value": selector });
        let element = self.post("/element", query).await;
        let id = element[ELEMENT].as_str().expect("an element");
        self.post(&format!("/element/{id}/click"), json!({})).await;
    }

    /// Ends the window, and whatever the browser had started.
    pub(crate) async fn close(self) {
        self.send(Method::DELETE, "", String::new()).await;
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.send(Method::POST, path, body.to_string()).await
    }

    async fn send(&self, method: Method, path: &str, body: String) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.session))
            .header("content-type", "application/json")
            .body(Full::from(body))
            .unwrap();
        let response = self.client.request(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let mut answer: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The driver takes a free port and says which.
fn port(driver: &mut Child) -> u16 {
    let said = BufReader::new(driver.stdout.take().unwrap()).lines();
    let line = said
        .map_while(Result::ok)
        .find(|line| line.contains("started successfully on port"))
        .expect("a driver that starts");
    let port = line.rsplit(' ').next().unwrap().trim_end_matches('.');
    port.parse().unwrap()
}
