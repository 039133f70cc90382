//! Cline's transcripts: `ID.messages.json`, with `ID.json` and `ID.compaction.json` in the same directory. The messages are
//! almost in the format of the Messages API.

use serde_json::{Value, json};

use crate::blocks::{self, filled, list, number, plain, string};
use crate::format::TranscriptFormat;
use crate::harness::is_from_program;
use crate::header::{ParentTranscript, TranscriptContext};
use crate::lines::{Compacted, Said, SessionLines, Speaker};

/// Name of the XML element that contains what the user typed.
const INPUT: &str = "user_input";

#[derive(Debug)]
pub(crate) struct ClineSession {
    context: TranscriptContext,
}

impl ClineSession {
    pub(crate) fn new(context: TranscriptContext) -> Self {
        Self { context }
    }

    fn message(message: &Value, position: usize, lines: &mut SessionLines) {
        let fallback = format!("message-{position}");
        let id = filled(message, "/id").unwrap_or(&fallback);
        lines.set_millis(number(message, "/ts"));
        let content = message.get("content").unwrap_or(&Value::Null);
        if string(message, "/role") == "assistant" {
            let blocks =
                list(content, "").iter().filter_map(|block| match string(block, "/type") {
                    "thinking" => {
                        blocks::thinking(string(block, "/thinking"), filled(block, "/signature"))
                    }
                    "text" => blocks::text(string(block, "/text")),
                    _ => Some(block.clone()),
                });
            let usage = message.get("metrics").map(|metrics| {
                json!({
                    "input_tokens": number(metrics, "/inputTokens"),
                    "output_tokens": number(metrics, "/outputTokens"),
                    "cache_read_input_tokens": number(metrics, "/cacheReadTokens"),
                    "cache_creation_input_tokens": number(metrics, "/cacheWriteTokens"),
                })
            });
            let blocks = blocks.collect();
            let (answer, model) = (Some(id), filled(message, "/modelInfo/id"));
            lines.message(Speaker::Assistant, Said { id, blocks, answer, model, usage });
            return;
        }
        let (mut own, mut programs) = (Vec::new(), Vec::new());
        let text;
        let parts = match content {
            Value::String(said) => {
                text = [json!({ "type": "text", "text": said })];
                &text[..]
            }
            content => list(content, ""),
        };
        let is_system = string(message, "/metadata/displayRole") == "system";
        for part in parts {
            match string(part, "/type") {
                "text" => {
                    let said = typed(string(part, "/text"));
                    let is_program = is_system || is_from_program(said);
                    if is_program { &mut programs } else { &mut own }.extend(blocks::text(said));
                }
                "tool_result" => own.push(result(part)),
                _ => own.push(part.clone()),
            }
        }
        let program = format!("{id}-program");
        lines.message(Speaker::User, Said { id, blocks: own, ..Said::default() });
        lines.message(Speaker::Program, Said { id: &program, blocks: programs, ..Said::default() });
    }

    fn compaction(&self, lines: &mut SessionLines) {
        let compaction = &self.context.compaction;
        let messages = list(compaction, "/messages");
        let is_summary = |message: &&Value| string(message, "/metadata/kind") == "compaction";
        let Some(summary) = messages.iter().find(is_summary) else { return };
        let texts: Vec<&str> = list(summary, "/content")
            .iter()
            .map(|part| string(part, "/text"))
            .filter(|text| is_from_program(text))
            .collect();
        let is_kept = |message: &&Value| string(message, "/metadata/compaction") == "preserved";
        lines.set_time(string(compaction, "/updated_at"));
        lines.compaction(&Compacted {
            id: &format!("compaction-{}", number(compaction, "/source_message_count")),
            is_manual: string(summary, "/metadata/reason").contains("manual"),
            tokens_before: number(summary, "/metadata/usageBefore/inputTokens"),
            summary: &texts.join("\n"),
            kept_from: messages.iter().find(is_kept).and_then(|kept| filled(kept, "/id")),
        });
    }
}

impl TranscriptFormat for ClineSession {
    fn record(&mut self, _: u64, record: &Value, lines: &mut SessionLines) {
        let facts = &self.context.facts;
        lines.header.id =
            filled(record, "/sessionId").or(filled(facts, "/session_id")).map(str::to_owned);
        let parent = filled(record, "/origin/parentThreadId");
        lines.header.parent =
            parent.map(|id| ParentTranscript { id: id.to_owned(), fork_before: None });
        lines.set_cwd(filled(facts, "/workspace_root").unwrap_or(string(facts, "/cwd")));
        if lines.header.parent.is_none() && self.context.compaction.is_null() {
            lines.set_time(string(facts, "/started_at"));
        }
        let compacted = number(&self.context.compaction, "/source_message_count");
        for (at, message) in list(record, "/messages").iter().enumerate() {
            if compacted > 0 && at as u64 == compacted {
                self.compaction(lines);
            }
            Self::message(message, at, lines);
        }
        if compacted > 0 && list(record, "/messages").len() as u64 == compacted {
            self.compaction(lines);
        }
    }
}

/// Returns what the user typed, without the element around it.
fn typed(text: &str) -> &str {
    let inner = text.trim().strip_prefix('<').and_then(|rest| rest.strip_prefix(INPUT));
    let inner = inner.and_then(|rest| rest.split_once('>')).map(|(_, inner)| inner);
    inner.map_or(text, |inner| inner.strip_suffix("</user_input>").unwrap_or(inner).trim())
}

/// Converts a tool result. Cline lists several results of one call as objects with `query`, `result` and `success`.
fn result(part: &Value) -> Value {
    let content = part.get("content").unwrap_or(&Value::Null);
    let items = list(content, "");
    let is_own =
        items.iter().any(|item| item.get("result").is_some() || item.get("error").is_some());
    let text = match is_own {
        true => items.iter().map(item_text).collect::<Vec<_>>().join("\n"),
        false => plain(content),
    };
    let failed = items.iter().any(|item| item.get("success") == Some(&json!(false)));
    let is_error = failed || part.get("is_error") == Some(&json!(true));
    blocks::result(string(part, "/tool_use_id"), &text, is_error)
}

fn item_text(item: &Value) -> String {
    let said = item.get("result").or(item.get("error")).map(plain).unwrap_or_default();
    match filled(item, "/query") {
        Some(query) => format!("{query}\n{said}"),
        None => said,
    }
}
