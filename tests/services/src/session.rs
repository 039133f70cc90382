//! A session for tests with a model: its messages, its requests, and the bytes of its prompts.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::Path;

use bethink_api as api;
use bethink_config::Settings;
use bethink_model::ModelRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Settings with a provider, but without work that calls the model on its own.
pub fn settings(home: &Path) -> Settings {
    let mut settings = Settings::at(home);
    settings.model.provider = "anthropic".to_owned();
    settings.session_memory.enabled = false;
    settings.memory.extraction = "off".to_owned();
    settings
}

/// Creates a session with a small window.
pub fn create_session() -> api::CreateSession {
    let model = json!({ "name": "claude-sonnet-4-5", "context_window": 60_000, "max_output_tokens": 8_000 });
    serde_json::from_value(json!({ "project_dir": "/project", "model": model })).unwrap()
}

/// The messages of twelve rounds, each with a call.
pub fn rounds() -> Vec<Value> {
    (0..12).flat_map(round).collect()
}

fn round(number: usize) -> [Value; 4] {
    let call = format!("call_{number}");
    let text = format!("line of the tide table {number}. ").repeat(80);
    [
        json!({ "role": "user", "content": format!("Look at the gauge number {number}") }),
        json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": call, "name": "Read",
              "input": { "file_path": "/project/gauge.rs" } } ] }),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": call, "content": text } ] }),
        json!({ "role": "assistant", "content": format!("Gauge {number} is read.") }),
    ]
}

/// Asks for a prompt without compacting. One of its tools edits files.
pub fn prompt_request() -> api::ContextRequest {
    let edit = json!({ "name": "Edit", "description": "edits", "input_schema": { "type": "object",
        "properties": { "file_path": {}, "old_string": {}, "new_string": {} } } });
    serde_json::from_value(json!({
        "system": [ { "part": "system", "text": "You keep a harbour." } ],
        "tools": [ edit, { "name": "Read", "input_schema": { "type": "object" } } ],
        "compact": "never" }))
    .unwrap()
}

/// Asks for a compaction with a full summary.
pub fn full_compaction() -> api::CompactRequest {
    api::CompactRequest { level: Some(api::SummaryLevel::Full), ..api::CompactRequest::default() }
}

/// The parts of a prompt that was sent, as bytes.
#[derive(Debug, Deserialize)]
pub struct SentBody<'a> {
    #[serde(borrow)]
    system: &'a RawValue,
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow)]
    messages: &'a RawValue,
}

impl<'a> SentBody<'a> {
    pub fn of(body: &'a [u8]) -> Self {
        serde_json::from_slice(body).unwrap()
    }

    /// The messages that `request` adds to this prompt, which it must begin with.
    pub fn added_by(&self, request: &ModelRequest) -> String {
        assert_eq!(request.system, self.system.get());
        assert_eq!(request.tools, self.tools.get());
        let sent = self.messages.get().strip_suffix(']').unwrap();
        let messages = String::from_utf8(request.messages_json()).unwrap();
        assert!(messages.starts_with(sent), "the request does not begin with the sent prompt");
        messages[sent.len()..].to_owned()
    }
}
