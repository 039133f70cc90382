//! Lines in the shape of Claude Code, for what bethink adds to a session.

use std::borrow::Cow;

use bethink_transcript::{Message, Role, UnixMicros, json};
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::line::{MessageLine, Thread};

/// Writes records that continue one another. Feed it the lines that are copied with [`follow`], so
/// that added records hang on the last of them.
///
/// [`follow`]: Writer::follow
#[derive(Clone, Debug)]
pub struct Writer {
    session_id: String,
    cwd: String,
    version: String,
    git_branch: String,
    sidechain: bool,
    parent: Option<String>,
}

/// A compaction that bethink made, as an export tells it.
#[derive(Clone, Debug)]
pub struct Compacted<'a> {
    /// Names the two records; the same id gives the same lines.
    pub id: &'a str,
    /// `auto` or `manual`.
    pub trigger: &'a str,
    pub pre_tokens: u64,
    pub summary: &'a str,
    pub created_at: UnixMicros,
}

impl Writer {
    /// `session_id`, `cwd`, `version` and `git_branch` as an imported file had them, else bethink's own.
    pub fn new(session_id: &str, cwd: &str, version: &str, git_branch: &str) -> Self {
        Self {
            session_id: session_id.to_owned(),
            cwd: cwd.to_owned(),
            version: version.to_owned(),
            git_branch: git_branch.to_owned(),
            sidechain: false,
            parent: None,
        }
    }

    /// Writes the records of a sidechain: they start a chain of their own.
    pub fn sidechain(&self) -> Self {
        Self { sidechain: true, parent: None, ..self.clone() }
    }

    /// A line of the file was copied; the next record continues it if it is on the same thread.
    pub fn follow(&mut self, line: &MessageLine) {
        if (line.thread != Thread::Main) == self.sidechain {
            self.follow_id(line.message.id.as_str());
        }
    }

    /// The same, where only the message's id is at hand.
    pub fn follow_id(&mut self, id: &str) {
        self.parent = Some(self.uuid_of(id));
    }

    /// The record of a message that was appended to the session, with its line end.
    pub fn line_for(&mut self, message: &Message) -> Vec<u8> {
        let uuid = self.uuid_of(message.id.as_str());
        let raw = provider_form(message);
        let line = self.line(&Record {
            kind: message.role.as_str(),
            message: RawValue::from_string(raw.into_owned()).ok().as_deref(),
            timestamp: &time(message.created_at),
            uuid: &uuid,
            ..self.record()
        });
        self.parent = Some(uuid);
        line
    }

    /// The two records of a compaction: the boundary, and the summary as a user's message.
    pub fn boundary_lines(&mut self, compaction: &Compacted<'_>) -> Vec<u8> {
        let boundary = self.uuid_of(&format!("boundary {}", compaction.id));
        let summary = self.uuid_of(&format!("summary {}", compaction.id));
        let timestamp = time(compaction.created_at);
        let mut out = self.line(&Record {
            parent_uuid: None,
            logical_parent_uuid: self.parent.as_deref(),
            kind: "system",
            subtype: Some("compact_boundary"),
            content: Some("Conversation compacted"),
            is_meta: Some(false),
            level: Some("info"),
            compact_metadata: Some(CompactMetadata {
                trigger: compaction.trigger,
                pre_tokens: compaction.pre_tokens,
            }),
            timestamp: &timestamp,
            uuid: &boundary,
            ..self.record()
        });
        let text = json::encode_string(compaction.summary);
        let message = format!(r#"{{"role":"user","content":{text}}}"#);
        out.extend(self.line(&Record {
            parent_uuid: Some(&boundary),
            kind: "user",
            message: RawValue::from_string(message).ok().as_deref(),
            is_visible_in_transcript_only: Some(true),
            is_compact_summary: Some(true),
            timestamp: &timestamp,
            uuid: &summary,
            ..self.record()
        }));
        self.parent = Some(summary);
        out
    }

    /// Title and tags, to stand at the very end. Claude Code knows one tag and takes the first.
    pub fn metadata_lines(&self, title: Option<&str>, tags: &[String]) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(title) = title {
            out.extend(self.line(&Title {
                kind: "custom-title",
                custom_title: title,
                session_id: &self.session_id,
            }));
        }
        if let Some(tag) = tags.first() {
            out.extend(self.line(&Tag { kind: "tag", tag, tags, session_id: &self.session_id }));
        }
        out
    }

    fn record(&self) -> Record<'_> {
        Record {
            parent_uuid: self.parent.as_deref(),
            is_sidechain: self.sidechain,
            user_type: "external",
            cwd: &self.cwd,
            session_id: &self.session_id,
            version: &self.version,
            git_branch: &self.git_branch,
            ..Record::default()
        }
    }

    /// An id that is a uuid stays; another gives the same uuid each time in the same session.
    fn uuid_of(&self, id: &str) -> String {
        if Uuid::try_parse(id).is_ok() {
            return id.to_owned();
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.session_id.as_bytes()).update(b"\0").update(id.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        uuid::Builder::from_sha1_bytes(bytes).into_uuid().to_string()
    }

    fn line(&self, record: &impl Serialize) -> Vec<u8> {
        // Serialising strings and numbers into memory has no way to fail.
        let mut line = serde_json::to_vec(record).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The message object on one line, with the provider's id where a provider would have put it, so that
/// chunks of one answer stay together for readers that know only `id`.
fn provider_form(message: &Message) -> Cow<'_, str> {
    let raw = std::str::from_utf8(message.raw()).unwrap_or("{}");
    let own = message.assistant_message_id.as_ref().filter(|_| message.role == Role::Assistant);
    let placed = own.and_then(|id| {
        let id = json::encode_string(id.as_str());
        let has_it =
            json::members(raw)?.iter().any(|(key, value)| key == "id" && value.get() == id);
        if has_it { None } else { json::with_member(raw, "id", &id) }
    });
    let text = match placed {
        Some(bytes) => Cow::Owned(String::from_utf8(bytes.into()).unwrap_or_default()),
        None => Cow::Borrowed(raw),
    };
    // A line break in JSON text is white space: inside a string it would have been escaped.
    if text.contains(['\n', '\r']) { Cow::Owned(text.replace(['\n', '\r'], " ")) } else { text }
}

fn time(at: UnixMicros) -> String {
    let at = jiff::Timestamp::from_microsecond(at.0).unwrap_or_default();
    format!("{at:.3}")
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    /// Written as null at the start of a chain.
    parent_uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    user_type: &'a str,
    cwd: &'a str,
    session_id: &'a str,
    version: &'a str,
    git_branch: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subtype: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_meta: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_visible_in_transcript_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_compact_summary: Option<bool>,
    uuid: &'a str,
    timestamp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compact_metadata: Option<CompactMetadata<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactMetadata<'a> {
    trigger: &'a str,
    pre_tokens: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Title<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    custom_title: &'a str,
    session_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tag<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    tag: &'a str,
    tags: &'a [String],
    session_id: &'a str,
}

#[cfg(test)]
mod tests;
