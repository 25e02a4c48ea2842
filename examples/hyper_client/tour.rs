//! Every way in which a call can go wrong, before and after.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tower::{Layer, Service, ServiceExt};
use tower_diagnose::{ClientStack, Diagnosis, ResponseExt};

use crate::server::{self, Server};

struct Case {
    title: &'static str,
    method: Method,
    url: String,
    body: &'static str,
}

fn cases(server: &Server) -> Vec<Case> {
    let case = |title, method, address, path, body| Case {
        title,
        method,
        url: format!("http://{address}{path}"),
        body,
    };
    let Server {
        answers,
        closes,
        silent,
        refused,
    } = server;
    vec![
        case(
            "an answer that is fine",
            Method::GET,
            answers,
            "/health",
            "",
        ),
        case(
            "an answer that explains itself",
            Method::POST,
            answers,
            "/comments/resolve?token=not-for-your-eyes",
            r#"{"commentId":"12"}"#,
        ),
        case(
            "a thing that is not there",
            Method::GET,
            answers,
            "/modules/7",
            "",
        ),
        case("a proxy's page", Method::POST, answers, "/page", "{}"),
        case(
            "a server that is busy twice",
            Method::GET,
            answers,
            "/busy",
            "",
        ),
        case(
            "a server that says nothing",
            Method::GET,
            silent,
            "/api/modules",
            "",
        ),
        case(
            "a connection that closes",
            Method::GET,
            closes,
            "/reports",
            "",
        ),
        case(
            "a port where nobody listens",
            Method::POST,
            refused,
            "/comments/create",
            "{}",
        ),
        case(
            "a write that closes after it was read",
            Method::POST,
            closes,
            "/payments",
            "{}",
        ),
    ]
}

/// Starts the server and sends each case through a plain client and through the stack.
pub(crate) async fn run(json: bool) {
    let server = server::start().await.expect("loopback can be listened on");

    let mut plain = Client::builder(TokioExecutor::new()).build_http();
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut stacked = ClientStack::new(Duration::from_secs(5))
        .attempt_timeout(Duration::from_millis(300))
        .layer(client);

    for case in cases(&server) {
        let before = before(&mut plain, case.request()).await;
        let after = after(&mut stacked, case.request()).await;
        if json {
            if let Err(diagnosis) = after {
                let payload = diagnosis.payload(case.title);
                println!(
                    "{}",
                    serde_json::to_string(&payload).expect("a payload is plain data")
                );
            }
            continue;
        }
        println!("{}", case.title);
        println!("  before  {before}");
        match after {
            Ok(line) => println!("  after   {line}"),
            Err(diagnosis) => show(&diagnosis),
        }
        println!();
    }
}

impl Case {
    fn request(&self) -> Request<Full<Bytes>> {
        Request::builder()
            .method(&self.method)
            .uri(&self.url)
            .body(Full::from(self.body))
            .expect("the cases are valid requests")
    }
}

/// What a plain client gives its user to read. It has no limit of time, so one is put around it.
async fn before<S, B>(client: &mut S, request: Request<Full<Bytes>>) -> String
where
    S: Service<Request<Full<Bytes>>, Response = http::Response<B>>,
    S::Error: std::fmt::Display,
{
    let answer = async {
        match client.ready().await {
            Ok(client) => client.call(request).await,
            Err(error) => Err(error),
        }
    };
    match tokio::time::timeout(Duration::from_millis(300), answer).await {
        Ok(Ok(response)) => response.status().to_string(),
        Ok(Err(error)) => error.to_string(),
        Err(elapsed) => elapsed.to_string(),
    }
}

/// What the stack gives its user to read.
async fn after<S, B>(client: &mut S, request: Request<Full<Bytes>>) -> Result<String, Diagnosis>
where
    S: Service<
            Request<Full<Bytes>>,
            Response = http::Response<B>,
            Error = tower_diagnose::Diagnosed,
        >,
    B: http_body::Body,
{
    let answer = async { client.ready().await?.call(request).await };
    let response = answer.await.map_err(|error| error.diagnosis().clone())?;
    if let Some(diagnosis) = response.diagnosis() {
        return Err(diagnosis.clone());
    }
    let attempts = response.retried().map_or(1, |retried| retried.attempts());
    let status = response.status();
    // Read to its end, so that the connection can be used again.
    let _ = response.into_body().collect().await;
    Ok(match attempts {
        1 => status.to_string(),
        attempts => format!("{status} [{attempts} attempts]"),
    })
}

fn show(diagnosis: &Diagnosis) {
    println!("  after   {diagnosis}");
    println!(
        "          class {}, fault {}, delivery {}, attempts {}",
        diagnosis.class(),
        diagnosis.domain(),
        diagnosis.delivery(),
        diagnosis.attempts(),
    );
    if let Some(hint) = diagnosis.hint() {
        println!("          hint  {hint}");
    }
}
