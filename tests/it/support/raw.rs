//! TCP on loopback, by hand: listeners that do what they are told with every connection.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

/// Hands every connection to `handler`, each in a task of its own, for as long as the test runs.
pub async fn serve<F, Fut>(handler: F) -> SocketAddr
where
    F: Fn(TcpStream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Arc::new(handler);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handler(stream));
        }
    });
    address
}

/// Returns an address that refuses connections for as long as the socket is kept: it is bound, so
/// that nobody else is given it, and does not listen.
pub fn refused() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

/// Returns an address that lets nobody in: it listens, never accepts, and its queue is full. What
/// it returns beside the address keeps it so.
pub async fn unreachable() -> (SocketAddr, impl Sized) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    // A queue of one takes two on Linux; a connection that is not taken within a tenth of a second
    // tells that it is full.
    for _ in 0..64 {
        let connect = TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_millis(100), connect).await {
            Ok(stream) => queue.push(stream.unwrap()),
            Err(_) => break,
        }
    }
    (address, (listener, queue))
}

/// Reads up to the blank line that ends a head, and returns it; what it read beyond is lost.
pub async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = Vec::new();
    while !read.windows(4).any(|window| window == b"\r\n\r\n") {
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            break;
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Reads `count` bytes and throws them away; returns whether that many came.
pub async fn skip(stream: &mut (impl AsyncRead + Unpin), count: u64) -> bool {
    let copied = tokio::io::copy(&mut stream.take(count), &mut tokio::io::sink()).await;
    copied.is_ok_and(|copied| copied == count)
}

/// Reads until the peer closes.
pub async fn drain(stream: &mut (impl AsyncRead + Unpin)) {
    let _ = tokio::io::copy(stream, &mut tokio::io::sink()).await;
}

/// Ends a connection with a reset in place of an orderly close.
pub fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
    drop(stream);
}
