//! Checks requests, using only the specification and the providers' documentation.

use std::collections::HashSet;

use bethink_harness::prompt;
use serde_json::Value;

use crate::ask::{self, Wire};
use crate::{gemini, responses};

/// Maximum number of cache breakpoints in a request.
const MOST_MARKS: usize = 4;

/// The problems of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Rules that the messages violate.
    pub prompt: Vec<String>,
    /// Problems of headers, model, limits, tools and breakpoints.
    pub envelope: Vec<String>,
}

/// Checks a request; `body` is `Null` if it is not JSON.
pub fn faults(wire: Wire, headers: &[(String, String)], body: &Value) -> Faults {
    let mut out = Faults::default();
    if body.is_null() {
        out.envelope.push("the body is no JSON".to_owned());
        return out;
    }
    envelope(body, &mut out.envelope);
    match wire {
        Wire::Anthropic => {
            let messages = body["messages"].as_array().cloned().unwrap_or_default();
            let (spoken, misplaced) = without_instructions(messages);
            out.prompt = [prompt::faults(&spoken), misplaced].concat();
            anthropic(headers, body, &mut out.envelope);
        }
        Wire::OpenAi => {
            let messages = body["messages"].as_array().cloned().unwrap_or_default();
            out.prompt = chat(&messages);
            chat_tools(body, &mut out.envelope);
        }
        Wire::Gemini => out.prompt = gemini::faults(&body["contents"]),
        Wire::Responses => {
            out.prompt = responses::faults(&responses::items(&body["input"]));
            if body["tools"].as_array().is_some_and(Vec::is_empty)
                && body["tool_choice"].is_object()
            {
                out.envelope.push("`tool_choice` without tools".to_owned());
            }
        }
    }
    out
}

fn envelope(body: &Value, out: &mut Vec<String>) {
    if body["model"].as_str().is_none_or(str::is_empty) {
        out.push("`model` is missing".to_owned());
    }
    for key in ["max_tokens", "max_completion_tokens", "max_output_tokens"] {
        if !body[key].is_null() && body[key].as_u64().is_none_or(|limit| limit == 0) {
            out.push(format!("`{key}` is {}", body[key]));
        }
    }
}

fn anthropic(headers: &[(String, String)], body: &Value, out: &mut Vec<String>) {
    let has = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    if !has("anthropic-version") {
        out.push("the header anthropic-version is missing".to_owned());
    }
    if !has("x-api-key") && !has("authorization") {
        out.push("no key".to_owned());
    }
    if body["max_tokens"].is_null() {
        out.push("`max_tokens` is missing".to_owned());
    }
    for block in body["system"].as_array().into_iter().flatten() {
        if !is_text(block) {
            out.push("a system block that is no text, or empty".to_owned());
        }
    }
    let mut names = HashSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or("");
        if name.is_empty() || !names.insert(name) {
            out.push(format!("tool name {name:?} empty or used twice"));
        }
    }
    let marks = marks(&body["tools"]) + marks(&body["system"]) + marks(&body["messages"]);
    if marks > MOST_MARKS {
        out.push(format!("{marks} cache breakpoints"));
    }
}

/// Separates the messages of the role `system`, which the Messages API accepts after the first message. Returns the others, and
/// the problems: an instruction is text, follows a user message, and is the last message or precedes an assistant's.
fn without_instructions(messages: Vec<Value>) -> (Vec<Value>, Vec<String>) {
    let role = |at: usize| messages.get(at).map(|message| message["role"].as_str().unwrap_or(""));
    let mut out = Vec::new();
    for (i, message) in messages.iter().enumerate().filter(|(_, m)| m["role"] == "system") {
        match i.checked_sub(1).and_then(role) {
            None => out.push(format!("{i}: use the top-level 'system' parameter")),
            Some("user") if matches!(role(i + 1), None | Some("assistant")) => {}
            Some(_) => out.push(format!("{i}: role \"system\" in the wrong place")),
        }
        let blocks = ask::blocks(message);
        if blocks.is_empty() || blocks.iter().any(|block| !is_text(block)) {
            out.push(format!("{i}: an instruction that is no text, or empty"));
        }
    }
    let spoken = messages.into_iter().filter(|message| message["role"] != "system").collect();
    (spoken, out)
}

fn is_text(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Counts the breakpoints in a value, except in the input of a tool.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.contains_key("cache_control"));
            let inner = fields.iter().filter(|(key, _)| *key == "content");
            own + inner.map(|(_, value)| marks(value)).sum::<usize>()
        }
        _ => 0,
    }
}

/// Checks the rules of chat completions: each call must be followed by exactly one result.
fn chat(messages: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (i, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("");
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or("");
            match open.iter().position(|open| open == id) {
                Some(at) => drop(open.remove(at)),
                None => out.push(format!("{i}: result {id:?} without a call, or given twice")),
            }
        } else if !open.is_empty() {
            out.push(format!("{i}: calls {open:?} without results"));
            open.clear();
        }
        content(i, role, message, &mut out);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or("").to_owned();
            if id.is_empty() || !seen.insert(id.clone()) {
                out.push(format!("{i}: call id {id:?} empty or used twice"));
            }
            let arguments = call["function"]["arguments"].as_str();
            if arguments.is_none_or(|a| serde_json::from_str::<Value>(a).is_err()) {
                out.push(format!("{i}: the arguments of call {id:?} are no JSON text"));
            }
            open.push(id);
        }
    }
    if !open.is_empty() {
        out.push("ends in unanswered calls".to_owned());
    }
    match messages.iter().find(|m| !matches!(m["role"].as_str(), Some("system" | "developer"))) {
        None => out.push("no messages".to_owned()),
        Some(first) if first["role"] != "user" => {
            out.push("the first message is not the user's".to_owned());
        }
        Some(_) => {}
    }
    out
}

fn content(i: usize, role: &str, message: &Value, out: &mut Vec<String>) {
    let known = matches!(role, "system" | "developer" | "user" | "assistant" | "tool");
    if !known {
        out.push(format!("{i}: role {role:?}"));
    }
    let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    match &message["content"] {
        Value::String(text) if !text.trim().is_empty() => {}
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                let kind = part["type"].as_str().unwrap_or("");
                if !matches!(kind, "text" | "image_url" | "input_audio" | "file" | "refusal") {
                    out.push(format!("{i}: a part of type {kind:?}"));
                }
            }
        }
        Value::Null | Value::String(_) if calls || role == "tool" => {}
        _ => out.push(format!("{i}: empty content")),
    }
}

fn chat_tools(body: &Value, out: &mut Vec<String>) {
    for tool in body["tools"].as_array().into_iter().flatten() {
        let name = tool["function"]["name"].as_str().unwrap_or("");
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tool["type"] != "function" || name.is_empty() || !name.chars().all(fits) {
            out.push(format!("tool {name:?} is no function with a plain name"));
        }
    }
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        out.push("`tools` is empty".to_owned());
    }
}

/// Finds thinking that this server signed and that was sent back after a different prefix.
pub(crate) fn bound_elsewhere(asked: &ask::Ask) -> Option<String> {
    let pieces = &asked.pieces;
    let before = |i: usize| i.checked_sub(1).map_or(pieces.head, |last| pieces.ends[last]);
    for (i, message) in asked.messages.iter().enumerate() {
        for (j, block) in ask::blocks(message).iter().enumerate() {
            let Some(signature) = block["signature"].as_str() else { continue };
            let Some(prefix) = signature.strip_prefix(crate::answer::SIGNED) else { continue };
            if prefix != crate::answer::digest(&pieces.text[..before(i)]) {
                return Some(format!("messages.{i}.content.{j}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(wire: Wire, body: &Value, expect: &str) {
        let key = ("x-api-key".to_owned(), "k".to_owned());
        let version = ("Anthropic-Version".to_owned(), "2023-06-01".to_owned());
        let faults = faults(wire, &[key, version], body);
        let all = [faults.prompt, faults.envelope].concat();
        match expect {
            "" => assert!(all.is_empty(), "{all:?}"),
            _ => assert!(all.iter().any(|fault| fault.contains(expect)), "{expect}: {all:?}"),
        }
    }

    #[test]
    fn a_request_of_the_messages_api() {
        let check = |change: &Value, expect: &str| {
            let mut body = json!({"model": "m", "max_tokens": 1, "system": [{"type": "text", "text": "s"}],
                "messages": [{"role": "user", "content": "hi"}]});
            for (key, value) in change.as_object().unwrap() {
                body[key] = value.clone();
            }
            check(Wire::Anthropic, &body, expect);
        };
        check(&json!({}), "");
        check(&json!({"messages": []}), "no messages");
        check(&json!({"model": ""}), "`model` is missing");
        check(&json!({"max_tokens": 0}), "`max_tokens` is 0");
        check(&json!({"max_tokens": null}), "`max_tokens` is missing");
        check(&json!({"system": [{"type": "text", "text": " "}]}), "system block");
        check(&json!({"tools": [{"name": "a"}, {"name": "a"}]}), "used twice");
        let marked = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
        let content = vec![marked; 5];
        check(&json!({"messages": [{"role": "user", "content": content}]}), "5 cache breakpoints");
        let bare = faults(Wire::Anthropic, &[], &json!({"model": "m", "max_tokens": 1}));
        assert!(bare.envelope.iter().any(|f| f == "no key"), "{bare:?}");
        assert!(bare.envelope.iter().any(|f| f.contains("anthropic-version")), "{bare:?}");
    }

    #[test]
    fn instructions_between_messages_have_their_place() {
        let check = |roles: &[&str], expect: &str| {
            let said = |role: &&str| json!({"role": role, "content": "x"});
            let messages: Vec<Value> = roles.iter().map(said).collect();
            let body = json!({"model": "m", "max_tokens": 1, "messages": messages});
            self::check(Wire::Anthropic, &body, expect);
        };
        check(&["user", "system"], "");
        check(&["user", "system", "assistant", "user", "system"], "");
        check(&["system", "user"], "top-level");
        check(&["user", "assistant", "system", "user"], "wrong place");
        check(&["user", "system", "user"], "wrong place");
        check(&["user", "system", "system"], "wrong place");
        let image = json!({"role": "system", "content": [{"type": "image", "source": {}}]});
        let messages = json!([{"role": "user", "content": "x"}, image]);
        let body = json!({"model": "m", "max_tokens": 1, "messages": messages});
        self::check(Wire::Anthropic, &body, "no text");
    }

    #[test]
    fn a_request_of_chat_completions() {
        let check = |messages: &Value, expect: &str| {
            check(Wire::OpenAi, &json!({"model": "m", "messages": messages}), expect);
        };
        let user = json!({"role": "user", "content": "hi"});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "Read", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
        check(&json!([user, call, result]), "");
        check(&json!([{"role": "system", "content": "s"}, user]), "");
        check(&json!([]), "no messages");
        check(&json!([{"role": "assistant", "content": "a"}]), "not the user's");
        check(&json!([user, call]), "unanswered");
        check(&json!([user, call, user]), "without results");
        check(&json!([user, result]), "without a call");
        check(&json!([user, call, result, result]), "given twice");
        check(&json!([user, call, result, call, result]), "used twice");
        check(&json!([{"role": "robot", "content": "x"}]), "role");
        check(&json!([{"role": "user", "content": ""}]), "empty content");
        check(
            &json!([{"role": "user", "content": [{"type": "tool_result"}]}]),
            "type \"tool_result\"",
        );
        let odd = json!({"role": "assistant", "tool_calls": [
            {"id": "c", "function": {"name": "Read", "arguments": {}}}]});
        check(&json!([user, odd, result]), "no JSON text");
    }
}
