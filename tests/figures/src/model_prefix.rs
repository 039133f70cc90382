//! Measures how many bytes of a session's last request, which the provider has cached, a fork repeats.
//!
//! Requests are compared in the provider's order: tools, system, messages. The fork is compared with the newest
//! prompt before it, up to the end of its last message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bethink_harness::{Answer, Client, Request, prompt};
use bethink_model_server::{Purpose, Script, Server, Wire};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::asking;
use crate::drive::{calls_the_model, common, mean};
use crate::recording;
use crate::table::{Goal, Row};

const WINDOW: u64 = 60_000;
/// Number of prompts between two updates of the notes.
const NOTED: usize = 8;
/// Number of requests to keep, more than one errand makes.
const KEPT: usize = 8;
/// The system prompt of a coding agent, which also has an edit tool for notes.
const SYSTEM: &str = "You help with code. Be brief, and say what you did.";
const TOOLS: &str = r#"[{"name":"Edit", "description":"Edits a file.","input_schema":{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}}}}, {"name":"Read","description":"Reads a file \u2013 whole.","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}}}}]"#;

/// The part of a request that a fork repeated.
struct Fork {
    purpose: Purpose,
    /// Share of the bytes of the session's last request.
    share: f64,
    bytes: usize,
    /// Images and documents are left out of the request for a summary.
    media: bool,
}

/// Returns the smallest share for each purpose.
pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let mut forks = Vec::new();
    for file in files {
        // Each purpose is measured separately, because fresh notes replace a summary.
        forks.extend(drive(file, Purpose::Notes));
        forks.extend(drive(file, Purpose::Summary));
    }
    let row = |what: &str, purpose: Purpose, media: bool, goal: Goal| {
        let of = |fork: &&Fork| fork.purpose == purpose && fork.media == media;
        let shares: Vec<f64> = forks.iter().filter(of).map(|fork| fork.share).collect();
        let bytes: usize = forks.iter().filter(of).map(|fork| fork.bytes).sum();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let detail = format!("{} requests, {bytes} bytes, mean {:.4}", shares.len(), mean(&shares));
        let what = format!("session's last request repeated by a fork for {what}, least share");
        (!shares.is_empty()).then(|| Row::new(what, least, "", goal).detail(detail))
    };
    let whole = Goal::AtLeast(1.0);
    [
        row("notes", Purpose::Notes, false, whole),
        row("notes, with media", Purpose::Notes, true, whole),
        row("a summary", Purpose::Summary, false, whole),
        row("a summary, media left out", Purpose::Summary, true, Goal::None),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Replays one session, with errands of one purpose.
fn drive(file: &Path, purpose: Purpose) -> Vec<Fork> {
    let recorded = recording::load(file);
    let server = asking::server(Script { keep: KEPT, ..Script::good() });
    // Automatic notes are off, so that each request follows a known prompt.
    let home = asking::home(&server, Wire::Anthropic);
    let daemon = home.with("BETHINK_SESSION_MEMORY__ENABLED", "false").start();
    let session = daemon.session(WINDOW);
    let mut driven = Run {
        client: daemon.client(),
        path: format!("/v1/sessions/{session}"),
        seen: 0,
        sent: None,
        forks: Vec::new(),
    };
    let (mut speaking, mut prompts): (Option<&str>, usize) = (None, 0);
    for (i, message) in recorded.iter().enumerate() {
        driven.post("messages", &json!({"messages": [message.wire()]})).ok();
        if message.role == "assistant" {
            speaking = message.id.as_deref();
        }
        if !calls_the_model(message, recorded.get(i + 1), speaking) {
            continue;
        }
        driven.prompt(&server);
        prompts += 1;
        if purpose == Purpose::Notes && prompts.is_multiple_of(NOTED) {
            // The model was called even if it changed nothing.
            driven.post("notes/update", &json!({}));
            driven.compare(&server);
        }
    }
    if purpose == Purpose::Summary {
        driven.post("compact", &json!({"level": "full"}));
        driven.compare(&server);
    }
    driven.forks
}

struct Run {
    client: Client,
    path: String,
    /// Number of requests already compared.
    seen: u64,
    /// The newest prompt.
    sent: Option<Sent>,
    forks: Vec<Fork>,
}

struct Sent {
    bytes: Vec<u8>,
    media: bool,
}

impl Run {
    fn post(&mut self, what: &str, body: &Value) -> Answer {
        self.client.post(&format!("{}/{what}", self.path), body)
    }

    /// Requests the next prompt. A compaction during that repeats the previous prompt.
    fn prompt(&mut self, server: &Server) {
        let tools: Box<RawValue> = serde_json::from_str(TOOLS).expect("JSON");
        let system = json!([{"part": "introduction", "text": SYSTEM}]);
        let body = format!(r#"{{"system":{system},"tools":{tools}}}"#);
        let request = Request::new("POST", &format!("{}/context", self.path))
            .bytes("application/json", body.as_bytes());
        let answer = self.client.must(&request);
        self.compare(server);
        let messages = answer.ok()["messages"].as_array().cloned().unwrap_or_default();
        let media = messages.iter().flat_map(prompt::blocks).any(|block| holds_media(&block));
        self.sent = Some(Sent { bytes: read(&answer.body), media });
    }

    /// Compares the new requests with the previous prompt.
    fn compare(&mut self, server: &Server) {
        let requests = server.requests();
        let new: Vec<_> = requests.iter().filter(|request| request.number > self.seen).collect();
        assert!(new.len() < KEPT, "some requests were not seen");
        let Some(sent) = &self.sent else { return };
        for request in new {
            self.seen = request.number;
            let share = common(&sent.bytes, &read(&request.body));
            let (purpose, bytes, media) = (request.purpose, sent.bytes.len(), sent.media);
            self.forks.push(Fork { purpose, share, bytes, media });
        }
    }
}

fn holds_media(block: &Value) -> bool {
    let inner = block["content"].as_array().into_iter().flatten();
    matches!(block["type"].as_str(), Some("image" | "document"))
        || inner.into_iter().any(holds_media)
}

/// Returns tools, system and messages as JSON, without the closing brackets.
fn read(body: &[u8]) -> Vec<u8> {
    let members: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(body).expect("an object");
    let member = |name: &str| members.get(name).map_or("", |json| json.get());
    let messages = member("messages").trim_end_matches([']', '}']);
    [member("tools"), member("system"), messages].concat().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_up_to_where_more_may_follow() {
        let sent = br#"{"system":[{"a":1}],"messages":[{"role":"user","content":[{"text":"x"}]}],"tools":[{"b": 2}]}"#;
        let check = |fork: &str, expect: bool| {
            let share = common(&read(sent), &read(fork.as_bytes()));
            assert_eq!(share >= 1.0, expect, "{fork}: {share}");
        };
        let head = r#"{"model":"m","system":[{"a":1}],"tools":[{"b": 2}],"messages":[{"role":"user","content":[{"text":"x"}"#;
        check(&format!(r#"{head},{{"text":"summarise"}}]}}]}}"#), true);
        check(&format!(r#"{head}]}},{{"role":"assistant","content":[]}}]}}"#), true);
        check(&format!("{head}]}}]}}").replace("\"b\": 2", "\"b\":2"), false);
        check(&format!("{head}]}}]}}").replace("\"x\"", "\"y\""), false);
    }
}
