use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn is_borrowed(text: &str) -> bool {
    matches!(one_line(text), Cow::Borrowed(_))
}

#[test]
fn one_line_removes_what_breaks_a_line() {
    for (text, line) in [
        ("plain", "plain"),
        ("  two\r\n lines\t", "two lines"),
        ("two  blanks", "two blanks"),
        ("ends with a blank ", "ends with a blank"),
        ("\u{1b}[31mred\u{1b}[0m alert", "red alert"),
        ("\u{1b}[38;5;196mred\u{1b}[K", "red"),
        ("\u{9b}1mbold", "bold"),
        ("title\u{1b}]0;owned\u{7}rest", "title rest"),
        ("title\u{1b}]0;owned\u{1b}\\rest", "title rest"),
        ("title\u{9d}0;owned\u{9c}rest", "title rest"),
        ("title\u{1b}]0;not ended", "title ]0;not ended"),
        ("title\u{1b}]0;not ended\nnext", "title ]0;not ended next"),
        (
            "a\u{1b}]8;;http://h\u{1b}\\link\u{1b}]8;;\u{1b}\\b",
            "a link b",
        ),
        ("dcs\u{1b}P1;2|payload\u{1b}\\end", "dcs end"),
        ("dcs\u{90}payload\u{9c}end", "dcs end"),
        ("apc\u{1b}_G\u{1b}\\end", "apc end"),
        ("charset\u{1b}(Bend", "charset end"),
        ("reset\u{1b}cend", "reset end"),
        ("lone\u{1b}", "lone"),
        ("a\u{2028}b\u{2029}c", "a b c"),
        ("user\u{202e}txt.exe", "user txt.exe"),
        ("\u{feff}bom", "bom"),
        ("zero\u{200b}width\u{2060}s", "zero width s"),
        ("tag\u{e0041}\u{e007f}s", "tag s"),
        ("nul\u{0}\u{0}nul", "nul nul"),
        ("no\u{a0}break\u{3000}space", "no break space"),
        ("\n\n", ""),
        (" ", ""),
        ("", ""),
        (
            "مى\u{200c}خواهم 👩\u{200d}💻 ok",
            "مى\u{200c}خواهم 👩\u{200d}💻 ok",
        ),
        ("e\u{301}", "e\u{301}"),
        (
            "z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}algo",
            "z\u{300}\u{301}\u{302}\u{303}algo",
        ),
    ] {
        assert_eq!(one_line(text), line, "{text:?}");
        assert_eq!(is_borrowed(text), text == line, "{text:?}");
        assert!(is_borrowed(line), "{line:?}");
    }
}

#[test]
fn a_clean_text_is_borrowed() {
    for text in [
        "",
        "plain words",
        "wörter auf deutsch",
        "数据库已锁定",
        "e\u{301} a",
    ] {
        assert!(matches!(one_line(text), Cow::Borrowed(_)), "{text:?}");
    }
}

#[test]
fn cut_counts_characters_and_keeps_room_for_the_ellipsis() {
    for (text, cap, kept) in [
        ("abc", 3, ("abc", false)),
        ("abcd", 3, ("ab", true)),
        ("äöüß", 4, ("äöüß", false)),
        ("äöüß", 3, ("äö", true)),
        ("abc", 1, ("", true)),
        ("abc", 0, ("", true)),
        ("", 0, ("", false)),
    ] {
        assert_eq!(cut(text, cap), kept, "{text:?} {cap}");
    }
}

/// What a line may be made of, with more of what matters than chance would give.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{0,6}",
        Just(" ".to_owned()),
        Just("\u{1b}[".to_owned()),
        Just("\u{1b}]".to_owned()),
        Just("\u{1b}\\".to_owned()),
        Just("\u{9d}".to_owned()),
        Just("\u{301}".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{202e}".to_owned()),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_line_holds_no_control_and_no_two_spaces(text in any_text()) {
        let line = one_line(&text);
        prop_assert!(!line.chars().any(|c| c.is_control() || breaks_line(c)), "{line:?}");
        prop_assert!(!line.contains("  ") && line.trim() == line, "{line:?}");
        prop_assert!(line.len() <= text.len());
    }

    #[test]
    fn a_line_is_its_own_line(text in any_text()) {
        let line = one_line(&text).into_owned();
        prop_assert_eq!(one_line(&line), line.as_str());
        prop_assert!(is_borrowed(&line));
    }

    #[test]
    fn a_cut_text_is_a_beginning_and_never_wider_than_its_cap(text in any_text(), cap in 0_usize..50) {
        let mut out = String::new();
        write_cut(&mut out, &text, cap).unwrap();
        prop_assert!(width(&out) <= cap);
        prop_assert!(text.starts_with(out.strip_suffix('…').unwrap_or(&out)) || text.starts_with(&out));
    }
}

#[test]
fn a_text_of_any_length_is_copied_whole() {
    let text: Vec<u8> = (0..=100).collect();
    for length in 0..=text.len() {
        let mut place = vec![255; length];
        copy_short(&mut place, &text[..length]);
        assert_eq!(place, text[..length], "{length} bytes");
    }
}
