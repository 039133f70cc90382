//! Undoes the last dream, except in files that have changed since then.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::LastDream;

use super::run::dream_key;
use crate::directory::MemoryDirectory;
use crate::memory_write::{Author, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of versions in a directory that are searched for those that its last dream wrote.
const VERSIONS: usize = 5_000;

impl MemoryService {
    pub(super) async fn undo_dream(
        &self,
        project: &MemoryProject,
        scope: Scope,
        result: &mut api::DreamResult,
    ) -> Result<()> {
        let key = dream_key(project, scope);
        let last = self.last_dream(&key).await?;
        let directory = project.directory(scope);
        let nothing = || ServiceError::not_found("this memory has no dream to undo");
        let id = last.id.clone().ok_or_else(nothing)?;
        let files = self.dreamt_files(directory, &id).await?;
        if files.is_empty() {
            return Err(nothing());
        }
        // The index is last, because each restored topic changes its line.
        let (index, topics): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(path, _)| *path == DirectoryFile::Index.path());
        for (file, oldest) in topics.into_iter().chain(index) {
            match self.undo_file(project, directory, &file, oldest, &id).await? {
                None => result.applied.push(file),
                Some(why) => result.left_alone.push(api::DreamLeft { file, why }),
            }
        }
        let last = LastDream { at: Some(self.cx.now()), id: None };
        self.put_last_dream(&key, last).await
    }

    /// Returns the files that the dream changed, each with the number of the first version that the dream wrote.
    async fn dreamt_files(
        &self,
        directory: &MemoryDirectory,
        id: &str,
    ) -> Result<BTreeMap<String, i64>> {
        let versions = self.cx.store().memory_versions(directory.versions(VERSIONS)).await?;
        let dreamt = versions.into_iter().filter(|version| version.note == id);
        Ok(dreamt.map(|version| (version.file, version.number)).collect())
    }

    /// Undoes what the dream changed in one file. If the file was left alone, returns the reason.
    async fn undo_file(
        &self,
        project: &MemoryProject,
        directory: &Arc<MemoryDirectory>,
        path: &str,
        oldest: i64,
        id: &str,
    ) -> Result<Option<String>> {
        let file = DirectoryFile::parse(path).map_err(ServiceError::internal)?;
        let note = format!("before {id}");
        let newest = self.newest_version(directory, path, None).await?;
        let ours = newest.filter(|version| version.note == id || version.note == note);
        let Some(newest) = ours else {
            return Ok(Some("it was edited after the dream".to_owned()));
        };
        let text = self.memory_text_before(directory, path, oldest).await?;
        let expected = newest.hash.parse::<Hash>().ok().into();
        let author = Author { by: api::MemoryAuthor::Restore, session: None, note };
        let write = MemoryWrite { scope: directory.scope, file, text, expected, author };
        match self.write_memory(project, write).await {
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind, ErrorKind::Conflict | ErrorKind::ReadOnly) => {
                Ok(Some(error.detail))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the file's text before a version, or `None` if there was no file.
    async fn memory_text_before(
        &self,
        directory: &MemoryDirectory,
        path: &str,
        number: i64,
    ) -> Result<Option<String>> {
        let Some(before) = self.newest_version(directory, path, Some(number)).await? else {
            return Ok(None);
        };
        let (directory, file) = (before.directory, before.file);
        let version = self.cx.store().memory_content(directory, file, before.number).await?;
        let content = version.and_then(|version| version.content);
        let text = content.map(|content| String::from_utf8(content.into()));
        text.transpose().map_err(ServiceError::internal)
    }
}
