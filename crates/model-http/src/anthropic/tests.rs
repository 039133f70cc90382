use bethink_model::ErrorClass;
use bethink_transcript::{BlockKind, CacheMark, PromptMessage, Seq, ValidPrompt};
use bytes::Bytes;

use super::*;

fn request(texts: &[&str]) -> ModelRequest {
    let messages = texts.iter().enumerate().map(|(at, text)| {
        let role = if at % 2 == 0 {
            bethink_transcript::Role::User
        } else {
            bethink_transcript::Role::Assistant
        };
        PromptMessage { role, ..PromptMessage::said(text, Seq(1), 1) }
    });
    ModelRequest {
        model: "m \"x\"".into(),
        system: Bytes::from_static(b"[ ]"),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(messages.collect()).unwrap(),
        marks: Vec::new(),
        max_tokens: 9,
        form: Default::default(),
    }
}

fn shown(request: &ModelRequest) -> String {
    String::from_utf8(AnthropicDialect.call(request, true).unwrap().body).unwrap()
}

#[test]
fn a_body_is_joined_from_the_bytes_at_hand() {
    let mut asked = request(&["a"]);
    let messages =
        r#""messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"stream":true}"#;
    assert_eq!(shown(&asked), format!(r#"{{"model":"m \"x\"","max_tokens":9,{messages}"#));
    asked.system = Bytes::from_static(br#"[{"type":"text" ,"text":"\u00e9"}]"#);
    asked.tools = Bytes::from_static(br#"[{"name":"z", "input_schema":{"b":1,"a":1e2}}]"#);
    assert_eq!(
        shown(&asked),
        format!(
            r#"{{"model":"m \"x\"","max_tokens":9,"system":[{{"type":"text" ,"text":"\u00e9"}}],"tools":[{{"name":"z", "input_schema":{{"b":1,"a":1e2}}}}],{messages}"#
        )
    );
    asked.marks = vec![CacheMark { message: 0, block: 0 }];
    assert!(shown(&asked).contains(r#""text":"a","cache_control":{"type":"ephemeral"}}"#));
}

#[test]
fn a_longer_prompt_begins_like_a_shorter_one() {
    let short = shown(&request(&["a", "b"]));
    let long = shown(&request(&["a", "b", "c"]));
    let end = r#"],"stream":true}"#;
    assert!(long.starts_with(short.strip_suffix(end).unwrap()), "{short} {long}");
}

#[test]
fn stops_are_named() {
    let read = |reason: &str| {
        let json =
            format!(r#"{{"content":[{{"type":"text","text":"x"}}],"stop_reason":{reason}}}"#);
        AnthropicDialect.read_whole(&json).map(|reply| reply.stop)
    };
    for (reason, expect) in [
        ("end_turn", Stop::EndTurn),
        ("max_tokens", Stop::MaxTokens),
        ("stop_sequence", Stop::StopSequence),
        ("tool_use", Stop::ToolUse),
        ("pause_turn", Stop::PauseTurn),
        ("refusal", Stop::Refusal),
        ("model_context_window_exceeded", Stop::WindowFull),
        ("new", Stop::Other("new".into())),
    ] {
        assert_eq!(read(&format!("\"{reason}\"")).unwrap(), expect);
    }
    for none in ["null", "\"\"", "7"] {
        assert!(
            matches!(read(none), Err(ProviderTrouble::Detected(ErrorClass::Broken, _))),
            "{none}"
        );
    }
}

#[test]
fn an_answer_of_no_blocks_is_one() {
    let json = r#"{"id":"m","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":0}}"#;
    let reply = AnthropicDialect.read_whole(json).unwrap();
    assert_eq!((reply.content.len(), reply.usage_doubtful), (0, false));
    let call = r#"{"content":[{"type":"tool_use","id":"t","name":"n","input":{}}],"stop_reason":"tool_use"}"#;
    let reply = AnthropicDialect.read_whole(call).unwrap();
    assert!(matches!(reply.content[0].kind, BlockKind::ToolUse { .. }) && reply.usage_doubtful);
}
