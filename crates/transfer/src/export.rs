//! Exports a session: imported records byte for byte, added messages in the same format, and the metadata at the end.

use std::collections::VecDeque;

use bethink_service::{Result, parse_stored};
use bethink_session_file::{Ending, ExportedCompaction, RecordWriter};
use bethink_sessions::restored_texts;
use bethink_store::{CompactionRecord, SeqRange, SessionRecord, StoredRecord};
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;

use crate::TransferService;

const READ_BATCH: usize = 256;

#[derive(Debug)]
enum ExportStage {
    Records { after_line: u64 },
    Messages { after: Seq },
    Metadata,
    Done,
}

/// An export in progress, a batch of lines at a time.
#[derive(Debug)]
pub struct Export {
    transfer: TransferService,
    session: SessionRecord,
    writer: RecordWriter,
    ending: Ending,
    /// bethink's own compactions, oldest first. Each is written after the message that it followed.
    compactions: VecDeque<CompactionRecord>,
    part: ExportStage,
    newest: Seq,
    /// The last of the imported lines with bethink's own view.
    imported_view: Bytes,
}

impl TransferService {
    pub async fn export(&self, id: SessionId) -> Result<Export> {
        let session = self.cx.store().session(id).await?;
        let mut compactions = self.cx.store().compactions(id).await?;
        compactions.retain(|c| c.level != "recorded" && c.undone_at.is_none());
        let writer =
            RecordWriter::new(&id.to_string(), &session.project_dir, env!("CARGO_PKG_VERSION"), "");
        Ok(Export {
            transfer: self.clone(),
            session,
            writer,
            ending: Ending::default(),
            compactions: compactions.into(),
            part: ExportStage::Records { after_line: 0 },
            newest: Seq::ZERO,
            imported_view: Bytes::new(),
        })
    }
}

impl Export {
    /// Returns the next lines, or `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        loop {
            let lines = match self.part {
                ExportStage::Records { after_line } => self.records(after_line).await,
                ExportStage::Messages { after } => self.messages(after).await,
                ExportStage::Metadata => self.metadata().await,
                ExportStage::Done => return None,
            };
            match lines {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Some(Ok(Bytes::from(bytes))),
                Err(error) => {
                    self.part = ExportStage::Done;
                    return Some(Err(error));
                }
            }
        }
    }

    async fn records(&mut self, after_line: u64) -> Result<Vec<u8>> {
        let records =
            self.transfer.cx.store().records(self.session.id, after_line, READ_BATCH).await?;
        let Some(last) = records.last() else {
            self.part = ExportStage::Messages { after: self.newest };
            return Ok(Vec::new());
        };
        self.part = ExportStage::Records { after_line: last.line };
        let mut out = Vec::new();
        for StoredRecord { head, raw, tail, message, .. } in &records {
            out.extend_from_slice(head);
            out.extend_from_slice(raw);
            out.extend_from_slice(tail);
            self.ending.wrote(head, raw, tail);
            // The whole of a line without a message is its head.
            if message.is_none() && head.starts_with(br#"{"type":"bethink""#) {
                self.imported_view = head.clone();
            }
            if let Some((session, seq)) = message
                && *session == self.session.id
            {
                self.newest = *seq;
                self.follow(*seq).await?;
                self.boundaries(*seq, &mut out).await?;
            }
        }
        Ok(out)
    }

    /// Makes the last copied record the parent of the next added one.
    async fn follow(&mut self, seq: Seq) -> Result<()> {
        if seq < self.session.last_seq
            && self.compactions.front().is_none_or(|c| c.made_after > seq)
        {
            return Ok(());
        }
        if let Some(id) = self.id_of(seq).await? {
            self.writer.follow_id(&id);
        }
        Ok(())
    }

    async fn boundaries(&mut self, through: Seq, out: &mut Vec<u8>) -> Result<()> {
        while self.compactions.front().is_some_and(|c| c.made_after <= through) {
            let Some(compaction) = self.compactions.pop_front() else { break };
            let id = compaction.id.to_string();
            let kept_from = match compaction.kept_from <= compaction.made_after {
                true => self.id_of(compaction.kept_from).await?,
                false => None,
            };
            let restored = restored_texts(&compaction)?;
            let lines = self.writer.boundary_lines(&ExportedCompaction {
                id: &id,
                trigger: if compaction.trigger == "manual" { "manual" } else { "auto" },
                pre_tokens: compaction.tokens_before,
                summary: &compaction.summary,
                created_at: compaction.created_at,
                kept_from: kept_from.as_deref(),
                restored: &restored,
            });
            self.push(out, &lines);
        }
        Ok(())
    }

    async fn id_of(&self, seq: Seq) -> Result<Option<String>> {
        let range = SeqRange { limit: 1, ..SeqRange::from(seq) };
        let found = self.transfer.cx.store().messages(self.session.id, range).await?;
        Ok(found.first().map(|message| message.id.to_string()))
    }

    async fn messages(&mut self, after: Seq) -> Result<Vec<u8>> {
        let range = SeqRange { after: Some(after), limit: READ_BATCH, ..SeqRange::all() };
        let stored = self.transfer.cx.store().messages(self.session.id, range).await?;
        let Some(last) = stored.last() else {
            self.part = ExportStage::Metadata;
            return Ok(Vec::new());
        };
        self.part = ExportStage::Messages { after: last.seq };
        let mut out = Vec::new();
        for message in stored {
            let seq = message.seq;
            if message.recorded && seq <= self.newest {
                // It was already written as part of a record.
                self.writer.follow_id(message.id.as_str());
                continue;
            }
            let line = self.writer.line_for(&parse_stored(message)?);
            self.push(&mut out, &line);
            self.boundaries(seq, &mut out).await?;
        }
        Ok(out)
    }

    async fn metadata(&mut self) -> Result<Vec<u8>> {
        self.part = ExportStage::Done;
        let born_here = self.session.content_hash.is_none();
        let given = self.session.titled || (born_here && self.session.title.is_some());
        let tagged = born_here && !self.session.tags.is_empty();
        let mut out = Vec::new();
        if let Some(view) = self.transfer.sessions.carried_view(self.session.id).await? {
            let end = format!(r#""bethink":{view}}}"#);
            if !self.imported_view.trim_ascii_end().ends_with(end.as_bytes()) {
                let line = self.writer.view_line(&view);
                self.push(&mut out, &line);
            }
        }
        if self.ending.wants_metadata(given || tagged) {
            let lines =
                self.writer.metadata_lines(self.session.title.as_deref(), &self.session.tags);
            self.push(&mut out, &lines);
        }
        Ok(out)
    }

    /// Adds lines, and first ends the last line if it has no line ending.
    fn push(&mut self, out: &mut Vec<u8>, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        if self.ending.open_line() {
            out.push(b'\n');
            self.ending.wrote(b"\n", b"", b"");
        }
        out.extend_from_slice(lines);
        self.ending.wrote(lines, b"", b"");
    }
}
