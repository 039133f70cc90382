//! Gemini CLI's transcripts: `chats/session-TIME-ID.jsonl`, one record per line; subagents are in a directory named after the
//! session's ID.
//!
//! Gemini CLI writes a message again when the message's tool calls have ended. It writes the whole history again after a
//! compaction, and when the session is resumed.

use std::collections::HashSet;

use serde_json::Value;

use crate::blocks::{self, filled, list, number, string};
use crate::format::TranscriptFormat;
use crate::header::{ParentTranscript, TranscriptContext};
use crate::lines::{Said, SessionLines, Speaker};
use crate::parts;

#[derive(Debug)]
pub(crate) struct GeminiChat {
    context: TranscriptContext,
    /// Size of the last prompt, in tokens.
    tokens: u64,
    /// Ids of all messages in the last whole history, and of those written since.
    current: HashSet<String>,
}

impl GeminiChat {
    pub(crate) fn new(context: TranscriptContext, lines: &mut SessionLines) -> Self {
        let above = context.directory(0).filter(|name| *name != "chats");
        lines.header.parent = above
            .filter(|_| context.directory(1) == Some("chats"))
            .map(|id| ParentTranscript { id: id.to_owned(), fork_before: None });
        Self { context, tokens: 0, current: HashSet::new() }
    }

    fn message(&mut self, message: &Value, lines: &mut SessionLines) {
        let id = string(message, "/id");
        lines.set_time(string(message, "/timestamp"));
        let content = message.get("content").unwrap_or(&Value::Null);
        self.current.insert(id.to_owned());
        let blocks = parts::blocks_of(content);
        match string(message, "/type") {
            "user" => {
                let is_program = parts::is_program(&blocks);
                parts::user(id, blocks, is_program, lines);
            }
            "gemini" => {
                let model = filled(message, "/model");
                let tokens = number(message, "/tokens/input");
                self.tokens = if tokens > 0 { tokens } else { self.tokens };
                let usage = message.get("tokens").map(|tokens| {
                    let output = number(tokens, "/output") + number(tokens, "/thoughts");
                    parts::usage(number(tokens, "/input"), number(tokens, "/cached"), output)
                });
                let answer = Some(id);
                lines.message(Speaker::Assistant, Said { id, blocks, answer, model, usage });
                for call in list(message, "/toolCalls") {
                    Self::call(id, call, model, lines);
                }
            }
            _ => {}
        }
    }

    /// Writes a tool call and its result as separate messages, because the message was already written when the agent added
    /// the call to it.
    fn call(answer: &str, call: &Value, model: Option<&str>, lines: &mut SessionLines) {
        let call_id = string(call, "/id");
        let block =
            blocks::call(call_id, string(call, "/name"), call.get("args").unwrap_or(&Value::Null));
        let id = format!("{answer}-{call_id}");
        let said = Said { id: &id, blocks: vec![block], answer: Some(answer), model, usage: None };
        lines.message(Speaker::Assistant, said);
        lines.set_time(string(call, "/timestamp"));
        let is_error = string(call, "/status") == "error";
        let results = parts::results_of(list(call, "/result"), is_error);
        parts::user(&format!("{call_id}-result"), results, false, lines);
    }

    /// Reads a history that was written as a whole. If it lacks earlier messages, the agent has compacted it.
    fn history(&mut self, messages: &[Value], lines: &mut SessionLines) {
        let now: HashSet<String> =
            messages.iter().map(|message| string(message, "/id").to_owned()).collect();
        let lost = self.current.iter().any(|id| !now.contains(id));
        let is_compacted = lost && messages.len() > 1;
        if is_compacted {
            let id = messages
                .iter()
                .map(|one| string(one, "/id"))
                .find(|id| !self.current.contains(*id));
            let id = format!("compaction-{}", id.unwrap_or_default());
            parts::compaction(&id, self.tokens, messages, "content", lines);
            // These messages repeat earlier ones with new IDs.
            for message in messages {
                lines.is_first("message", string(message, "/id"));
                for block in parts::blocks_of(message.get("content").unwrap_or(&Value::Null)) {
                    let call = filled(&block, "/id");
                    call.map(|id| lines.is_first("call", id));
                }
            }
        } else {
            messages.iter().for_each(|message| self.message(message, lines));
        }
        if !lost || is_compacted {
            self.current = now;
        }
    }
}

impl TranscriptFormat for GeminiChat {
    fn record(&mut self, _: u64, record: &Value, lines: &mut SessionLines) {
        let head = record.get("$set").unwrap_or(record);
        if let Some(id) = filled(head, "/sessionId") {
            lines.header.id.get_or_insert_with(|| id.to_owned());
            lines.set_time(string(head, "/startTime"));
            let dir = list(head, "/directories").first().and_then(Value::as_str);
            lines.set_cwd(dir.or(self.context.cwd.as_deref()).unwrap_or_default());
        }
        if let Some(title) = filled(head, "/summary") {
            lines.title(title);
        }
        if let Some(messages) = head.get("messages").and_then(Value::as_array) {
            lines.set_time(string(head, "/lastUpdated"));
            self.history(messages, lines);
        } else if record.get("id").is_some() {
            self.message(record, lines);
        }
    }
}
