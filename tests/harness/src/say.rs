//! Short functions that make messages.

use serde_json::{Value, json};

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

/// An assistant message that calls one tool.
pub fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"role": "assistant", "content": [
        {"type": "text", "text": format!("I call {name}.")},
        {"type": "tool_use", "id": id, "name": name, "input": input}]})
}

pub fn result(id: &str, text: &str) -> Value {
    json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": id, "content": text}]})
}

/// The message with this id.
pub fn with_id(id: &str, mut message: Value) -> Value {
    message["id"] = Value::from(id);
    message
}

/// A turn of a coding agent: a request, a read, its result of about `bytes` bytes, and the answer. The names
/// contain `n`, so that a prompt shows what it kept.
pub fn work(n: usize, bytes: usize) -> Vec<Value> {
    let id = format!("toolu_{n:05}");
    let path = format!("src/module_{n}/handler_{n}.rs");
    let line = format!("fn step_{n}(input: &Request) -> Result<Reply_{n}, Error> {{ todo }}\n");
    let text = line.repeat(bytes.div_ceil(line.len()).max(1));
    vec![
        user(&format!("Please look at {path} and mend case {n}.")),
        call(&id, "Read", &json!({"file_path": path})),
        result(&id, &text),
        assistant(&format!("Case {n} is mended in {path}: step_{n} now answers Reply_{n}.")),
    ]
}
