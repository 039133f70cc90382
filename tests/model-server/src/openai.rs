//! Chat completions: a JSON answer, or its chunks.

use serde_json::{Value, json};

use crate::answer::{Answer, Content, Stop, Usage};
use crate::ask::Ask;
use crate::payload::{Events, cut};

/// An arbitrary time, which clients ignore.
const CREATED: u64 = 1_790_000_000;

pub(crate) fn whole(asked: &Ask, answer: &Answer, id: &str) -> Value {
    let calls: Vec<Value> = answer.content.iter().filter_map(call).collect();
    let text = text(answer);
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": stop(answer.stop)});
    let choices = if answer.content.is_empty() { json!([]) } else { json!([choice]) };
    let mut body = json!({"id": id, "object": "chat.completion", "created": CREATED,
        "model": asked.model, "choices": choices});
    if let Some(figures) = &answer.usage {
        body["usage"] = usage(figures);
    }
    body
}

pub(crate) fn events(asked: &Ask, answer: &Answer, id: &str) -> Events {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": id, "object": "chat.completion.chunk", "created": CREATED, "model": asked.model,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]})
    };
    let mut events = Events::default();
    events.start.push(event(&chunk(json!({"role": "assistant", "content": ""}), None)));
    let text = text(answer);
    events.body.extend(cut(&text).map(|t| event(&chunk(json!({"content": t}), None))));
    for (index, call) in answer.content.iter().filter_map(call).enumerate() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or("").to_owned();
        let mut begun = call;
        begun["index"] = json!(index);
        begun["function"]["arguments"] = json!("");
        events.body.push(event(&chunk(json!({"tool_calls": [begun]}), None)));
        for piece in cut(&arguments) {
            let delta = json!({"index": index, "function": {"arguments": piece}});
            events.body.push(event(&chunk(json!({"tool_calls": [delta]}), None)));
        }
    }
    events.end.push(event(&chunk(json!({}), Some(stop(answer.stop)))));
    if let Some(figures) = answer.usage.filter(|_| asked.usage_wanted) {
        let mut last = chunk(json!({}), None);
        last["choices"] = json!([]);
        last["usage"] = usage(&figures);
        events.end.push(event(&last));
    }
    events.end.push("data: [DONE]\n\n".to_owned());
    events
}

pub(crate) fn more(text: &str) -> String {
    let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
    event(&json!({"id": "more", "object": "chat.completion.chunk", "choices": [choice]}))
}

pub(crate) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn text(answer: &Answer) -> String {
    let texts = answer.content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn call(content: &Content) -> Option<Value> {
    let Content::Call { id, name, arguments } = content else { return None };
    Some(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
}

fn stop(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "stop",
        Stop::MaxTokens => "length",
        Stop::ToolUse => "tool_calls",
        Stop::Refusal => "content_filter",
    }
}

/// In chat completions, the prompt's tokens include cached ones.
fn usage(figures: &Usage) -> Value {
    let prompt = figures.input.saturating_add(figures.read).saturating_add(figures.written);
    json!({"prompt_tokens": prompt, "completion_tokens": figures.output,
        "total_tokens": prompt.saturating_add(figures.output),
        "prompt_tokens_details": {"cached_tokens": figures.read}})
}
