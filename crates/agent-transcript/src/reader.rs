//! Splits a transcript into records, and converts them.

use serde_json::Value;

use crate::agent::{StorageForm, TranscriptAgent};
use crate::format::TranscriptFormat;
use crate::header::{TranscriptContext, TranscriptHeader};
use crate::lines::SessionLines;
use crate::{cline, codex, continue_dev, gemini, opencode, pi, qwen};

/// Maximum size of a line, in bytes. A longer line is skipped and not kept in memory.
const MAX_RECORD_BYTES: usize = 64 << 20;
/// Maximum size of a transcript that is one JSON document, in bytes. Such a file is read as a whole.
pub const MAX_DOCUMENT_BYTES: usize = 256 << 20;
/// Maximum number of skipped records that are remembered.
const TOLD: usize = 1_000;

/// A record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRecord {
    /// Line number, from 1.
    pub line: u64,
    pub reason: String,
}

/// Reads a transcript in chunks of any size. Never fails: a record that cannot be read is skipped, with the reason.
#[derive(Debug)]
pub struct TranscriptReader {
    form: StorageForm,
    format: Box<dyn TranscriptFormat>,
    lines: SessionLines,
    /// The beginning of an incomplete line, or the whole document.
    rest: Vec<u8>,
    /// Length of the incomplete line in bytes, even if it is too long to be kept.
    length: usize,
    number: u64,
    read: u64,
    skipped: Vec<SkippedRecord>,
}

impl TranscriptReader {
    /// Returns `None` for Claude Code, whose transcripts need no conversion.
    pub fn new(agent: TranscriptAgent, context: TranscriptContext) -> Option<Self> {
        let mut lines = SessionLines::default();
        if let Some(cwd) = &context.cwd {
            lines.set_cwd(cwd);
        }
        let format: Box<dyn TranscriptFormat> = match agent {
            TranscriptAgent::ClaudeCode => return None,
            TranscriptAgent::Codex => Box::new(codex::Rollout::new(&context)),
            TranscriptAgent::Gemini => Box::new(gemini::GeminiChat::new(context, &mut lines)),
            TranscriptAgent::Qwen => Box::new(qwen::QwenChat),
            TranscriptAgent::Opencode => Box::new(opencode::OpencodeSession::default()),
            TranscriptAgent::Pi => Box::new(pi::PiSession),
            TranscriptAgent::Cline => Box::new(cline::ClineSession::new(context)),
            TranscriptAgent::Continue => Box::new(continue_dev::ContinueSession::new(context)),
        };
        Some(Self {
            form: agent.storage(),
            format,
            lines,
            rest: Vec::new(),
            length: 0,
            number: 0,
            read: 0,
            skipped: Vec::new(),
        })
    }

    /// Reads the next bytes. After each complete record, calls `each` with the lines that the record is converted to
    /// (possibly none) and the position after the record.
    pub fn feed(&mut self, mut chunk: &[u8], mut each: impl FnMut(Vec<u8>, u64)) {
        if self.form == StorageForm::Document {
            self.keep(chunk, MAX_DOCUMENT_BYTES);
            return;
        }
        while let Some(at) = memchr::memchr(b'\n', chunk) {
            let (line, after) = chunk.split_at(at + 1);
            chunk = after;
            self.keep(line, MAX_RECORD_BYTES);
            self.read += self.length as u64;
            self.end_record(true);
            each(self.lines.take(), self.read);
        }
        self.keep(chunk, MAX_RECORD_BYTES);
    }

    /// Reads the document, or a last line without a line ending if it is complete. Returns the remaining lines.
    pub fn finish(&mut self) -> Vec<u8> {
        if self.length > 0 {
            self.read += self.length as u64;
            self.end_record(self.form == StorageForm::Document);
        }
        self.lines.take()
    }

    /// Returns whether the transcript is one document, which can only be read as a whole.
    pub fn is_document(&self) -> bool {
        self.form == StorageForm::Document
    }

    pub fn header(&self) -> &TranscriptHeader {
        &self.lines.header
    }

    /// Returns the first 1,000 records that could not be read.
    pub fn skipped(&self) -> &[SkippedRecord] {
        &self.skipped
    }

    fn keep(&mut self, bytes: &[u8], most: usize) {
        self.length += bytes.len();
        match self.length > most {
            true => self.rest = Vec::new(),
            false => self.rest.extend_from_slice(bytes),
        }
    }

    /// Reads the record in `rest`. A record that is not JSON is only reported if it `is_complete`.
    fn end_record(&mut self, is_complete: bool) {
        self.number += 1;
        let record = std::mem::take(&mut self.rest);
        let length = std::mem::take(&mut self.length);
        let read = if record.is_empty() {
            let most = match self.form {
                StorageForm::Document => MAX_DOCUMENT_BYTES,
                _ => MAX_RECORD_BYTES,
            };
            Err(BadRecord::TooLong { length, most })
        } else {
            parse(&record)
        };
        match read {
            Ok(Some(record)) => self.format.record(self.number, &record, &mut self.lines),
            Ok(None) => {}
            Err(reason) if is_complete && self.skipped.len() < TOLD => {
                self.skipped.push(SkippedRecord { line: self.number, reason: reason.to_string() });
            }
            Err(_) => {}
        }
        // The allocation is used for the next record.
        self.rest = record;
        self.rest.clear();
        self.rest.shrink_to(1 << 20);
    }
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
enum BadRecord {
    #[error("the record is {length} bytes long; the maximum is {most}")]
    TooLong { length: usize, most: usize },
    #[error("invalid UTF-8 at byte {}", .0.valid_up_to())]
    Encoding(#[from] std::str::Utf8Error),
    #[error("not a JSON object")]
    NoObject,
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Returns `None` for an empty line.
fn parse(record: &[u8]) -> Result<Option<Value>, BadRecord> {
    let record = record.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(record);
    let text = std::str::from_utf8(record)?;
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str(text)? {
        value @ Value::Object(_) => Ok(Some(value)),
        _ => Err(BadRecord::NoObject),
    }
}
