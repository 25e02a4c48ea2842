//! An HTTP/1.1 server that follows a script, one reply for each request.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::raw;

/// What the server does once it has read a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers with this status and a plain-text body, and keeps the connection.
    Status(u16, &'static str),
    /// Writes these bytes and keeps the connection.
    Raw(&'static [u8]),
    /// Writes these bytes and closes.
    RawThenClose(&'static [u8]),
    /// Closes without a word.
    Close,
    /// Resets the connection.
    Reset,
    /// Says nothing until the client has gone.
    Hang,
}

/// A running server. It ends with the runtime of its test.
#[derive(Clone, Debug)]
pub struct Server {
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    script: Vec<Reply>,
    connections: AtomicUsize,
    requests: Mutex<Vec<Request>>,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

/// Serves `script`: the first request is given the first reply, on whichever connection it comes;
/// requests beyond the script are given the last one.
pub async fn serve(script: impl Into<Vec<Reply>>) -> Server {
    let state = Arc::new(State {
        script: script.into(),
        connections: AtomicUsize::new(0),
        requests: Mutex::default(),
    });
    let shared = Arc::clone(&state);
    let address = raw::serve(move |stream| {
        let state = Arc::clone(&shared);
        async move {
            state.connections.fetch_add(1, SeqCst);
            connection(&state, stream).await;
        }
    })
    .await;
    Server { address, state }
}

impl Server {
    /// Returns the URL of `path` on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns how many connections were accepted.
    pub fn connections(&self) -> usize {
        self.state.connections.load(SeqCst)
    }

    /// Returns the requests read so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }
}

async fn connection(state: &State, mut stream: TcpStream) {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await {
        let number = {
            let mut requests = state.requests.lock().unwrap();
            requests.push(request);
            requests.len() - 1
        };
        let reply = state.script.get(number).or(state.script.last());
        match reply.expect("a script has a reply").clone() {
            Reply::Status(status, body) => {
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} \r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n"
                );
                let _ = stream.write_all((head + body).as_bytes()).await;
            }
            Reply::Raw(bytes) => {
                let _ = stream.write_all(bytes).await;
            }
            Reply::RawThenClose(bytes) => {
                let _ = stream.write_all(bytes).await;
                return;
            }
            Reply::Close => return,
            Reply::Reset => return raw::reset(stream),
            Reply::Hang => return raw::drain(&mut stream).await,
        }
    }
}

/// Reads one request with the body that its content-length or its chunks tell.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let end = until(stream, buffer, b"\r\n\r\n").await?;
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end);
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
    };
    let length = match header("content-length") {
        Some(length) => {
            let length = length.parse().ok()?;
            while buffer.len() < length {
                more(stream, buffer).await?;
            }
            length
        }
        // As it was on the wire, with the sizes of its chunks.
        None if header("transfer-encoding").is_some() => {
            until(stream, buffer, b"0\r\n\r\n").await?
        }
        None => 0,
    };
    let body = buffer.drain(..length).collect();
    Some(Request { head, body })
}

async fn until(stream: &mut TcpStream, buffer: &mut Vec<u8>, mark: &[u8]) -> Option<usize> {
    loop {
        if let Some(at) = buffer.windows(mark.len()).position(|window| window == mark) {
            return Some(at + mark.len());
        }
        more(stream, buffer).await?;
    }
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    match stream.read_buf(buffer).await {
        Ok(count) if count > 0 => Some(()),
        _ => None,
    }
}
