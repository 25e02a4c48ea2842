//! HTTP/1 by hand.

use super::{Gone, Server, Step, answer::Answer, ledger::Ticket, pen::Pen};
use crate::random::Random;

/// One connection.
pub(super) struct Connection {
    server: Server,
    pen: Pen,
    random: Random,
    buffer: Vec<u8>,
}

/// By what the length of a request's body is told.
#[derive(Clone, Copy)]
enum Framing {
    None,
    Length(usize),
    Chunked,
}

impl Connection {
    pub(super) fn new(server: Server, pen: Pen, random: Random) -> Self {
        Self {
            server,
            pen,
            random,
            buffer: Vec::new(),
        }
    }

    pub(super) async fn run(mut self) -> Step {
        loop {
            if self.pen.goes_wrong(6) {
                self.unasked().await?;
            }
            let (ticket, framing) = self.head().await?;
            // Before the body.
            let mut is_answered = false;
            if self.pen.goes_wrong(10) {
                match self.random.below(3) {
                    0 => return self.pen.end(true).await,
                    1 => self.pen.hesitate().await,
                    _ => {
                        self.answer(ticket).await?;
                        is_answered = true;
                        if self.random.percent(40) {
                            return self.pen.close();
                        }
                    }
                }
            }
            self.body(ticket, framing).await?;
            if is_answered {
                continue;
            }
            if self.pen.goes_wrong(35) {
                match self.random.below(3) {
                    0 | 1 => return self.pen.end(true).await,
                    _ => self.pen.hesitate().await,
                }
            }
            self.answer(ticket).await?;
            if self.pen.goes_wrong(20) {
                return match self.random.below(3) {
                    0 => self.pen.close(),
                    _ => self.pen.end(true).await,
                };
            }
        }
    }

    /// Says something although nobody asked.
    async fn unasked(&mut self) -> Step {
        match self.random.below(3) {
            0 => self.pen.end(true).await,
            1 => {
                let late = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
                self.pen.write(late).await?;
                self.pen.close()
            }
            _ => {
                self.pen.hesitate().await;
                Ok(())
            }
        }
    }

    async fn head(&mut self) -> Step<(Ticket, Framing)> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if !self.buffer.is_empty() && self.pen.goes_wrong(5) {
                return self.pen.end(true).await;
            }
            self.pen.read_more(&mut self.buffer).await?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        let header = |name: &str| {
            let of_name = |line: &str| {
                let (found, value) = line.split_once(':')?;
                found
                    .eq_ignore_ascii_case(name)
                    .then(|| value.trim().to_owned())
            };
            head.lines().find_map(of_name)
        };
        let path = head.split(' ').nth(1).unwrap_or_default();
        let attempt = header("x-attempt").unwrap_or_default();
        let (framing, label) = match (header("content-length"), header("transfer-encoding")) {
            (Some(length), _) => (Framing::Length(length.parse().unwrap_or(0)), "length"),
            (None, Some(_)) => (Framing::Chunked, "chunked"),
            (None, None) => (Framing::None, "none"),
        };
        match self.server.ledger.arrived(path, &attempt, label.to_owned()) {
            Some(ticket) => Ok((ticket, framing)),
            None => {
                let line = head.lines().next().unwrap_or_default();
                self.server
                    .ledger
                    .fault(format!("a strange head: {line:?}"));
                Err(Gone)
            }
        }
    }

    async fn body(&mut self, ticket: Ticket, framing: Framing) -> Step {
        match framing {
            Framing::None => {}
            Framing::Length(length) => self.bytes(ticket, length).await?,
            Framing::Chunked => loop {
                let line = self.line().await?;
                let Ok(length) = usize::from_str_radix(line.trim(), 16) else {
                    self.server
                        .ledger
                        .fault(format!("a strange chunk: {line:?}"));
                    return Err(Gone);
                };
                if length == 0 {
                    while !self.line().await?.is_empty() {}
                    break;
                }
                self.bytes(ticket, length).await?;
                self.line().await?;
            },
        }
        self.server.ledger.ended(ticket);
        Ok(())
    }

    async fn bytes(&mut self, ticket: Ticket, mut left: usize) -> Step {
        while left > 0 {
            if self.buffer.is_empty() {
                if self.pen.goes_wrong(1) {
                    return self.pen.end(true).await;
                }
                self.pen.read_more(&mut self.buffer).await?;
            }
            let length = left.min(self.buffer.len());
            self.server.ledger.read(ticket, &self.buffer[..length]);
            self.buffer.drain(..length);
            left -= length;
        }
        Ok(())
    }

    async fn line(&mut self) -> Step<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..at]).into_owned();
                self.buffer.drain(..at + 2);
                return Ok(line);
            }
            self.pen.read_more(&mut self.buffer).await?;
        }
    }

    async fn answer(&mut self, ticket: Ticket) -> Step {
        let wrong = self.pen.goes_wrong(40);
        let call = &self.server.plan.calls[ticket.call];
        let answer = Answer::draw(&mut self.random, call, self.server.plan.faults, wrong);
        let mut out = Vec::new();
        for status in &answer.interim {
            out.extend(
                format!("HTTP/1.1 {status} Wait\r\nlink: </a>; rel=preload\r\n\r\n").bytes(),
            );
        }
        let version = if wrong && self.random.percent(10) {
            *self
                .random
                .pick(&["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "ICY"])
        } else {
            "HTTP/1.1"
        };
        out.extend(format!("{version} {} {}\r\n", answer.status, "Reason").bytes());
        for (name, value) in &answer.headers {
            out.extend(format!("{name}: {value}\r\n").bytes());
        }
        if wrong && self.random.percent(8) {
            let broken: &[&[u8]] = &[
                b"no colon here\r\n",
                b": no name\r\n",
                b"x-nul: a\0b\r\n",
                b"x-high: \xff\xfe\r\n",
            ];
            out.extend(*self.random.pick(broken));
        }
        let length = answer.body.len();
        let is_lying = wrong && self.random.percent(40);
        match self.random.below(3) {
            _ if answer.is_bare => out.extend(b"\r\n"),
            0 => self.chunked(&mut out, &answer, is_lying),
            // Up to the end of the connection.
            1 if answer.is_endless || self.random.percent(30) => {
                out.extend(b"connection: close\r\n\r\n");
                out.extend(&answer.body);
                self.pen.write(&out).await?;
                return self.finish(&answer, false).await;
            }
            _ => {
                let told = match (answer.is_endless, is_lying) {
                    (true, _) => "1073741824".to_owned(),
                    (_, false) => length.to_string(),
                    (_, true) => self
                        .random
                        .pick(&[
                            (length + 7).to_string(),
                            (length / 2).to_string(),
                            "-1".to_owned(),
                            "99999999999999999999999".to_owned(),
                            format!("{length}\r\ncontent-length: {}", length + 1),
                        ])
                        .clone(),
                };
                out.extend(format!("content-length: {told}\r\n\r\n").bytes());
                out.extend(&answer.body);
            }
        }
        self.pen.write(&out).await?;
        if answer.is_endless && !answer.is_bare {
            return self.finish(&answer, out.ends_with(b"\r\n")).await;
        }
        Ok(())
    }

    /// Goes on with a body that has no end, or closes where the end of the connection is its end.
    async fn finish(&mut self, answer: &Answer, is_chunked: bool) -> Step {
        if !answer.is_endless {
            return self.pen.close();
        }
        let more = [b'z'; 16 * 1024];
        loop {
            if is_chunked {
                self.pen.write(b"4000\r\n").await?;
            }
            self.pen.write(&more).await?;
            if is_chunked {
                self.pen.write(b"\r\n").await?;
            }
        }
    }

    fn chunked(&mut self, out: &mut Vec<u8>, answer: &Answer, is_lying: bool) {
        out.extend(b"transfer-encoding: chunked\r\n\r\n");
        let size = 1 + self.random.index(answer.body.len().max(1));
        let size = size.max(answer.body.len() / 100);
        for chunk in answer.body.chunks(size) {
            let told = if is_lying && self.random.percent(10) {
                self.random
                    .pick(&["zz", "ffffffffffffffffff", "", "-4"])
                    .to_string()
            } else {
                format!("{:x}", chunk.len())
            };
            out.extend(format!("{told}\r\n").bytes());
            out.extend(chunk);
            out.extend(b"\r\n");
        }
        if answer.is_endless || is_lying && self.random.percent(30) {
            return;
        }
        out.extend(b"0\r\n");
        for (name, value) in &answer.trailers {
            out.extend(format!("{name}: {value}\r\n").bytes());
        }
        out.extend(b"\r\n");
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
