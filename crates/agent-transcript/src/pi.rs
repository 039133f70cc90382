//! pi's transcripts: `TIME_ID.jsonl`, one entry per line.

use serde_json::{Value, json};

use crate::blocks::{self, filled, list, number, plain, string};
use crate::format::TranscriptFormat;
use crate::lines::{Compacted, Said, SessionLines, Speaker};

#[derive(Debug)]
pub(crate) struct PiSession;

impl PiSession {
    fn message(id: &str, message: &Value, lines: &mut SessionLines) {
        let content = message.get("content").unwrap_or(&Value::Null);
        match string(message, "/role") {
            "user" => Self::put(Speaker::User, id, blocks_of(content), lines),
            "assistant" => {
                let usage = message.get("usage").map(|usage| {
                    json!({
                        "input_tokens": number(usage, "/input"), "output_tokens": number(usage, "/output"),
                        "cache_read_input_tokens": number(usage, "/cacheRead"),
                        "cache_creation_input_tokens": number(usage, "/cacheWrite"),
                    })
                });
                let (answer, model) = (filled(message, "/responseId"), filled(message, "/model"));
                let blocks = blocks_of(content);
                lines.message(Speaker::Assistant, Said { id, blocks, answer, model, usage });
            }
            "toolResult" => {
                let is_error = message.get("isError") == Some(&json!(true));
                let call = string(message, "/toolCallId");
                let mut result = blocks::result(call, "", is_error);
                let inner = blocks_of(content);
                let is_text = inner.iter().all(|block| block.get("text").is_some());
                result["content"] =
                    if is_text { json!(plain(&Value::Array(inner))) } else { json!(inner) };
                Self::put(Speaker::User, id, vec![result], lines);
            }
            // A command that the user ran.
            "bashExecution" => {
                let (command, output) = (string(message, "/command"), string(message, "/output"));
                let text = blocks::text(&format!("<bash-input>{command}</bash-input>\n{output}"));
                Self::put(Speaker::Program, id, text.into_iter().collect(), lines);
            }
            _ => Self::put(Speaker::Program, id, blocks_of(content), lines),
        }
    }

    fn put(speaker: Speaker, id: &str, blocks: Vec<Value>, lines: &mut SessionLines) {
        lines.message(speaker, Said { id, blocks, ..Said::default() });
    }
}

impl TranscriptFormat for PiSession {
    fn record(&mut self, number_of_line: u64, record: &Value, lines: &mut SessionLines) {
        lines.set_time(string(record, "/timestamp"));
        let fallback = format!("line-{number_of_line}");
        let id = filled(record, "/id").unwrap_or(&fallback);
        match string(record, "/type") {
            "session" => {
                lines.header.id.get_or_insert_with(|| id.to_owned());
                lines.set_cwd(string(record, "/cwd"));
            }
            "message" => {
                Self::message(id, record.get("message").unwrap_or(&Value::Null), lines);
            }
            "custom_message" => {
                let content = record.get("content").unwrap_or(&Value::Null);
                Self::put(Speaker::Program, id, blocks_of(content), lines);
            }
            "session_info" => lines.title(string(record, "/name")),
            "compaction" => {
                lines.compaction(&Compacted {
                    id,
                    tokens_before: number(record, "/tokensBefore"),
                    summary: string(record, "/summary"),
                    kept_from: filled(record, "/firstKeptEntryId"),
                    is_manual: false,
                });
            }
            _ => {}
        }
    }
}

fn blocks_of(content: &Value) -> Vec<Value> {
    if let Value::String(text) = content {
        return blocks::text(text).into_iter().collect();
    }
    let block = |part: &Value| match string(part, "/type") {
        "text" => blocks::text(string(part, "/text")),
        "thinking" => {
            blocks::thinking(string(part, "/thinking"), filled(part, "/thinkingSignature"))
        }
        "toolCall" => {
            let input = part.get("arguments").unwrap_or(&Value::Null);
            Some(blocks::call(string(part, "/id"), string(part, "/name"), input))
        }
        "image" => Some(blocks::inline_image(string(part, "/mimeType"), filled(part, "/data")?)),
        _ => None,
    };
    list(content, "").iter().filter_map(block).collect()
}
