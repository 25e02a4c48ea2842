use proptest::prelude::*;

use super::*;

fn text(bytes: &[u8], charset: Option<&str>) -> Option<String> {
    decode(bytes, charset).map(Cow::into_owned)
}

fn wide(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[test]
fn the_charset_is_found_by_mark_by_label_and_by_sight() {
    for (bytes, charset, wanted) in [
        (&b"plain"[..], None, Some("plain")),
        (b"", None, Some("")),
        (b"\xef\xbb\xbf{}", None, Some("{}")),
        (b"\xff\xfe{\0}\0", None, Some("{}")),
        (b"\xfe\xff\0{\0}", None, Some("{}")),
        (b"{\0\"\0a\0\"\0}\0", None, Some("{\"a\"}")),
        (b"\0{\0\"\0a\0\"\0}", None, Some("{\"a\"}")),
        (b"\x3d\xd8\x00\xde\x3d\xd8", Some("UTF-16LE"), Some("😀")),
        (b"\xd8\x3d\xde\x00", Some("utf-16be"), Some("😀")),
        (b"caf\xe9 noir", Some("ISO-8859-1"), Some("café noir")),
        (b"caf\xe9", Some("iso-8859-1"), Some("café")),
        (
            b"10 \x80 too little",
            Some("windows-1252"),
            Some("10 € too little"),
        ),
        (b"caf\xe9 noir", None, Some("café noir")),
        (b"caf\xe9 noir", Some("utf-8"), Some("caf\u{fffd} noir")),
        ("café noir".as_bytes(), Some("latin1"), Some("café noir")),
        (
            b"na\xc3\xafve caf\xe9 noir",
            None,
            Some("naïve caf\u{fffd} noir"),
        ),
        (b"cut in the \xe2\x82", None, Some("cut in the ")),
        (
            b"cut in the caf\xc3\xa9 \xe2\x82",
            Some("utf-8"),
            Some("cut in the café "),
        ),
        (b"unknown label", Some("klingon"), Some("unknown label")),
        (b"nul \0 nul", None, None),
        (b"\x01\x02\x03\x04 text", None, None),
        (b"\x00\x01\x02\xff\xfe", None, None),
        (b"\xff\xfd\xfc\xfb\xfa", None, None),
        (b"\xff\xfe\0\xd8\0\xd8\0\xd8\0\xd8", None, None),
    ] {
        assert_eq!(
            text(bytes, charset).as_deref(),
            wanted,
            "{bytes:?} {charset:?}"
        );
    }
}

proptest! {
    #[test]
    fn never_panics(bytes: Vec<u8>, charset in prop::option::of("[a-z0-9-]{0,12}")) {
        if let Some(text) = decode(&bytes, charset.as_deref()) {
            prop_assert!(!text.contains('\0'));
        }
    }

    #[test]
    fn text_is_read_in_every_unicode_encoding(wanted in "[a-zäöü€ 😀]{3,40}") {
        let marked = format!("\u{feff}{wanted}");
        for bytes in [
            marked.as_bytes().to_vec(),
            wanted.as_bytes().to_vec(),
            wide(&marked, u16::to_le_bytes),
            wide(&marked, u16::to_be_bytes),
        ] {
            prop_assert_eq!(text(&bytes, None), Some(wanted.clone()));
        }
    }
}
