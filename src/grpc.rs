//! The status that gRPC puts into headers, trailers, or the last frame of a body.

use http::{HeaderMap, HeaderName, StatusCode};

use crate::{json_phrase::clean, percent, protocol_found::Found};

static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Returns the failure in the headers or trailers of a gRPC response. Status 0 is none.
pub(crate) fn failure(fields: &HeaderMap) -> Option<Found> {
    let status = fields.get(&GRPC_STATUS)?.to_str().ok()?;
    let message = fields.get(&GRPC_MESSAGE).map(|value| {
        // Percent-encoded by the rules; whatever else it holds is taken as it is.
        String::from_utf8_lossy(value.as_bytes())
    });
    grpc_status(status, message.as_deref())
}

fn grpc_status(status: &str, message: Option<&str>) -> Option<Found> {
    // What is no number is the code "unknown".
    let status = status.trim().parse().unwrap_or(2);
    if status == 0 {
        return None;
    }
    let message = message.map(|message| percent::decode(message.trim(), false));
    // What stands between us and the server may quote a page.
    let message = message.and_then(|message| {
        let message = clean(&message, StatusCode::OK)?;
        Some(message.into_owned())
    });
    Some(Found {
        message,
        code: grpc_name(status).map(str::to_owned),
        grpc_status: Some(status),
        ..Found::default()
    })
}

/// Returns the name of a [status code](https://grpc.io/docs/guides/status-codes/) of gRPC.
fn grpc_name(status: u32) -> Option<&'static str> {
    const NAMES: [&str; 17] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    usize::try_from(status)
        .ok()
        .and_then(|at| NAMES.get(at).copied())
}

/// Looks for the frame that holds the trailers of a gRPC-Web response: flag 0x80, four bytes of
/// length, lines as in a header.
pub(crate) fn in_frames(body: &[u8]) -> Option<Found> {
    let mut rest = body;
    while let [flags, a, b, c, d, after @ ..] = rest {
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).ok()?;
        let frame = after.get(..length.min(after.len()))?;
        if flags & 0x80 != 0 {
            return in_trailers(frame);
        }
        rest = after.get(length..)?;
    }
    None
}

fn in_trailers(frame: &[u8]) -> Option<Found> {
    let text = String::from_utf8_lossy(frame);
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then_some(value)
        })
    };
    grpc_status(field("grpc-status")?, field("grpc-message"))
}

/// Looks into a body that is the same in base64.
pub(crate) fn in_text(body: &[u8]) -> Option<Found> {
    in_frames(&base64(body))
}

/// Decodes base64 that may be several pieces, each with its own padding; stops at what is none.
fn base64(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    for group in digits.chunks_exact(4) {
        let mut bits = 0_u32;
        let mut padding = 0;
        for byte in group {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                b'=' => {
                    padding += 1;
                    0
                }
                _ => return bytes,
            };
            bits = bits << 6 | u32::from(value);
        }
        let whole = bits.to_be_bytes();
        let kept = 4_usize.saturating_sub(padding);
        bytes.extend(whole.get(1..kept).unwrap_or_default());
    }
    bytes
}

#[cfg(test)]
#[path = "../tests/unit/grpc.rs"]
mod tests;
