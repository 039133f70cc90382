//! Reads transcripts that grow while the daemon is running, each from where reading stopped.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use bethink_agent_transcript::{StorageForm, TranscriptHeader, TranscriptReader};
use bethink_service::{Result, ServiceError};
use bethink_session_file::{LineKind, SessionFileFacts, SessionFileReader, SessionLine, Thread};
use bethink_transcript::{Message, Role};
use bytes::Bytes;

use crate::reading::unreadable;
use crate::source::{TranscriptBytes, TranscriptSource, open_file};

/// Number of bytes that are read before their messages are stored.
const READ_BATCH: u64 = 4 << 20;
/// Number of bytes before the current position that are compared, to detect changes to the file.
const ENDING: usize = 256;
/// Maximum number of transcripts whose state is kept in memory. Other transcripts are read again from the start.
const READY: usize = 16;

/// The transcripts that were read most recently, the latest at the end.
#[derive(Debug, Default)]
pub(crate) struct ReadyTails(Vec<AgentTail>);

impl ReadyTails {
    pub(crate) fn take(&mut self, source: &TranscriptSource) -> AgentTail {
        let at = self.0.iter().position(|tail| tail.source == *source);
        at.map_or_else(|| AgentTail::new(source.clone()), |at| self.0.remove(at))
    }

    pub(crate) fn put(&mut self, tail: AgentTail) {
        if self.0.len() >= READY {
            self.0.remove(0);
        }
        self.0.push(tail);
    }
}

/// A part of a transcript.
#[derive(Debug, Default)]
pub(crate) struct TailStretch {
    pub(crate) messages: Vec<Message>,
    /// Whether there is more to read.
    pub(crate) more: bool,
}

impl TailStretch {
    pub(crate) fn has_answer(&self) -> bool {
        self.messages.iter().any(|message| message.role == Role::Assistant)
    }

    fn add(&mut self, line: SessionLine) {
        if let LineKind::Message(line) = line.kind
            && line.thread == Thread::Main
        {
            self.messages.push(line.message);
        }
    }
}

#[derive(Debug)]
pub(crate) struct AgentTail {
    source: TranscriptSource,
    /// `None` for a file that has the format of session files.
    converter: Option<TranscriptReader>,
    lines: SessionFileReader,
    identity: Option<(u64, u64)>,
    read: u64,
    ending: Vec<u8>,
}

impl AgentTail {
    fn new(source: TranscriptSource) -> Self {
        let converter = source.reader();
        let (lines, ending) = (SessionFileReader::default(), Vec::new());
        Self { source, converter, lines, identity: None, read: 0, ending }
    }

    pub(crate) fn facts(&self) -> &SessionFileFacts {
        self.lines.facts()
    }

    pub(crate) fn title(&self) -> Option<String> {
        self.lines.title()
    }

    pub(crate) fn header(&self) -> TranscriptHeader {
        match &self.converter {
            Some(converter) => converter.header().clone(),
            None => TranscriptHeader {
                id: self.source.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
                ..TranscriptHeader::default()
            },
        }
    }

    /// Whether the transcript is a file that only grows, so that reading can continue where it stopped.
    pub(crate) fn is_appended(&self) -> bool {
        self.source.agent.storage() == StorageForm::Lines
    }

    /// Reads the new part of a growing file, or the whole of any other transcript.
    pub(crate) fn read_on(&mut self, whole: Option<TranscriptBytes>) -> Result<TailStretch> {
        let path = self.source.path.clone();
        let read = match whole {
            Some(bytes) => self.read_whole(bytes),
            None => self.read_more(open_file(&path)?.0),
        };
        read.map_err(|error| unreadable(&path, &error))
    }

    fn read_whole(&mut self, mut bytes: TranscriptBytes) -> io::Result<TailStretch> {
        if self.read > 0 {
            *self = Self::new(self.source.clone());
        }
        let mut stretch = TailStretch::default();
        let mut chunk = vec![0; 1 << 20];
        loop {
            let length = bytes.read.read(&mut chunk)?;
            if length == 0 {
                break;
            }
            self.feed(&chunk[..length], &mut stretch);
        }
        if let Some(converter) = &mut self.converter {
            let lines = Bytes::from(converter.finish());
            self.lines.feed(lines, |line| stretch.add(line));
        }
        Ok(stretch)
    }

    fn read_more(&mut self, mut file: File) -> io::Result<TailStretch> {
        self.check(&mut file)?;
        file.seek(SeekFrom::Start(self.read))?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(READ_BATCH).read_to_end(&mut bytes)?;
        let mut stretch = TailStretch::default();
        self.feed(&bytes, &mut stretch);
        stretch.more = self.read < length && !bytes.is_empty();
        Ok(stretch)
    }

    /// If all has been read, takes a last line without a line end. This reader must not be used afterwards.
    pub(crate) fn end(&mut self, stretch: &mut TailStretch) {
        if stretch.more {
            return;
        }
        let mut rest = self.converter.as_mut().map(TranscriptReader::finish).unwrap_or_default();
        if !rest.ends_with(b"\n") {
            rest.push(b'\n');
        }
        self.lines.feed(Bytes::from(rest), |line| stretch.add(line));
    }

    /// Restarts if the file was replaced, was truncated, or differs before the current position.
    fn check(&mut self, file: &mut File) -> io::Result<()> {
        let meta = file.metadata()?;
        let identity = Some((meta.dev(), meta.ino()));
        let is_same = self.identity == identity && meta.len() >= self.read && {
            let mut before = vec![0; self.ending.len()];
            file.seek(SeekFrom::Start(self.read - self.ending.len() as u64))?;
            file.read_exact(&mut before)?;
            before == self.ending
        };
        if !is_same {
            if self.identity.is_some() {
                *self = Self::new(self.source.clone());
            }
            self.identity = identity;
        }
        Ok(())
    }

    fn feed(&mut self, chunk: &[u8], stretch: &mut TailStretch) {
        self.read += chunk.len() as u64;
        self.ending.extend_from_slice(&chunk[chunk.len().saturating_sub(ENDING)..]);
        self.ending.drain(..self.ending.len().saturating_sub(ENDING));
        let lines = &mut self.lines;
        match &mut self.converter {
            Some(converter) => converter.feed(chunk, |converted, _| {
                lines.feed(Bytes::from(converted), |line| stretch.add(line));
            }),
            None => lines.feed(Bytes::copy_from_slice(chunk), |line| stretch.add(line)),
        }
    }
}

/// Reads the next part without blocking the runtime.
pub(crate) async fn read_on(mut tail: AgentTail, most: u64) -> Result<(AgentTail, TailStretch)> {
    let whole = match tail.is_appended() {
        true => None,
        false => Some(tail.source.open(most).await?),
    };
    let reading = tokio::task::spawn_blocking(move || {
        let read = tail.read_on(whole);
        (tail, read)
    });
    let (tail, read) = reading.await.map_err(ServiceError::internal)?;
    Ok((tail, read?))
}
