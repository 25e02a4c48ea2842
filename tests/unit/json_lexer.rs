use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Reads all of `text` into a tree, to compare it with what a parser makes of it.
fn tree(lexer: &mut Lexer<'_>) -> Option<Value> {
    Some(match lexer.peek()? {
        b'"' => Value::String(lexer.string()?.to_owned()),
        b'{' => {
            lexer.open();
            let mut members = serde_json::Map::new();
            while let Some(key) = lexer.key() {
                members.insert(key.to_owned(), tree(lexer)?);
            }
            Value::Object(members)
        }
        b'[' => {
            lexer.open();
            let mut elements = Vec::new();
            while lexer.element() {
                elements.push(tree(lexer)?);
            }
            Value::Array(elements)
        }
        _ => serde_json::from_str(lexer.scalar()).ok()?,
    })
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_every_document_as_a_parser_does(document in json(), pretty: bool) {
        let text = if pretty {
            serde_json::to_string_pretty(&document).unwrap()
        } else {
            document.to_string()
        };
        let text = format!("[{text}]");
        let wanted = Value::from(vec![document]);
        prop_assert_eq!(tree(&mut Lexer::new(&text, &Made::default())), Some(wanted));
    }

    #[test]
    fn passes_over_a_value_whole(document in json()) {
        let text = format!("{document} 7 ");
        let made = Made::default();
        let mut lexer = Lexer::new(&text, &made);
        lexer.skip();
        prop_assert_eq!(lexer.peek(), Some(b'7'));
    }

    #[test]
    fn ends_on_any_text(text in r#"[\[\]{}:,"\\u0-9a ]{0,60}"#) {
        let made = Made::default();
        let mut lexer = Lexer::new(&text, &made);
        for _ in 0..=text.len() {
            if lexer.peek().is_none() {
                return Ok(());
            }
            let before = lexer.position();
            lexer.skip();
            prop_assert!(lexer.position() > before);
        }
        prop_assert_eq!(lexer.peek(), None);
    }
}

#[test]
fn strings_are_unescaped() {
    for (text, wanted) in [
        (r#""plain""#, Some("plain")),
        (r#""a\"b\\c\/d""#, Some("a\"b\\c/d")),
        (r#""\n\t\r\b\f""#, Some("\n\t\r\u{8}\u{c}")),
        (r#""\u00e9\u20AC""#, Some("é€")),
        (r#""\ud83d\ude00""#, Some("😀")),
        (r#""\ud83d""#, Some("\u{fffd}")),
        (r#""\ud83dx""#, Some("\u{fffd}x")),
        (r#""\ud83d\u0041""#, Some("\u{fffd}A")),
        (r#""\ude00\ud83d""#, Some("\u{fffd}\u{fffd}")),
        (r#""\uzzzz""#, Some("\u{fffd}zzzz")),
        (r#""\é""#, Some("é")),
        (r#""\u12"#, None),
        (r#""\"#, None),
        (r#""cut"#, None),
        (r#"""#, None),
    ] {
        let made = Made::default();
        assert_eq!(Lexer::new(text, &made).string(), wanted, "{text}");
    }
}
