//! opencode's transcripts: rows of its database, each as a JSON object: first `{"session": …}`, then `{"message": …}` with its
//! `parts`.

use serde_json::{Value, json};

use crate::blocks::{self, filled, list, number, string};
use crate::format::TranscriptFormat;
use crate::header::ParentTranscript;
use crate::lines::{Compacted, Said, SessionLines, Speaker};

/// Beginnings of the placeholder titles that opencode gives a new session.
const UNTITLED: [&str; 2] = ["New session - ", "Child session - "];

#[derive(Debug, Default)]
pub(crate) struct OpencodeSession {
    /// The newest message, if it is an answer that is still being written.
    unfinished: Option<Value>,
    /// Size of the last prompt, in tokens.
    tokens: u64,
    /// The part that asks for a compaction, and the id of its message.
    compaction: Option<(String, Value)>,
}

impl OpencodeSession {
    fn session(session: &Value, lines: &mut SessionLines) {
        lines.header.id = filled(session, "/id").map(str::to_owned);
        let parent =
            filled(session, "/parent_id").filter(|id| lines.header.id.as_deref() != Some(id));
        lines.header.parent =
            parent.map(|id| ParentTranscript { id: id.to_owned(), fork_before: None });
        lines.set_cwd(string(session, "/directory"));
        lines.set_millis(number(session, "/time_created"));
        let title = string(session, "/title");
        if !UNTITLED.iter().any(|untitled| title.starts_with(untitled)) {
            lines.title(title);
        }
    }

    fn message(&mut self, message: &Value, lines: &mut SessionLines) {
        let (id, data) = (string(message, "/id"), message.get("data").unwrap_or(&Value::Null));
        let parts = list(message, "/parts");
        lines.set_millis(number(data, "/time/created").max(number(message, "/time_created")));
        if string(data, "/role") == "user" {
            return self.user(id, parts, lines);
        }
        if data.get("summary") == Some(&json!(true)) {
            return self.summary(parts, lines);
        }
        let (model, usage) = (filled(data, "/modelID"), usage(data));
        let tokens = ["/tokens/input", "/tokens/cache/read", "/tokens/cache/write"];
        let tokens = tokens.iter().map(|member| number(data, member)).sum();
        self.tokens = if tokens > 0 { tokens } else { self.tokens };
        let mut results = Vec::new();
        let mut said = Vec::new();
        for part in parts {
            match string(part, "/type") {
                "text" => said.extend(blocks::text(string(part, "/text"))),
                "reasoning" => {
                    let signature = filled(part, "/metadata/anthropic/signature");
                    said.extend(blocks::thinking(string(part, "/text"), signature));
                }
                "tool" => {
                    let call = string(part, "/callID");
                    let state = part.get("state").unwrap_or(&Value::Null);
                    let input = state.get("input").unwrap_or(&Value::Null);
                    said.push(blocks::call(call, string(part, "/tool"), input));
                    let is_error = string(state, "/status") == "error";
                    let output = filled(state, "/error").filter(|_| is_error);
                    let failed = number(state, "/metadata/exit") != 0;
                    let output = output.unwrap_or(string(state, "/output"));
                    results.push(blocks::result(call, output, is_error || failed));
                }
                _ => {}
            }
        }
        lines.message(
            Speaker::Assistant,
            Said { id, blocks: said, answer: Some(id), model, usage: Some(usage) },
        );
        lines.set_millis(number(data, "/time/completed"));
        let id = format!("{id}-results");
        lines.message(Speaker::User, Said { id: &id, blocks: results, ..Said::default() });
    }

    fn user(&mut self, id: &str, parts: &[Value], lines: &mut SessionLines) {
        let (mut own, mut programs) = (Vec::new(), Vec::new());
        for part in parts {
            let is_synthetic = part.get("synthetic") == Some(&json!(true));
            match string(part, "/type") {
                "compaction" => self.compaction = Some((id.to_owned(), part.clone())),
                "text" => {
                    let block = blocks::text(string(part, "/text"));
                    if is_synthetic { &mut programs } else { &mut own }.extend(block);
                }
                "file" => own.extend(blocks::image(string(part, "/url"))),
                _ => {}
            }
        }
        let program = format!("{id}-program");
        lines.message(Speaker::User, Said { id, blocks: own, ..Said::default() });
        lines.message(Speaker::Program, Said { id: &program, blocks: programs, ..Said::default() });
    }

    fn summary(&mut self, parts: &[Value], lines: &mut SessionLines) {
        let Some((id, asked)) = self.compaction.take() else { return };
        let texts = parts.iter().filter(|part| string(part, "/type") == "text");
        let texts: Vec<&str> = texts.map(|part| string(part, "/text")).collect();
        lines.compaction(&Compacted {
            id: &id,
            is_manual: asked.get("auto") == Some(&json!(false)),
            tokens_before: self.tokens,
            summary: &texts.join("\n"),
            kept_from: filled(&asked, "/tail_start_id"),
        });
    }
}

impl TranscriptFormat for OpencodeSession {
    fn record(&mut self, _: u64, record: &Value, lines: &mut SessionLines) {
        if let Some(session) = record.get("session") {
            Self::session(session, lines);
        }
        let Some(message) = record.get("message") else { return };
        if let Some(earlier) = self.unfinished.take() {
            // The earlier answer was interrupted, so it will not change any more.
            self.message(&earlier, lines);
        }
        let is_done = ["/data/time/completed", "/data/error"]
            .iter()
            .any(|member| message.pointer(member).is_some_and(|value| !value.is_null()));
        match is_done || string(message, "/data/role") == "user" {
            true => self.message(message, lines),
            false => self.unfinished = Some(message.clone()),
        }
    }
}

fn usage(data: &Value) -> Value {
    json!({
        "input_tokens": number(data, "/tokens/input"), "output_tokens": number(data, "/tokens/output"),
        "cache_read_input_tokens": number(data, "/tokens/cache/read"),
        "cache_creation_input_tokens": number(data, "/tokens/cache/write"),
    })
}
