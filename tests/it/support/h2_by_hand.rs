//! HTTP/2 frames by hand ([RFC 9113]), for what no library's server would do.
//!
//! [RFC 9113]: https://www.rfc-editor.org/rfc/rfc9113

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::raw;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

pub const NO_ERROR: u32 = 0;
pub const PROTOCOL_ERROR: u32 = 1;
pub const INTERNAL_ERROR: u32 = 2;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// One frame, as it came.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Reads one frame, of whatever kind.
    pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await?;
        Ok(Self {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        })
    }
}

/// Returns the bytes of one frame, with the length that its payload has.
pub fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = Vec::with_capacity(9 + payload.len());
    frame.extend_from_slice(&length[1..]);
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&id.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// The server's end of a connection whose settings were exchanged.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
}

/// Shakes hands on every connection, then hands it to `handler`.
pub async fn serve<F, Fut>(handler: F) -> SocketAddr
where
    F: Fn(Connection) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    raw::serve(move |stream| {
        let handler = handler.clone();
        async move {
            if let Ok(connection) = Connection::accept(stream).await {
                handler(connection).await;
            }
        }
    })
    .await
}

impl Connection {
    async fn accept(mut stream: TcpStream) -> io::Result<Self> {
        stream.read_exact(&mut [0; 24]).await?;
        let mut connection = Self { stream };
        connection.write(SETTINGS, 0, 0, &[]).await?;
        Ok(connection)
    }

    /// Writes one frame.
    pub async fn write(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) -> io::Result<()> {
        self.stream
            .write_all(&frame(kind, flags, id, payload))
            .await
    }

    /// Reads the next frame, of whatever kind, and acknowledges settings and pings.
    pub async fn read(&mut self) -> io::Result<Frame> {
        let frame = Frame::read(&mut self.stream).await?;
        if matches!(frame.kind, SETTINGS | PING) && frame.flags & ACK == 0 {
            let echo = if frame.kind == PING {
                &*frame.payload
            } else {
                &[]
            };
            self.write(frame.kind, ACK, 0, echo).await?;
        }
        Ok(frame)
    }

    /// Reads on until the head of a request, and returns its stream.
    pub async fn request(&mut self) -> io::Result<u32> {
        loop {
            let frame = self.read().await?;
            if frame.kind == HEADERS {
                return Ok(frame.stream);
            }
        }
    }

    /// Answers with the head of a response; the status must be one of three digits.
    pub async fn head(&mut self, id: u32, status: u16, end: bool) -> io::Result<()> {
        // ":status" is entry 8 of the static table; the value follows as it is (RFC 7541 §6.2.2).
        let mut block = vec![0x08, 3];
        block.extend_from_slice(status.to_string().as_bytes());
        let flags = END_HEADERS | if end { END_STREAM } else { 0 };
        self.write(HEADERS, flags, id, &block).await
    }

    /// Resets one stream.
    pub async fn rst_stream(&mut self, id: u32, code: u32) -> io::Result<()> {
        self.write(RST_STREAM, 0, id, &code.to_be_bytes()).await
    }

    /// Promises to process no stream above `last`.
    pub async fn goaway(&mut self, last: u32, code: u32) -> io::Result<()> {
        let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
        self.write(GOAWAY, 0, 0, &payload).await
    }

    /// Reads until the client closes.
    pub async fn drain(mut self) {
        while self.read().await.is_ok() {}
    }

    /// Resets the connection below.
    pub fn reset(self) {
        raw::reset(self.stream);
    }
}
