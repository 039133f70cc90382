//! The Messages API: a JSON answer, or its events.

use serde_json::{Value, json};

use crate::answer::{Answer, Content, Stop, Usage};
use crate::ask::Ask;
use crate::payload::{Events, cut};

pub(crate) fn whole(asked: &Ask, answer: &Answer, id: &str) -> Value {
    let content: Vec<Value> = answer.content.iter().map(block).collect();
    let mut message = json!({
        "id": id, "type": "message", "role": "assistant", "model": asked.model, "content": content,
        "stop_reason": stop(answer.stop), "stop_sequence": null});
    if let Some(figures) = &answer.usage {
        message["usage"] = usage(figures);
    }
    message
}

pub(crate) fn events(asked: &Ask, answer: &Answer, id: &str) -> Events {
    let mut start = whole(asked, answer, id);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    if answer.usage.is_some_and(|usage| usage.output > 0) {
        start["usage"]["output_tokens"] = json!(1);
    }
    // The start of a block, and a ping.
    let mut events = Events { silent: 2, ..Events::default() };
    events.start.push(event(&json!({"type": "message_start", "message": start})));
    for (index, content) in answer.content.iter().enumerate() {
        let begun =
            json!({"type": "content_block_start", "index": index, "content_block": bare(content)});
        events.body.push(event(&begun));
        if index == 0 {
            events.body.push(event(&json!({"type": "ping"})));
        }
        let deltas = deltas(content);
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.body.extend(deltas.into_iter().map(|d| event(&delta(d))));
        events.body.push(event(&json!({"type": "content_block_stop", "index": index})));
    }
    let mut end = json!({"type": "message_delta",
        "delta": {"stop_reason": stop(answer.stop), "stop_sequence": null}});
    if let Some(figures) = &answer.usage {
        end["usage"] = json!({"output_tokens": figures.output});
    }
    events.end = vec![event(&end), event(&json!({"type": "message_stop"}))];
    events
}

/// Makes a delta of the first block.
pub(crate) fn more(text: &str) -> String {
    event(
        &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
    )
}

pub(crate) fn event(data: &Value) -> String {
    let kind = data["type"].as_str().unwrap_or("message");
    format!("event: {kind}\ndata: {data}\n\n")
}

fn block(content: &Content) -> Value {
    match content {
        Content::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Call { id, name, arguments } => {
            // Invalid arguments cannot be part of valid JSON, so they are sent as a string instead of an object.
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

fn bare(content: &Content) -> Value {
    let mut block = block(content);
    for key in ["text", "thinking", "signature"] {
        if !block[key].is_null() {
            block[key] = json!("");
        }
    }
    if !block["input"].is_null() {
        block["input"] = json!({});
    }
    block
}

fn deltas(content: &Content) -> Vec<Value> {
    match content {
        Content::Thinking { text, signature } => {
            let thought = cut(text).map(|t| json!({"type": "thinking_delta", "thinking": t}));
            let signed = json!({"type": "signature_delta", "signature": signature});
            thought.chain([signed]).collect()
        }
        Content::Text(text) => {
            cut(text).map(|t| json!({"type": "text_delta", "text": t})).collect()
        }
        Content::Call { arguments, .. } => {
            cut(arguments).map(|t| json!({"type": "input_json_delta", "partial_json": t})).collect()
        }
    }
}

fn stop(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::Refusal => "refusal",
    }
}

fn usage(figures: &Usage) -> Value {
    json!({"input_tokens": figures.input, "cache_creation_input_tokens": figures.written,
        "cache_read_input_tokens": figures.read, "output_tokens": figures.output})
}
