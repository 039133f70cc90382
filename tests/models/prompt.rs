//! Makes the request of a fork: a session with rounds, thinking and an image, followed by an instruction.

use bethink_harness::say;
use bethink_model::ModelRequest;
use bethink_transcript::message::{MessageMeta, MessageSource};
use bethink_transcript::{
    Message, MessageId, Origin, PromptBlock, PromptMessage, Role, Seq, UnixMicros, ValidPrompt,
    Variant,
};
use bytes::Bytes;
use serde_json::{Value, json};

const TURNS: usize = 12;
const RESULT_BYTES: usize = 2000;
const INSTRUCTION: &str = "Tell me in a sentence how the work stands.";

pub(crate) fn request() -> ModelRequest {
    let mut messages: Vec<Value> = (0..TURNS).flat_map(|n| say::work(n, RESULT_BYTES)).collect();
    messages[0]["content"] = json!([
        {"type": "text", "text": messages[0]["content"]},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]);
    if let Some(blocks) = messages[1]["content"].as_array_mut() {
        blocks.insert(0, json!({"type": "thinking", "thinking": "hm", "signature": "s1"}));
    }
    messages.push(say::user(INSTRUCTION));
    ModelRequest {
        system: Bytes::from_static(br#"[{"type":"text","text":"You help with code."}]"#),
        tools: Bytes::from_static(
            br#"[{"name":"Read","description":"Reads a file.","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}}}}]"#,
        ),
        ..asked("scripted-1", &messages, 4_000)
    }
}

/// Makes a request with only one message.
pub(crate) fn words(model: &str, text: &str, max_tokens: u64) -> ModelRequest {
    asked(model, &[say::user(text)], max_tokens)
}

fn asked(model: &str, messages: &[Value], max_tokens: u64) -> ModelRequest {
    let messages = messages.iter().enumerate().map(|(n, m)| message(n as u64 + 1, m)).collect();
    ModelRequest {
        model: model.to_owned(),
        system: Bytes::from_static(b"[]"),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(messages).unwrap(),
        marks: Vec::new(),
        max_tokens,
        form: Default::default(),
    }
}

fn message(seq: u64, json: &Value) -> PromptMessage {
    let meta =
        MessageMeta { seq: Seq(seq), id: MessageId::new("m").unwrap(), created_at: UnixMicros(0) };
    let parsed =
        Message::parse(meta, Bytes::from(json.to_string()), MessageSource::Client).unwrap();
    let role = if json["role"] == "user" { Role::User } else { Role::Assistant };
    let block = |(i, block): (usize, &bethink_transcript::Block)| {
        let tokens = u32::try_from(block.json.len() / 4).unwrap();
        let block_at = u32::try_from(i).unwrap();
        PromptBlock {
            origin: Origin::Stored { seq: Seq(seq), block: block_at, variant: Variant::Whole },
            ..PromptBlock::answered(block, Seq(seq), tokens)
        }
    };
    PromptMessage { role, blocks: parsed.blocks.iter().enumerate().map(block).collect() }
}
