//! OpenAI's Responses API: its items, a JSON answer, and its events.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::answer::{Answer, Content, Stop, Usage};
use crate::ask::Ask;
use crate::payload::{Events, cut};

/// An arbitrary time, which clients ignore.
const CREATED: u64 = 1_790_000_000;

/// Returns the items of an input, which may also be a text.
pub(crate) fn items(input: &Value) -> Vec<Value> {
    match input {
        Value::String(text) => vec![json!({"type": "message", "role": "user", "content": text})],
        other => other.as_array().cloned().unwrap_or_default(),
    }
}

/// Converts items to the format of the Messages API. Instructions stay in place.
pub(crate) fn messages(items: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for item in items {
        let (role, blocks) = match (kind(item), item["role"].as_str()) {
            ("message", Some(role @ ("user" | "assistant"))) => (role, said(&item["content"])),
            ("message", _) => ("system", said(&item["content"])),
            (output, _) if output.ends_with("_call_output") => ("user", vec![result(item)]),
            (call, _) if call.ends_with("_call") => ("assistant", vec![called(item)]),
            _ => ("assistant", vec![item.clone()]),
        };
        match out.last_mut() {
            Some(last) if last["role"] == role => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ => out.push(json!({"role": role, "content": blocks})),
        }
    }
    out
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn said(content: &Value) -> Vec<Value> {
    let text = |text: &Value| json!({"type": "text", "text": text});
    match content {
        Value::String(said) if !said.is_empty() => vec![text(content)],
        Value::Array(parts) => {
            let convert = |part: &Value| match part["text"].is_string() {
                true => text(&part["text"]),
                false => part.clone(),
            };
            parts.iter().map(convert).collect()
        }
        _ => Vec::new(),
    }
}

fn result(item: &Value) -> Value {
    let content = match &item["output"] {
        Value::Array(_) => json!(said(&item["output"])),
        other => other.clone(),
    };
    json!({"type": "tool_result", "tool_use_id": item["call_id"], "content": content})
}

fn called(item: &Value) -> Value {
    let arguments = item["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
    let input: Value = arguments.unwrap_or_else(|| item["input"].clone());
    json!({"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": input})
}

/// Checks the rules of the documentation: every call has one output and every output a call, reasoning stays with what
/// follows it, and no id is used twice.
pub(crate) fn faults(items: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    let (mut calls, mut outputs, mut ids) = (HashSet::new(), HashSet::new(), HashSet::new());
    for (i, item) in items.iter().enumerate() {
        let name = kind(item);
        let call = item["call_id"].as_str().unwrap_or("");
        if name.ends_with("_call_output") {
            if !calls.contains(call) {
                out.push(format!(
                    "No tool call found for function call output with call_id {call}."
                ));
            }
            if !outputs.insert(call) {
                out.push(format!("{i}: two outputs for {call}"));
            }
        } else if name.ends_with("_call") && item["call_id"].is_string() && !calls.insert(call) {
            out.push(format!("{i}: two calls with the call_id {call}"));
        }
        if let Some(id) = item["id"].as_str()
            && !ids.insert(id)
        {
            out.push(format!("Duplicate item found with id {id}."));
        }
        let following = items.get(i + 1).map(kind);
        if name == "reasoning"
            && !following.is_some_and(|next| next == "message" || next.ends_with("_call"))
        {
            out.push(format!(
                "Item {} of type 'reasoning' was provided without its required following item.",
                item["id"]
            ));
        }
        if name == "reasoning" && !item["summary"].is_array() {
            out.push(format!("{i}: reasoning without a summary"));
        }
        let role = item["role"].as_str().unwrap_or("");
        if name == "message" && !matches!(role, "system" | "developer" | "user" | "assistant") {
            out.push(format!("{i}: role {role:?}"));
        }
    }
    for call in calls.difference(&outputs) {
        out.push(format!("No tool output found for function call {call}."));
    }
    if items.is_empty() {
        out.push("`input` is empty".to_owned());
    }
    out
}

/// Returns the id of the response to a request.
pub(crate) fn id(request: &str) -> String {
    request.replacen("req", "resp", 1)
}

/// Returns the items of an answer.
pub(crate) fn output(answer: &Answer, request: &str) -> Vec<Value> {
    let item = |(n, content): (usize, &Content)| {
        let number = format!("{}_{n}", request.trim_start_matches("req_"));
        match content {
            Content::Thinking { text, signature } => {
                json!({"type": "reasoning", "id": format!("rs_{number}"),
                "summary": [{"type": "summary_text", "text": text}], "encrypted_content": signature})
            }
            Content::Text(text) => {
                json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant",
                "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
            }
            Content::Call { id, name, arguments } => {
                let (namespace, name) = match name.split_once('/') {
                    Some((namespace, name)) => (Some(namespace), name),
                    None => (None, name.as_str()),
                };
                let mut call = json!({"type": "function_call", "id": format!("fc_{number}"),
                    "call_id": id, "name": name, "arguments": arguments, "status": "completed"});
                if let Some(namespace) = namespace {
                    call["namespace"] = json!(namespace);
                }
                call
            }
        }
    };
    answer.content.iter().enumerate().map(item).collect()
}

pub(crate) fn whole(asked: &Ask, answer: &Answer, request: &str) -> Value {
    let (status, reason) = match answer.stop {
        Stop::MaxTokens => ("incomplete", Some("max_output_tokens")),
        Stop::Refusal => ("incomplete", Some("content_filter")),
        Stop::EndTurn | Stop::ToolUse => ("completed", None),
    };
    let mut body = response(asked, request, status);
    body["output"] = json!(output(answer, request));
    body["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({"reason": reason}));
    body["usage"] = answer.usage.as_ref().map_or(Value::Null, usage);
    body
}

fn response(asked: &Ask, request: &str, status: &str) -> Value {
    json!({"id": id(request), "object": "response", "created_at": CREATED, "status": status,
        "background": false, "error": null, "incomplete_details": null, "instructions": null,
        "max_output_tokens": null, "model": asked.model, "output": [], "parallel_tool_calls": true,
        "previous_response_id": null, "store": asked.is_stored, "temperature": 1.0, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "truncation": "disabled", "usage": null, "metadata": {}})
}

pub(crate) fn events(asked: &Ask, answer: &Answer, request: &str) -> Events {
    let mut number = 0;
    let mut numbered = |mut data: Value| {
        data["sequence_number"] = json!(number);
        number += 1;
        event(&data)
    };
    let begun = response(asked, request, "in_progress");
    let mut events = Events { silent: 2, ..Events::default() };
    for kind in ["response.created", "response.in_progress"] {
        events.start.push(numbered(json!({"type": kind, "response": begun})));
    }
    for (index, item) in output(answer, request).iter().enumerate() {
        let mut opened = item.clone();
        for (member, empty) in
            [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))]
        {
            if !item[member].is_null() {
                opened[member] = empty;
            }
        }
        opened["status"] = json!("in_progress");
        let added =
            json!({"type": "response.output_item.added", "output_index": index, "item": opened});
        events.body.push(numbered(added));
        let at = json!({"item_id": item["id"], "output_index": index});
        for mut part in parts(item) {
            for (member, value) in at.as_object().into_iter().flatten() {
                part[member] = value.clone();
            }
            events.body.push(numbered(part));
        }
        let done =
            json!({"type": "response.output_item.done", "output_index": index, "item": item});
        events.body.push(numbered(done));
    }
    let whole = whole(asked, answer, request);
    let kind = format!("response.{}", whole["status"].as_str().unwrap_or("completed"));
    events.end.push(numbered(json!({"type": kind, "response": whole})));
    events
}

/// Returns the events between the first and the last one of an item.
fn parts(item: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    let deltas = |out: &mut Vec<Value>, kind: &str, more: &Value, text: &str| {
        for piece in cut(text) {
            let mut delta = more.clone();
            (delta["type"], delta["delta"]) = (json!(format!("{kind}.delta")), json!(piece));
            out.push(delta);
        }
    };
    match kind(item) {
        "reasoning" => {
            let (summary, more) = (&item["summary"][0], json!({"summary_index": 0}));
            let text = summary["text"].as_str().unwrap_or("");
            let empty = json!({"type": "summary_text", "text": ""});
            out.push(json!({"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": empty}));
            deltas(&mut out, "response.reasoning_summary_text", &more, text);
            out.push(json!({"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": text}));
            out.push(json!({"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": summary}));
        }
        "message" => {
            let (part, more) = (&item["content"][0], json!({"content_index": 0, "logprobs": []}));
            let text = part["text"].as_str().unwrap_or("");
            let empty =
                json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            out.push(
                json!({"type": "response.content_part.added", "content_index": 0, "part": empty}),
            );
            deltas(&mut out, "response.output_text", &more, text);
            out.push(json!({"type": "response.output_text.done", "content_index": 0, "text": text, "logprobs": []}));
            out.push(
                json!({"type": "response.content_part.done", "content_index": 0, "part": part}),
            );
        }
        _ => {
            let text = item["arguments"].as_str().unwrap_or("");
            deltas(&mut out, "response.function_call_arguments", &json!({}), text);
            out.push(json!({"type": "response.function_call_arguments.done", "name": item["name"], "arguments": text}));
        }
    }
    out
}

pub(crate) fn more(text: &str) -> String {
    event(&json!({"type": "response.output_text.delta", "item_id": "msg_more", "output_index": 0,
        "content_index": 0, "delta": text, "logprobs": []}))
}

pub(crate) fn event(data: &Value) -> String {
    let kind = data["type"].as_str().unwrap_or("error");
    format!("event: {kind}\ndata: {data}\n\n")
}

/// The prompt's tokens include cached ones.
fn usage(figures: &Usage) -> Value {
    let prompt = figures.input.saturating_add(figures.read).saturating_add(figures.written);
    json!({"input_tokens": prompt, "input_tokens_details": {"cached_tokens": figures.read},
        "output_tokens": figures.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt.saturating_add(figures.output)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_items_are_checked() {
        let user = json!({"role": "user", "content": "hi"});
        let call = json!({"type": "function_call", "call_id": "c", "name": "R", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        for (items, expect) in [
            (vec![&user], ""),
            (vec![&user, &reasoning, &call, &output], ""),
            (vec![&user, &call], "No tool output found"),
            (vec![&user, &output], "No tool call found"),
            (vec![&user, &call, &output, &output], "two outputs"),
            (vec![&user, &reasoning, &user], ""),
            (vec![&user, &reasoning], "without its required following item"),
            (vec![&user, &reasoning, &call, &output, &reasoning, &user], "Duplicate item"),
            (vec![], "empty"),
        ] {
            let items: Vec<Value> = items.into_iter().cloned().collect();
            let found = faults(&items);
            let fits = if expect.is_empty() {
                found.is_empty()
            } else {
                found.iter().any(|f| f.contains(expect))
            };
            assert!(fits, "{expect:?}: {found:?}");
        }
    }
}
