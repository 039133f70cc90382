//! Qwen Code's transcripts: `chats/ID.jsonl`, one record per line; subagents are in `subagents/ID`.

use serde_json::{Value, json};

use crate::blocks::{filled, list, number, string};
use crate::format::TranscriptFormat;
use crate::header::ParentTranscript;
use crate::lines::{Said, SessionLines, Speaker};
use crate::parts;

/// Beginning of a text that hooks, such as bethink's own, added to a prompt.
const HOOK_CONTEXT: &str = "<qwen:user-prompt-submit-context>";

#[derive(Debug)]
pub(crate) struct QwenChat;

impl QwenChat {
    fn head(record: &Value, lines: &mut SessionLines) {
        lines.set_time(string(record, "/timestamp"));
        lines.set_cwd(string(record, "/cwd"));
        if lines.header.id.is_some() {
            return;
        }
        let session = filled(record, "/sessionId").map(str::to_owned);
        let is_sidechain = record.get("isSidechain") == Some(&json!(true));
        lines.header.id = match filled(record, "/agentId").filter(|_| is_sidechain) {
            Some(agent) => {
                lines.header.parent = session.map(|id| ParentTranscript { id, fork_before: None });
                Some(agent.to_owned())
            }
            None => session,
        };
    }
}

impl TranscriptFormat for QwenChat {
    fn record(&mut self, number_of_line: u64, record: &Value, lines: &mut SessionLines) {
        Self::head(record, lines);
        let fallback = format!("line-{number_of_line}");
        let id = filled(record, "/uuid").unwrap_or(&fallback);
        let message = record.get("message").unwrap_or(&Value::Null);
        let content = message.get("parts").unwrap_or(&Value::Null);
        match string(record, "/type") {
            "user" => {
                let mut blocks = parts::blocks_of(content);
                blocks.retain(|block| !string(block, "/text").starts_with(HOOK_CONTEXT));
                let is_system = string(record, "/provenance") == "system";
                let is_program = is_system || parts::is_program(&blocks);
                parts::user(id, blocks, is_program, lines);
            }
            "tool_result" => {
                let is_error = string(record, "/toolCallResult/status") == "error";
                parts::user(
                    id,
                    parts::results_of(parts::parts_of(message), is_error),
                    false,
                    lines,
                );
            }
            "assistant" => {
                let usage = record.get("usageMetadata").map(|usage| {
                    let cached = number(usage, "/cachedContentTokenCount");
                    let output = number(usage, "/candidatesTokenCount");
                    parts::usage(number(usage, "/promptTokenCount"), cached, output)
                });
                let (answer, model) = (Some(id), filled(record, "/model"));
                let blocks = parts::blocks_of(content);
                lines.message(Speaker::Assistant, Said { id, blocks, answer, model, usage });
            }
            "system" if string(record, "/subtype") == "chat_compression" => {
                let tokens = number(record, "/systemPayload/info/originalTokenCount");
                let history = list(record, "/systemPayload/compressedHistory");
                parts::compaction(id, tokens, history, "parts", lines);
            }
            "system" if string(record, "/subtype") == "custom_title" => {
                lines.title(string(record, "/systemPayload/customTitle"));
            }
            _ => {}
        }
    }
}
