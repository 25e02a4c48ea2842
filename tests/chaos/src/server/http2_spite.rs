//! What an HTTP/2 server may send at any time, and what it may not.

use super::{
    Step,
    http2::Connection,
    http2_frames::{CONTINUATION, PRIORITY, PUSH_PROMISE, WINDOW_UPDATE, literals},
};
use crate::support::h2_by_hand::{ACK, DATA, END_HEADERS, HEADERS, PING, SETTINGS, frame};

impl Connection {
    /// Draws the settings that open the connection.
    pub(super) fn settings(&mut self) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut put = |id: u16, value: u32| {
            payload.extend(id.to_be_bytes());
            payload.extend(value.to_be_bytes());
        };
        if self.pen.goes_wrong(20) {
            let random = &mut self.random;
            match random.below(8) {
                // No stream may be opened, or one.
                0 => put(3, random.below(2) as u32),
                // No body may be sent, little of it, or more than there may be.
                1 => put(4, *random.pick(&[0, 1, 100, 0x7fff_ffff, 0x8000_0000])),
                2 => put(5, *random.pick(&[0, 100, 16_384, 0xff_ffff, 0xffff_ffff])),
                3 => put(6, random.below(100) as u32),
                4 => put(2, random.below(3) as u32),
                5 => put(0x99, 1),
                6 => put(1, 0),
                _ => payload.extend([0, 1, 2]),
            }
        }
        payload
    }

    /// Sends frames that nobody needs.
    pub(super) async fn spite(&mut self) -> Step {
        let id = self.some_stream();
        let many = 1 + self.random.index(300);
        let mut out = Vec::new();
        match self.random.below(16) {
            0 => {
                for _ in 0..many {
                    out.extend(frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]));
                }
            }
            1 => {
                for count in 0..many as u64 {
                    out.extend(frame(PING, 0, 0, &count.to_be_bytes()));
                }
            }
            2 => out = frame(SETTINGS, ACK, 0, &[]).repeat(many),
            3 => out = frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(many),
            4 => out = frame(WINDOW_UPDATE, 0, id, &[0, 0, 0, 0]),
            5 => out = frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]).repeat(2),
            6 => out = frame(0xbe, 0xff, id, b"whatever").repeat(many),
            7 => out = frame(PRIORITY, 0, id, &[0, 0, 0, 0, 16]).repeat(many),
            8 => out = frame(DATA, 0, id, &[]).repeat(many),
            9 => out = frame(DATA, 0, id + 1_000, b"for nobody"),
            10 => out = frame(HEADERS, END_HEADERS, 0, &[0x88]),
            11 => {
                let block = literals(&[("x".to_owned(), "y".repeat(100))]);
                out = frame(HEADERS, 0, id, &[0x88]);
                out.extend(frame(CONTINUATION, 0, id, &block).repeat(many));
            }
            12 => {
                let mut payload = 2_u32.to_be_bytes().to_vec();
                payload.push(0x82);
                out = frame(PUSH_PROMISE, END_HEADERS, id, &payload);
            }
            // A length that no frame may have.
            13 => out = vec![0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1],
            // Settings that change under way.
            14 => {
                let window = *self.random.pick(&[0, 1, 70_000]);
                let mut payload = vec![0, 4];
                payload.extend(u32::to_be_bytes(window));
                out = frame(SETTINGS, 0, 0, &payload);
            }
            _ => self.pen.hesitate().await,
        }
        self.pen.write(&out).await
    }
}
