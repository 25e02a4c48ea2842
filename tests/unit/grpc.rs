use http::{HeaderMap, HeaderValue};

use super::*;

fn fields(status: &'static str, message: &'static [u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert("grpc-status", HeaderValue::from_static(status));
    if !message.is_empty() {
        fields.insert("grpc-message", HeaderValue::from_bytes(message).unwrap());
    }
    fields
}

#[test]
fn status_and_message_are_read_from_headers_and_trailers() {
    for (status, message, wanted) in [
        (
            "8",
            &b"quota%20exceeded%20for%20%E2%82%AC"[..],
            Some((8, "RESOURCE_EXHAUSTED", Some("quota exceeded for €"))),
        ),
        (
            "13",
            b"disk%20full",
            Some((13, "INTERNAL", Some("disk full"))),
        ),
        ("14", b"", Some((14, "UNAVAILABLE", None))),
        ("14", b"%20%20", Some((14, "UNAVAILABLE", None))),
        (
            "14",
            b"refused: %3Chtml%3E%3Cbody%3Enginx",
            Some((14, "UNAVAILABLE", Some("refused:"))),
        ),
        (
            "14",
            b"<!DOCTYPE html><p>x",
            Some((14, "UNAVAILABLE", None)),
        ),
        (
            "7",
            b"100%zz 5%",
            Some((7, "PERMISSION_DENIED", Some("100%zz 5%"))),
        ),
        ("7", b"a+b", Some((7, "PERMISSION_DENIED", Some("a+b")))),
        (
            "2",
            b"%ff%fe",
            Some((2, "UNKNOWN", Some("\u{fffd}\u{fffd}"))),
        ),
        ("2", b"caf\xe9", Some((2, "UNKNOWN", Some("caf\u{fffd}")))),
        ("x", b"odd", Some((2, "UNKNOWN", Some("odd")))),
        ("0", b"ignored", None),
        ("00", b"", None),
    ] {
        let found = failure(&fields(status, message));
        let found = found.as_ref().map(|found| {
            let status = found.grpc_status.unwrap();
            let code = found.code.as_deref().unwrap();
            (status, code, found.message.as_deref())
        });
        assert_eq!(found, wanted, "{status} {message:?}");
    }
    assert_eq!(failure(&HeaderMap::new()), None);
    let strange = failure(&fields("99", b"")).unwrap();
    assert_eq!((strange.grpc_status, strange.code), (Some(99), None));
}

fn frame(flags: u8, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![flags];
    frame.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
    frame.extend(data);
    frame
}

const TRAILERS: &[u8] = b"grpc-status:7\r\nGrpc-Message: denied for user\r\n";

#[test]
fn the_last_frame_of_grpc_web_is_read() {
    let denied = Some("denied for user".to_owned());
    let message = |body: &[u8]| in_frames(body).and_then(|found| found.message);
    assert_eq!(message(&frame(0x80, TRAILERS)), denied);
    let both = [frame(0, b"\x08\x01"), frame(0x80, TRAILERS)].concat();
    assert_eq!(message(&both), denied);
    assert_eq!(message(&frame(0x80, b"grpc-status:0\r\n")), None);
    assert_eq!(message(&frame(0, TRAILERS)), None);
    // Lengths that lie, and bodies that end early.
    for end in 0..both.len() {
        let _ = in_frames(&both[..end]);
    }
    assert_eq!(message(b"\x00\xff\xff\xff\xff"), None);
}

#[test]
fn base64_may_be_padded_in_the_middle() {
    assert_eq!(base64(b"aGVsbG8="), b"hello");
    assert_eq!(base64(b"aGU=bGxv"), b"hello");
    assert_eq!(base64(b"aA==\r\nZWxsbw=="), b"hello");
    assert_eq!(base64(b"aGVs!G8="), b"hel");
    assert_eq!(base64(b"===="), b"");
}
