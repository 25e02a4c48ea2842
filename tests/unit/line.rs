use super::*;

#[test]
fn limited_passes_on_whole_characters() {
    for (text, room, kept) in [("äöü", 2, "äö"), ("äöü", 0, ""), ("ab", 5, "ab")] {
        let mut out = String::new();
        Limited::new(&mut out, room).write_str(text).unwrap();
        assert_eq!(out, kept);
    }
}
