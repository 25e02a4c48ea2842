//! HTTP/2 by hand.

use std::collections::BTreeMap;

use super::{
    Gone, Server, Step,
    answer::Answer,
    http2_frames::{
        CONTINUATION, FRAME, PADDED, WINDOW_UPDATE, head, literals, read_whole, split_head,
        unpadded,
    },
    ledger::Ticket,
    pen::Pen,
};
use crate::{
    random::Random,
    support::h2_by_hand::{
        ACK, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, Frame, GOAWAY, HEADERS,
        INTERNAL_ERROR, NO_ERROR, PING, PROTOCOL_ERROR, REFUSED_STREAM, RST_STREAM, SETTINGS,
        frame,
    },
};

/// One connection.
pub(super) struct Connection {
    server: Server,
    pub(super) pen: Pen,
    pub(super) random: Random,
    buffer: Vec<u8>,
    decoder: hpack::Decoder<'static>,
    streams: BTreeMap<u32, Stream>,
    /// The highest stream that was acted on.
    acted: u32,
    /// The promise not to process any stream above.
    last: u32,
    /// A head that goes on in CONTINUATION frames, with its flags.
    head: Option<(u32, u8, Vec<u8>)>,
}

struct Stream {
    ticket: Ticket,
    /// Answered, or left alone for good.
    is_done: bool,
}

impl Connection {
    pub(super) fn new(server: Server, pen: Pen, random: Random) -> Self {
        Self {
            server,
            pen,
            random,
            buffer: Vec::new(),
            decoder: hpack::Decoder::new(),
            streams: BTreeMap::new(),
            acted: 0,
            last: u32::MAX >> 1,
            head: None,
        }
    }

    pub(super) async fn run(mut self) -> Step {
        if self.pen.goes_wrong(4) {
            self.pen
                .write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                .await?;
            return self.pen.close();
        }
        while self.buffer.len() < 24 {
            self.pen.read_more(&mut self.buffer).await?;
        }
        self.buffer.drain(..24);
        let settings = self.settings();
        self.pen.write(&frame(SETTINGS, 0, 0, &settings)).await?;
        loop {
            let next = self.frame().await?;
            self.take(next).await?;
            if self.pen.goes_wrong(2) {
                self.spite().await?;
            }
        }
    }

    async fn frame(&mut self) -> Step<Frame> {
        loop {
            let mut bytes = self.buffer.as_slice();
            if let Some(frame) = read_whole(&mut bytes).await {
                let left = bytes.len();
                self.buffer.drain(..self.buffer.len() - left);
                return Ok(frame);
            }
            self.pen.read_more(&mut self.buffer).await?;
        }
    }

    async fn take(&mut self, next: Frame) -> Step {
        match next.kind {
            SETTINGS if next.flags & ACK == 0 && !self.pen.goes_wrong(3) => {
                self.pen.write(&frame(SETTINGS, ACK, 0, &[])).await?;
            }
            PING if next.flags & ACK == 0 => {
                self.pen.write(&frame(PING, ACK, 0, &next.payload)).await?;
            }
            HEADERS => {
                let block = unpadded(&next);
                self.on_block(next.stream, next.flags, block).await?;
            }
            CONTINUATION => {
                if let Some((id, flags, mut block)) = self.head.take() {
                    block.extend(&next.payload);
                    self.on_block(id, flags | next.flags & END_HEADERS, block)
                        .await?;
                }
            }
            DATA => {
                let Some(stream) = self.streams.get(&next.stream) else {
                    return Ok(());
                };
                let ticket = stream.ticket;
                let data = unpadded(&next);
                self.server.ledger.read(ticket, &data);
                // Sometimes it forgets to give back what was used up.
                if !next.payload.is_empty() && !self.pen.goes_wrong(2) {
                    let length = (next.payload.len() as u32).to_be_bytes();
                    let mut out = frame(WINDOW_UPDATE, 0, 0, &length);
                    out.extend(frame(WINDOW_UPDATE, 0, next.stream, &length));
                    self.pen.write(&out).await?;
                }
                if next.flags & END_STREAM != 0 {
                    self.end_of_body(next.stream, ticket).await?;
                }
            }
            RST_STREAM => {
                self.streams.remove(&next.stream);
            }
            _ => {}
        }
        Ok(())
    }

    async fn on_block(&mut self, id: u32, flags: u8, block: Vec<u8>) -> Step {
        if flags & END_HEADERS == 0 {
            self.head = Some((id, flags, block));
            return Ok(());
        }
        let Ok(fields) = self.decoder.decode(&block) else {
            self.server
                .ledger
                .fault("a head that HPACK cannot read".to_owned());
            return Err(Gone);
        };
        if let Some(stream) = self.streams.get(&id) {
            // Trailers.
            let ticket = stream.ticket;
            if flags & END_STREAM != 0 {
                self.end_of_body(id, ticket).await?;
            }
            return Ok(());
        }
        let field = |name: &str| {
            let found = fields.iter().find(|(key, _)| key == name.as_bytes());
            found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        let path = field(":path").unwrap_or_default();
        let attempt = field("x-attempt").unwrap_or_default();
        let framing = match field("content-length") {
            Some(_) => "length",
            None if flags & END_STREAM != 0 => "none",
            None => "open",
        };
        let Some(ticket) = self
            .server
            .ledger
            .arrived(&path, &attempt, framing.to_owned())
        else {
            self.server
                .ledger
                .fault(format!("a strange path: {path:?}"));
            return Err(Gone);
        };
        let is_refused = id > self.last;
        let stream = Stream {
            ticket,
            is_done: is_refused,
        };
        self.streams.insert(id, stream);
        if is_refused {
            self.server.ledger.refused(ticket);
            return Ok(());
        }
        if flags & END_STREAM != 0 {
            self.end_of_body(id, ticket).await
        } else if self.pen.goes_wrong(10) {
            self.act(id, ticket).await
        } else {
            Ok(())
        }
    }

    async fn end_of_body(&mut self, id: u32, ticket: Ticket) -> Step {
        self.server.ledger.ended(ticket);
        if self.streams.get(&id).is_some_and(|stream| !stream.is_done) {
            self.act(id, ticket).await?;
        }
        // Nothing more comes of it.
        self.streams.remove(&id);
        Ok(())
    }

    /// Does something with a request: once for each.
    async fn act(&mut self, id: u32, ticket: Ticket) -> Step {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.is_done = true;
        }
        if self.pen.goes_wrong(45) {
            match self.random.below(8) {
                0 | 1 => {
                    self.server.ledger.refused(ticket);
                    return self.reset(id, REFUSED_STREAM).await;
                }
                2 => {
                    self.acted = self.acted.max(id);
                    let code = self.error();
                    return self.reset(id, code).await;
                }
                3 => return self.go_away(id, ticket).await,
                4 => {
                    // Never answered.
                    self.acted = self.acted.max(id);
                    return Ok(());
                }
                5 => {
                    self.acted = self.acted.max(id);
                    return self.pen.end(true).await;
                }
                _ => self.pen.hesitate().await,
            }
        }
        self.acted = self.acted.max(id);
        self.answer(id, ticket).await
    }

    fn error(&mut self) -> u32 {
        // REFUSED_STREAM would say that the stream was not processed.
        *self.random.pick(&[
            NO_ERROR,
            PROTOCOL_ERROR,
            INTERNAL_ERROR,
            3,
            5,
            8,
            ENHANCE_YOUR_CALM,
            13,
            0xdead_beef,
        ])
    }

    async fn reset(&mut self, id: u32, code: u32) -> Step {
        let out = frame(RST_STREAM, 0, id, &code.to_be_bytes());
        self.pen.write_promise(&out).await
    }

    /// Sends the client away: this stream and later ones, or only later ones.
    async fn go_away(&mut self, id: u32, ticket: Ticket) -> Step {
        let spares_it = self.random.percent(50) || self.acted > id;
        if spares_it {
            self.acted = self.acted.max(id);
        }
        // What was acted on cannot be taken back, and a promise cannot be widened.
        let last = match self.random.below(3) {
            0 if spares_it => u32::MAX >> 1,
            _ => self.acted,
        };
        self.last = last.min(self.last);
        for (other, stream) in &self.streams {
            if *other > self.last {
                self.server.ledger.refused(stream.ticket);
            }
        }
        let code = if self.random.percent(50) {
            NO_ERROR
        } else {
            self.error()
        };
        let payload = [self.last.to_be_bytes(), code.to_be_bytes()].concat();
        self.pen
            .write_promise(&frame(GOAWAY, 0, 0, &payload))
            .await?;
        if spares_it && self.random.percent(50) {
            return self.answer(id, ticket).await;
        }
        match self.random.below(3) {
            0 => self.pen.close(),
            1 => self.pen.end(false).await,
            _ => Ok(()),
        }
    }

    async fn answer(&mut self, id: u32, ticket: Ticket) -> Step {
        let wrong = self.pen.goes_wrong(40);
        let call = &self.server.plan.calls[ticket.call];
        let answer = Answer::draw(&mut self.random, call, self.server.plan.faults, wrong);
        let random = &mut self.random;
        let mut out = Vec::new();
        for status in &answer.interim {
            let block = head(*status, &[]);
            out.extend(frame(HEADERS, END_HEADERS, id, &block));
        }
        let mut headers = answer.headers.clone();
        if wrong && random.percent(20) {
            let odd = random.pick(&[
                ("content-length", "7"),
                ("content-length", "99999999999"),
                ("content-length", "x"),
                ("Upper-Case", "no"),
                ("connection", "close"),
                ("", "no name"),
                (":path", "/pseudo"),
            ]);
            headers.push((odd.0.to_owned(), odd.1.to_owned()));
        }
        let body = &answer.body;
        let is_over = answer.is_bare || body.is_empty() && answer.trailers.is_empty();
        let garbled = (wrong && random.percent(6)).then(|| random.noise(20));
        let block = garbled.unwrap_or_else(|| head(answer.status, &headers));
        let ends = if is_over { END_STREAM } else { 0 };
        out.extend(split_head(id, ends, &block));
        if !is_over {
            let size = (1 + random.index(body.len().max(1)))
                .max(body.len() / 100)
                .min(FRAME);
            let mut pieces = body.chunks(size).peekable();
            while let Some(piece) = pieces.next() {
                let is_last = pieces.peek().is_none()
                    && answer.trailers.is_empty()
                    && !answer.is_endless
                    && !(wrong && random.percent(10));
                let ends = if is_last { END_STREAM } else { 0 };
                if random.percent(10) {
                    // Padding; a frame has room for it beside the piece.
                    let piece = &piece[..piece.len().min(FRAME - 40)];
                    let padded = [&[7][..], piece, &[0; 7]].concat();
                    out.extend(frame(DATA, PADDED | ends, id, &padded));
                } else {
                    out.extend(frame(DATA, ends, id, piece));
                }
            }
        }
        self.pen.write(&out).await?;
        if is_over {
            return Ok(());
        }
        if answer.is_endless {
            // As much as fits into the client's window, or more.
            for _ in 0..*self.random.pick(&[60, 60, 400]) {
                self.pen.write(&frame(DATA, 0, id, &[b'z'; FRAME])).await?;
            }
            return Ok(());
        }
        if !answer.trailers.is_empty() {
            let block = literals(&answer.trailers);
            self.pen
                .write(&frame(HEADERS, END_HEADERS | END_STREAM, id, &block))
                .await?;
        }
        if wrong && self.random.percent(30) {
            let twice = self.error();
            self.reset(id, twice).await?;
        }
        Ok(())
    }

    /// Returns a stream that has been used, if there is one.
    pub(super) fn some_stream(&self) -> u32 {
        let open = self.streams.keys().next_back().copied();
        open.unwrap_or(self.acted.max(1))
    }
}
