//! One file changed: its versions kept before and after, and what a lost race says.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::Hash;
use bethink_memdir_fs::{Conflict, Content, Expected, File, MemoryRoot, Removed, Replaced};
use bethink_store::{MemoryVersionFilter, NewMemoryVersion};
use bytes::Bytes;

use super::refused::{blocking, refused};
use super::{MemoryWish, MemoryWrite, Shelf};
use crate::{Daemon, Kind, Refusal, Result};

/// Tries of a write that wants the last word over a file that others change at the same time.
pub(super) const TRIES: usize = 8;

/// What came of one try.
pub(super) enum Tried {
    Same(Hash),
    Written { hash: Hash, new: bool },
    Removed,
    Absent,
    Lost(Conflict),
}

impl Daemon {
    /// Tries until the wish is met or broken.
    pub(super) async fn change(&self, shelf: &Arc<Shelf>, write: &MemoryWrite) -> Result<Tried> {
        for _ in 1..TRIES {
            match self.try_change(shelf, write).await? {
                Tried::Lost(_) if write.wish == MemoryWish::Anything => {}
                tried => return Ok(tried),
            }
        }
        self.try_change(shelf, write).await
    }

    pub(super) async fn try_change(
        &self,
        shelf: &Arc<Shelf>,
        write: &MemoryWrite,
    ) -> Result<Tried> {
        let current = shelf.read_file(&write.file).await?;
        let expected = match (write.wish, &current) {
            (MemoryWish::Absent, _) | (MemoryWish::Anything, None) => None,
            (MemoryWish::Hash(hash), _) => Some(hash),
            (MemoryWish::Anything, Some(current)) => Some(current.hash),
        };
        let before = current.as_ref().filter(|current| Some(current.hash) == expected);
        if let Some(before) = before {
            self.keep_found(shelf, &write.file, before, "stood there before").await?;
        }
        let (held, file, text) = (Arc::clone(shelf), write.file.clone(), write.text.clone());
        let (tried, unsettled) = blocking(move || {
            let Some(root) = held.root(text.is_some())? else { return Ok((Ok(Tried::Absent), 0)) };
            let tried = act(&root, &file, text.as_deref(), expected);
            Ok((tried, root.unsettled()))
        })
        .await?;
        if unsettled > 0 {
            self.settle_later(shelf);
        }
        let tried = tried?;
        if let Tried::Lost(conflict) = &tried {
            for content in &conflict.displaced {
                self.keep_found(shelf, &write.file, content, "was overwritten by somebody else")
                    .await?;
            }
        }
        if matches!(tried, Tried::Written { .. } | Tried::Removed) {
            self.keep_written(shelf, write, &tried).await?;
            shelf.touched(&write.file);
        }
        Ok(tried)
    }

    /// A content that no version holds yet.
    pub(super) async fn keep_found(
        &self,
        shelf: &Shelf,
        file: &File,
        content: &Content,
        note: &str,
    ) -> Result<()> {
        let hash = content.hash.to_string();
        let newest = MemoryVersionFilter {
            directory: shelf.key.clone(),
            file: Some(file.path()),
            limit: 1,
            ..MemoryVersionFilter::default()
        };
        if self.store().memory_versions(newest).await?.first().is_some_and(|v| v.hash == hash) {
            return Ok(());
        }
        let version = NewMemoryVersion {
            directory: shelf.key.clone(),
            file: file.path(),
            hash,
            content: Some(Bytes::copy_from_slice(&content.bytes)),
            author: "found".to_owned(),
            session: None,
            note: note.to_owned(),
            at: self.now(),
        };
        Ok(self.store().add_memory_versions(vec![version]).await?)
    }

    async fn keep_written(&self, shelf: &Shelf, write: &MemoryWrite, tried: &Tried) -> Result<()> {
        let hash = match tried {
            Tried::Written { hash, .. } => hash.to_string(),
            _ => String::new(),
        };
        let version = NewMemoryVersion {
            directory: shelf.key.clone(),
            file: write.file.path(),
            hash,
            content: write.text.as_ref().map(|text| Bytes::copy_from_slice(text.as_bytes())),
            author: write.author.by.to_owned(),
            session: write.author.session,
            note: write.author.note.clone(),
            at: self.now(),
        };
        Ok(self.store().add_memory_versions(vec![version]).await?)
    }
}

fn act(
    root: &MemoryRoot,
    file: &File,
    text: Option<&str>,
    expected: Option<Hash>,
) -> Result<Tried> {
    let Some(text) = text else {
        let Some(expected) = expected else { return Ok(Tried::Absent) };
        return Ok(match root.remove(file, expected).map_err(|error| refused(&error))? {
            Removed::Absent => Tried::Absent,
            Removed::Done { .. } => Tried::Removed,
            Removed::Conflict(conflict) => Tried::Lost(conflict),
        });
    };
    let expected = expected.map_or(Expected::Absent, Expected::Hash);
    Ok(match root.replace(file, expected, text.as_bytes()).map_err(|error| refused(&error))? {
        Replaced::Same { hash, .. } => Tried::Same(hash),
        Replaced::Done { hash, before, .. } => Tried::Written { hash, new: before.is_none() },
        Replaced::Conflict(conflict) => Tried::Lost(conflict),
    })
}

/// A lost race, with both versions.
pub(super) fn lost(write: &MemoryWrite, conflict: Conflict) -> Refusal {
    let detail = match &conflict.current {
        None => format!("{} is gone since it was read; nothing was changed", write.file),
        Some(_) => {
            format!("{} holds something else than was read; nothing was changed", write.file)
        }
    };
    let both = api::BothVersions {
        etag: conflict.current.as_ref().map(|content| content.hash.to_string()),
        current: conflict
            .current
            .map(|content| String::from_utf8_lossy(&content.bytes).into_owned()),
        yours: write.text.clone(),
    };
    Refusal {
        versions: Some(Box::new(both)),
        ..Refusal::new(Kind::Conflict, detail)
            .hint("bring both versions together, and write with the new tag")
    }
}
