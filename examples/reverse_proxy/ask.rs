//! Callers of the proxy, and what they read.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};
use tower_diagnose::{CallRecord, RecentCalls};

use crate::AnyError;

type Http = Client<HttpConnector, Full<Bytes>>;

pub(crate) async fn everything(
    address: SocketAddr,
    front: &RecentCalls,
    back: &RecentCalls,
) -> Result<(), AnyError> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let mut records = Records {
        front: (front, 0),
        back: (back, 0),
    };
    let large = Bytes::from(vec![b'x'; 1 << 20]);
    for (method, path, body) in [
        (Method::GET, "/fine", Bytes::new()),
        (Method::POST, "/echo", large),
        (Method::GET, "/fails", Bytes::new()),
        (Method::GET, "/resets", Bytes::new()),
        (Method::POST, "/stalls", Bytes::from("{}")),
        (Method::GET, "/own", Bytes::new()),
    ] {
        let request = Request::builder()
            .method(&method)
            .uri(format!("http://{address}{path}"))
            .body(Full::new(body))?;
        let response = http.request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        print(method.as_str(), path, &format!("{status} {}", said(&body)));
        records.show().await;
    }

    break_off(address).await?;
    print("POST", "/reads", "(the caller's body breaks off)");
    records.show().await;

    let back_came = through_an_upgrade(address).await?;
    print(
        "GET",
        "/upgrade",
        &format!("101 and back came: {back_came}"),
    );
    records.show().await;
    Ok(())
}

fn print(method: &str, path: &str, result: &str) {
    println!("{}", format!("{method:<4} {path:<12} {result}").trim_end());
}

/// A problem says it all in its detail; a large body is only counted.
fn said(body: &[u8]) -> String {
    if body.len() > 1000 {
        return format!("{} bytes", body.len());
    }
    let problem = serde_json::from_slice(body).unwrap_or(Value::Null);
    match problem["detail"].as_str() {
        Some(detail) => detail.to_owned(),
        None => String::from_utf8_lossy(body).into_owned(),
    }
}

/// The records of both sides, and how many of them were shown.
struct Records<'a> {
    front: (&'a RecentCalls, u64),
    back: (&'a RecentCalls, u64),
}

impl Records<'_> {
    /// Prints what is new.
    async fn show(&mut self) {
        // A record is made when the body has been read or dropped on the server's side.
        while self.front.0.total() == self.front.1 {
            sleep(Duration::from_millis(1)).await;
        }
        let front = latest(&mut self.front).map(|record| format!("front {}", line(&record)));
        let back = latest(&mut self.back).map(|record| {
            let attempts = record.attempts();
            format!("back {}, attempts {attempts}", line(&record))
        });
        let both: Vec<_> = front.into_iter().chain(back).collect();
        println!("{:<17} {}", "", both.join("; "));
    }
}

fn latest((calls, shown): &mut (&RecentCalls, u64)) -> Option<CallRecord> {
    let is_new = calls.total() > std::mem::replace(shown, calls.total());
    calls.snapshot().pop().filter(|_| is_new)
}

fn line(record: &CallRecord) -> String {
    match (record.error_class(), record.fault_domain()) {
        (Some(class), Some(fault)) => format!("{class}, fault {fault}"),
        _ => "fine".to_owned(),
    }
}

/// Promises a hundred bytes, sends ten, and goes.
async fn break_off(address: SocketAddr) -> Result<(), AnyError> {
    let mut stream = TcpStream::connect(address).await?;
    let head = "POST /reads HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n0123456789";
    stream.write_all(head.as_bytes()).await?;
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

/// Changes to a protocol that gives back what it is given, and returns what came.
async fn through_an_upgrade(address: SocketAddr) -> Result<String, AnyError> {
    let mut stream = TcpStream::connect(address).await?;
    let head = "GET /upgrade HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(read)?;
    if !head.starts_with("HTTP/1.1 101 ") || !head.contains("upgrade: echo") {
        return Err(format!("no upgrade: {head}").into());
    }
    let mut came = String::new();
    for word in ["one", " two", " three"] {
        stream.write_all(word.as_bytes()).await?;
        let mut back = vec![0; word.len()];
        stream.read_exact(&mut back).await?;
        came += std::str::from_utf8(&back)?;
    }
    Ok(came)
}
