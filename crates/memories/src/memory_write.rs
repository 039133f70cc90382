//! A change to a memory file: the new text, the expected old text, and the author.

use bethink_api::MemoryAuthor;
pub use bethink_memdir::Expected;
use bethink_memdir::{MemoryKind, Scope, header};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_transcript::SessionId;

/// Maximum size of a topic, in bytes. A recalled topic is cut to 4 KiB.
pub const MAX_MEMORY_BYTES: u64 = 1 << 20;

pub(crate) fn within_limit(file: &str, text: &str) -> Result<()> {
    let size = text.len() as u64;
    if size <= MAX_MEMORY_BYTES {
        return Ok(());
    }
    let detail = format!("{file} would be {size} bytes, which is too large");
    Err(ServiceError::new(ErrorKind::TooLarge, detail).bounded(MAX_MEMORY_BYTES, size))
}

#[derive(Clone, Debug)]
pub struct Author {
    pub by: MemoryAuthor,
    pub session: Option<SessionId>,
    pub note: String,
}

impl Author {
    pub(crate) fn person() -> Self {
        Self { by: MemoryAuthor::Person, session: None, note: String::new() }
    }

    /// Returns the author for a client's model that writes on its own initiative.
    pub(crate) fn agent(session: Option<SessionId>) -> Self {
        Self { by: MemoryAuthor::Agent, session, note: String::new() }
    }
}

#[derive(Clone, Debug)]
pub struct MemoryWrite {
    pub scope: Scope,
    pub file: DirectoryFile,
    /// `None` removes the file.
    pub text: Option<String>,
    pub expected: Expected,
    pub author: Author,
}

impl MemoryWrite {
    /// Returns the type in the front matter, if a topic is written.
    pub(crate) fn kind(&self) -> Option<MemoryKind> {
        let text = self.text.as_ref().filter(|_| matches!(self.file, DirectoryFile::Topic(_)))?;
        header::read(text).header.kind
    }
}
