//! An independent check of prompts, written from the specification alone.
//!
//! Works on parsed JSON, as a provider would read it, and shares no code with the daemon's validator.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

/// The most images and documents that one request may have.
const MOST_MEDIA: usize = 100;

/// Every rule that `messages` break; empty if a provider would accept them.
pub fn faults(messages: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    if messages.is_empty() {
        return vec!["no messages".to_owned()];
    }
    if role(&messages[0]) != "user" {
        out.push("the first message is not the user's".to_owned());
    }
    let mut seen = HashSet::new();
    for (i, message) in messages.iter().enumerate() {
        let before = i.checked_sub(1).map(|before| &messages[before]);
        one(i, message, before, &mut out);
        for id in ids(&blocks(message), "tool_use", "id") {
            if !seen.insert(id.clone()) {
                out.push(format!("{i}: tool_use id {id} used twice"));
            }
        }
    }
    end(messages, &mut out);
    let media: usize = messages.iter().flat_map(blocks).map(|b| media(&b)).sum();
    if media > MOST_MEDIA {
        out.push(format!("{media} images and documents"));
    }
    out
}

/// The faults of a whole answer of `POST …/context`.
pub fn faults_of(answer: &Value) -> Vec<String> {
    match answer["messages"].as_array() {
        Some(messages) => faults(messages),
        None => vec!["`messages` is not an array".to_owned()],
    }
}

/// The size, at 4 bytes of JSON for each token.
pub fn tokens(answer: &Value) -> u64 {
    let bytes = |value: &Value| match value {
        Value::Null => 2,
        other => other.to_string().len(),
    };
    ((bytes(&answer["system"]) + bytes(&answer["messages"])) / 4) as u64
}

/// Everything that a model could read in the messages, a line for each block.
pub fn readable(answer: &Value) -> String {
    let mut out = String::new();
    for block in answer["messages"].as_array().into_iter().flatten().flat_map(blocks) {
        read(&block, &mut out);
    }
    out
}

fn read(block: &Value, out: &mut String) {
    if let Some(text) = block["text"].as_str() {
        out.push_str(text);
        out.push('\n');
    }
    if !block["input"].is_null() {
        out.push_str(&block["input"].to_string());
        out.push('\n');
    }
    match &block["content"] {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(parts) => parts.iter().for_each(|part| read(part, out)),
        _ => {}
    }
}

/// Whether the thinking in a prompt is that of its history, unchanged and in order.
pub fn thinking_kept(history: &[Value], prompt: &[Value]) -> bool {
    let mut source = history.iter().flat_map(blocks).filter(is_thinking);
    prompt.iter().flat_map(blocks).filter(is_thinking).all(|shown| source.any(|s| s == shown))
}

/// Whether a message has thinking.
pub fn thinks(messages: &[Value]) -> bool {
    messages.iter().flat_map(blocks).any(|b| is_thinking(&b))
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

fn one(i: usize, message: &Value, before: Option<&Value>, out: &mut Vec<String>) {
    let role = role(message);
    let parts = blocks(message);
    if role != "user" && role != "assistant" {
        out.push(format!("{i}: role {role:?}"));
    }
    if before.is_some_and(|before| self::role(before) == role) {
        out.push(format!("{i}: same role as the message before"));
    }
    if parts.is_empty() {
        out.push(format!("{i}: empty content"));
    }
    for part in &parts {
        match part["type"].as_str() {
            None => out.push(format!("{i}: a block without a type")),
            Some("text") if part["text"].as_str().unwrap_or("").trim().is_empty() => {
                out.push(format!("{i}: empty text"));
            }
            Some(_) => {}
        }
    }
    match role {
        "user" => user(i, &parts, before, out),
        _ if parts.iter().any(|p| p["type"] == "tool_result") => {
            out.push(format!("{i}: tool_result in an assistant message"));
        }
        _ => {}
    }
}

fn user(i: usize, parts: &[Value], before: Option<&Value>, out: &mut Vec<String>) {
    let mut balance: BTreeMap<String, i64> = BTreeMap::new();
    for id in before.map(|b| ids(&blocks(b), "tool_use", "id")).unwrap_or_default() {
        *balance.entry(id).or_default() -= 1;
    }
    for id in ids(parts, "tool_result", "tool_use_id") {
        *balance.entry(id).or_default() += 1;
    }
    for (id, sum) in balance {
        match sum {
            0 => {}
            ..0 => out.push(format!("{i}: tool_use {id} without tool_result")),
            _ => out.push(format!("{i}: tool_result {id} without tool_use, or given twice")),
        }
    }
    let first_other = parts.iter().position(|p| p["type"] != "tool_result");
    let last_result = parts.iter().rposition(|p| p["type"] == "tool_result");
    if matches!((first_other, last_result), (Some(other), Some(result)) if other < result) {
        out.push(format!("{i}: tool_result not first"));
    }
    for kind in ["tool_use", "thinking", "redacted_thinking"] {
        if parts.iter().any(|p| p["type"] == kind) {
            out.push(format!("{i}: {kind} in a user message"));
        }
    }
}

fn end(messages: &[Value], out: &mut Vec<String>) {
    // An assistant message in the middle is checked from the user message after it.
    let Some(last) = messages.last().filter(|m| role(m) == "assistant") else { return };
    let parts = blocks(last);
    if parts.iter().any(|p| p["type"] == "tool_use") {
        out.push("ends in an unanswered tool_use".to_owned());
    }
    let text = parts.last().and_then(|p| p["text"].as_str()).unwrap_or("");
    if text.ends_with(char::is_whitespace) {
        out.push("trailing white space in the last assistant text".to_owned());
    }
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or("")
}

/// Blocks of a message; a bare string is one text.
pub fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

fn ids(parts: &[Value], kind: &str, key: &str) -> Vec<String> {
    let of_kind = parts.iter().filter(|p| p["type"] == kind);
    of_kind.map(|p| p[key].as_str().unwrap_or("").to_owned()).collect()
}

fn media(block: &Value) -> usize {
    match block["type"].as_str() {
        Some("image" | "document") => 1,
        Some("tool_result") => block["content"].as_array().map_or(0, |c| c.iter().map(media).sum()),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::say;
    use serde_json::json;

    fn check(messages: &[Value], expect: &str) {
        let faults = faults(messages);
        match expect {
            "" => assert!(faults.is_empty(), "{faults:?}"),
            _ => assert!(faults.iter().any(|f| f.contains(expect)), "{expect}: {faults:?}"),
        }
    }

    #[test]
    fn a_round_is_valid() {
        check(&say::work(1, 10), "");
        check(&[say::user("a")], "");
    }

    #[test]
    fn every_rule_has_a_prompt_that_breaks_it() {
        let call = || say::call("t", "Read", &json!({}));
        check(&[], "no messages");
        check(&[say::assistant("a")], "not the user's");
        check(&[say::user("a"), say::user("b")], "same role");
        check(&[json!({"role": "robot", "content": "x"})], "role");
        check(&[json!({"role": "user", "content": []})], "empty content");
        check(&[say::user(" \n")], "empty text");
        check(&[json!({"role": "user", "content": [{"x": 1}]})], "without a type");
        check(&[say::user("a"), call(), say::user("b")], "without tool_result");
        check(&[say::user("a"), say::assistant("b"), say::result("t", "x")], "without tool_use");
        let twice = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t"}, {"type": "tool_result", "tool_use_id": "t"}]});
        check(&[say::user("a"), call(), twice], "given twice");
        let late = json!({"role": "user", "content": [
            {"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "t"}]});
        check(&[say::user("a"), call(), late], "not first");
        let again = [say::user("a"), call(), say::result("t", "x"), call(), say::result("t", "x")];
        check(&again, "used twice");
        check(&[say::user("a"), call()], "unanswered");
        check(&[say::user("a"), say::assistant("b ")], "trailing");
        check(&[json!({"role": "user", "content": [{"type": "thinking"}]})], "thinking in a user");
        let images = vec![json!({"type": "image"}); 101];
        check(&[json!({"role": "user", "content": images})], "101 images");
    }

    #[test]
    fn thinking_is_compared_with_its_history() {
        let thought = |t: &str| json!({"role": "assistant", "content": [{"type": "thinking", "thinking": t}]});
        assert!(thinking_kept(&[thought("a"), thought("b")], &[thought("b")]));
        assert!(!thinking_kept(&[thought("a"), thought("b")], &[thought("b"), thought("a")]));
        assert!(!thinking_kept(&[thought("a")], &[thought("a!")]));
    }
}
