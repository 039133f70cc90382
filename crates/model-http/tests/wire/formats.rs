//! Tests both wire formats, streamed and not, over a real socket.

use crate::canned::{Canned, answer, asked, call, json, request, shown, stream};
use bethink_model::{ErrorClass, Stop};
use bethink_model_http::{Endpoint, Provider, open};
use serde_json::Value;

const ANTHROPIC: &str = include_str!("canned/anthropic.sse");
const OPENAI: &str = include_str!("canned/openai.sse");

const ANTHROPIC_READ: &str = r#"msg_01 m-1-20261001 [{"type":"thinking","thinking":"Let me \u00e9 see.","signature":"EqQBCg/+=="},{"type":"text","text":"Grüße 世界 \ud83d\ude00!\n","x_new":{"b":1.50,"a":[]}},{"type":"tool_use","id":"toolu_1","name":"edit","input":{"path": "ab", "n": 1.0}}] ToolUse 25+3+1000→89"#;
const OPENAI_READ: &str = r#"chatcmpl-1 m-1 [{"type":"text","text":"Grüße 世界 \ud83d\ude00!\n"},{"type":"tool_use","id":"call_a","name":"edit","input":{"path": "ab", "n": 1.0}},{"type":"tool_use","id":"call_b","name":"read","input":{"_raw":"not json"}}] ToolUse 28+0+1000→89"#;

#[tokio::test]
async fn a_stream_is_the_same_answer_wherever_its_bytes_are_cut() {
    for (provider, text, expect) in
        [(Provider::Anthropic, ANTHROPIC, ANTHROPIC_READ), (Provider::OpenAi, OPENAI, OPENAI_READ)]
    {
        let bytes = text.as_bytes();
        let scripts = (0..bytes.len()).map(|at| {
            let (a, b) = bytes.split_at(at);
            stream(&[a, b])
        });
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let scripts: Vec<_> = scripts.chain([stream(&single)]).collect();
        let calls = scripts.len();
        let server = Canned::start(scripts).await;
        let model = open(&server.endpoint(provider)).unwrap();
        for at in 0..calls {
            let reply = model.call(&request()).await;
            assert_eq!(shown(&reply.unwrap()), expect, "{provider} cut at {at}");
        }
    }
}

#[tokio::test]
async fn a_whole_answer_keeps_its_blocks_byte_for_byte() {
    let blocks = r#"[ {"type":"thinking","signature":"Eq==", "thinking":"x\u00e9"},{"type":"text","text":"a\/b"}, {"type":"new","z":1e2}]"#;
    let body = format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","content":{blocks},"model":"m","stop_reason":"end_turn","usage":{{"input_tokens":7,"output_tokens":2}}}}"#
    );
    let reply = asked(Provider::Anthropic, json(&body)).await;
    let reply = reply.unwrap();
    assert_eq!(
        shown(&reply),
        r#"msg_1 m [{"type":"thinking","signature":"Eq==", "thinking":"x\u00e9"},{"type":"text","text":"a\/b"},{"type":"new","z":1e2}] EndTurn 7+0+0→2"#
    );
}

#[tokio::test]
async fn a_whole_chat_completion_becomes_blocks() {
    let body = r#"{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"so","reasoning":"…","tool_calls":[{"id":"","type":"function","function":{"name":"ls","arguments":{"p":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let reply = asked(Provider::OpenAi, json(body)).await;
    let reply = reply.unwrap();
    let (id, name, input) = reply.calls().next().unwrap();
    assert!(id.as_str().starts_with("call_") && id.as_str().len() > 20, "{id:?}");
    assert_eq!((name, input), ("ls", r#"{"p":1}"#));
    assert_eq!((reply.stop.clone(), reply.usage_doubtful), (Stop::ToolUse, false));
}

#[tokio::test]
async fn requests_say_what_they_should() {
    for (provider, streaming, route, headers, body) in [
        (
            Provider::Anthropic,
            true,
            "POST /v1/messages HTTP/1.1",
            vec!["anthropic-version: 2023-06-01", "accept: text/event-stream"],
            r#"{"model":"m-1","max_tokens":64,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stream":true}"#,
        ),
        (
            Provider::OpenAi,
            false,
            "POST /v1/chat/completions HTTP/1.1",
            vec!["accept: application/json"],
            r#"{"model":"m-1","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"max_tokens":64}"#,
        ),
    ] {
        let server = Canned::start(vec![answer("500 No", "", b"")]).await;
        let endpoint = Endpoint { streaming, ..server.endpoint(provider) };
        assert!(call(&endpoint).await.is_err());
        let heard = server.heard();
        let (head, sent) = heard[0].split_once("\r\n\r\n").unwrap();
        assert_eq!((head.lines().next().unwrap(), sent), (route, body));
        for header in
            headers.iter().chain(&["accept-encoding: identity", "content-type: application/json"])
        {
            assert!(head.contains(header), "{header} in {head}");
        }
        assert!(!head.contains("authorization") && !head.contains("x-api-key"), "{head}");
        assert_eq!(heard.len(), 1, "an error is not repeated");
    }
}

#[tokio::test]
async fn prompts_are_counted_where_that_is_offered() {
    let server = Canned::start(vec![
        json(r#"{"input_tokens":2095}"#),
        answer("404 Not Found", "", b"{}"),
        answer("529 Busy", "", b"{}"),
        json(r#"{"input_tokens":-1}"#),
    ])
    .await;
    let model = open(&server.endpoint(Provider::Anthropic)).unwrap();
    assert_eq!(model.count(&request()).await, Ok(Some(2095)));
    assert_eq!(model.count(&request()).await, Ok(None));
    assert_eq!(model.count(&request()).await.unwrap_err().class, ErrorClass::Overloaded);
    assert_eq!(model.count(&request()).await.unwrap_err().class, ErrorClass::Broken);
    let heard = server.heard();
    let (head, body) = heard[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/messages/count_tokens "), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 3, "{members:?}");
    let chat = open(&server.endpoint(Provider::OpenAi)).unwrap();
    assert_eq!(chat.count(&request()).await, Ok(None));
    assert_eq!(server.heard().len(), 4);
}
