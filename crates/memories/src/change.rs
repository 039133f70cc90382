//! Changes one file: stores the versions before and after the change, and reports a conflict with another writer.

use std::sync::Arc;

use bethink_api as api;
use bethink_api::MemoryAuthor;
use bethink_memdir_fs::{Conflict, DirectoryFile, FileContent, MemoryRoot, WriteOutcome};
use bethink_service::{Result, ServiceError, blocking};
use bethink_store::{MemoryVersionFilter, NewMemoryVersion, VersionRecord};
use bethink_transcript::UnixMicros;
use bytes::Bytes;

use crate::directory::MemoryDirectory;
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::refused::refused;
use crate::service::MemoryService;

/// Maximum number of attempts to write a file that others keep changing.
pub(super) const TRIES: usize = 8;

impl MemoryService {
    /// Writes a file. A write that may replace any content is tried up to [`TRIES`] times; any other write is tried
    /// once.
    pub(super) async fn change(
        &self,
        directory: &Arc<MemoryDirectory>,
        write: &MemoryWrite,
    ) -> Result<WriteOutcome> {
        for _ in 1..TRIES {
            match self.try_change(directory, write).await? {
                WriteOutcome::Conflict(_) if write.expected == Expected::Anything => {}
                tried => return Ok(tried),
            }
        }
        self.try_change(directory, write).await
    }

    pub(super) async fn try_change(
        &self,
        directory: &Arc<MemoryDirectory>,
        write: &MemoryWrite,
    ) -> Result<WriteOutcome> {
        let current = directory.read_file(&write.file).await?;
        // The write expects the text that was read, because that text is stored first.
        let expected = match write.expected {
            Expected::Anything => Expected::from(current.as_ref().map(|current| current.hash)),
            expected => expected,
        };
        if let Some(before) = current.filter(|current| expected == Expected::Hash(current.hash)) {
            self.keep_found(directory, &write.file, &before, "existed before bethink changed it")
                .await?;
        }
        let text = write.text.clone().map(String::into_bytes);
        let tried = self.put(directory, &write.file, text, expected).await?;
        if let WriteOutcome::Conflict(conflict) = &tried {
            for content in &conflict.displaced {
                let note = "was overwritten by someone else";
                self.keep_found(directory, &write.file, content, note).await?;
            }
        }
        // The version has the file's time, which shows later whether someone else saved the file.
        let (hash, at) = match tried {
            WriteOutcome::Done { hash, stat, .. } => (hash.to_string(), stat.modified),
            WriteOutcome::Removed { .. } => (String::new(), self.cx.now()),
            _ => return Ok(tried),
        };
        let content = write.text.as_ref().map(|text| Bytes::copy_from_slice(text.as_bytes()));
        let author = write.author.clone();
        let kept = self.keep_version(directory, &write.file, hash, content, author, at).await;
        if kept.is_err() {
            self.take_back(directory, &write.file, &tried).await;
        }
        directory.touched(&write.file);
        kept.map(|()| tried)
    }

    /// Gives a file this content, or removes it, if it has the expected content.
    async fn put(
        &self,
        directory: &Arc<MemoryDirectory>,
        file: &DirectoryFile,
        content: Option<Vec<u8>>,
        expected: Expected,
    ) -> Result<WriteOutcome> {
        let (held, file) = (Arc::clone(directory), file.clone());
        let (tried, unsettled) = blocking(move || {
            let Some(root) = held.root(content.is_some())? else {
                return Ok((Ok(WriteOutcome::Absent), 0));
            };
            let tried = act(&root, &file, content.as_deref(), expected);
            Ok((tried, root.unsettled()))
        })
        .await?;
        if unsettled > 0 {
            self.settle_later(directory);
        }
        tried
    }

    /// Undoes a change whose version could not be stored, because whoever asked for it is told that it failed, and asks again. A file
    /// that another program has changed meanwhile stays as it is.
    async fn take_back(
        &self,
        directory: &Arc<MemoryDirectory>,
        file: &DirectoryFile,
        done: &WriteOutcome,
    ) {
        let (now, before) = match done {
            WriteOutcome::Done { hash, before, .. } => (Some(*hash), before.clone()),
            WriteOutcome::Removed { before } => (None, Some(before.clone())),
            WriteOutcome::Same { .. } | WriteOutcome::Absent | WriteOutcome::Conflict(_) => return,
        };
        let before = before.map(|content| content.bytes);
        let undone = self.put(directory, file, before, now.into()).await;
        if let Err(error) = undone {
            tracing::warn!(%error, dir = %directory.dir.display(), %file, "could not undo a change whose version was not stored");
        }
    }

    /// Stores a file's content as a version, unless the newest version has the same content.
    pub(super) async fn keep_found(
        &self,
        directory: &MemoryDirectory,
        file: &DirectoryFile,
        content: &FileContent,
        note: &str,
    ) -> Result<()> {
        let hash = content.hash.to_string();
        let newest = self.newest_version(directory, &file.path(), None).await?;
        if newest.is_some_and(|version| version.hash == hash) {
            return Ok(());
        }
        let author = Author { by: MemoryAuthor::Found, session: None, note: note.to_owned() };
        let content = Some(Bytes::copy_from_slice(&content.bytes));
        self.keep_version(directory, file, hash, content, author, self.cx.now()).await
    }

    /// Returns the newest version of a file, or the newest version that is older than `before`.
    pub(super) async fn newest_version(
        &self,
        directory: &MemoryDirectory,
        path: &str,
        before: Option<i64>,
    ) -> Result<Option<VersionRecord>> {
        let file = Some(path.to_owned());
        let filter = MemoryVersionFilter { file, before, ..directory.versions(1) };
        Ok(self.cx.store().memory_versions(filter).await?.into_iter().next())
    }

    async fn keep_version(
        &self,
        directory: &MemoryDirectory,
        file: &DirectoryFile,
        hash: String,
        content: Option<Bytes>,
        Author { by, session, note }: Author,
        at: UnixMicros,
    ) -> Result<()> {
        let (directory, file, author) = (directory.key.clone(), file.path(), by);
        let version =
            NewMemoryVersion { directory, file, hash, content, author, session, note, at };
        Ok(self.cx.store().add_memory_versions(vec![version]).await?)
    }
}

fn act(
    root: &MemoryRoot,
    file: &DirectoryFile,
    content: Option<&[u8]>,
    expected: Expected,
) -> Result<WriteOutcome> {
    let done = match (content, expected) {
        (Some(content), expected) => root.replace(file, expected, content),
        (None, Expected::Hash(expected)) => root.remove(file, expected),
        (None, Expected::Absent | Expected::Anything) => Ok(WriteOutcome::Absent),
    };
    done.map_err(refused)
}

/// Returns the error for a write that conflicts with another write. The error contains both versions.
pub(super) fn lost(write: &MemoryWrite, conflict: Conflict) -> ServiceError {
    let what = match &conflict.current {
        _ if write.expected == Expected::Absent => "already exists",
        None => "was deleted after it was read",
        Some(_) => "was changed after it was read",
    };
    let detail = format!("{} {what}; nothing was changed", write.file);
    let both = api::BothVersions {
        etag: conflict.current.as_ref().map(|content| content.hash.to_string()),
        current: conflict
            .current
            .map(|content| String::from_utf8_lossy(&content.bytes).into_owned()),
        yours: write.text.clone(),
    };
    ServiceError {
        versions: Some(Box::new(both)),
        ..ServiceError::conflict(detail)
            .hint("combine both versions, and write again with the new ETag")
    }
}
