use http::HeaderMap;
use serde_json::{Value, json};

use super::*;

fn read(body: &Value) -> OpenAiEnvelope {
    OpenAiEnvelope::read("", &Bytes::from(body.to_string())).unwrap()
}

fn told(messages: &Value) -> Vec<Value> {
    let told = read(&json!({"messages": messages})).request(&HeaderMap::new()).unwrap();
    told.messages.iter().map(|message| serde_json::from_slice(message).unwrap()).collect()
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "Read", "arguments": arguments}})
}

#[test]
fn a_conversation_is_told_in_our_vocabulary() {
    let messages = json!([
        {"role": "developer", "content": "be kind"},
        {"role": "system", "content": [{"type": "text", "text": "and brief"}]},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call("c1", "{\"a\": 1}"), call("c2", "nope")]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}, {"type": "input_audio", "input_audio": {"data": "x"}}]},
        {"role": "assistant", "content": "", "refusal": "no"},
        {"role": "system", "content": "mind the time"},
    ]);
    let expect = [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "Read", "input": {"a": 1}},
            {"type": "tool_use", "id": "c2", "name": "Read", "input": {"_raw": "nope"}},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "two"}]},
        ]}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "input_audio", "input_audio": {"data": "x"}},
        ]}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "no"}]}),
        json!({"role": "user", "content": "mind the time"}),
    ];
    assert_eq!(told(&messages), expect);
    let told = read(&json!({"messages": messages, "max_tokens": 5, "max_completion_tokens": 7}))
        .request(&HeaderMap::new())
        .unwrap();
    assert_eq!((told.system.as_deref(), told.max_output), (Some("be kind\n\nand brief"), Some(7)));
}

#[test]
fn what_stays_goes_up_in_its_own_bytes() {
    let body = r#"{"n":1, "messages":[{"role":"system","content":"s"}, {"content":"a\u0041" ,"role":"user","name":"x"},
      {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"R","arguments":"{ }"}}]},
      {"role":"tool","tool_call_id":"c","content":"r" }], "seed" : 7}"#;
    let asked = OpenAiEnvelope::read("", &Bytes::from(body)).unwrap();
    let written = Bytes::from(r#"{"role":"user","content":[{"type":"text","text":"so far"}]}"#);
    let pieces = [PromptPart::written(written), PromptPart::Client(1), PromptPart::Client(2)];
    let changed = asked.changed(Some("mind"), &pieces).unwrap();
    let expect = r#"{"n":1, "messages":[{"role":"system","content":"s"},{"role":"system","content":"mind"},{"role":"user","content":"so far"},{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"R","arguments":"{ }"}}]},{"role":"tool","tool_call_id":"c","content":"r" }], "seed" : 7}"#;
    assert_eq!(changed, expect);
    let all: Vec<PromptPart> = (0..3).map(PromptPart::Client).collect();
    let same: Value = serde_json::from_slice(&asked.changed(None, &all).unwrap()).unwrap();
    assert_eq!(same, serde_json::from_str::<Value>(body).unwrap());
    assert_eq!(asked.changed(None, &[PromptPart::Client(3)]), None);
}

#[test]
fn written_results_are_turned_back() {
    let asked = read(
        &json!({"messages": [{"role": "developer", "content": "s"}, {"role": "user", "content": "x"}]}),
    );
    let written = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
        {"type": "text", "text": "and"}]});
    let pieces = [PromptPart::written(written.to_string())];
    let changed: Value =
        serde_json::from_slice(&asked.changed(Some("m"), &pieces).unwrap()).unwrap();
    let expect = json!([
        {"role": "developer", "content": "s"},
        {"role": "developer", "content": "m"},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "user", "content": "and"},
    ]);
    assert_eq!(changed["messages"], expect);
}

#[test]
fn strange_messages_are_not_understood() {
    for messages in [
        json!([]),
        json!([{"role": "robot", "content": "x"}]),
        json!([{"content": "x"}]),
        json!([{"role": "tool", "content": "x"}]),
        json!([{"role": "user", "content": 5}]),
        json!([{"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {}}]}]),
        json!("x"),
    ] {
        let body = Bytes::from(json!({"messages": messages}).to_string());
        assert!(OpenAiEnvelope::read("", &body).is_none(), "{messages}");
    }
}
