use bethink_model::Stop;
use serde_json::{Value, json};

use super::*;

fn messages(contents: &Value) -> Vec<GeminiMessage> {
    let contents: Vec<String> = contents.as_array().unwrap().iter().map(Value::to_string).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    messages_of_contents(&contents).unwrap()
}

fn content(message: &GeminiMessage) -> Value {
    let message: Value = serde_json::from_str(&message.json).unwrap();
    message["content"].clone()
}

#[test]
fn parts_become_blocks() {
    let part = |part: Value, block: Value| {
        let contents = json!([{"role": "model", "parts": [part]}]);
        let found = messages(&contents);
        assert_eq!(content(&found[0]), json!([block]), "{contents}");
    };
    part(json!({"text": "hi"}), json!({"type": "text", "text": "hi"}));
    part(
        json!({"text": "hi", "thoughtSignature": "c2ln"}),
        json!({"type": "text", "text": "hi", "part": {"thoughtSignature": "c2ln"}}),
    );
    part(
        json!({"text": "hm", "thought": true, "thoughtSignature": "c2ln", "x": 1}),
        json!({"type": "thinking", "thinking": "hm", "signature": "c2ln", "part": {"x": 1}}),
    );
    part(
        json!({"text": "", "thought_signature": "c2ln"}),
        json!({"type": "thinking", "thinking": "", "signature": "c2ln"}),
    );
    part(
        json!({"functionCall": {"id": "x1", "name": "Read", "args": {"a": 1}}, "thoughtSignature": "c2ln"}),
        json!({"type": "tool_use", "id": "call_0_0", "name": "Read", "input": {"a": 1},
            "part": {"functionCall": {"id": "x1"}, "thoughtSignature": "c2ln"}}),
    );
    part(
        json!({"inlineData": {"mimeType": "image/png", "data": "AA"}}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}),
    );
    part(
        json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://f/1"}}),
        json!({"type": "document", "source": {"type": "url", "media_type": "application/pdf", "url": "https://f/1"}}),
    );
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
    part(code.clone(), json!({"type": "part", "part": code}));
    let odd = json!({"functionCall": {"args": {}}});
    part(odd.clone(), json!({"type": "part", "part": odd}));
    let orphan = json!({"functionResponse": {"name": "Read", "response": {}}});
    part(orphan.clone(), json!({"type": "part", "part": orphan}));
    for odd in [r#"{"role":"robot","parts":[]}"#, r#"{"parts":[7]}"#, "7"] {
        assert_eq!(messages_of_contents(&[odd]), None, "{odd}");
    }
    let bare =
        messages(&json!([{"parts": {"text": "hi"}}, {"role": "model"}, {"parts": [{"text": ""}]}]));
    assert_eq!(bare[0].json, r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#);
    assert_eq!((content(&bare[1]), content(&bare[2])), (json!([]), json!([])));
}

/// Responses join their calls by ID, or by name and order.
#[test]
fn responses_join_their_calls() {
    let call = |id: Option<&str>, name: &str| json!({"functionCall": {"id": id, "name": name, "args": {}}});
    let response = |id: Option<&str>, name: &str, output: &str| json!({"functionResponse": {"id": id, "name": name, "response": {"output": output}}});
    let check = |calls: &[Value], responses: &[Value], expect: &[(&str, &str)]| {
        let contents = json!([{"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": calls}, {"role": "user", "parts": responses}]);
        let found = messages(&contents);
        let found: Vec<(String, String)> = content(&found[2])
            .as_array()
            .unwrap()
            .iter()
            .map(|block| {
                let text = |name: &str| block[name].as_str().unwrap_or("none").to_owned();
                (text("tool_use_id"), text("content"))
            })
            .collect();
        let expect: Vec<(String, String)> =
            expect.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect();
        assert_eq!(found, expect, "{contents}");
    };
    let both = [call(Some("a"), "R"), call(Some("b"), "R")];
    check(
        &both,
        &[response(Some("b"), "R", "two"), response(Some("a"), "R", "one")],
        &[("call_1_1", "two"), ("call_1_0", "one")],
    );
    check(
        &[call(None, "R"), call(None, "W"), call(None, "R")],
        &[response(None, "W", "w"), response(None, "R", "1"), response(None, "R", "2")],
        &[("call_1_1", "w"), ("call_1_0", "1"), ("call_1_2", "2")],
    );
    // A client that resumes a conversation may repeat a response.
    let once = response(Some("a"), "R", "one");
    check(&both[..1], &[once.clone(), once.clone()], &[("call_1_0", "one")]);
    check(
        &both[..1],
        &[once, response(Some("z"), "Z", "?")],
        &[("call_1_0", "one"), ("none", "none")],
    );
}

#[test]
fn a_response_is_shown_shorter() {
    let check = |response: Value, content: Value, expect: Value| {
        let part = json!({"functionResponse": response, "x": 1}).to_string();
        let block =
            json!({"type": "tool_result", "tool_use_id": "t", "content": content}).to_string();
        let found: Value = serde_json::from_str(&with_response(&part, &block).unwrap()).unwrap();
        assert_eq!(found, json!({"functionResponse": expect, "x": 1}));
    };
    let of = |response: Value| json!({"id": "a", "name": "R", "response": response});
    check(of(json!({"output": "long"})), json!("short"), of(json!({"output": "short"})));
    check(of(json!({"error": "long"})), json!("short"), of(json!({"error": "short"})));
    check(of(json!({"a": 1, "b": 2})), json!("short"), of(json!({"output": "short"})));
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AA"}});
    let mut with_image = of(json!({"output": "long"}));
    with_image["parts"] = json!([image]);
    check(with_image.clone(), json!("short"), of(json!({"output": "short"})));
    let shown =
        json!([{"type": "text", "text": "short"}, {"type": "image", "source": {"data": "AA"}}]);
    let mut expect = of(json!({"output": "short"}));
    expect["parts"] = json!([image]);
    check(with_image, shown, expect);
}

fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish, "index": 0}],
        "responseId": "r1", "modelVersion": "gemini-2.5-pro",
        "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}})
}

fn reply(chunks: &[Value]) -> Result<Reply, ProviderTrouble> {
    GeminiFormat { message: 3 }.read_whole(&json!(chunks).to_string())
}

#[test]
fn chunks_become_one_answer() {
    let found = reply(&[
        chunk(&json!([{"text": "I ", "thought": true}]), None),
        chunk(&json!([{"text": "think", "thought": true}]), None),
        chunk(&json!([{"text": "Say"}]), None),
        chunk(&json!([{"text": "ing"}, {"functionCall": {"name": "R", "args": {}}, "thoughtSignature": "c2ln"}]), None),
        json!({"candidates": [], "vendor": {"mood": 1}}),
        chunk(&json!([{"functionCall": {"name": "R", "args": {"a": 1}}}]), Some("STOP")),
    ])
    .unwrap();
    let blocks: Vec<Value> =
        found.content.iter().map(|block| serde_json::from_str(block.as_str()).unwrap()).collect();
    assert_eq!(
        json!(blocks),
        json!([
            {"type": "thinking", "thinking": "I think", "signature": ""},
            {"type": "text", "text": "Saying"},
            {"type": "tool_use", "id": "call_3_0", "name": "R", "input": {}, "part": {"thoughtSignature": "c2ln"}},
            {"type": "tool_use", "id": "call_3_1", "name": "R", "input": {"a": 1}},
        ])
    );
    assert_eq!(
        (found.id.as_str(), found.model.as_str(), found.stop),
        ("r1", "gemini-2.5-pro", Stop::ToolUse)
    );
    let usage = found.usage;
    assert_eq!(
        (
            usage.input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
            found.usage_doubtful
        ),
        (6, 4, 5, false)
    );
}

#[test]
fn an_answer_without_a_reason_is_incomplete() {
    let text = json!([{"text": "Hi"}]);
    assert!(reply(&[chunk(&text, None)]).is_err());
    assert_eq!(reply(&[chunk(&text, Some("MAX_TOKENS"))]).unwrap().stop, Stop::MaxTokens);
    assert_eq!(reply(&[chunk(&text, Some("NEWS"))]).unwrap().stop, Stop::Other("NEWS".to_owned()));
    let blocked = reply(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]).unwrap();
    assert_eq!((blocked.stop, blocked.content.len()), (Stop::Refusal, 0));
    let error = json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}});
    assert!(matches!(reply(&[chunk(&text, None), error]), Err(ProviderTrouble::Refused(_))));
    assert!(reply(&[json!(7)]).is_err());
}
