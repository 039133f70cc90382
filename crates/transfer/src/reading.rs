//! Reads a file to import, and turns its bytes into records for the store.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

use bethink_agent_transcript::{SkippedRecord, TranscriptHeader, TranscriptReader};
use bethink_api as api;
use bethink_service::{Result, ServiceError, is_disk_fault, rfc3339};
use bethink_session_file::{
    LineKind, SessionFileFacts, SessionFileReader, SessionLine, SettledLines, SidechainKey, Thread,
};
use bethink_sessions::sidechain_session;
use bethink_store::{NewMessage, NewRecord};
use bethink_transcript::prompt::hash_of;
use bethink_transcript::{MessageId, Seq, SessionId};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::source::TranscriptBytes;

/// Number of bytes per read. It is small, so that the writer can start early.
const CHUNK: usize = 512 << 10;
/// Maximum number of skipped lines in the report.
const TOLD_LINES: usize = 1_000;

/// A part of the file, ready to be written.
pub(crate) struct ImportChunk {
    pub(crate) records: Vec<NewRecord>,
    pub(crate) new_children: Vec<SessionId>,
    pub(crate) cwd: Option<String>,
    pub(crate) read: u64,
    pub(crate) total: u64,
}

/// The results of reading a whole file.
#[derive(Default)]
pub(crate) struct ReadFile {
    pub(crate) facts: SessionFileFacts,
    pub(crate) bytes: u64,
    /// What an agent's transcript says about its session.
    pub(crate) header: Option<TranscriptHeader>,
    /// Number of bytes up to the end of the last complete line, and their hash. Set only for session files.
    pub(crate) settled: u64,
    pub(crate) hash: String,
    pub(crate) messages: u64,
    pub(crate) children: Vec<SessionId>,
    pub(crate) skipped: Vec<api::SkippedLine>,
    pub(crate) summaries: HashMap<MessageId, Seq>,
    /// The first message that each boundary kept, by the boundary's line.
    pub(crate) kept: HashMap<u64, Seq>,
}

struct Collector {
    session: SessionId,
    records: Vec<NewRecord>,
    children: HashMap<SidechainKey, SessionId>,
    told: usize,
    /// Hashes of the ids of the main thread's messages, in order.
    ids: Vec<u64>,
    read: ReadFile,
}

/// Returns the error for a file that could not be read. After an error of the disk, the import may run again; any other
/// error is about the file.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> ServiceError {
    let failed = format!("could not read {}", path.display());
    match is_disk_fault(error) {
        true => ServiceError::of_file(failed, error),
        false => ServiceError::invalid("path", format!("{failed}: {error}")),
    }
}

/// Reads a session file.
pub(crate) fn read_file(
    path: &Path,
    session: SessionId,
    send: &mpsc::Sender<ImportChunk>,
) -> Result<ReadFile> {
    let cannot = |error| unreadable(path, &error);
    let file = std::fs::File::open(path).map_err(cannot)?;
    let total = file.metadata().map_err(cannot)?.len();
    read_bytes(path, TranscriptBytes { read: Box::new(file), total }, None, session, send)
}

/// Reads a session file, or a transcript whose records the `converter` reads.
pub(crate) fn read_bytes(
    path: &Path,
    bytes: TranscriptBytes,
    mut converter: Option<TranscriptReader>,
    session: SessionId,
    send: &mpsc::Sender<ImportChunk>,
) -> Result<ReadFile> {
    let cannot = |error| unreadable(path, &error);
    let TranscriptBytes { read: mut file, total } = bytes;
    let mut reader = SessionFileReader::default();
    let mut settled = SettledLines::default();
    let (records, children, read) = (Vec::new(), HashMap::new(), ReadFile::default());
    let mut collector = Collector { session, records, children, told: 0, ids: Vec::new(), read };
    let mut read = 0;
    loop {
        let mut buffer = Vec::with_capacity(CHUNK);
        let got = file.by_ref().take(CHUNK as u64).read_to_end(&mut buffer).map_err(cannot)?;
        if got == 0 {
            break;
        }
        read += got as u64;
        match &mut converter {
            Some(converter) => converter.feed(&buffer, |lines, _| {
                reader.feed(Bytes::from(lines), |line| collector.line(line));
            }),
            None => {
                settled.take(&buffer);
                reader.feed(Bytes::from(buffer), |line| collector.line(line));
            }
        }
        let cwd = reader.facts().cwd.clone();
        if !collector.send(send, cwd, read, total) {
            // The writer has failed, and reports its error.
            return Err(ServiceError::internal("the import was cancelled"));
        }
    }
    if let Some(converter) = &mut converter {
        reader.feed(Bytes::from(converter.finish()), |line| collector.line(line));
    }
    let facts = reader.finish(|line| collector.line(line));
    collector.send(send, facts.cwd.clone(), read, total);
    let (settled, hash) = (settled.bytes(), settled.hash());
    let mut done = ReadFile { facts, bytes: read, settled, hash, ..collector.read };
    if let Some(converter) = converter {
        done.header = Some(converter.header().clone());
        let skipped = converter.skipped().iter().cloned();
        done.skipped = skipped
            .map(|SkippedRecord { line, reason }| api::SkippedLine { line, reason })
            .collect();
    }
    Ok(done)
}

impl ReadFile {
    pub(crate) fn has_messages(&self) -> bool {
        self.messages > 0 || !self.children.is_empty()
    }

    /// Returns what the transcript says about its session. Claude Code names a session file after its session.
    pub(crate) fn header_of(&self, path: &Path) -> TranscriptHeader {
        let of_file = || TranscriptHeader {
            id: path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            cwd: self.facts.cwd.clone(),
            messages: self.facts.messages,
            newest: self.facts.last_at.map(rfc3339),
            ..TranscriptHeader::default()
        };
        self.header.clone().unwrap_or_else(of_file)
    }
}

impl Collector {
    fn line(&mut self, line: SessionLine) {
        let SessionLine { number, head, tail, kind } = line;
        let message = match kind {
            LineKind::Message(found) => {
                let target = match &found.thread {
                    Thread::Main => {
                        self.read.messages += 1;
                        self.ids.push(hash_of(found.message.id.as_str()));
                        if found.is_summary {
                            let seq = Seq(self.read.messages);
                            self.read.summaries.insert(found.message.id.clone(), seq);
                        }
                        self.session
                    }
                    Thread::Sidechain(key) => self.child(key),
                };
                Some((target, NewMessage::of(&found.message, true)))
            }
            LineKind::Boundary { kept_from: Some(head), .. } => {
                let at = self.ids.iter().rposition(|id| *id == hash_of(&head));
                self.read.kept.extend(at.map(|at| (number, Seq(at as u64 + 1))));
                None
            }
            LineKind::Damaged(damage) => {
                if self.read.skipped.len() < TOLD_LINES {
                    let reason = damage.to_string();
                    self.read.skipped.push(api::SkippedLine { line: number, reason });
                }
                None
            }
            _ => None,
        };
        self.records.push(NewRecord { line: number, head, tail, message });
    }

    /// Returns the child session of a sidechain. If the job is repeated, the ids are the same.
    fn child(&mut self, key: &SidechainKey) -> SessionId {
        *self.children.entry(key.clone()).or_insert_with(|| {
            let child = sidechain_session(self.session, key.as_str());
            self.read.children.push(child);
            child
        })
    }

    fn send(
        &mut self,
        send: &mpsc::Sender<ImportChunk>,
        cwd: Option<String>,
        read: u64,
        total: u64,
    ) -> bool {
        if self.records.is_empty() {
            return true;
        }
        let new_children = self.read.children.iter().skip(self.told).copied().collect();
        self.told = self.read.children.len();
        let records = std::mem::take(&mut self.records);
        send.blocking_send(ImportChunk { records, new_children, cwd, read, total }).is_ok()
    }
}
