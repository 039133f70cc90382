//! Writes lines of Claude Code's session files.

use std::collections::HashSet;

use bethink_transcript::prompt::hash_of;
use serde_json::{Map, Value, json};

use crate::header::TranscriptHeader;

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    /// The agent's program, in the user's name.
    Program,
}

/// A message to write.
#[derive(Debug, Default)]
pub(crate) struct Said<'a> {
    /// An id that no other message of the session has.
    pub(crate) id: &'a str,
    pub(crate) blocks: Vec<Value>,
    /// ID of the answer that this message is part of. An answer may consist of several messages.
    pub(crate) answer: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    /// In the shape of the Messages API.
    pub(crate) usage: Option<Value>,
}

/// A compaction that the agent made.
#[derive(Debug, Default)]
pub(crate) struct Compacted<'a> {
    pub(crate) id: &'a str,
    pub(crate) is_manual: bool,
    pub(crate) tokens_before: u64,
    pub(crate) summary: &'a str,
    /// Id of the first kept message that precedes the compaction.
    pub(crate) kept_from: Option<&'a str>,
}

#[derive(Debug, Default)]
pub(crate) struct SessionLines {
    out: Vec<u8>,
    pub(crate) header: TranscriptHeader,
    /// Time of the current record, in RFC 3339.
    at: String,
    seen: HashSet<u64>,
    /// ID and content hash of each message, for agents that write the history again when they compact it.
    written: Vec<(Box<str>, u64)>,
    title: Option<String>,
}

impl SessionLines {
    /// Returns the lines that were written since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Sets the time of the records that follow. An invalid time changes nothing.
    pub(crate) fn set_time(&mut self, time: &str) {
        if time.parse::<jiff::Timestamp>().is_ok() {
            time.clone_into(&mut self.at);
        }
    }

    /// Like [`Self::set_time`], with milliseconds since the Unix epoch.
    pub(crate) fn set_millis(&mut self, millis: u64) {
        let time = i64::try_from(millis).ok().filter(|millis| *millis > 0);
        if let Some(time) = time.and_then(|time| jiff::Timestamp::from_millisecond(time).ok()) {
            self.at = format!("{time:.3}");
        }
    }

    pub(crate) fn set_cwd(&mut self, cwd: &str) {
        if self.header.cwd.is_none() && cwd.starts_with('/') {
            self.header.cwd = Some(cwd.to_owned());
        }
    }

    /// Records an ID. Returns `false` if the same ID of this kind was recorded before.
    pub(crate) fn is_first(&mut self, kind: &str, id: &str) -> bool {
        self.seen.insert(hash_of(&(kind, id)))
    }

    /// Writes a title that the agent gave the session.
    pub(crate) fn title(&mut self, title: &str) {
        let title = title.trim();
        if !title.is_empty() && self.title.as_deref() != Some(title) {
            self.title = Some(title.to_owned());
            self.put(&json!({ "type": "ai-title", "aiTitle": title }));
        }
    }

    /// Writes a message, unless it is empty or was written before. Returns whether it was written.
    pub(crate) fn message(&mut self, speaker: Speaker, said: Said<'_>) -> bool {
        let Said { id, mut blocks, answer, model, usage } = said;
        blocks.retain(|block| self.is_new_call(block));
        if blocks.is_empty() || !self.is_first("message", id) {
            return false;
        }
        self.written.push((id.into(), content_hash(speaker, &blocks)));
        let role = if speaker == Speaker::Assistant { "assistant" } else { "user" };
        let mut message = json!({ "role": role, "content": blocks });
        let members = [
            ("said_as", (speaker == Speaker::Program).then(|| json!("system"))),
            ("id", answer.filter(|_| speaker == Speaker::Assistant).map(Value::from)),
            ("model", model.filter(|_| speaker == Speaker::Assistant).map(Value::from)),
            ("usage", usage),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                message[name] = value;
            }
        }
        let mut record = json!({ "type": role, "uuid": id, "message": message });
        if speaker == Speaker::Program {
            record["isMeta"] = json!(true);
        }
        self.header.messages += 1;
        if !self.at.is_empty() {
            self.header.newest = Some(self.at.clone());
        }
        self.put(&record);
        true
    }

    /// Writes a compaction, unless it was written before.
    pub(crate) fn compaction(&mut self, compacted: &Compacted<'_>) {
        let Compacted { id, is_manual, tokens_before, summary, kept_from } = *compacted;
        if summary.is_empty() {
            return;
        }
        let Some(newest) = self.written.last().map(|(id, _)| id.to_string()) else {
            // The messages that it summarizes are gone.
            let blocks = crate::blocks::text(summary).into_iter().collect();
            self.message(Speaker::Program, Said { id, blocks, ..Said::default() });
            return;
        };
        if !self.is_first("compaction", id) {
            return;
        }
        let trigger = if is_manual { "manual" } else { "auto" };
        let mut metadata = json!({ "trigger": trigger, "preTokens": tokens_before });
        let kept_from = kept_from.filter(|kept| self.has_written(kept));
        if let Some(kept) = kept_from {
            metadata["preservedSegment"] = json!({ "headUuid": kept, "tailUuid": newest });
        }
        self.put(&json!({
            "type": "system", "subtype": "compact_boundary", "uuid": format!("{id}-boundary"),
            "compactMetadata": metadata,
        }));
        // If no messages were kept, the history continues with the summary, which then counts as a message.
        self.header.messages += u64::from(kept_from.is_none());
        self.put(&json!({
            "type": "user", "uuid": id, "isCompactSummary": true,
            "message": { "role": "user", "content": summary, "said_as": "system" },
        }));
    }

    fn has_written(&self, id: &str) -> bool {
        self.written.iter().rev().any(|(written, _)| **written == *id)
    }

    /// Returns the id of the newest message with this content.
    pub(crate) fn id_of_content(&self, speaker: Speaker, blocks: &[Value]) -> Option<String> {
        let hash = content_hash(speaker, blocks);
        let found = self.written.iter().rev().find(|(_, written)| *written == hash);
        found.map(|(id, _)| id.to_string())
    }

    /// Returns `false` for a tool call or tool result that was seen before, and `true` for any other block.
    fn is_new_call(&mut self, block: &Value) -> bool {
        let id =
            |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => self.is_first("call", &id("id")),
            Some("tool_result") => self.is_first("result", &id("tool_use_id")),
            _ => true,
        }
    }

    fn put(&mut self, record: &Value) {
        let mut line = Map::new();
        let members = [
            ("sessionId", self.header.id.as_deref()),
            ("cwd", self.header.cwd.as_deref()),
            ("timestamp", Some(&*self.at).filter(|at| !at.is_empty())),
        ];
        line.extend(
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))),
        );
        line.extend(record.as_object().cloned().unwrap_or_default());
        self.out.extend_from_slice(Value::Object(line).to_string().as_bytes());
        self.out.push(b'\n');
    }
}

/// Returns a hash of a message's texts, calls and results. IDs are left out, because agents change them when they write
/// a message again.
fn content_hash(speaker: Speaker, blocks: &[Value]) -> u64 {
    let mut said = String::new();
    for block in blocks {
        for name in ["text", "name", "input", "content"] {
            if let Some(value) = block.get(name) {
                said.push_str(&value.to_string());
            }
        }
    }
    hash_of(&(speaker == Speaker::Assistant, said))
}
