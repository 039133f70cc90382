use bethink_model::Stop;
use bethink_transcript::prompt::PromptBlock;
use bethink_transcript::{BlockKind, PromptMessage, Role, Seq, ToolUseId, ValidPrompt};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn block(json: &str) -> PromptBlock {
    let value: Value = serde_json::from_str(json).unwrap();
    let id = |name: &str| ToolUseId::new(value[name].as_str().unwrap()).unwrap();
    let kind = match value["type"].as_str().unwrap() {
        "text" => BlockKind::Text,
        "tool_use" => {
            BlockKind::ToolUse { id: id("id"), name: value["name"].as_str().unwrap().into() }
        }
        "tool_result" => BlockKind::ToolResult {
            tool_use_id: id("tool_use_id"),
            is_error: value["is_error"] == true,
        },
        "thinking" => BlockKind::Thinking,
        "image" => BlockKind::Image,
        "document" => BlockKind::Document,
        other => BlockKind::Other(other.into()),
    };
    let written = PromptBlock::written("x", Seq(1), 1);
    PromptBlock { json: Bytes::copy_from_slice(json.as_bytes()), kind, ..written }
}

fn request(messages: &[&[&str]]) -> ModelRequest {
    let messages = messages.iter().enumerate().map(|(at, blocks)| PromptMessage {
        role: if at % 2 == 0 { Role::User } else { Role::Assistant },
        blocks: blocks.iter().map(|json| block(json)).collect(),
    });
    ModelRequest {
        model: "m".into(),
        system: Bytes::from_static(b"[]"),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(messages.collect()).unwrap(),
        marks: Vec::new(),
        max_tokens: 9,
        form: Default::default(),
    }
}

fn body(request: &ModelRequest) -> String {
    String::from_utf8(OpenAiDialect::new(false).call(request, true).unwrap().body).unwrap()
}

/// Checks the conversion of `messages`.
fn check(messages: &[&[&str]], expect: &str) {
    let body = body(&request(messages));
    let _: Value = serde_json::from_str(&body).unwrap();
    let (_, rest) = body.split_once(r#""messages":["#).unwrap();
    assert_eq!(rest.split_once(r#"],"max_tokens""#).unwrap().0, expect);
}

const TEXT: &str = r#"{"type":"text","text":"h\u00e9 \"q\"","cache_control":{"type":"ephemeral"}}"#;

#[test]
fn messages_are_turned_one_by_one() {
    check(&[&[TEXT]], r#"{"role":"user","content":"h\u00e9 \"q\""}"#);
    check(
        &[&[TEXT, r#"{"type":"text","text":"b"}"#]],
        r#"{"role":"user","content":"h\u00e9 \"q\"\n\nb"}"#,
    );
    check(
        &[&[
            r#"{"type":"text","text":"see"}"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO/w=="}}"#,
            r#"{"type":"image","source":{"type":"url","url":"https://x/\"y"}}"#,
            r#"{"type":"image","source":{"type":"file","file_id":"f"}}"#,
            r#"{"type":"document","source":{}}"#,
            r#"{"type":"invented","text":"no"}"#,
        ]],
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO/w=="}},{"type":"image_url","image_url":{"url":"https://x/\"y"}},{"type":"text","text":"[image]"},{"type":"text","text":"[document]"}]}"#,
    );
}

/// Servers reject an empty string, and some reject a missing message.
#[test]
fn a_turn_that_shows_nothing_says_so() {
    check(&[&[r#"{"type":"invented"}"#]], r#"{"role":"user","content":"(nothing to show)"}"#);
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#;
    check(
        &[&[r#"{"type":"text","text":"a"}"#], &[thought], &[r#"{"type":"text","text":"b"}"#]],
        r#"{"role":"user","content":"a"},{"role":"assistant","content":"(nothing to show)"},{"role":"user","content":"b"}"#,
    );
}

#[test]
fn calls_and_results_find_each_other() {
    check(
        &[
            &[TEXT],
            &[
                r#"{"type":"thinking","thinking":"hm","signature":"s"}"#,
                r#"{"type":"text","text":"I look"}"#,
                r#"{"type":"tool_use","id":"t1","name":"ls","input":{"b": 1.0,"a":"\u00e9"}}"#,
                r#"{"type":"tool_use","id":"t2","name":"cat","input":{}}"#,
            ],
            &[
                r#"{"type":"tool_result","tool_use_id":"t1","content":"one\ntwo"}"#,
                r#"{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"no file"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}"#,
                r#"{"type":"text","text":"go on"}"#,
            ],
            &[r#"{"type":"tool_use","id":"t3","name":"ls","input":{}}"#],
            &[r#"{"type":"tool_result","tool_use_id":"t3"}"#],
            &[r#"{"type":"thinking","thinking":"hm","signature":"s"}"#],
        ],
        &[
            r#"{"role":"user","content":"h\u00e9 \"q\""}"#,
            r#"{"role":"assistant","content":"I look","tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{\"b\": 1.0,\"a\":\"\\u00e9\"}"}},{"id":"t2","type":"function","function":{"name":"cat","arguments":"{}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"t1","content":"one\ntwo"}"#,
            r#"{"role":"tool","tool_call_id":"t2","content":"Error: no file\n[image]"}"#,
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"go on"}]}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"t3","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"t3","content":""}"#,
            r#"{"role":"assistant","content":"(nothing to show)"}"#,
        ]
        .join(","),
    );
}

#[test]
fn a_body_has_its_frame() {
    let mut asked = request(&[&[r#"{"type":"text","text":"a"}"#]]);
    asked.system = Bytes::from_static(
        br#"[{"type":"text","text":"be","cache_control":{}}, {"type":"text","text":"brief"}]"#,
    );
    asked.tools = Bytes::from_static(
        br#"[{"name":"z","description":"d\u00e9","input_schema":{"b":1,"a":1e2}},{"type":"web_search_20250305","name":"web"},{"name":"y","input_schema":{}}]"#,
    );
    assert_eq!(
        body(&asked),
        r#"{"model":"m","tools":[{"type":"function","function":{"name":"z","description":"d\u00e9","parameters":{"b":1,"a":1e2}}},{"type":"function","function":{"name":"y","parameters":{}}}],"messages":[{"role":"system","content":"be\n\nbrief"},{"role":"user","content":"a"}],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}"#
    );
    let own = OpenAiDialect::new(true).call(&asked, false).unwrap().body;
    assert!(own.ends_with(br#"],"max_completion_tokens":9}"#));
    asked.tools = Bytes::from_static(b"{");
    let refused = OpenAiDialect::new(false).call(&asked, true).unwrap_err();
    assert!(matches!(refused, ProviderTrouble::Detected(bethink_model::ErrorClass::Invalid, _)));
}

fn finished(message: &Value, reason: &str) -> Result<Reply, ProviderTrouble> {
    let answer = json!({"id": "c", "choices": [{"message": message, "finish_reason": reason}]});
    OpenAiDialect::new(false).read_whole(&answer.to_string())
}

#[test]
fn ends_are_named() {
    let call = json!([{"id": "a", "function": {"name": "n", "arguments": "{}"}}]);
    for (message, reason, expect) in [
        (json!({"content": "x"}), "stop", Stop::EndTurn),
        (json!({"content": "x"}), "length", Stop::MaxTokens),
        (json!({"content": null, "tool_calls": call}), "tool_calls", Stop::ToolUse),
        (json!({"content": "", "tool_calls": call}), "stop", Stop::ToolUse),
        (json!({"content": "", "tool_calls": call}), "length", Stop::MaxTokens),
        (json!({"content": "x", "tool_calls": []}), "tool_calls", Stop::EndTurn),
        (json!({"content": "x"}), "content_filter", Stop::Refusal),
        (json!({"content": null, "refusal": "no"}), "stop", Stop::Refusal),
        (json!({"content": [{"type": "text", "text": "x"}]}), "new", Stop::Other("new".into())),
    ] {
        let reply = finished(&message, reason).unwrap();
        assert_eq!(reply.stop, expect, "{message}");
        assert_eq!(reply.content.len(), 1, "{message}");
    }
    assert!(finished(&json!({"content": "x"}), "").is_err());
}

fn calls(chunks: &[Value]) -> Vec<(String, String)> {
    let mut stream = GatheredAnswer::default();
    for calls in chunks {
        let data = json!({"choices": [{"delta": {"tool_calls": calls}}]}).to_string();
        stream.take(&SseEvent { data, ..SseEvent::default() }).unwrap();
    }
    let data = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}).to_string();
    stream.take(&SseEvent { data, ..SseEvent::default() }).unwrap();
    let reply = stream.end().unwrap();
    let calls =
        reply.calls().map(|(id, name, input)| (id.as_str().to_owned(), format!("{name} {input}")));
    calls.collect()
}

#[test]
fn pieces_of_calls_find_their_call_however_a_server_counts() {
    let piece = |index: Value, id: &str, name: &str, arguments: &str| json!([{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]);
    let null = Value::Null;
    // as OpenAI counts
    let found = calls(&[
        piece(json!(0), "a", "x", ""),
        piece(json!(1), "b", "y", "{"),
        piece(json!(0), "", "", "{\"p\":1}"),
        piece(json!(1), "", "", "}"),
    ]);
    let expect = [("a".to_owned(), "x {\"p\":1}".to_owned()), ("b".to_owned(), "y {}".to_owned())];
    assert_eq!(found, expect);
    // all of them 0
    let found = calls(&[piece(json!(0), "a", "x", "{\"p\":1}"), piece(json!(0), "b", "y", "{}")]);
    assert_eq!(found, expect);
    // not at all
    let found = calls(&[
        piece(null.clone(), "a", "x", "{\"p\":1"),
        piece(null.clone(), "", "", "}"),
        piece(null.clone(), "b", "y", ""),
    ]);
    assert_eq!(found, expect);
    // the id again with every piece
    let found = calls(&[
        piece(json!(0), "a", "x", "{\"p\""),
        piece(json!(0), "a", "x", ":1}"),
        piece(json!(1), "b", "y", ""),
    ]);
    assert_eq!(found, expect);
    // without ids
    let found = calls(&[piece(json!(0), "", "x", ""), piece(json!(1), "", "y", "")]);
    assert_eq!((found.len(), found[0].0 == found[1].0), (2, false));
    assert!(found.iter().all(|(id, _)| id.starts_with("call_")));
}

#[test]
fn one_id_for_two_calls_becomes_two() {
    let found = calls(&[
        json!([{"index": 0, "id": "a", "function": {"name": "n"}}, {"index": 1, "id": "a", "function": {"name": "n"}}]),
    ]);
    assert_eq!((found.len(), found[0].0.as_str()), (2, "a"));
    assert_ne!(found[0].0, found[1].0);
}

#[test]
fn endless_calls_are_too_much() {
    let answer = |count: usize| {
        let call = |at: usize| json!({"id": at.to_string(), "function": {"name": "n"}});
        let calls: Vec<Value> = (0..count).map(call).collect();
        finished(&json!({"content": null, "tool_calls": calls}), "tool_calls")
    };
    assert_eq!(answer(1_000).unwrap().calls().count(), 1_000);
    let refused = answer(1_001).unwrap_err();
    assert!(
        matches!(refused, ProviderTrouble::Detected(bethink_model::ErrorClass::TooMuch, _)),
        "{refused:?}"
    );
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-zé\"\\\\ \n😀]{0,6}x", 2..8)
}

proptest! {
    #[test]
    fn a_longer_prompt_begins_like_a_shorter_one(words in words(), shorter in 1usize..7) {
        let blocks: Vec<String> = words.iter().map(|word| json!({"type": "text", "text": word}).to_string()).collect();
        let messages: Vec<Vec<&str>> = blocks.iter().map(|block| vec![block.as_str()]).collect();
        let messages: Vec<&[&str]> = messages.iter().map(Vec::as_slice).collect();
        let shorter = shorter.min(messages.len() - 1);
        let (short, long) = (body(&request(&messages[..shorter])), body(&request(&messages)));
        let end = r#"],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}"#;
        prop_assert!(long.starts_with(short.strip_suffix(end).unwrap()));
        prop_assert!(serde_json::from_str::<Value>(&long).is_ok());
    }
}
