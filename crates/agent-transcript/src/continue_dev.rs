//! Continue's transcripts: `ID.json` with the whole session, and `sessions.json` with a list of all sessions.
//!
//! Messages have neither IDs nor times, and a compaction removes earlier messages. Messages are therefore identified by their
//! content.

use std::collections::HashMap;

use serde_json::Value;

use crate::blocks::{self, filled, list, number, plain, string};
use crate::format::TranscriptFormat;
use crate::harness::is_from_program;
use crate::header::TranscriptContext;
use crate::lines::{Compacted, Said, SessionLines, Speaker};

/// Placeholder titles that Continue gives a new session.
const UNTITLED: [&str; 2] = ["Untitled Session", "New Session"];

#[derive(Debug)]
pub(crate) struct ContinueSession {
    context: TranscriptContext,
    /// Number of messages with the same content, by the content's hash.
    repeated: HashMap<blake3::Hash, usize>,
}

impl ContinueSession {
    pub(crate) fn new(context: TranscriptContext) -> Self {
        Self { context, repeated: HashMap::new() }
    }

    fn item(&mut self, item: &Value, lines: &mut SessionLines) {
        let message = item.get("message").unwrap_or(&Value::Null);
        let id = self.id_of(message);
        if let Some(summary) = filled(item, "/conversationSummary") {
            lines.compaction(&Compacted { id: &id, summary, ..Compacted::default() });
            return;
        }
        let mut said = content(message.get("content").unwrap_or(&Value::Null));
        match string(message, "/role") {
            "assistant" => {
                let calls = list(message, "/toolCalls").iter().map(|call| {
                    let input = call.pointer("/function/arguments").unwrap_or(&Value::Null);
                    blocks::call(string(call, "/id"), string(call, "/function/name"), input)
                });
                said.extend(calls);
                let usage = message.get("usage").map(|usage| {
                    let cached = number(usage, "/prompt_tokens_details/cached_tokens");
                    let output = number(usage, "/completion_tokens");
                    crate::parts::usage(number(usage, "/prompt_tokens"), cached, output)
                });
                let model = filled(message, "/usage/model").or(filled(message, "/model"));
                let answer = Some(&*id);
                lines.message(
                    Speaker::Assistant,
                    Said { id: &id, blocks: said, answer, model, usage },
                );
                let results = list(item, "/toolCallStates").iter().filter_map(result).collect();
                let id = format!("{id}-results");
                lines.message(Speaker::User, Said { id: &id, blocks: results, ..Said::default() });
            }
            "user" => {
                let is_program =
                    said.first().is_some_and(|one| is_from_program(string(one, "/text")));
                let speaker = if is_program { Speaker::Program } else { Speaker::User };
                lines.message(speaker, Said { id: &id, blocks: said, ..Said::default() });
            }
            "tool" => {
                let text = plain(message.get("content").unwrap_or(&Value::Null));
                let result = blocks::result(string(message, "/toolCallId"), &text, false);
                lines.message(
                    Speaker::User,
                    Said { id: &id, blocks: vec![result], ..Said::default() },
                );
            }
            "system" => {
                lines.message(Speaker::Program, Said { id: &id, blocks: said, ..Said::default() });
            }
            _ => {}
        }
    }

    fn id_of(&mut self, message: &Value) -> String {
        let parts = ["role", "content", "toolCalls"].map(|name| message.get(name));
        let hash = blake3::hash(format!("{parts:?}").as_bytes());
        let times = self.repeated.entry(hash).or_default();
        *times += 1;
        format!("{}-{times}", &hash.to_hex()[..24])
    }
}

impl TranscriptFormat for ContinueSession {
    fn record(&mut self, _: u64, record: &Value, lines: &mut SessionLines) {
        lines.header.id = filled(record, "/sessionId").map(str::to_owned);
        let directory = string(record, "/workspaceDirectory");
        lines.set_cwd(directory.strip_prefix("file://").unwrap_or(directory));
        let created = string(&self.context.facts, "/dateCreated");
        lines.set_millis(created.parse().unwrap_or_default());
        let title = string(record, "/title");
        if !UNTITLED.contains(&title) {
            lines.title(title);
        }
        for item in list(record, "/history") {
            self.item(item, lines);
        }
    }
}

fn content(content: &Value) -> Vec<Value> {
    if let Value::String(text) = content {
        return blocks::text(text).into_iter().collect();
    }
    let block = |part: &Value| match string(part, "/type") {
        "imageUrl" => blocks::image(string(part, "/imageUrl/url")),
        _ => blocks::text(string(part, "/text")),
    };
    list(content, "").iter().filter_map(block).collect()
}

/// Returns the result of a tool call; `None` while the call is running.
fn result(state: &Value) -> Option<Value> {
    let status = string(state, "/status");
    if !matches!(status, "done" | "errored" | "canceled") {
        return None;
    }
    let texts: Vec<&str> =
        list(state, "/output").iter().map(|output| string(output, "/content")).collect();
    Some(blocks::result(string(state, "/toolCallId"), &texts.join("\n"), status != "done"))
}
