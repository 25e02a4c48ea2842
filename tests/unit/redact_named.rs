use super::*;

#[test]
fn a_name_is_read_without_hyphens_underscores_and_case() {
    for (name, expected) in [
        ("password", Named::Secret),
        ("newPassword", Named::Secret),
        ("client_secret", Named::Secret),
        ("ACCESS-TOKEN", Named::Secret),
        ("x_api_key", Named::Secret),
        ("input", Named::Echo),
        ("rejected_value", Named::Echo),
        ("payment_intent", Named::Echo),
        ("input_type", Named::Other),
        ("tokens_used", Named::Other),
        ("message", Named::Other),
        ("", Named::Other),
        (&"x".repeat(100), Named::Other),
    ] {
        assert!(named(name) == expected, "{name}");
    }
}

#[test]
fn a_member_ends_where_its_value_ends() {
    for (text, value) in [
        (r#""token":"abc","#, Some("abc")),
        (r#""token" : "a\\","b""#, Some(r"a\\")),
        (r#""token":"not closed"#, Some("not closed")),
        (
            r#""input":{"a":[1,{"b":"}"}]},"c":1"#,
            Some(r#"{"a":[1,{"b":"}"}]}"#),
        ),
        (r#""input":[[["#, Some("[[[")),
        (r#""token":{"a":1}"#, None),
        (
            r#""spring.datasource.hikari.connection.password":"abc""#,
            Some("abc"),
        ),
        (r#""http://example.com/claims/token":"abc""#, Some("abc")),
        (r#""pwd":-12.5e3}"#, Some("-12.5e3")),
        (r#""token":true"#, None),
        (r#""token""#, None),
        (r#""token":"#, None),
        (r#""message":"m""#, None),
        (r#"""#, None),
    ] {
        let colon = text.find("\":").or(text.find("\" :")).unwrap_or_default();
        let colon = colon + text[colon..].find(':').unwrap_or_default();
        let found = member(text, 0, colon).map(|range| &text[range]);
        assert_eq!(found, value, "{text}");
    }
}

#[test]
fn a_parameter_ends_where_its_value_ends() {
    for (text, value) in [
        ("token=abc&x=1", Some("abc")),
        ("token='abc'", Some("abc")),
        ("token=\\\"abc\\\"", Some("abc")),
        ("token=", None),
        ("token==x", None),
        ("token=basic x", None),
        ("token=[redacted]", None),
        ("name=abc", None),
    ] {
        let at = text.find('=').unwrap();
        let found = parameter(text, Some(0), at).map(|range| &text[range]);
        assert_eq!(found, value, "{text}");
        assert_eq!(parameter(text, None, at), None);
    }
}
