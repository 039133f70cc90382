use serde_json::{Value, json};

use super::*;
use crate::conversation::BlockSource;

const ROUTE: &str = "v1beta/models/gemini-2.5-pro:streamGenerateContent";

fn read(body: &str) -> GeminiEnvelope {
    GeminiEnvelope::read(ROUTE, &Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

#[test]
fn a_request_is_read() {
    let body = json!({
        "contents": [{"role": "user", "parts": [{"text": "look"}]}],
        "systemInstruction": {"parts": [{"text": "be kind"}, {"text": "be brief"}]},
        "tools": [{"functionDeclarations": [{"name": "Read"}]}],
        "generationConfig": {"maxOutputTokens": 7},
    });
    let request = read(&body.to_string()).request(&HeaderMap::new()).unwrap();
    assert_eq!((request.entrance, request.model.as_str()), ("gemini", "gemini-2.5-pro"));
    assert_eq!(request.system.as_deref(), Some("be kind\n\nbe brief"));
    assert_eq!(request.messages, [r#"{"role":"user","content":[{"type":"text","text":"look"}]}"#]);
    for odd in [
        json!({"contents": {"parts": []}}),
        json!({"contents": [{"role": "robot"}]}),
        json!({"contents": [7]}),
        json!({"messages": []}),
    ] {
        let body = Bytes::from(odd.to_string());
        assert!(GeminiEnvelope::read(ROUTE, &body).is_none(), "{odd}");
    }
}

/// The message and the block that a block is from, and whether it is shown unchanged.
type Place = Option<(usize, usize, bool)>;

fn shows(is_user: bool, blocks: &[(Value, Place)]) -> PromptPart {
    let written = blocks.iter().map(|(json, source)| WrittenBlock {
        json: Bytes::from(json.to_string()),
        source: source.map(|(message, block, is_whole)| BlockSource { message, block, is_whole }),
    });
    PromptPart::Written(WrittenMessage { json: Bytes::new(), is_user, blocks: written.collect() })
}

#[test]
fn unchanged_parts_keep_their_bytes() {
    let body = r#"{"n":1, "contents":[{"parts":[{"text":"\u0041"} ],"role":"user"},
      {"role":"model","parts":[{"text":"hm","thought":true},{"thoughtSignature":"c2ln" ,"functionCall":{"name":"R","args":{ }}}]},
      {"role":"user","parts":[{"text":""},{"functionResponse":{"name":"R","response":{"output":"long"}}}, {"text":"and" }]}], "x" : false}"#;
    let request = read(body);
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = json!({"type": "tool_result", "tool_use_id": "call_1_0", "content": "short"});
    let call = json!({"type": "tool_use", "id": "call_1_0", "name": "R", "input": {}});
    let pieces = [
        shows(true, &[(text("so far"), None)]),
        PromptPart::Client(0),
        shows(false, &[(call, Some((1, 1, true)))]),
        shows(
            true,
            &[
                (result, Some((2, 0, false))),
                (text("and"), Some((2, 1, true))),
                (text("mind"), None),
            ],
        ),
    ];
    let changed = request.changed(Some("memory"), &pieces).unwrap();
    let expect = r#"{"systemInstruction":{"parts":[{"text":"memory"}]},"n":1, "contents":[{"role":"user","parts":[{"text":"so far"}]},{"parts":[{"text":"\u0041"} ],"role":"user"},{"role":"model","parts":[{"thoughtSignature":"c2ln" ,"functionCall":{"name":"R","args":{ }}}]},{"role":"user","parts":[{"functionResponse":{"name":"R","response":{"output":"short"}}},{"text":"and" },{"text":"mind"}]}], "x" : false}"#;
    assert_eq!(changed, expect);
    let all: Vec<PromptPart> = (0..3).map(PromptPart::Client).collect();
    let same: Value = serde_json::from_slice(&request.changed(None, &all).unwrap()).unwrap();
    assert_eq!(same, serde_json::from_str::<Value>(body).unwrap());
    assert_eq!(request.changed(None, &[PromptPart::Client(3)]), None);
}

#[test]
fn a_system_instruction_grows() {
    let check = |members: &str, expect: &str| {
        let body = format!(r#"{{{members}"contents":[{{"parts":[{{"text":"hi"}}]}}]}}"#);
        let changed = read(&body).changed(Some("m"), &[PromptPart::Client(0)]).unwrap();
        assert_eq!(changed, expect, "{members}");
    };
    let contents = r#""contents":[{"parts":[{"text":"hi"}]}]}"#;
    check("", &format!(r#"{{"systemInstruction":{{"parts":[{{"text":"m"}}]}},{contents}"#));
    check(
        r#""systemInstruction":{"role":"user","parts":[{"text":"a"}]},"#,
        &format!(
            r#"{{"systemInstruction":{{"role":"user","parts":[{{"text":"a"}},{{"text":"m"}}]}},{contents}"#
        ),
    );
    check(
        r#""system_instruction":{"parts":{"text":"a"}},"#,
        &format!(
            r#"{{"system_instruction":{{"parts":[{{"text":"a"}},{{"text":"m"}}]}},{contents}"#
        ),
    );
    check(
        r#""systemInstruction":null,"#,
        &format!(r#"{{"systemInstruction":{{"parts":[{{"text":"m"}}]}},{contents}"#),
    );
    // The provider refuses a system instruction beside a cached one.
    check(
        r#""cachedContent":"cachedContents/1","#,
        r#"{"cachedContent":"cachedContents/1","contents":[{"role":"user","parts":[{"text":"m"}]},{"parts":[{"text":"hi"}]}]}"#,
    );
}

#[test]
fn side_requests_of_gemini_cli_are_known() {
    let check = |agent: &'static str, tools: Value, expect: bool| {
        let body = json!({"contents": [{"parts": [{"text": "hi"}]}], "tools": tools});
        let headers = HeaderMap::from_iter([(USER_AGENT, agent.parse().unwrap())]);
        assert_eq!(
            GeminiWire::is_side_request(&read(&body.to_string()), &headers),
            expect,
            "{body}"
        );
    };
    let cli = "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)";
    check(cli, json!([{"functionDeclarations": [{"name": "read_file"}]}]), false);
    check(cli, json!(null), true);
    check(cli, json!([{"googleSearch": {}}]), true);
    check("google-genai-sdk/3.1.0", json!(null), false);
}
