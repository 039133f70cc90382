//! Codex's transcripts: `rollout-TIME-ID.jsonl`, one record per line. The file of a fork does not repeat the records in its
//! parent's file.

use serde_json::{Value, json};

use crate::blocks::{self, filled, list, number as number_at, plain, string};
use crate::format::TranscriptFormat;
use crate::harness::is_from_program;
use crate::header::{ParentTranscript, TranscriptContext};
use crate::lines::{Compacted, Said, SessionLines, Speaker};

/// The text before the exit code in a shell call's output.
const EXIT: &str = "Process exited with code ";

#[derive(Debug)]
pub(crate) struct Rollout {
    /// The second ID in the file name, after the thread's ID. The file name has one if the session continues its own thread
    /// from an earlier point.
    continuation: Option<String>,
    model: Option<String>,
    /// Total size of the last prompt and its answer, in tokens.
    tokens: u64,
    /// Id of the first message of the current answer.
    answer: Option<String>,
}

impl Rollout {
    pub(crate) fn new(context: &TranscriptContext) -> Self {
        let continuation = context.stem().split_once('_').map(|(_, id)| id.to_owned());
        Self { continuation, model: None, tokens: 0, answer: None }
    }

    fn meta(&mut self, meta: &Value, lines: &mut SessionLines) {
        if lines.header.id.is_some() {
            return;
        }
        let thread = string(meta, "/id");
        let base = filled(meta, "/history_base/thread_id").or(filled(meta, "/forked_from_id"));
        let before = meta
            .pointer("/history_base/end_ordinal_exclusive")
            .or(meta.pointer("/forked_from_ordinal_exclusive"))
            .and_then(Value::as_u64);
        lines.header.parent = match (base.zip(before), filled(meta, "/parent_thread_id")) {
            (Some((base, before)), _) => {
                Some(ParentTranscript { id: base.to_owned(), fork_before: Some(before) })
            }
            (None, Some(parent)) if parent != thread => {
                Some(ParentTranscript { id: parent.to_owned(), fork_before: None })
            }
            _ => None,
        };
        let is_own = base == Some(thread);
        let id = self.continuation.take().filter(|_| is_own).unwrap_or_else(|| thread.to_owned());
        lines.header.id = Some(id).filter(|id| !id.is_empty());
        lines.set_cwd(string(meta, "/cwd"));
    }

    fn item(&mut self, id: &str, item: &Value, lines: &mut SessionLines) {
        let call_id = || filled(item, "/call_id").or(filled(item, "/id")).unwrap_or(id);
        match string(item, "/type") {
            "message" => self.message(id, item, lines),
            "function_call" | "custom_tool_call" => {
                let input = item.get("arguments").or(item.get("input")).unwrap_or(&Value::Null);
                let call = blocks::call(call_id(), string(item, "/name"), input);
                self.assistant(id, vec![call], lines);
            }
            "local_shell_call" => {
                let input = json!({ "command": item.pointer("/action/command") });
                let call = blocks::call(call_id(), "local_shell", &input);
                self.assistant(id, vec![call], lines);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let (text, is_error) = output(item.get("output").unwrap_or(&Value::Null));
                let result = blocks::result(call_id(), &text, is_error);
                self.other(Speaker::User, id, vec![result], lines);
            }
            _ => {}
        }
    }

    fn message(&mut self, id: &str, item: &Value, lines: &mut SessionLines) {
        let kinds = list(item, "/internal_chat_message_metadata_passthrough/content_item_kinds");
        let (mut own, mut programs) = (Vec::new(), Vec::new());
        for (at, part) in list(item, "/content").iter().enumerate() {
            let text = string(part, "/text");
            let block = match string(part, "/type") {
                "input_image" => blocks::image(string(part, "/image_url")),
                _ => blocks::text(text),
            };
            let kind = kinds.get(at).and_then(Value::as_str);
            let is_program = match kind.filter(|kind| *kind != "unknown") {
                Some(kind) => !kind.starts_with("user."),
                None => is_from_program(text),
            };
            if is_program { &mut programs } else { &mut own }.extend(block);
        }
        match string(item, "/role") {
            "assistant" => {
                own.extend(programs);
                self.assistant(id, own, lines);
            }
            "user" => {
                self.other(Speaker::Program, &format!("{id}-program"), programs, lines);
                self.other(Speaker::User, id, own, lines);
            }
            _ => {
                own.extend(programs);
                self.other(Speaker::Program, id, own, lines);
            }
        }
    }

    fn assistant(&mut self, id: &str, blocks: Vec<Value>, lines: &mut SessionLines) {
        let answer = self.answer.get_or_insert_with(|| id.to_owned()).clone();
        let model = self.model.as_deref();
        let said = Said { id, blocks, answer: Some(&answer), model, usage: None };
        lines.message(Speaker::Assistant, said);
    }

    fn other(&mut self, speaker: Speaker, id: &str, blocks: Vec<Value>, lines: &mut SessionLines) {
        if lines.message(speaker, Said { id, blocks, ..Said::default() }) {
            self.answer = None;
        }
    }
}

impl TranscriptFormat for Rollout {
    fn record(&mut self, number: u64, record: &Value, lines: &mut SessionLines) {
        lines.set_time(string(record, "/timestamp"));
        let id = match record.get("ordinal").and_then(Value::as_u64) {
            Some(ordinal) => format!("ordinal-{ordinal}"),
            None => format!("line-{number}"),
        };
        // Before 2025-09, records had no envelope.
        let payload = record.get("payload").unwrap_or(record);
        match string(record, "/type") {
            "session_meta" => self.meta(payload, lines),
            "turn_context" => {
                self.model = filled(payload, "/model").map(str::to_owned).or(self.model.take());
                lines.set_cwd(string(payload, "/cwd"));
            }
            // The answer to a compaction's own call is the summary, which the record `compacted` contains.
            "response_item"
                if record.pointer("/metadata/compaction_output") == Some(&json!(true)) => {}
            "response_item" => self.item(&id, payload, lines),
            "compacted" => {
                let summary = string(payload, "/message");
                let tokens_before = self.tokens;
                let compacted =
                    Compacted { id: &id, tokens_before, summary, ..Compacted::default() };
                lines.compaction(&compacted);
                self.answer = None;
            }
            "event_msg" if string(payload, "/type") == "token_count" => {
                let tokens = number_at(payload, "/info/last_token_usage/total_tokens");
                self.tokens = if tokens > 0 { tokens } else { self.tokens };
            }
            "" if number == 1 => self.meta(record, lines),
            _ if record.get("payload").is_none() => self.item(&id, record, lines),
            _ => {}
        }
    }
}

/// Returns the text of a call's output, and whether it reports a failure.
fn output(output: &Value) -> (String, bool) {
    let text = match output {
        Value::Object(object) if object.contains_key("content") => {
            plain(object.get("content").unwrap_or(&Value::Null))
        }
        other => plain(other),
    };
    // Codex before 0.60 wrote JSON with the exit code.
    if let Ok(Value::Object(json)) = serde_json::from_str(&text)
        && let Some(Value::String(said)) = json.get("output")
    {
        let code = number_at(&Value::Object(json.clone()), "/metadata/exit_code");
        return (said.clone(), code != 0);
    }
    let head = text.split("\nOutput:").next().unwrap_or_default();
    let code =
        head.split_once(EXIT).map(|(_, rest)| rest.lines().next().unwrap_or_default().trim());
    let is_error = code.is_some_and(|code| code != "0");
    (text, is_error)
}
