//! Writes to a connection, not always as it was told to.

use std::{future::Future, io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

use super::{Gone, Step};
use crate::{link::Link, random::Random};

/// The server's end of a connection.
#[derive(Debug)]
pub(super) struct Pen {
    /// `None` once the connection is over.
    link: Option<Link>,
    random: Random,
    faults: u64,
    longest_delay: Duration,
    patience: Option<Duration>,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Close,
    Reset,
    /// Says that nothing more comes, and reads on.
    HalfClose,
    /// Nothing more comes, and nobody says so.
    Stall,
    /// Noise, and then one of the others.
    Noise,
}

const ENDS: [End; 5] = [
    End::Close,
    End::Reset,
    End::HalfClose,
    End::Stall,
    End::Noise,
];

impl Pen {
    pub(super) fn new(
        link: Link,
        random: Random,
        faults: u64,
        longest_delay: Duration,
        patience: Option<Duration>,
    ) -> Self {
        Self {
            link: Some(link),
            random,
            faults,
            longest_delay,
            patience,
        }
    }

    /// Returns `true` as often as something goes wrong, or a part of that, in hundredths.
    pub(super) fn goes_wrong(&mut self, part: u64) -> bool {
        self.random.below(10_000) < self.faults * part
    }

    pub(super) fn link(&mut self) -> Step<&mut Link> {
        self.link.as_mut().ok_or(Gone)
    }

    /// Writes all of `bytes`: at once, in pieces, or only as far as it pleases.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Step {
        if !self.goes_wrong(8) {
            return self.write_pieces(bytes).await;
        }
        let at = self.random.index(bytes.len() + 1);
        self.write_pieces(&bytes[..at]).await?;
        self.end(true).await
    }

    /// Like [`write`](Self::write), for what must not come out as something else: if it is cut, nothing
    /// follows.
    pub(super) async fn write_promise(&mut self, bytes: &[u8]) -> Step {
        if !self.goes_wrong(8) {
            return self.write_pieces(bytes).await;
        }
        let at = self.random.index(bytes.len() + 1);
        self.write_pieces(&bytes[..at]).await?;
        self.end(false).await
    }

    async fn write_pieces(&mut self, bytes: &[u8]) -> Step {
        let pieces = match self.random.below(10) {
            0..6 => 1,
            6..9 => 1 + self.random.index(5),
            // Byte by byte, if there are not too many.
            _ if bytes.len() < 200 => bytes.len(),
            _ => 20,
        };
        let size = bytes.len().div_ceil(pieces.max(1)).max(1);
        for (index, piece) in bytes.chunks(size).enumerate() {
            if index > 0 {
                match self.random.below(20) {
                    0 => self.hesitate().await,
                    1..5 => tokio::task::yield_now().await,
                    _ => {}
                }
            }
            let link = self.link()?;
            link.write_all(piece).await?;
            link.flush().await?;
        }
        Ok(())
    }

    /// Waits a little, or longer.
    pub(super) async fn hesitate(&mut self) {
        let delay = self.random.time(self.longest_delay);
        sleep(delay).await;
    }

    /// Ends the connection in one way or another.
    pub(super) async fn end<T>(&mut self, may_be_noise: bool) -> Step<T> {
        let mut end = *self.random.pick(&ENDS);
        if let End::Noise = end {
            if may_be_noise {
                let length = 1 + self.random.index(40_000);
                let noise = self.random.noise(length);
                self.link()?.write_all(&noise).await?;
            }
            end = *self.random.pick(&ENDS[..4]);
        }
        let mut link = self.link.take().ok_or(Gone)?;
        match end {
            End::Close | End::Noise => {}
            End::Reset => link.reset(),
            End::HalfClose => {
                link.shutdown().await?;
                self.drain(link).await;
            }
            End::Stall => self.drain(link).await,
        }
        Err(Gone)
    }

    /// Reads until the client has nothing more to say.
    async fn drain(&self, mut link: Link) {
        let mut thrown_away = Vec::with_capacity(4 * 1024);
        while let Ok(1..) = patient(self.patience, link.read_buf(&mut thrown_away)).await {
            thrown_away.clear();
        }
    }

    /// Closes the connection, or resets it.
    pub(super) fn close<T>(&mut self) -> Step<T> {
        if let Some(link) = self.link.take() {
            if self.random.percent(30) {
                link.reset();
            }
        }
        Err(Gone)
    }

    /// Reads more into `buffer`, or learns that nothing more comes.
    pub(super) async fn read_more(&mut self, buffer: &mut Vec<u8>) -> Step {
        let at_most = if self.random.percent(10) {
            1
        } else {
            16 * 1024
        };
        let patience = self.patience;
        let mut link = (&mut *self.link()?).take(at_most);
        let read = patient(patience, link.read_buf(buffer)).await?;
        if read == 0 { Err(Gone) } else { Ok(()) }
    }
}

/// Waits for what is read, so long at most.
async fn patient(
    patience: Option<Duration>,
    reading: impl Future<Output = io::Result<usize>>,
) -> io::Result<usize> {
    match patience {
        None => reading.await,
        Some(patience) => timeout(patience, reading)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
    }
}
