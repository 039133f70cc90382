//! Which messages, and which conversations, are the same.

// Test code panics where an expectation fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bethink_prefix_match::{
    Chain, ChainScope, LikenessReader, MessageReading, NotComparable, Speaker,
};
use bethink_transcript::json::BadJson;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the marks of all prefixes, the shortest first.
fn marks_of(setting: &[&str], messages: &[MessageReading]) -> Vec<u128> {
    let mut chain = Chain::new(setting);
    messages.iter().map(|message| chain.push(message)).collect()
}

fn read(message: &str) -> MessageReading {
    LikenessReader::default().read(message.as_bytes()).unwrap_or_else(|e| panic!("{message}: {e}"))
}

#[track_caller]
fn alike(a: &str, b: &str) {
    assert_eq!(read(a).likeness, read(b).likeness, "{a}\n{b}");
}

#[track_caller]
fn unlike(a: &str, b: &str) {
    assert_ne!(read(a).likeness, read(b).likeness, "{a}\n{b}");
}

fn user(content: &str) -> String {
    format!(r#"{{"role":"user","content":{content}}}"#)
}

fn assistant(content: &str) -> String {
    format!(r#"{{"role":"assistant","content":{content}}}"#)
}

#[test]
fn form_is_no_edit() {
    for (a, b) in [
        // A string is the same as one text block.
        (r#""hi""#, r#"[{"type":"text","text":"hi"}]"#),
        (r#"[{"type":"text","text":"hi"}]"#, r#" [ {"text" : "hi", "type":"text"} ] "#),
        // Breakpoints move.
        (
            r#""hi""#,
            r#"[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]"#,
        ),
        // Escapes do not matter.
        (r#""é😀/\n""#, r#""\u00e9\ud83d\ude00\/\u000a""#),
        (r#""\ud83d""#, "\"\u{FFFD}\""),
        // Empty citations are the same as none.
        (r#""hi""#, r#"[{"type":"text","text":"hi","citations":null}]"#),
        (r#""hi""#, r#"[{"type":"text","text":"hi","citations":[]}]"#),
        // An empty text is the same as none.
        (r#""hi""#, r#"[{"type":"text","text":""},{"type":"text","text":"hi"}]"#),
        (r#""""#, "[]"),
        ("null", "[]"),
        // A result's content can be a string, and `is_error: false` can be left out.
        (
            r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"}]"#,
            r#"[{"type":"tool_result","is_error":false,"content":[{"type":"text","text":"ok","cache_control":{"type":"ephemeral"}}],"tool_use_id":"t","cache_control":null}]"#,
        ),
        (
            r#"[{"type":"tool_result","tool_use_id":"t"}]"#,
            r#"[{"type":"tool_result","tool_use_id":"t","content":""}]"#,
        ),
        // Media and unknown blocks.
        (
            r#"[{"type":"image","source":{"type":"base64","data":"AA"}}]"#,
            r#"[{"source":{"data":"AA","type":"base64"},"type":"image","cache_control":{}}]"#,
        ),
        (r#"[{"type":"novel","a":1,"b":[{}]}]"#, r#"[{"b":[{}],"type":"novel","a":1.0,"c":null}]"#),
    ] {
        alike(&user(a), &user(b));
    }
}

#[test]
fn reminders_come_and_go() {
    const TEXT: &str = r#"{"type":"text","text":"fix it"}"#;
    const DATE: &str = r#"{"type":"text","text":"<system-reminder>\ntoday\n</system-reminder>\n"}"#;
    const OTHER: &str = r#"{"type":"text","text":"<system-reminder>tools</system-reminder>"}"#;
    let said = |blocks: &[&str]| user(&format!("[{}]", blocks.join(",")));
    alike(&said(&[OTHER, DATE, TEXT]), &said(&[OTHER, TEXT]));
    alike(&said(&[DATE, TEXT]), &user(r#""fix it""#));
    let result = r#"{"type":"tool_result","tool_use_id":"t","content":"ok"}"#;
    alike(&said(&[result, DATE]), &said(&[result]));
    // A message that is nothing but a reminder is what it says.
    unlike(&said(&[DATE]), &said(&[OTHER]));
    // A person's text is not a reminder only because it quotes one.
    let quoted = r#"{"type":"text","text":"<system-reminder>a</system-reminder> why?"}"#;
    unlike(&said(&[quoted, TEXT]), &said(&[TEXT]));
    unlike(&said(&[result, TEXT]), &said(&[result]));
}

#[test]
fn an_answer_comes_back_in_another_form() {
    for (a, b) in [
        // Clients drop thinking and join text blocks.
        (
            r#"[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"yes"}]"#,
            r#""yes""#,
        ),
        (r#"[{"type":"redacted_thinking","data":"x"},{"type":"text","text":"yes"}]"#, r#""yes""#),
        (r#"[{"type":"text","text":"one "},{"type":"text","text":"two"}]"#, r#""one two""#),
        (r#""  yes\n""#, r#""yes""#),
        // Arguments through a map, and numbers through a double.
        (
            r#"[{"type":"tool_use","id":"t","name":"n","input":{"b":1.0,"a":{"y":"\u0041","x":1e2}},"caller":{"type":"direct"}}]"#,
            r#"[{"name":"n","type":"tool_use","id":"t","input":{"a":{"x":100,"y":"A"},"b":1}}]"#,
        ),
        (
            r#"[{"type":"tool_use","id":"t","name":"n","input":{}}]"#,
            r#"[{"type":"tool_use","id":"t","name":"n"}]"#,
        ),
    ] {
        alike(&assistant(a), &assistant(b));
    }
    alike(
        r#"{"id":"msg_1","role":"assistant","model":"m","content":"a","usage":{},"stop_reason":null}"#,
        &assistant(r#""a""#),
    );
}

#[test]
fn what_is_said_is_not_form() {
    for (a, b) in [
        (r#""hi""#, r#""ho""#),
        (r#""hi""#, r#""hi ""#),
        (r#""hi""#, "[]"),
        (
            r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"}]"#,
            r#"[{"type":"tool_result","tool_use_id":"u","content":"ok"}]"#,
        ),
        (
            r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"}]"#,
            r#"[{"type":"tool_result","tool_use_id":"t","content":"ok","is_error":true}]"#,
        ),
        // A text block after a result is not part of the result.
        (
            r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"},{"type":"text","text":"x"}]"#,
            r#"[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"ok"},{"type":"text","text":"x"}]}]"#,
        ),
        (
            r#"[{"type":"image","source":{"type":"base64","data":"AA"}}]"#,
            r#"[{"type":"image","source":{"type":"base64","data":"AB"}}]"#,
        ),
        (
            r#"[{"type":"image","source":{"type":"url","url":"x"}}]"#,
            r#"[{"type":"document","source":{"type":"url","url":"x"}}]"#,
        ),
        (r#"[{"type":"novel","a":1}]"#, r#"[{"type":"novel","a":"1"}]"#),
        (r#"[{"type":"novel","a":1}]"#, r#"[{"type":"other","a":1}]"#),
    ] {
        unlike(&user(a), &user(b));
    }
    for (a, b) in [
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
        (r#"{"a":null}"#, "{}"),
        (r#"{"a":1}"#, r#"{"a":true}"#),
        (r#"{"cache_control":"x"}"#, "{}"),
        (r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#),
    ] {
        let call = |input: &str| {
            assistant(&format!(r#"[{{"type":"tool_use","id":"t","name":"n","input":{input}}}]"#))
        };
        unlike(&call(a), &call(b));
    }
    unlike(&user(r#""a""#), &assistant(r#""a""#));
    unlike(&user(r#""a""#), r#"{"role":"system","content":"a"}"#);
    assert_eq!(read(r#"{"role":"system","content":"a"}"#).speaker, Speaker::Other);
}

#[test]
fn what_is_no_message_is_refused() {
    for (text, expect) in [
        ("", NotComparable::Message),
        ("[]", NotComparable::Message),
        ("{}", NotComparable::Message),
        (r#"{"role":"user"}"#, NotComparable::Message),
        (r#"{"role":1,"content":"x"}"#, NotComparable::Message),
        (r#"{"role":"user","content":"x""#, NotComparable::Json(BadJson::At(28))),
        (r#"{"role":"user","content":"x"}}"#, NotComparable::Json(BadJson::At(29))),
        (r#"{"role":"user","content":"x}"#, NotComparable::Json(BadJson::At(26))),
    ] {
        assert_eq!(LikenessReader::default().read(text.as_bytes()), Err(expect), "{text}");
    }
    let deep = user(&format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)));
    assert_eq!(
        LikenessReader::default().read(deep.as_bytes()),
        Err(NotComparable::Json(BadJson::Depth))
    );
}

#[test]
fn breakpoints_are_cut_out_and_nothing_else() {
    for (given, expect) in [
        (
            r#"[{"type":"text","text":"a" , "cache_control":{"type":"ephemeral"}}]"#,
            r#"[{"type":"text","text":"a"}]"#,
        ),
        (
            r#"[{"cache_control":{"type":"ephemeral"}, "type":"text","text":"a"}]"#,
            r#"[{ "type":"text","text":"a"}]"#,
        ),
        (
            r#"[{"type":"tool_result","cache_control":{"ttl":"1h"},"content":[{"type":"text","cache_control":null,"text":"b"}],"tool_use_id":"t"}]"#,
            r#"[{"type":"tool_result","content":[{"type":"text","text":"b"}],"tool_use_id":"t"}]"#,
        ),
        // An argument with that name is part of the model's input.
        (
            r#"[{"type":"tool_use","id":"t","name":"n","input":{"cache_control":{}}}]"#,
            r#"[{"type":"tool_use","id":"t","name":"n","input":{"cache_control":{}}}]"#,
        ),
        (r#"[{"cache_control":{}}]"#, "[{}]"),
        (r#"" \"cache_control\": ""#, r#"" \"cache_control\": ""#),
    ] {
        let message = Bytes::from(user(given));
        let cut = read(&user(given)).unmarked(&message);
        assert_eq!(String::from_utf8_lossy(&cut), user(expect));
    }
    let message = Bytes::from(user(
        r#"[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b","cache_control":{"ttl":"1h"}}]"#,
    ));
    let reading = LikenessReader::default().read(&message).unwrap();
    assert_eq!(reading.breakpoint(&message).unwrap(), r#"{"ttl":"1h"}"#);
}

#[test]
fn media_are_counted() {
    let said = user(
        r#"[{"type":"image","source":{}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{}}]}]"#,
    );
    assert_eq!(read(&said).media, 2);
}

#[test]
fn the_setting_counts_until_somebody_answers() {
    let said = [user(r#""hi""#), assistant(r#""yes""#), user(r#""go""#)].map(|m| read(&m));
    let marks = |setting: &str| marks_of(&[setting, "[]"], &said);
    let (agent, title) = (marks("large"), marks("small"));
    assert_ne!(agent[0], title[0]);
    assert_eq!(agent[1..], title[1..]);
    assert_ne!(agent[1], agent[2]);
    assert_ne!(ChainScope::of(&["a", "bc"]), ChainScope::of(&["ab", "c"]));
}

/// Generates random messages over a small vocabulary, so that some are equal.
fn message() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec!["a", "b", "é\n\"", "", " a "]);
    let block = (0..4, text).prop_map(|(kind, text)| match kind {
        0 => json!({ "type": "text", "text": text }),
        1 => json!({ "type": "tool_use", "id": text, "name": "n", "input": { "z": text, "a": [1, null] } }),
        2 => json!({ "type": "tool_result", "tool_use_id": "t", "content": text }),
        _ => json!({ "type": "image", "source": { "data": text } }),
    });
    (any::<bool>(), prop::collection::vec(block, 0..4)).prop_map(|(user, content)| {
        json!({ "role": if user { "user" } else { "assistant" }, "content": content })
    })
}

/// Returns the same message as another client would write it.
fn dressed(message: &Value, marked: bool) -> String {
    let blocks: Vec<String> = message["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| {
            let mut members: Vec<String> =
                block.as_object().unwrap().iter().map(|(k, v)| format!("{k:?}: {v}")).collect();
            members.reverse();
            if marked {
                let at = members.len() / 2;
                members.insert(at, r#""cache_control":{"type":"ephemeral"}"#.to_owned());
            }
            format!("{{ {} }}", members.join(" , "))
        })
        .collect();
    format!(r#"{{"content":[{}],"role":{}}}"#, blocks.join(","), message["role"])
}

proptest! {
    #[test]
    fn dress_changes_nothing_and_marks_are_cut(message in message()) {
        let (plain, marked) = (dressed(&message, false), dressed(&message, true));
        alike(&message.to_string(), &plain);
        alike(&plain, &marked);
        let bytes = Bytes::from(marked.clone());
        let cut = read(&marked).unmarked(&bytes);
        let cut: Value = serde_json::from_slice(&cut).unwrap();
        prop_assert_eq!(cut, message);
    }

    #[test]
    fn prefixes_are_equal_as_far_as_conversations_are(
        a in prop::collection::vec(message(), 0..6),
        b in prop::collection::vec(message(), 0..6),
    ) {
        let read_all = |said: &[Value]| -> Vec<MessageReading> { said.iter().map(|m| read(&m.to_string())).collect() };
        let (a, b) = (read_all(&a), read_all(&b));
        let common = a.iter().zip(&b).take_while(|(a, b)| a.likeness == b.likeness).count();
        let marks = |said: &[MessageReading]| marks_of(&["m"], said);
        let same = marks(&a).iter().zip(&marks(&b)).take_while(|(a, b)| a == b).count();
        prop_assert_eq!(common, same);
        let distinct: std::collections::HashSet<_> = marks(&a).into_iter().collect();
        prop_assert_eq!(distinct.len(), a.len());
    }

    #[test]
    fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = LikenessReader::default().read(&bytes);
        let text = format!(r#"{{"role":"user","content":{}}}"#, String::from_utf8_lossy(&bytes));
        let _ = LikenessReader::default().read(text.as_bytes());
    }
}
