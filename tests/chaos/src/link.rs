//! The two ends of a connection: of a socket, or in memory where time is virtual.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex},
    net::TcpStream,
};

use crate::support::raw;

/// One end of a connection.
#[derive(Debug)]
pub struct Link {
    kind: Kind,
    _open: Option<Open>,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Memory {
        stream: DuplexStream,
        broken: Arc<AtomicBool>,
    },
}

/// Counts an end for as long as it is held.
#[derive(Debug)]
pub struct Open(Arc<AtomicUsize>);

impl Open {
    /// Counts one more.
    #[must_use]
    pub fn count(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(counter))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Link {
    /// Wraps a socket.
    #[must_use]
    pub fn tcp(stream: TcpStream) -> Self {
        Self {
            kind: Kind::Tcp(stream),
            _open: None,
        }
    }

    /// Creates both ends of a connection that holds `capacity` bytes in each direction.
    #[must_use]
    pub fn pair(capacity: usize) -> (Self, Self) {
        let broken = Arc::<AtomicBool>::default();
        let (near, far) = duplex(capacity);
        let end = |stream| Self {
            kind: Kind::Memory {
                stream,
                broken: Arc::clone(&broken),
            },
            _open: None,
        };
        (end(near), end(far))
    }

    /// Keeps a count of this end for as long as it is held.
    #[must_use]
    pub fn counted(mut self, count: Open) -> Self {
        self._open = Some(count);
        self
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        match self.kind {
            Kind::Tcp(stream) => raw::reset(stream),
            Kind::Memory { broken, .. } => broken.store(true, Ordering::SeqCst),
        }
    }
}

impl AsyncRead for Link {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Kind::Memory { stream, broken } => {
                let before = buf.filled().len();
                ready!(Pin::new(stream).poll_read(cx, buf))?;
                let has_ended = buf.filled().len() == before && buf.remaining() > 0;
                Poll::Ready(if has_ended && broken.load(Ordering::SeqCst) {
                    Err(io::ErrorKind::ConnectionReset.into())
                } else {
                    Ok(())
                })
            }
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().kind {
            Kind::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Kind::Memory { stream, .. } => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Kind::Memory { stream, .. } => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Kind::Memory { stream, .. } => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
