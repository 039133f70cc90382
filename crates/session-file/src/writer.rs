//! Writes lines in Claude Code's format, for what bethink added to a session.

use std::borrow::Cow;

use bethink_transcript::json::{encode_string, members, with_member};
use bethink_transcript::{Message, Role, UnixMicros};
use serde_json::json;
use uuid::Uuid;

/// Writes records, each of which continues the previous one. Call [`follow_id`](Self::follow_id) for each message that is
/// copied, so that the next record continues it.
#[derive(Clone, Debug)]
pub struct RecordWriter {
    session_id: String,
    /// The members that are the same in every record.
    place: String,
    parent: Option<String>,
}

/// A compaction by bethink, to be exported.
#[derive(Clone, Debug)]
pub struct ExportedCompaction<'a> {
    /// The ids of the compaction's records are derived from this id, so that every export contains the same ids.
    pub id: &'a str,
    /// `auto` or `manual`.
    pub trigger: &'a str,
    pub pre_tokens: u64,
    pub summary: &'a str,
    pub created_at: UnixMicros,
    /// Id of the first kept message that precedes the compaction, if there is one.
    pub kept_from: Option<&'a str>,
    /// What was restored after the kept messages.
    pub restored: &'a [String],
}

impl RecordWriter {
    /// The arguments are the imported file's values, or bethink's own if the file lacks them.
    pub fn new(session_id: &str, cwd: &str, version: &str, git_branch: &str) -> Self {
        let (id, cwd) = (json!(session_id), json!(cwd));
        let (version, branch) = (json!(version), json!(git_branch));
        let place = format!(
            r#""isSidechain":false,"userType":"external","cwd":{cwd},"sessionId":{id},"version":{version},"gitBranch":{branch}"#
        );
        Self { session_id: session_id.to_owned(), place, parent: None }
    }

    /// Must be called after the line of a message was copied, so that the next record continues that message.
    pub fn follow_id(&mut self, id: &str) {
        self.parent = Some(self.uuid_of(id));
    }

    /// Returns the record of a message that was appended to the session, with its line ending.
    pub fn line_for(&mut self, message: &Message) -> Vec<u8> {
        let uuid = self.uuid_of(message.id.as_str());
        let head = format!(r#""parentUuid":{}"#, json!(self.parent));
        let (kind, raw) = (message.role.as_str(), provider_form(message));
        let body = format!(r#""type":"{kind}","message":{raw}"#);
        let line = self.line(&head, &body, &uuid, message.created_at, "");
        self.parent = Some(uuid);
        line
    }

    /// Returns the records of a compaction: the boundary, the summary as a user message, and what was restored. Claude
    /// Code shows the kept messages (the preserved segment) between the last two.
    pub fn boundary_lines(&mut self, compaction: &ExportedCompaction<'_>) -> Vec<u8> {
        let ExportedCompaction { id, trigger, pre_tokens, summary, created_at, .. } = *compaction;
        let boundary_id = self.uuid_of(&format!("boundary {id}"));
        let summary_id = self.uuid_of(&format!("summary {id}"));
        let mut head = r#""parentUuid":null"#.to_owned();
        if let Some(parent) = &self.parent {
            head += &format!(r#","logicalParentUuid":"{parent}""#);
        }
        let body = r#""type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false"#;
        let kept = compaction.kept_from.zip(self.parent.as_deref());
        let kept = kept.map_or_else(String::new, |(head, tail)| {
            let head = self.uuid_of(head);
            format!(
                r#","preservedSegment":{{"headUuid":"{head}","anchorUuid":"{summary_id}","tailUuid":"{tail}"}}"#
            )
        });
        let more = format!(
            r#","level":"info","compactMetadata":{{"trigger":{},"preTokens":{pre_tokens}{kept}}},"bethink":true"#,
            json!(trigger)
        );
        let mut out = self.line(&head, body, &boundary_id, created_at, &more);
        let head = format!(r#""parentUuid":"{boundary_id}""#);
        let message = format!(r#"{{"role":"user","content":{}}}"#, encode_string(summary));
        let body = format!(
            r#""type":"user","message":{message},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"bethink":true"#
        );
        out.extend(self.line(&head, &body, &summary_id, created_at, ""));
        let mut parent = summary_id;
        for (at, text) in compaction.restored.iter().enumerate() {
            let uuid = self.uuid_of(&format!("restored {at} {id}"));
            let head = format!(r#""parentUuid":"{parent}""#);
            let message = format!(r#"{{"role":"user","content":{}}}"#, encode_string(text));
            let body = format!(r#""type":"user","message":{message},"isMeta":true,"bethink":true"#);
            out.extend(self.line(&head, &body, &uuid, created_at, ""));
            parent = uuid;
        }
        self.parent = Some(parent);
        out
    }

    /// Returns the line with bethink's own view of the session, which is JSON.
    pub fn view_line(&self, view: &str) -> Vec<u8> {
        let id = json!(self.session_id);
        format!("{{\"type\":\"bethink\",\"sessionId\":{id},\"bethink\":{view}}}\n").into_bytes()
    }

    /// Returns the lines with the title and the tags, for the end of the file. Claude Code knows only one tag: the
    /// first.
    pub fn metadata_lines(&self, title: Option<&str>, tags: &[String]) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(title) = title {
            let (title, id) = (json!(title), json!(self.session_id));
            let line =
                format!(r#"{{"type":"custom-title","customTitle":{title},"sessionId":{id}}}"#);
            out.extend_from_slice((line + "\n").as_bytes());
        }
        if let Some(tag) = tags.first() {
            let (tag, tags, id) = (json!(tag), json!(tags), json!(self.session_id));
            let line = format!(r#"{{"type":"tag","tag":{tag},"tags":{tags},"sessionId":{id}}}"#);
            out.extend_from_slice((line + "\n").as_bytes());
        }
        out
    }

    /// Returns the id if it is a uuid, else a uuid that is derived from the session and the id.
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

    /// `head` begins with the parent, and `body` with the type. `more` is empty or begins with a comma.
    fn line(&self, head: &str, body: &str, uuid: &str, at: UnixMicros, more: &str) -> Vec<u8> {
        let (place, at) =
            (&self.place, jiff::Timestamp::from_microsecond(at.0).unwrap_or_default());
        let id = format!(r#""uuid":"{uuid}","timestamp":"{at:.3}"{more}"#);
        format!("{{{head},{place},{body},{id}}}\n").into_bytes()
    }
}

/// Returns the message object on one line, with the provider's id as `id`. Other readers use this id to recognize the
/// chunks of one answer.
fn provider_form(message: &Message) -> Cow<'_, str> {
    let raw = std::str::from_utf8(message.raw()).unwrap_or("{}");
    let own = message.assistant_message_id.as_ref().filter(|_| message.role == Role::Assistant);
    let placed = own.and_then(|id| {
        let id = encode_string(id.as_str());
        let has_it = members(raw)?.iter().any(|(key, value)| key == "id" && value.get() == id);
        if has_it { None } else { with_member(raw, "id", &id) }
    });
    let text = match placed {
        Some(bytes) => Cow::Owned(String::from_utf8(bytes.into()).unwrap_or_default()),
        None => Cow::Borrowed(raw),
    };
    // A line break in JSON is white space between tokens: in a string it would be escaped.
    if text.contains(['\n', '\r']) { Cow::Owned(text.replace(['\n', '\r'], " ")) } else { text }
}

#[cfg(test)]
mod tests;
