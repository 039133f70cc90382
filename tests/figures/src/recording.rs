//! Reads recorded sessions of Claude Code as an agent would send them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A message of the main thread.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub role: String,
    pub content: Value,
    /// Joins the chunks of one assistant message.
    pub id: Option<String>,
}

impl Recorded {
    /// The message in the format of `POST …/messages`.
    pub fn wire(&self) -> Value {
        let mut message = json!({"role": self.role, "content": self.content});
        if let (true, Some(id)) = (self.role == "assistant", &self.id) {
            message["assistant_message_id"] = Value::from(id.as_str());
        }
        message
    }
}

/// Reads the main thread in order of the file, without summaries, sidechains and damaged lines.
pub fn load(path: &Path) -> Vec<Recorded> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    bytes.split(|b| *b == b'\n').filter_map(recorded).collect()
}

fn recorded(line: &[u8]) -> Option<Recorded> {
    let record: Value = serde_json::from_slice(line).ok()?;
    let kind = record["type"].as_str().filter(|k| matches!(*k, "user" | "assistant"))?;
    if record["isSidechain"] == true || record["isCompactSummary"] == true {
        return None;
    }
    let message = &record["message"];
    let content = message["content"].clone();
    let empty = match &content {
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        _ => true,
    };
    let role = message["role"].as_str().unwrap_or(kind).to_owned();
    let id = message["id"].as_str().or(record["uuid"].as_str()).map(str::to_owned);
    (!empty).then_some(Recorded { role, content, id })
}

/// Returns the files on the command line, or else the session in the repository.
pub fn files(given: &[PathBuf]) -> Vec<PathBuf> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/cli/assets/demo.jsonl");
    shipped.exists().then_some(shipped).into_iter().collect()
}
