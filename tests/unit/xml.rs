use proptest::prelude::*;

use super::*;

fn message(text: &str) -> Option<String> {
    read(text, StatusCode::BAD_REQUEST).message
}

#[test]
fn reads_code_and_message_and_the_reason_of_a_fault() {
    for (text, wanted) in [
        (
            "<Error><Code>A</Code><Message>b c</Message></Error>",
            Some("A: b c"),
        ),
        (
            "<Error><Message>b c</Message><Code>A</Code></Error>",
            Some("A: b c"),
        ),
        (
            "<e:Error xmlns:e='x'><e:Code>A</e:Code><e:Message>b</e:Message></e:Error>",
            Some("A: b"),
        ),
        ("<Error><Code>A</Code></Error>", Some("A")),
        ("<Error><Code>A</Code><Message/></Error>", Some("A")),
        ("<Error><Message>b</Message></Error>", Some("b")),
        (
            "<Error><Code>A</Code><Message>A: b</Message></Error>",
            Some("A: b"),
        ),
        (
            "<Error><Code> A </Code>\n<Message>\n b\n</Message></Error>",
            Some("A: b"),
        ),
        (
            "<error><code>A</code><message xml:lang=\"en\">b > c</message></error>",
            Some("A: b > c"),
        ),
        ("<error><message a='x>y'>b</message></error>", Some("b")),
        (
            "<f><faultcode>s:Server</faultcode><faultstring>it broke</faultstring></f>",
            Some("it broke"),
        ),
        (
            "<s:Fault><s:Reason><s:Text xml:lang='en'>it broke</s:Text></s:Reason></s:Fault>",
            Some("it broke"),
        ),
        (
            "<problem xmlns='urn:ietf:rfc:7807'><title>t</title><detail>d</detail></problem>",
            Some("d"),
        ),
        ("<problem><title>Bad Request</title></problem>", None),
        (
            "<errors><error>Name can't be blank</error></errors>",
            Some("Name can't be blank"),
        ),
        ("<Error><Message>Bad Request</Message></Error>", None),
        (
            "<Error><Message>a &lt;x&gt; &amp; &quot;c&quot; &apos;d&apos; &#65;&#x42;</Message></Error>",
            Some("a <x> & \"c\" 'd' AB"),
        ),
        (
            "<Error><Message>&nbsp;&unknown; &#xD800; &#999999999; & &;</Message></Error>",
            Some("&nbsp;&unknown; &#xD800; &#999999999; & &;"),
        ),
        (
            "<Error><Message><![CDATA[a <b> &amp;]]></Message></Error>",
            Some("a  &amp;"),
        ),
        (
            "<Error><!-- <Message>no</Message> --><Message>yes</Message></Error>",
            Some("yes"),
        ),
        (
            "<?xml version='1.0'?><!DOCTYPE e [<!ENTITY x 'BOOM'><!ENTITY y '&x;&x;'>]><e><Message>&y;</Message></e>",
            Some("&y;"),
        ),
        ("<Error><Code>A</Code><Message>cut of", Some("A")),
        (
            "<Error><Code>A</Code><Message>b</Message><Host",
            Some("A: b"),
        ),
        (
            "<Error><Message>one</Message><Message>two</Message></Error>",
            Some("one"),
        ),
        ("</Error></x><Message>b</Message>", Some("b")),
        ("<Message", None),
        ("<", None),
        ("", None),
        ("<!DOCTYPE", None),
        ("<!--", None),
    ] {
        assert_eq!(message(text).as_deref(), wanted, "{text}");
    }
}

#[test]
fn looks_at_nothing_else() {
    let text = "<Error><StringToSign>SECRET</StringToSign><Resource>SECRET</Resource>\
        <Message>m</Message><Detail2>SECRET</Detail2></Error>";
    assert_eq!(message(text).as_deref(), Some("m"));
    let answer = read(
        "<Error><Code>see: the docs</Code><Message>m</Message></Error>",
        StatusCode::OK,
    );
    assert_eq!(answer.code, None);
}

#[test]
fn depth_is_bounded() {
    let deep = format!(
        "{}<Message>m</Message>{}",
        "<a>".repeat(50_000),
        "</a>".repeat(50_000)
    );
    assert_eq!(message(&deep), None);
    let after = format!("{deep}<Message>after</Message>");
    assert_eq!(message(&after).as_deref(), Some("after"));
}

proptest! {
    #[test]
    fn never_panics(text in r"(<|>|/|!|--|\[|\]|CDATA|&|;|#|x|Code|Message|'|é| |\?){0,60}") {
        let _ = message(&text);
    }
}
