//! Writes files for a sync, if they still have the text that was read.

use bethink_api::MemoryAuthor;
use bethink_memdir::{Expected, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{ErrorKind, ServiceError};

use crate::directory::MemoryDirectory;
use crate::memory_write::{Author, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// A file as a sync wants it to be.
#[derive(Clone, Copy, Debug)]
pub struct IncomingChange<'a> {
    pub scope: Scope,
    pub file: &'a DirectoryFile,
    /// `None` if it was removed.
    pub content: Option<&'a [u8]>,
    pub expected: Expected,
    /// Where it comes from, for the file's history.
    pub note: &'a str,
}

/// Why a file was not written.
#[derive(Debug)]
pub enum WriteRefusal {
    /// The file has changed since it was read.
    Changed,
    /// The file cannot be a memory here, for this reason.
    Refused(String),
    /// An error that concerns all files.
    Failed(ServiceError),
}

impl MemoryService {
    /// Returns whether the last recorded change of a file is that bethink removed it.
    pub async fn has_removed(
        &self,
        directory: &MemoryDirectory,
        file: &DirectoryFile,
    ) -> Result<bool, ServiceError> {
        let newest = self.newest_version(directory, &file.path(), None).await?;
        Ok(newest.is_some_and(|version| version.bytes.is_none()))
    }

    pub async fn write_incoming(
        &self,
        project: &MemoryProject,
        IncomingChange { scope, file, content, expected, note }: IncomingChange<'_>,
    ) -> Result<(), WriteRefusal> {
        let text = content.map(|bytes| String::from_utf8(bytes.to_vec())).transpose();
        let text = text.map_err(|_| WriteRefusal::Refused("it is not UTF-8".to_owned()))?;
        let author = Author { by: MemoryAuthor::Sync, session: None, note: note.to_owned() };
        let write = MemoryWrite { scope, file: file.clone(), text, expected, author };
        match self.write_memory(project, write).await {
            Ok(_) => Ok(()),
            // The outcome has both versions only if another write conflicted.
            Err(error) if error.versions.is_some() => Err(WriteRefusal::Changed),
            Err(error) => Err(match error.kind {
                ErrorKind::ShuttingDown | ErrorKind::StorageDamaged | ErrorKind::Internal => {
                    WriteRefusal::Failed(error)
                }
                kind if kind.is_of_the_disk() => WriteRefusal::Failed(error),
                _ => WriteRefusal::Refused(error.detail),
            }),
        }
    }
}
