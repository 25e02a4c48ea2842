//! HTTP/2 on the wire: frames and heads as bytes.

use crate::support::h2_by_hand::{END_HEADERS, Frame, HEADERS, frame};

pub(super) const PRIORITY: u8 = 2;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Flags.
pub(super) const PADDED: u8 = 8;
const HAS_PRIORITY: u8 = 0x20;

/// The largest payload that everybody takes.
pub(super) const FRAME: usize = 16 * 1024;

/// Reads one frame from bytes, if all of it is there.
pub(super) async fn read_whole(bytes: &mut &[u8]) -> Option<Frame> {
    let head: &[u8; 9] = bytes.first_chunk()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    if bytes.len() < 9 + length {
        return None;
    }
    Frame::read(bytes).await.ok()
}

/// Returns the payload without padding and priority.
pub(super) fn unpadded(frame: &Frame) -> Vec<u8> {
    let mut payload = frame.payload.as_slice();
    if frame.flags & PADDED != 0 {
        if let Some((padding, rest)) = payload.split_first() {
            payload = &rest[..rest.len().saturating_sub(usize::from(*padding))];
        }
    }
    if frame.kind == HEADERS && frame.flags & HAS_PRIORITY != 0 {
        payload = payload.get(5..).unwrap_or_default();
    }
    payload.to_vec()
}

/// Writes the head of an answer.
pub(super) fn head(status: u16, headers: &[(String, String)]) -> Vec<u8> {
    let mut block = literals(&[(":status".to_owned(), status.to_string())]);
    block.extend(literals(headers));
    block
}

/// Writes fields as they are, without any table (RFC 7541 §6.2.2).
pub(super) fn literals(fields: &[(String, String)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            length(&mut block, text.len());
            block.extend(text.bytes());
        }
    }
    block
}

/// Writes a length into the seven bits of a string's first byte and those behind it (RFC 7541 §5.1).
fn length(block: &mut Vec<u8>, length: usize) {
    if length < 127 {
        return block.push(length as u8);
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.push(rest as u8 & 127 | 128);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// Writes a head that may be too long for one frame.
pub(super) fn split_head(id: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut pieces = block.chunks(FRAME).peekable();
    let mut kind = HEADERS;
    while let Some(piece) = pieces.next() {
        let first = if kind == HEADERS { flags } else { 0 };
        let last = if pieces.peek().is_none() {
            END_HEADERS
        } else {
            0
        };
        out.extend(frame(kind, first | last, id, piece));
        kind = CONTINUATION;
    }
    out
}
