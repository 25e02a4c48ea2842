//! The far end of one connection: a server that speaks just enough HTTP to fail as it was told.

use std::{
    fmt::Write as _,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tower_service::Service;

use super::{
    answer::{Answer, Rest},
    wire::Wire,
};

/// How many bytes lie in the connection at a time, in each direction.
const CAPACITY: usize = 64 * 1024;

/// What a connection comes to.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    /// There is none, for this reason.
    Fails(io::ErrorKind),
    /// There is none, for what it carried was not what TLS expects.
    NoTls,
    /// The request is read, and answered in this way.
    Http1(Reply),
    Http2(Http2),
}

#[derive(Clone, Debug)]
pub(super) enum Reply {
    Answer(Answer),
    Garbage,
    Close,
    Reset,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Http2 {
    RefuseStream,
    GoAway,
    Close,
}

/// Makes connections in memory, each with a task for its far end.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub(super) fate: Fate,
    /// What is asked, for an answer to a HEAD has no body.
    pub(super) method: Method,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<TokioIo<Wire>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(self.connect())
    }
}

impl Connector {
    fn connect(&self) -> io::Result<TokioIo<Wire>> {
        let (near, far) = duplex(CAPACITY);
        let serving: Pin<Box<dyn Future<Output = io::Result<()>> + Send>> = match &self.fate {
            Fate::Fails(kind) => return Err((*kind).into()),
            Fate::NoTls => {
                let alert = "the peer speaks no TLS";
                return Err(io::Error::new(io::ErrorKind::InvalidData, alert));
            }
            Fate::Http1(reply) => Box::pin(http1(far, reply.clone(), self.method.clone())),
            Fate::Http2(way) => Box::pin(http2(far, *way)),
        };
        tokio::spawn(serving);
        let resets = matches!(self.fate, Fate::Http1(Reply::Reset));
        Ok(TokioIo::new(Wire::new(near, resets)))
    }
}

async fn http1(mut stream: DuplexStream, reply: Reply, method: Method) -> io::Result<()> {
    let mut unread = Vec::new();
    read_request(&mut stream, &mut unread).await?;
    match reply {
        Reply::Close | Reply::Reset => return Ok(()),
        Reply::Garbage => stream.write_all(b"220 this is no web server\r\n").await?,
        Reply::Nothing => {}
        Reply::Answer(answer) => {
            stream.write_all(&head(&answer)).await?;
            if has_body(&method, answer.status) {
                stream.write_all(&answer.body).await?;
            }
            if answer.rest == Rest::Cut {
                return Ok(());
            }
        }
    }
    wait_for_end(&mut stream).await
}

/// Reads one request to its end.
async fn read_request(stream: &mut DuplexStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let head = loop {
        if let Some(end) = find(bytes, b"\r\n\r\n") {
            break bytes.drain(..end + 4).collect::<Vec<_>>();
        }
        read_some(stream, bytes).await?;
    };
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    let length = fields.find_map(|(name, value)| match name {
        "content-length" => value.parse().ok().map(Some),
        "transfer-encoding" => Some(None),
        _ => None,
    });
    let is_whole = |bytes: &[u8]| match length {
        None => true,
        Some(Some(length)) => bytes.len() >= length,
        // Near enough: a body that has this in its midst is answered early.
        Some(None) => find(bytes, b"0\r\n\r\n").is_some(),
    };
    while !is_whole(bytes) {
        read_some(stream, bytes).await?;
    }
    Ok(())
}

fn head(answer: &Answer) -> Vec<u8> {
    let status = answer.status;
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str());
    let missing = u64::from(answer.rest != Rest::End);
    let length = u64::try_from(answer.body.len()).unwrap_or(u64::MAX);
    let is_framed = answer.headers.contains_key("content-length")
        || answer.headers.contains_key("transfer-encoding")
        || status.is_informational()
        || status == StatusCode::NO_CONTENT;
    if !is_framed {
        let length = length.saturating_add(missing);
        let _ = write!(head, "content-length: {length}\r\n");
    }
    let mut head = head.into_bytes();
    for (name, value) in &answer.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn has_body(method: &Method, status: StatusCode) -> bool {
    *method != Method::HEAD
        && !status.is_informational()
        && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Serves the first stream of a client, by [RFC 9113].
///
/// [RFC 9113]: https://www.rfc-editor.org/rfc/rfc9113
async fn http2(mut stream: DuplexStream, way: Http2) -> io::Result<()> {
    const PREFACE: usize = 24;
    const HEAD: usize = 9;
    const HEADERS: u8 = 1;
    /// Empty settings, and the acknowledgement of the client's.
    const SETTINGS: [u8; 18] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];
    /// A reset of stream 1 with the code 7, REFUSED_STREAM.
    const REFUSED: [u8; 13] = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7];
    /// The last stream that was processed is 0: none. No error.
    const GO_AWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    stream.write_all(&SETTINGS).await?;
    let mut bytes = Vec::new();
    let mut at = PREFACE;
    loop {
        match bytes.get(at..at + HEAD) {
            None => read_some(&mut stream, &mut bytes).await?,
            Some(&[_, _, _, HEADERS, ..]) => break,
            Some(&[a, b, c, ..]) => {
                let length = u32::from_be_bytes([0, a, b, c]);
                at += HEAD + usize::try_from(length).unwrap_or(usize::MAX - at - HEAD);
            }
            Some(_) => break,
        }
    }
    match way {
        Http2::Close => return Ok(()),
        Http2::RefuseStream => stream.write_all(&REFUSED).await?,
        Http2::GoAway => stream.write_all(&GO_AWAY).await?,
    }
    wait_for_end(&mut stream).await
}

/// Reads until there is more, or fails at the end.
async fn read_some(stream: &mut DuplexStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    match stream.read_buf(bytes).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Keeps the connection until the client closes it.
async fn wait_for_end(stream: &mut DuplexStream) -> io::Result<()> {
    let mut thrown_away = Vec::new();
    while read_some(stream, &mut thrown_away).await.is_ok() {
        thrown_away.clear();
    }
    Ok(())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
