//! A model request that does not use a session's prompt: an instruction and a question.

use bethink_model::ModelRequest;
use bethink_tokens::text_tokens;
use bethink_transcript::{PromptMessage, Seq, ValidPrompt, json};
use bytes::Bytes;

pub(crate) fn standalone_request(
    model: String,
    instruction: &str,
    question: &str,
    max_tokens: u64,
) -> Option<ModelRequest> {
    let system = format!(r#"[{{"type":"text","text":{}}}]"#, json::encode_string(instruction));
    let said = PromptMessage::said(question, Seq::ZERO, text_tokens(question));
    Some(ModelRequest {
        model,
        system: Bytes::from(system),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(vec![said]).ok()?,
        marks: Vec::new(),
        max_tokens,
        form: Default::default(),
    })
}
