//! Reads a growing transcript from the last position. If the beginning of the file has changed, it is read again from
//! the start. No message is stored twice, because messages have ids.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bethink_session_file::{LineKind, SessionFileReader, SessionLine, SettledLines, Thread};
use bethink_store::TranscriptPosition;
use bethink_transcript::Message;
use bytes::Bytes;

/// Number of bytes that are read before their messages are stored.
const READ_BATCH: u64 = 4 << 20;
/// Number of bytes before the current position that are compared in order to detect a change to the file.
const ENDING: usize = 256;

/// A message, and the subagent that it belongs to, if any.
#[derive(Debug)]
pub(crate) struct FoundMessage {
    pub(crate) agent: Option<String>,
    pub(crate) message: Message,
}

#[derive(Debug, Default)]
pub(crate) struct TranscriptStretch {
    pub(crate) found: Vec<FoundMessage>,
    /// Whether there is more to read.
    pub(crate) more: bool,
}

/// The reason why a transcript could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TranscriptUnreadable {
    #[error("the transcript {} no longer exists", .0.display())]
    Gone(PathBuf),
    #[error("the transcript {} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    #[error("the transcript {} is {actual} bytes; at most {most} can be read", path.display())]
    TooLarge { path: PathBuf, most: u64, actual: u64 },
    #[error("could not read the transcript {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

#[derive(Debug, Default)]
pub(crate) struct Tail {
    path: PathBuf,
    /// The subagent whose transcript this is, if any.
    agent: Option<String>,
    reader: SessionFileReader,
    identity: Option<(u64, u64)>,
    /// Number of bytes that were passed to the reader.
    read: u64,
    /// The last bytes that were passed to the reader.
    ending: Vec<u8>,
    settled: SettledLines,
    /// Number of bytes at the beginning whose messages are already stored.
    skip: u64,
}

impl Tail {
    pub(crate) fn new(path: &Path, agent: Option<String>) -> Self {
        Self { path: path.to_owned(), agent, ..Self::default() }
    }

    pub(crate) fn is_agents(&self) -> bool {
        self.agent.is_some()
    }

    pub(crate) fn reader(&self) -> &SessionFileReader {
        &self.reader
    }

    /// Returns the position from which a later daemon can continue, and the hash of the lines before it.
    pub(crate) fn settled(&self) -> (u64, String) {
        (self.settled.bytes(), self.settled.hash())
    }

    /// Reads the next part. The text before the stored position is read only because later lines depend on it. Its
    /// messages are not returned, unless that part of the file has changed.
    pub(crate) fn read_on(
        &mut self,
        mark: &TranscriptPosition,
        most: u64,
    ) -> Result<TranscriptStretch, TranscriptUnreadable> {
        let file = self.open(most)?;
        self.read_batch(file, mark).map_err(|source| self.io(source))
    }

    fn read_batch(
        &mut self,
        mut file: File,
        mark: &TranscriptPosition,
    ) -> io::Result<TranscriptStretch> {
        self.check(&mut file)?;
        if self.read == 0 {
            self.skip = self.stored(&mut file, mark)?;
        }
        file.seek(SeekFrom::Start(self.read))?;
        let length = file.metadata()?.len();
        let mut stretch = TranscriptStretch::default();
        let mut bytes = Vec::new();
        file.take(READ_BATCH).read_to_end(&mut bytes)?;
        self.feed(Bytes::from(bytes), &mut stretch.found);
        stretch.more = self.read < length;
        Ok(stretch)
    }

    /// Takes a last line without a line end, once nothing more is written. It is read again if the session continues, so the
    /// stored position is before it, and this reader must not be used afterwards.
    pub(crate) fn end(&mut self, found: &mut Vec<FoundMessage>) {
        if self.read == self.settled.bytes() {
            return;
        }
        let agent = self.agent.clone();
        let line_end = Bytes::from_static(b"\n");
        self.reader.feed(line_end, |line| found.extend(message(line, agent.as_deref())));
    }

    fn open(&self, most: u64) -> Result<File, TranscriptUnreadable> {
        // Opening a FIFO would wait for its writer, and reading from a device might never end.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(&self.path);
        let file = opened.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                TranscriptUnreadable::Gone(self.path.clone())
            }
            _ => self.io(source),
        })?;
        let meta = file.metadata().map_err(|source| self.io(source))?;
        if !meta.is_file() {
            return Err(TranscriptUnreadable::NotAFile(self.path.clone()));
        }
        if meta.len() > most {
            let path = self.path.clone();
            return Err(TranscriptUnreadable::TooLarge { path, most, actual: meta.len() });
        }
        Ok(file)
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
            *self = Self::new(&self.path.clone(), self.agent.take());
            self.identity = identity;
        }
        Ok(())
    }

    /// Returns the number of bytes at the beginning of the file whose messages are stored: all bytes before the stored
    /// position, or zero if any of them has changed.
    fn stored(&self, file: &mut File, mark: &TranscriptPosition) -> io::Result<u64> {
        if mark.bytes == 0 || file.metadata()?.len() < mark.bytes {
            return Ok(0);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file.by_ref().take(mark.bytes))?;
        let is_same = hasher.finalize().to_hex().as_str() == mark.hash;
        Ok(if is_same { mark.bytes } else { 0 })
    }

    fn feed(&mut self, chunk: Bytes, found: &mut Vec<FoundMessage>) {
        // The first line that ends in this chunk begins where the last complete one ended.
        let mut at = self.settled.bytes();
        self.settled.take(&chunk);
        self.read += chunk.len() as u64;
        self.ending.extend_from_slice(&chunk[chunk.len().saturating_sub(ENDING)..]);
        self.ending.drain(..self.ending.len().saturating_sub(ENDING));
        let (agent, skip) = (self.agent.clone(), self.skip);
        self.reader.feed(chunk, |line| {
            at += (line.head.len() + line.raw().len() + line.tail.len()) as u64;
            if at > skip {
                found.extend(message(line, agent.as_deref()));
            }
        });
    }

    fn io(&self, source: io::Error) -> TranscriptUnreadable {
        TranscriptUnreadable::Io { path: self.path.clone(), source }
    }
}

fn message(line: SessionLine, agent: Option<&str>) -> Option<FoundMessage> {
    let LineKind::Message(line) = line.kind else { return None };
    let agent = match (agent, line.thread) {
        (Some(agent), _) => Some(agent.to_owned()),
        (None, Thread::Sidechain(key)) => Some(key.as_str().to_owned()),
        (None, Thread::Main) => None,
    };
    Some(FoundMessage { agent, message: line.message })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use std::io::Write;

    use super::*;

    const MOST: u64 = 64 << 20;

    struct Grown {
        dir: tempfile::TempDir,
    }

    impl Grown {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("t.jsonl")
        }

        fn write(&self, bytes: &str) {
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).open(self.path()).unwrap();
            file.write_all(bytes.as_bytes()).unwrap();
        }
    }

    fn line(id: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    }

    fn read(tail: &mut Tail, mark: &TranscriptPosition) -> Vec<String> {
        let mut ids = Vec::new();
        loop {
            let stretch = tail.read_on(mark, MOST).unwrap();
            ids.extend(stretch.found.iter().map(|found| found.message.id.to_string()));
            if !stretch.more {
                return ids;
            }
        }
    }

    fn mark(tail: &Tail) -> TranscriptPosition {
        let (bytes, hash) = tail.settled();
        TranscriptPosition { bytes, hash, ..TranscriptPosition::default() }
    }

    #[test]
    fn it_is_read_from_where_it_was_left_however_it_was_written() {
        let file = Grown::new();
        let mut tail = Tail::new(&file.path(), None);
        let text = line("a", "ä") + &line("b", "x") + &line("c", "y");
        let mut ids = Vec::new();
        for piece in text.as_bytes().chunks(7) {
            let mut grown = OpenOptions::new().create(true).append(true).open(file.path()).unwrap();
            grown.write_all(piece).unwrap();
            ids.extend(read(&mut tail, &TranscriptPosition::default()));
        }
        assert_eq!(ids, ["a", "b", "c"]);
        assert_eq!(tail.settled().0, text.len() as u64);
        assert_eq!(tail.settled().1, blake3::hash(text.as_bytes()).to_hex().to_string());
    }

    #[test]
    fn a_later_reader_goes_on_behind_the_mark() {
        let file = Grown::new();
        file.write(&(line("a", "x") + &line("b", "x") + "{\"type\":\"us"));
        let mut tail = Tail::new(&file.path(), None);
        assert_eq!(read(&mut tail, &TranscriptPosition::default()), ["a", "b"]);
        let mark = mark(&tail);
        file.write("er\"}\n");
        file.write(&line("c", "x"));
        let mut later = Tail::new(&file.path(), None);
        assert_eq!(read(&mut later, &mark), ["c"]);
        assert!(later.reader().knows("a"));
    }

    #[test]
    fn a_file_that_begins_otherwise_is_read_again() {
        let check = |change: &dyn Fn(&Grown), expect: &[&str]| {
            for is_hot in [true, false] {
                let file = Grown::new();
                file.write(&(line("a", "x") + &line("b", "x")));
                let mut tail = Tail::new(&file.path(), None);
                read(&mut tail, &TranscriptPosition::default());
                let mark = mark(&tail);
                change(&file);
                let mut tail = if is_hot { tail } else { Tail::new(&file.path(), None) };
                assert_eq!(read(&mut tail, &mark), expect, "loaded: {is_hot}");
            }
        };
        let put = |file: &Grown, text: &str| std::fs::write(file.path(), text).unwrap();
        check(&|_| {}, &[]);
        check(&|file| file.write(&line("c", "x")), &["c"]);
        check(&|file| put(file, &line("c", "x")), &["c"]);
        check(
            &|file| put(file, &(line("a", "x") + &line("d", "x") + &line("e", "x"))),
            &["a", "d", "e"],
        );
        check(
            &|file| {
                // Another file in its place that begins with the same lines.
                let text = std::fs::read_to_string(file.path()).unwrap() + &line("c", "x");
                let other = file.dir.path().join("other");
                std::fs::write(&other, text).unwrap();
                std::fs::rename(other, file.path()).unwrap();
            },
            &["c"],
        );
    }

    #[test]
    fn a_long_file_is_read_in_stretches() {
        let file = Grown::new();
        let long = "x".repeat(1 << 20);
        for n in 0..10 {
            file.write(&line(&format!("m{n}"), &long));
        }
        let mut tail = Tail::new(&file.path(), None);
        let first = tail.read_on(&TranscriptPosition::default(), MOST).unwrap();
        assert!(first.more && first.found.len() == 3, "{}", first.found.len());
        assert_eq!(read(&mut tail, &TranscriptPosition::default()).len(), 7);
        let mark = mark(&tail);
        assert!(read(&mut Tail::new(&file.path(), None), &mark).is_empty());
    }

    #[test]
    fn what_is_no_file_is_refused_without_reading_it() {
        let file = Grown::new();
        let refused = |path: &Path, most| {
            Tail::new(path, None).read_on(&TranscriptPosition::default(), most).unwrap_err()
        };
        assert!(matches!(refused(&file.path(), MOST), TranscriptUnreadable::Gone(_)));
        assert!(matches!(refused(Path::new("/dev/zero"), MOST), TranscriptUnreadable::NotAFile(_)));
        assert!(matches!(refused(file.dir.path(), MOST), TranscriptUnreadable::NotAFile(_)));
        file.write("0123456789");
        assert!(matches!(
            refused(&file.path(), 9),
            TranscriptUnreadable::TooLarge { most: 9, actual: 10, .. }
        ));
    }
}
