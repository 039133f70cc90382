//! Adds and removes a topic's line in MEMORY.md when the topic is created or removed.

use std::sync::Arc;

use bethink_memdir::{Name, header, index};
use bethink_memdir_fs::{DirectoryFile, WriteOutcome};
use bethink_service::{Result, ServiceError};

use crate::change::TRIES;
use crate::directory::MemoryDirectory;
use crate::memory_write::MemoryWrite;
use crate::service::MemoryService;

impl MemoryService {
    /// Adds or removes a topic's line. Returns a warning if that fails, because the topic itself has been written.
    pub(super) async fn index_line(
        &self,
        directory: &Arc<MemoryDirectory>,
        name: &Name,
        write: &MemoryWrite,
    ) -> Option<String> {
        match self.try_index_line(directory, name, write).await {
            Ok(()) => None,
            Err(error) => Some(format!("could not update MEMORY.md: {}", error.detail)),
        }
    }

    async fn try_index_line(
        &self,
        directory: &Arc<MemoryDirectory>,
        name: &Name,
        write: &MemoryWrite,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let current = directory.read_file(&DirectoryFile::Index).await?;
            let text = match &current {
                None => String::new(),
                Some(content) => String::from_utf8(content.bytes.clone())
                    .map_err(|_| ServiceError::conflict("it is not UTF-8"))?,
            };
            let changed = match &write.text {
                Some(topic) => with_line(&text, name, topic),
                None => index::remove(&text, name),
            };
            if changed == text {
                return Ok(());
            }
            let (file, text) = (DirectoryFile::Index, Some(changed));
            let expected = current.map(|content| content.hash).into();
            let line = MemoryWrite { file, text, expected, ..write.clone() };
            if !matches!(self.try_change(directory, &line).await?, WriteOutcome::Conflict(_)) {
                return Ok(());
            }
        }
        Err(ServiceError::conflict("it is being changed at the same time"))
    }
}

/// Returns the index with a line for the topic, added if it has none.
fn with_line(index: &str, name: &Name, text: &str) -> String {
    let topic = header::read(text);
    index::add(index, name, &name.titled(&topic.header), &topic.header.described(topic.body))
}
