use std::future::ready;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::StoreFuture;

/// The memory files that all homes of a database have. By default, a store has none, because only one home uses it.
///
/// A directory and its files are named as the daemons of all homes name them. Other daemons learn of changes by
/// [`PeerNews::Memory`](crate::PeerNews::Memory).
pub trait SyncedMemoryStore {
    /// Stores the name that a project has on all machines, if this machine knows it. Returns the stored name, which may be from another
    /// machine.
    fn record_project_name(
        &self,
        _project: String,
        _known: Option<String>,
    ) -> StoreFuture<'_, Option<String>> {
        Box::pin(ready(Ok(None)))
    }
    /// Returns the projects that have the same name as this one, which is among them if it has one.
    fn clones_of(&self, _project: String) -> StoreFuture<'_, Vec<String>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    fn synced_directory(&self, _directory: String) -> StoreFuture<'_, SyncedDirectory> {
        Box::pin(ready(Ok(SyncedDirectory::default())))
    }
    /// Returns those of the files that exist.
    fn synced_files(
        &self,
        _directory: String,
        _files: Vec<String>,
    ) -> StoreFuture<'_, Vec<SyncedFile>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    /// Makes all changes in one transaction. Returns `None` and changes nothing if one of the files does not have the expected
    /// content.
    fn change_synced_files(
        &self,
        _directory: String,
        _changes: Vec<SyncedChange>,
    ) -> StoreFuture<'_, Option<DirectoryRevision>> {
        Box::pin(ready(Ok(None)))
    }
}

/// The files of a directory, without their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncedDirectory {
    /// `None` if nothing was ever written to the directory.
    pub version: Option<DirectoryRevision>,
    /// Names and hashes, sorted by name.
    pub files: Vec<(String, String)>,
}

/// Identifies one state of one synced directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryRevision {
    /// A directory of the same name in another database has another id.
    pub id: Uuid,
    /// Grows with each change.
    pub revision: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedFile {
    pub file: String,
    pub content: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedChange {
    pub file: String,
    /// Hash of the content that the file must have; `None` if it must not exist.
    pub expected: Option<String>,
    /// The new content and its hash; `None` to remove the file.
    pub new: Option<(Bytes, String)>,
}
