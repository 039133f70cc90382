//! The reading half of an import: bytes of a file to records that the store takes.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use bethink_api as api;
use bethink_session_file::{Damage, Facts, Kind as LineKind, Line, Reader, SidechainKey, Thread};
use bethink_store::{ImportedMessage, NewRecord};
use bethink_transcript::{MessageId, Seq, SessionId};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::{Refusal, Result};

/// Bytes read at a time: the writer has something to do soon.
const CHUNK: usize = 512 << 10;
/// Skipped lines that are told one by one.
const TOLD_LINES: usize = 1_000;

/// A stretch of the file, ready to be written.
pub(super) struct Chunk {
    pub(super) records: Vec<NewRecord>,
    pub(super) new_children: Vec<SessionId>,
    pub(super) cwd: Option<String>,
    pub(super) read: u64,
    pub(super) total: u64,
}

/// What was learnt while reading.
pub(super) struct ReadFile {
    pub(super) facts: Facts,
    pub(super) messages: u64,
    pub(super) children: Vec<SessionId>,
    pub(super) skipped: Vec<api::SkippedLine>,
    pub(super) summaries: HashMap<MessageId, Seq>,
}

struct Collector {
    session: SessionId,
    records: Vec<NewRecord>,
    children: HashMap<SidechainKey, SessionId>,
    order: Vec<SessionId>,
    told: usize,
    messages: u64,
    skipped: Vec<api::SkippedLine>,
    summaries: HashMap<MessageId, Seq>,
}

pub(super) fn read_file(
    path: &Path,
    session: SessionId,
    send: &mpsc::Sender<Chunk>,
) -> Result<ReadFile> {
    let cannot = |e: std::io::Error| {
        Refusal::invalid("path", format!("we could not read {}: {e}", path.display()))
    };
    let mut file = std::fs::File::open(path).map_err(cannot)?;
    let total = file.metadata().map_err(cannot)?.len();
    let mut reader = Reader::new();
    let mut collector = Collector {
        session,
        records: Vec::new(),
        children: HashMap::new(),
        order: Vec::new(),
        told: 0,
        messages: 0,
        skipped: Vec::new(),
        summaries: HashMap::new(),
    };
    let mut read = 0;
    loop {
        let mut buffer = Vec::with_capacity(CHUNK);
        let got = file.by_ref().take(CHUNK as u64).read_to_end(&mut buffer).map_err(cannot)?;
        if got == 0 {
            break;
        }
        read += got as u64;
        reader.feed(Bytes::from(buffer), |line| collector.line(line));
        let cwd = reader.facts().cwd.clone();
        if !collector.send(send, cwd, read, total) {
            // The writer gave up; its reason is the one to tell.
            return Err(Refusal::internal("the import was given up"));
        }
    }
    let facts = reader.finish(|line| collector.line(line));
    collector.send(send, facts.cwd.clone(), read, total);
    Ok(ReadFile {
        facts,
        messages: collector.messages,
        children: collector.order,
        skipped: collector.skipped,
        summaries: collector.summaries,
    })
}

impl Collector {
    fn line(&mut self, line: Line) {
        let Line { number, head, tail, kind } = line;
        let message = match kind {
            LineKind::Message(found) => {
                let target = match &found.thread {
                    Thread::Main => {
                        self.messages += 1;
                        if found.is_summary {
                            self.summaries.insert(found.message.id.clone(), Seq(self.messages));
                        }
                        self.session
                    }
                    Thread::Sidechain(key) => self.child(key),
                };
                let message = found.message;
                Some((
                    target,
                    ImportedMessage {
                        id: message.id.clone(),
                        role: message.role,
                        raw: message.raw().clone(),
                        created_at: message.created_at,
                    },
                ))
            }
            LineKind::Damaged(damage) => {
                self.skip(number, &damage);
                None
            }
            _ => None,
        };
        self.records.push(NewRecord { line: number, head, tail, message });
    }

    fn skip(&mut self, line: u64, damage: &Damage) {
        if self.skipped.len() < TOLD_LINES {
            self.skipped.push(api::SkippedLine { line, reason: damage.to_string() });
        }
    }

    /// The child session of a sidechain: the same file gives the same ids to the same job.
    fn child(&mut self, key: &SidechainKey) -> SessionId {
        if let Some(child) = self.children.get(key) {
            return *child;
        }
        let child = child_of(self.session, key.as_str());
        self.children.insert(key.clone(), child);
        self.order.push(child);
        child
    }

    fn send(
        &mut self,
        send: &mpsc::Sender<Chunk>,
        cwd: Option<String>,
        read: u64,
        total: u64,
    ) -> bool {
        if self.records.is_empty() {
            return true;
        }
        let new_children = self.order.iter().skip(self.told).copied().collect();
        self.told = self.order.len();
        let records = std::mem::take(&mut self.records);
        send.blocking_send(Chunk { records, new_children, cwd, read, total }).is_ok()
    }
}

/// The id of a sidechain's session.
pub(crate) fn child_of(session: SessionId, key: &str) -> SessionId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.0.as_bytes());
    hasher.update(key.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    SessionId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}
