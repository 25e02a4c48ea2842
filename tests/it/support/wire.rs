//! Servers of raw bytes over loopback, which count what reaches them and misbehave as told; and a client.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::h2_by_hand::{ACK, Frame, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, frame};

type Script = dyn Fn(usize, &Wired) -> Act + Send + Sync;

/// What an HTTP/1 server does with a request that it has read to its end.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers: status, headers (without a length), body.
    Answer(u16, &'static str, Vec<u8>),
    /// Answers, and then closes the connection, without having said that it would.
    AnswerAndClose(u16),
    /// Answers the head and the first chunk, and then nothing more.
    StallBody(u16),
    /// Closes.
    Close,
    /// Resets.
    Reset,
    /// Does nothing, for good.
    Stall,
}

pub(crate) fn answer(status: u16) -> Act {
    Act::Answer(status, "", Vec::new())
}

/// A request as it was on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Wired {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Wired {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            (found == name).then_some(value)
        })
    }
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    accepted: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Wired>>>,
    script: Arc<Script>,
}

impl Server {
    /// Acts by the script; the last act is repeated.
    pub(crate) async fn script(script: impl IntoIterator<Item = Act>) -> Self {
        let script: Mutex<VecDeque<_>> = Mutex::new(script.into_iter().collect());
        Self::start(move |_, _| {
            let mut script = script.lock().unwrap();
            match script.len() {
                1 => script[0].clone(),
                _ => script.pop_front().unwrap(),
            }
        })
        .await
    }

    /// Asks `script` what to do with the request of this index.
    pub(crate) async fn start(
        script: impl Fn(usize, &Wired) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            addr: listener.local_addr().unwrap(),
            accepted: Arc::default(),
            seen: Arc::default(),
            script: Arc::new(script),
        };
        let running = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                running.accepted.fetch_add(1, Ordering::SeqCst);
                let running = running.clone();
                // An error is a client that went away.
                tokio::spawn(async move { running.serve(socket).await.ok() });
            }
        });
        server
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> Vec<Wired> {
        self.seen.lock().unwrap().clone()
    }

    async fn serve(self, mut socket: TcpStream) -> std::io::Result<()> {
        socket.set_nodelay(true)?;
        let mut buffer = Vec::new();
        while let Some(request) = read_request(&mut socket, &mut buffer).await? {
            let index = {
                let mut seen = self.seen.lock().unwrap();
                seen.push(request.clone());
                seen.len() - 1
            };
            match (self.script)(index, &request) {
                Act::Answer(status, headers, body) => {
                    let length = body.len();
                    let head =
                        format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n");
                    socket.write_all(head.as_bytes()).await?;
                    socket.write_all(&body).await?;
                }
                Act::AnswerAndClose(status) => {
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                    return socket.write_all(head.as_bytes()).await;
                }
                Act::StallBody(status) => {
                    let head = format!(
                        "HTTP/1.1 {status} X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n"
                    );
                    socket.write_all(head.as_bytes()).await?;
                }
                Act::Close => return Ok(()),
                Act::Reset => return socket.set_zero_linger(),
                Act::Stall => std::future::pending().await,
            }
        }
        Ok(())
    }
}

async fn read_request(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Wired>> {
    let Some(end) = read_until(socket, buffer, b"\r\n\r\n").await? else {
        return Ok(None);
    };
    let rest = buffer.split_off(end);
    let head = String::from_utf8_lossy(&std::mem::replace(buffer, rest)).to_lowercase();
    let mut request = Wired {
        head,
        body: Vec::new(),
    };
    if request.header("transfer-encoding") == Some("chunked") {
        loop {
            let Some(end) = read_until(socket, buffer, b"\r\n").await? else {
                return Ok(None);
            };
            let line = String::from_utf8_lossy(&buffer[..end - 2]).into_owned();
            let length = usize::from_str_radix(&line, 16).unwrap();
            buffer.drain(..end);
            if !read_exactly(socket, buffer, length + 2).await? {
                return Ok(None);
            }
            request.body.extend(buffer.drain(..length + 2).take(length));
            if length == 0 {
                return Ok(Some(request));
            }
        }
    }
    let length = request
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    if !read_exactly(socket, buffer, length).await? {
        return Ok(None);
    }
    request.body.extend(buffer.drain(..length));
    Ok(Some(request))
}

async fn read_until(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
    end: &[u8],
) -> std::io::Result<Option<usize>> {
    loop {
        if let Some(at) = buffer.windows(end.len()).position(|window| window == end) {
            return Ok(Some(at + end.len()));
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

async fn read_exactly(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
    length: usize,
) -> std::io::Result<bool> {
    while buffer.len() < length {
        if socket.read_buf(buffer).await? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What an HTTP/2 server does when a request's head has come in on a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum H2Act {
    Answer200,
    /// RST_STREAM with this code.
    Reset(u32),
    /// GOAWAY with this last stream, or with the request's own if `None`, and this code; then it closes.
    GoAway(Option<u32>, u32),
}

/// An HTTP/2 server of raw frames, which acts by the script; the last act is repeated.
#[derive(Clone)]
pub(crate) struct H2Server {
    pub(crate) addr: SocketAddr,
    requests: Arc<AtomicUsize>,
    script: Arc<Mutex<VecDeque<H2Act>>>,
}

impl H2Server {
    pub(crate) async fn script(script: impl IntoIterator<Item = H2Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            addr: listener.local_addr().unwrap(),
            requests: Arc::default(),
            script: Arc::new(Mutex::new(script.into_iter().collect())),
        };
        let running = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let running = running.clone();
                tokio::spawn(async move { running.serve(socket).await.ok() });
            }
        });
        server
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    async fn serve(self, mut socket: TcpStream) -> std::io::Result<()> {
        socket.read_exact(&mut [0; 24]).await?;
        socket.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
        loop {
            let Frame {
                kind,
                flags,
                stream,
                payload,
            } = Frame::read(&mut socket).await?;
            match kind {
                SETTINGS | PING if flags & ACK == 0 => {
                    let payload: &[u8] = if kind == PING { &payload } else { &[] };
                    socket.write_all(&frame(kind, ACK, 0, payload)).await?;
                }
                HEADERS => {
                    self.requests.fetch_add(1, Ordering::SeqCst);
                    let act = {
                        let mut script = self.script.lock().unwrap();
                        match script.len() {
                            1 => script[0],
                            _ => script.pop_front().unwrap(),
                        }
                    };
                    match act {
                        // END_STREAM and END_HEADERS; 0x88 is ":status: 200" of the static table.
                        H2Act::Answer200 => {
                            socket
                                .write_all(&frame(HEADERS, 5, stream, &[0x88]))
                                .await?;
                        }
                        H2Act::Reset(code) => {
                            let payload = code.to_be_bytes();
                            socket
                                .write_all(&frame(RST_STREAM, 0, stream, &payload))
                                .await?;
                        }
                        H2Act::GoAway(last, code) => {
                            let mut payload = last.unwrap_or(stream).to_be_bytes().to_vec();
                            payload.extend(code.to_be_bytes());
                            return socket.write_all(&frame(GOAWAY, 0, 0, &payload)).await;
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// hyper-util's client over HTTP/1.
pub(crate) fn client<B>() -> Client<HttpConnector, B>
where
    B: hyper::body::Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .build(connector())
}

/// hyper-util's client over HTTP/2.
pub(crate) fn h2_client<B>() -> Client<HttpConnector, B>
where
    B: hyper::body::Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build(connector())
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector
}
