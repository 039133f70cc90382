use http::HeaderMap;
use serde_json::{Value, json};

use super::*;

fn read(body: &str) -> AnthropicEnvelope {
    AnthropicEnvelope::read("", &Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

fn written(text: &str) -> PromptPart {
    PromptPart::written(json!({"role": "user", "content": text}).to_string())
}

const BODY: &str = r#" { "x_unknown" : [1,{"a":1e2}],"model":"big","max_tokens":50,
  "messages" : [ {"role":"user","content":"a\u0041"} , {"content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}], "role":"assistant"},{"role":"user","content":"c"} ],
  "stream":true, "tail":null }"#;

#[test]
fn a_request_is_told_in_its_own_bytes() {
    let told = read(BODY).request(&HeaderMap::new()).unwrap();
    assert_eq!(told.messages[0], r#"{"role":"user","content":"a\u0041"}"#);
    assert_eq!((told.messages.len(), told.model.as_str(), told.max_output), (3, "big", Some(50)));
    assert_eq!((told.body_bytes, told.system), (BODY.len(), None));
    let system = |json: &str| {
        let body = format!(r#"{{"system":{json},"messages":[{{}}]}}"#);
        read(&body).request(&HeaderMap::new()).unwrap().system
    };
    assert_eq!(system(r#""a\nb""#).as_deref(), Some("a\nb"));
    assert_eq!(
        system(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#).as_deref(),
        Some("a\n\nb")
    );
    assert_eq!(system("null"), None);
}

#[test]
fn only_the_messages_change() {
    let pieces = [written("so far"), PromptPart::Client(1), PromptPart::Client(2)];
    let changed = read(BODY).changed(None, &pieces).unwrap();
    let start = BODY.find("[ {\"role\"").unwrap();
    let end = BODY.find(" ],\n").unwrap() + 2;
    let text = std::str::from_utf8(&changed).unwrap();
    assert!(text.starts_with(&BODY[..start]) && text.ends_with(&BODY[end..]), "{text}");
    let messages = &text[start..text.len() - (BODY.len() - end)];
    let expect = r#"[{"content":[{"type":"text","text":"so far","cache_control":{"type":"ephemeral"}}],"role":"user"},{"content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}], "role":"assistant"},{"role":"user","content":"c"}]"#;
    assert_eq!(messages, expect);
    assert_eq!(read(BODY).changed(None, &[PromptPart::Client(3)]), None);
}

#[test]
fn a_system_prompt_grows_at_its_end_whatever_its_form() {
    let check = |system: &str, expect: &str| {
        let before =
            if system.is_empty() { String::new() } else { format!("\"system\":{system},") };
        let body = format!(r#"{{{before}"messages":[{{"role":"user","content":"x"}}]}}"#);
        let changed = read(&body).changed(Some("new \"one\""), &[PromptPart::Client(0)]).unwrap();
        let expect =
            format!(r#"{{"system":{expect},"messages":[{{"role":"user","content":"x"}}]}}"#);
        assert_eq!(changed, expect);
    };
    let block = r#"{"type":"text","text":"new \"one\""}"#;
    check("", &format!("[{block}]"));
    check("null", &format!("[{block}]"));
    check("[]", &format!("[{block}]"));
    check(r#""be kind""#, r#""be kind\n\nnew \"one\"""#);
    check(
        r#"[ {"type":"text","text":"a"} ]"#,
        &format!(r#"[ {{"type":"text","text":"a"}},{block}]"#),
    );
}

/// Returns a written message, for a request with this many breakpoints in its system prompt.
fn marks(system: usize, ttl: Option<&str>, in_message: Option<&str>) -> String {
    let mark = |ttl: Option<&str>| match ttl {
        Some(ttl) => json!({"type": "ephemeral", "ttl": ttl}),
        None => json!({"type": "ephemeral"}),
    };
    let system: Vec<Value> = (0..system)
        .map(|n| json!({"type": "text", "text": n.to_string(), "cache_control": mark(ttl)}))
        .collect();
    let mut block = json!({"type": "text", "text": "\"cache_control\""});
    if let Some(ttl) = in_message {
        block["cache_control"] = mark(Some(ttl).filter(|ttl| !ttl.is_empty()));
    }
    let body = json!({"system": system, "messages": [{"role": "user", "content": [block]}]});
    let pieces = [written("one"), written("two"), PromptPart::Client(0)];
    let changed = read(&body.to_string()).changed(None, &pieces).unwrap();
    let changed: Value = serde_json::from_slice(&changed).unwrap();
    assert_eq!(changed["messages"][0]["content"], "one");
    changed["messages"][1]["content"][0]["cache_control"].to_string()
}

#[test]
fn a_breakpoint_is_added_only_where_there_is_room_and_in_order() {
    let (short, long, none) =
        (r#"{"type":"ephemeral"}"#, r#"{"ttl":"1h","type":"ephemeral"}"#, "null");
    for (system, ttl, in_message, expect) in [
        (0, None, None, short),
        (3, None, None, short),
        (4, None, None, none),
        (3, None, Some(""), none),
        (1, Some("1h"), Some(""), long),
        (0, None, Some("1h"), long),
        (1, None, Some("1h"), short),
    ] {
        assert_eq!(marks(system, ttl, in_message), expect, "{system} {ttl:?} {in_message:?}");
    }
}

#[test]
fn what_has_no_messages_is_not_understood() {
    for body in [
        "",
        "[]",
        "{}",
        r#"{"messages":[]}"#,
        r#"{"messages":5}"#,
        r#"{"messages":[1],"messages":[2]}"#,
        "{\"messages\":[1]",
        "\u{1}",
    ] {
        assert!(
            AnthropicEnvelope::read("", &Bytes::copy_from_slice(body.as_bytes())).is_none(),
            "{body}"
        );
    }
    assert!(
        AnthropicEnvelope::read("", &Bytes::from_static(b"{\"messages\":[\"\xff\"]}")).is_none()
    );
}
