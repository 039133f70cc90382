use http::HeaderMap;
use serde_json::{Value, json};

use super::*;
use crate::conversation::{BlockSource, WrittenBlock, WrittenMessage};

fn read(body: &Value) -> ResponsesEnvelope {
    ResponsesEnvelope::read("", &Bytes::from(body.to_string())).unwrap()
}

fn messages_of(input: &Value) -> Vec<Value> {
    let request = read(&json!({ "input": input })).request(&HeaderMap::new()).unwrap();
    request.messages.iter().map(|message| serde_json::from_slice(message).unwrap()).collect()
}

fn changed(request: &ResponsesEnvelope, pieces: &[PromptPart]) -> Value {
    serde_json::from_slice(&request.changed(None, pieces).unwrap()).unwrap()
}

/// The message and the block that a block is from, and whether it is shown unchanged.
type Place = Option<(usize, usize, bool)>;

/// A message that shows blocks of the client's messages, each with its text and where it is from.
fn shows(is_user: bool, blocks: &[(Value, Place)]) -> PromptPart {
    let written = blocks.iter().map(|(json, source)| WrittenBlock {
        json: Bytes::from(json.to_string()),
        source: source.map(|(message, block, is_whole)| BlockSource { message, block, is_whole }),
    });
    let content: Vec<&Value> = blocks.iter().map(|(json, _)| json).collect();
    let role = if is_user { "user" } else { "assistant" };
    let json = Bytes::from(json!({"role": role, "content": content}).to_string());
    PromptPart::Written(WrittenMessage { json, is_user, blocks: written.collect() })
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "Read", "arguments": "{\"a\": 1}"})
}

fn output(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"})
}

#[test]
fn the_items_of_an_answer_are_one_message() {
    let input = json!([
        {"role": "developer", "content": "be kind"},
        user("look"),
        reasoning("rs_1"), call("c1"), call("c2"), output("c1", "one"), output("c2", "two"),
        {"type": "message", "role": "developer", "content": "mind the time"},
        {"type": "additional_tools", "tools": []},
        {"role": "assistant", "content": "Yes."},
    ]);
    let input_of =
        |id: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"a": 1}});
    let result =
        |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let expect = [
        json!({"role": "user", "content": [{"type": "text", "text": "look"}]}),
        json!({"role": "assistant", "content": [reasoning("rs_1"), input_of("c1"), input_of("c2")]}),
        json!({"role": "user", "content": [result("c1", "one"), result("c2", "two")]}),
        json!({"role": "developer", "content": "mind the time"}),
        json!({"role": "developer", "content": [{"type": "additional_tools", "tools": []}]}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}),
    ];
    assert_eq!(messages_of(&input), expect);
    assert_eq!(messages_of(&json!("hi")), [json!({"role": "user", "content": "hi"})]);
    let body = json!({"input": input, "instructions": "first", "max_output_tokens": 7});
    let request = read(&body).request(&HeaderMap::new()).unwrap();
    assert_eq!(
        (request.system.as_deref(), request.max_output),
        (Some("first\n\nbe kind"), Some(7))
    );
}

#[test]
fn unchanged_items_keep_their_bytes() {
    let body = r#"{"n":1, "input":[{"role":"developer","content":"s"}, {"content":"\u0041" ,"role":"user"},
      {"type":"reasoning","id":"rs","encrypted_content":"x" ,"summary":[]},{"id":"fc","type":"function_call","call_id":"c","name":"R","arguments":"{ }"},
      {"type":"function_call_output","call_id":"c","output":"long" }], "store" : false}"#;
    let request = ResponsesEnvelope::read("", &Bytes::from(body)).unwrap();
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "short"});
    let pieces = [
        PromptPart::written(
            json!({"role": "user", "content": [{"type": "text", "text": "so far"}]}).to_string(),
        ),
        PromptPart::Client(1),
        shows(
            true,
            &[(result, Some((2, 0, false))), (json!({"type": "text", "text": "mind"}), None)],
        ),
    ];
    let changed = request.changed(Some("memory"), &pieces).unwrap();
    let expect = r#"{"n":1, "input":[{"role":"developer","content":"s"},{"type":"message","role":"developer","content":"memory"},{"type":"message","role":"user","content":[{"type":"input_text","text":"so far"}]},{"type":"reasoning","id":"rs","encrypted_content":"x" ,"summary":[]},{"id":"fc","type":"function_call","call_id":"c","name":"R","arguments":"{ }"},{"type":"function_call_output","call_id":"c","output":"short"},{"type":"message","role":"user","content":[{"type":"input_text","text":"mind"}]}], "store" : false}"#;
    assert_eq!(changed, expect);
    let all: Vec<PromptPart> = (0..3).map(PromptPart::Client).collect();
    let same: Value = serde_json::from_slice(&request.changed(None, &all).unwrap()).unwrap();
    assert_eq!(same, serde_json::from_str::<Value>(body).unwrap());
    assert_eq!(request.changed(None, &[PromptPart::Client(3)]), None);
}

#[test]
fn whole_items_of_a_written_message_keep_their_bytes() {
    let request = read(
        &json!({"input": [user("a"), reasoning("rs"), call("c"), output("c", "x"), user("b")]}),
    );
    let parts = [
        shows(true, &[(json!({"type": "text", "text": "a"}), Some((0, 0, true)))]),
        shows(
            false,
            &[
                (reasoning("rs"), Some((1, 0, true))),
                (
                    json!({"type": "tool_use", "id": "c", "name": "Read", "input": {}}),
                    Some((1, 1, true)),
                ),
            ],
        ),
        shows(
            true,
            &[
                (
                    json!({"type": "tool_result", "tool_use_id": "c", "content": "x"}),
                    Some((2, 0, true)),
                ),
                (json!({"type": "text", "text": "b"}), Some((3, 0, true))),
                (json!({"type": "text", "text": "reminder"}), None),
            ],
        ),
    ];
    let expect = json!([
        user("a"),
        reasoning("rs"),
        call("c"),
        output("c", "x"),
        user("b"),
        user("reminder")
    ]);
    assert_eq!(changed(&request, &parts)["input"], expect);
}

#[test]
fn instructions_and_the_last_compaction_outlive_their_messages() {
    let compaction = |id: &str| json!({"type": "compaction", "id": id, "encrypted_content": "z"});
    let developer = json!({"type": "message", "role": "developer", "content": "mind"});
    let tools = json!({"type": "additional_tools", "tools": []});
    let input = json!([user("a"), compaction("c1"), user("b"), developer, compaction("c2"), tools, user("c"),
        {"role": "assistant", "content": "d"}, user("e")]);
    let request = read(&json!({ "input": input }));
    let summary = json!({"role": "user", "content": "so far"});
    let parts = [PromptPart::written(summary.to_string()), PromptPart::Client(8)];
    let expect = json!([developer, compaction("c2"), tools,
        {"type": "message", "role": "user", "content": "so far"}, user("e")]);
    assert_eq!(changed(&request, &parts)["input"], expect);
}

#[test]
fn a_chain_is_written_out_when_it_changes() {
    let earlier = json!({"role": "assistant", "content": [reasoning("rs_1"),
        {"type": "text", "text": "Yes."}, {"type": "tool_use", "id": "c", "name": "Read", "input": {"a": 1}}]});
    let developer = json!({"role": "developer", "content": "head"});
    let history = ChainedHistory {
        session: bethink_transcript::SessionId(uuid::Uuid::nil()),
        heads: [developer.to_string()].into(),
        messages: [json!({"role": "user", "content": "hi"}), earlier]
            .map(|message| Bytes::from(message.to_string()))
            .into(),
    };
    let mut request = read(
        &json!({"previous_response_id": "resp_1", "input": [output("c", "x"), user("go on")]}),
    );
    assert_eq!(ResponsesWire::previous(&request), Some("resp_1"));
    ResponsesWire::precede(&mut request, history);
    let known = request.request(&HeaderMap::new()).unwrap();
    assert_eq!((known.messages.len(), known.system.as_deref()), (4, Some("head")));
    assert_eq!(known.session.map(|session| session.0), Some(uuid::Uuid::nil()));
    let all: Vec<PromptPart> = (0..4).map(PromptPart::Client).collect();
    let body = changed(&request, &all);
    assert_eq!(body["previous_response_id"], Value::Null);
    let expect = json!([developer,
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        {"type": "function_call", "call_id": "c", "name": "Read", "arguments": "{\"a\":1}"},
        output("c", "x"), user("go on")]);
    assert_eq!(body["input"], expect);
}

#[test]
fn what_is_not_all_there_is_not_read() {
    for body in [
        json!({"input": 7}),
        json!({"input": []}),
        json!({"input": null}),
        json!({"input": {"role": "user"}}),
        json!({"input": ["x"]}),
        json!({"input": [{"role": "robot", "content": "x"}]}),
        json!({"input": [{"role": "user", "content": [7]}]}),
        json!({"input": "hi", "conversation": "conv_1"}),
        json!({"input": [user("a"), {"type": "item_reference", "id": "msg_1"}]}),
        json!({"input": [user("a"), {"type": "compaction_trigger"}]}),
        json!({"messages": [{"role": "user", "content": "hi"}]}),
    ] {
        assert!(ResponsesEnvelope::read("", &Bytes::from(body.to_string())).is_none(), "{body}");
    }
    let unknown = json!({"input": [user("a"), {"type": "never_heard_of", "x": [1]}, user("b")]});
    assert_eq!(
        messages_of(&unknown["input"])[1]["content"],
        json!([{"type": "never_heard_of", "x": [1]}])
    );
}
