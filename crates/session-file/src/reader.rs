//! Splits bytes into lines. A line is copied only if it is split between two chunks.

use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, ParseError, Seq, UnixMicros, json};
use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;

use crate::chains::Chains;
use crate::envelope::{CompactBoundary, LineEnvelope, is_true, text};
use crate::facts::SessionFileFacts;
use crate::line::{
    LineDamage, LineKind, MAX_DEPTH, MAX_LINE_BYTES, MessageLine, SessionLine, Thread,
};

const BOM: &[u8] = b"\xEF\xBB\xBF";

pub fn lines(file: Bytes) -> (Vec<SessionLine>, SessionFileFacts) {
    let mut reader = SessionFileReader::default();
    let mut out = Vec::new();
    reader.feed(file, |line| out.push(line));
    let facts = reader.finish(|line| out.push(line));
    (out, facts)
}

/// Reads a file in chunks of any size. Never fails: a line that cannot be parsed is returned with the reason.
#[derive(Debug, Default)]
pub struct SessionFileReader {
    /// The beginning of an incomplete line.
    rest: BytesMut,
    number: u64,
    chains: Chains,
    facts: SessionFileFacts,
    last_time: UnixMicros,
}

impl SessionFileReader {
    /// Takes the next bytes of the file, and passes on each line that they complete.
    pub fn feed(&mut self, mut chunk: Bytes, mut each: impl FnMut(SessionLine)) {
        if !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', &chunk).map_or(chunk.len(), |at| at + 1);
            self.rest.extend_from_slice(&chunk.split_to(end));
            if self.rest.last() != Some(&b'\n') {
                return;
            }
            let whole = self.rest.split().freeze();
            each(self.line(whole));
        }
        while let Some(at) = memchr::memchr(b'\n', &chunk) {
            let whole = chunk.split_to(at + 1);
            each(self.line(whole));
        }
        self.rest.extend_from_slice(&chunk);
    }

    /// Returns the facts so far. The title is set at the end.
    pub fn facts(&self) -> &SessionFileFacts {
        &self.facts
    }

    /// Whether a record with this uuid was read.
    pub fn knows(&self, uuid: &str) -> bool {
        self.chains.knows(uuid)
    }

    /// Returns the title according to the lines so far; see [`SessionFileFacts::title`].
    pub fn title(&self) -> Option<String> {
        self.facts.title_so_far(&self.chains)
    }

    /// Passes on the last line if it has no line ending, and returns the facts about the whole file.
    pub fn finish(mut self, mut each: impl FnMut(SessionLine)) -> SessionFileFacts {
        if !self.rest.is_empty() {
            let whole = self.rest.split().freeze();
            each(self.line(whole));
        }
        self.facts.settle_title(&self.chains);
        self.facts
    }

    fn line(&mut self, whole: Bytes) -> SessionLine {
        self.number += 1;
        let kind = self.kind(&whole).unwrap_or_else(LineKind::Damaged);
        self.facts.bytes += whole.len() as u64;
        let (head, tail) = match &kind {
            LineKind::Message(line) => {
                let raw = line.message.raw();
                let start = raw.as_ptr() as usize - whole.as_ptr() as usize;
                (whole.slice(..start), whole.slice(start + raw.len()..))
            }
            _ => (whole, Bytes::new()),
        };
        SessionLine { number: self.number, head, tail, kind }
    }

    fn kind(&mut self, whole: &Bytes) -> Result<LineKind, LineDamage> {
        if whole.len() > MAX_LINE_BYTES {
            return Err(LineDamage::TooLong(whole.len()));
        }
        let body = if self.number == 1 { whole.strip_prefix(BOM).unwrap_or(whole) } else { whole };
        let body = std::str::from_utf8(body).map_err(|e| LineDamage::NotUtf8(e.valid_up_to()))?;
        if body.trim_ascii().is_empty() {
            return Ok(LineKind::Other);
        }
        check_depth(body.as_bytes())?;
        if !body.trim_ascii_start().starts_with('{') {
            return Err(match serde_json::from_str::<serde::de::IgnoredAny>(body) {
                Ok(_) => LineDamage::NotAnObject,
                Err(e) => LineDamage::NotJson(e.to_string()),
            });
        }
        let record: LineEnvelope<'_> =
            serde_json::from_str(body).map_err(|e| LineDamage::NotJson(e.to_string()))?;
        self.record(whole, &record)
    }

    fn record(&mut self, whole: &Bytes, record: &LineEnvelope<'_>) -> Result<LineKind, LineDamage> {
        let thread = self.chains.place(record, self.number);
        self.last_time = record.time().unwrap_or(self.last_time);
        self.facts.envelope(record, &thread);
        match text(record.kind).as_deref() {
            // Claude Code is shown what bethink has restored; bethink itself knows it from its own line.
            Some("user") if is_true(record.bethink) && is_true(record.is_meta) => {
                Ok(LineKind::Other)
            }
            Some("user" | "assistant") => self.message(whole, record, thread),
            Some("bethink") => {
                self.facts.view = record.bethink.map(|view| view.get().to_owned());
                Ok(LineKind::Other)
            }
            Some("system") if text(record.subtype).as_deref() == Some("compact_boundary") => {
                let boundary = record.boundary();
                if thread == Thread::Main {
                    self.facts.boundary(self.number, boundary.clone());
                }
                let CompactBoundary { trigger, pre_tokens, kept, .. } = boundary;
                let kept_from = kept.map(|(head, _)| head);
                Ok(LineKind::Boundary { trigger, pre_tokens, kept_from })
            }
            Some("queue-operation") if text(record.operation).as_deref() == Some("enqueue") => {
                let queued = text(record.content).filter(|text| !text.trim().is_empty());
                Ok(queued.map_or(LineKind::Other, |text| LineKind::Queued {
                    text: text.into_owned(),
                    at: self.last_time,
                }))
            }
            Some("summary" | "custom-title" | "ai-title" | "tag") => {
                Ok(self.facts.metadata(record).unwrap_or(LineKind::Other))
            }
            _ => Ok(LineKind::Other),
        }
    }

    fn message(
        &mut self,
        whole: &Bytes,
        record: &LineEnvelope<'_>,
        thread: Thread,
    ) -> Result<LineKind, LineDamage> {
        let raw =
            record.message.filter(|raw| raw.get() != "null").ok_or(LineDamage::NoMessage)?.get();
        let meta = MessageMeta {
            seq: Seq::ZERO,
            id: self.message_id(record)?,
            created_at: self.last_time,
        };
        let parsed = Message::parse(meta, whole.slice_ref(raw.as_bytes()), MessageSource::Provider);
        if looks_empty(&parsed) && content_is_empty(raw) {
            return Err(LineDamage::Empty);
        }
        let message = parsed?;
        let is_summary = is_true(record.is_compact_summary);
        if is_summary && thread == Thread::Main && self.facts.expects_summary_apart() {
            self.facts.summary_apart(&message);
            return Ok(LineKind::Other);
        }
        if !self.chains.take_message(message.id.as_str()) {
            return Err(LineDamage::Repeated(message.id));
        }
        let line = MessageLine {
            parent_uuid: text(record.parent_uuid).map(Into::into),
            is_summary,
            is_meta: is_true(record.is_meta),
            thread,
            message,
        };
        self.facts.message(&line);
        Ok(LineKind::Message(Box::new(line)))
    }

    fn message_id(&self, record: &LineEnvelope<'_>) -> Result<MessageId, LineDamage> {
        if let Some(id) = text(record.uuid).and_then(|uuid| MessageId::new(&uuid).ok()) {
            return Ok(id);
        }
        MessageId::new(&format!("line-{}", self.number)).map_err(|e| {
            LineDamage::Message(ParseError { field: "uuid".into(), problem: e.to_string() })
        })
    }
}

/// Checks the nesting depth. A line with at most `MAX_DEPTH` brackets cannot be too deep, so only others are scanned.
fn check_depth(body: &[u8]) -> Result<(), LineDamage> {
    if memchr::memchr2_iter(b'{', b'[', body).nth(MAX_DEPTH).is_none() {
        return Ok(());
    }
    match json::depth(body) {
        depth if depth > MAX_DEPTH => Err(LineDamage::TooDeep(depth)),
        _ => Ok(()),
    }
}

/// Whether the message looks empty, so that its content must be checked again. That check is slow, but hardly any
/// message is empty.
fn looks_empty(parsed: &Result<Message, ParseError>) -> bool {
    match parsed {
        Err(e) => e.field == "content",
        Ok(message) => match &*message.blocks {
            [] => true,
            [block] => block.json == r#"{"type":"text","text":""}"#,
            _ => false,
        },
    }
}

fn content_is_empty(message: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct RawContent<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let Ok(RawContent { content }) = serde_json::from_str(message) else { return false };
    match content.map(RawValue::get) {
        None | Some("null" | r#""""#) => true,
        Some(raw) => serde_json::from_str::<[(); 0]>(raw).is_ok(),
    }
}

#[cfg(test)]
mod tests;
