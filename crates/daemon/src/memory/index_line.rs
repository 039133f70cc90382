//! The line of a topic in MEMORY.md, which comes and goes with the topic.

use std::sync::Arc;

use bethink_memdir::{Name, header, index};
use bethink_memdir_fs::File;

use super::change::{TRIES, Tried};
use super::{MemoryWish, MemoryWrite, Shelf};
use crate::{Daemon, Kind, Refusal, Result};

impl Daemon {
    /// Adds the line of a new topic, or takes that of a removed one away. That the topic is written is not
    /// undone by an index that can't be.
    pub(super) async fn index_line(
        &self,
        shelf: &Arc<Shelf>,
        name: &Name,
        write: &MemoryWrite,
    ) -> Option<String> {
        match self.try_index_line(shelf, name, write).await {
            Ok(()) => None,
            Err(refusal) => Some(format!("MEMORY.md was not changed: {}", refusal.detail)),
        }
    }

    async fn try_index_line(
        &self,
        shelf: &Arc<Shelf>,
        name: &Name,
        write: &MemoryWrite,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let current = shelf.read_file(&File::Index).await?;
            let text = match &current {
                None => String::new(),
                Some(content) => String::from_utf8(content.bytes.clone())
                    .map_err(|_| Refusal::new(Kind::Conflict, "it is not UTF-8"))?,
            };
            let changed = match &write.text {
                Some(topic) => with_line(&text, name, topic),
                None => index::remove(&text, name),
            };
            if changed == text {
                return Ok(());
            }
            let line = MemoryWrite {
                scope: write.scope,
                file: File::Index,
                text: Some(changed),
                wish: current.map_or(MemoryWish::Absent, |content| MemoryWish::Hash(content.hash)),
                author: write.author.clone(),
            };
            if !matches!(self.try_change(shelf, &line).await?, Tried::Lost(_)) {
                return Ok(());
            }
        }
        Err(Refusal::new(Kind::Conflict, "others keep changing it"))
    }
}

/// The index with a line of the topic, unless it has one.
fn with_line(index: &str, name: &Name, text: &str) -> String {
    let topic = header::read(text);
    index::add(index, name, &name.titled(&topic.header), &topic.header.described(topic.body))
}
