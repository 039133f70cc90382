//! Lists and restores earlier versions of a topic.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::Scope;
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Result, ServiceError, rfc3339};
use bethink_store::{MemoryVersionFilter, NewMemoryVersion};

use crate::directory::MemoryDirectory;
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::read::{MemoryText, file_of, no_file};
use crate::service::MemoryService;

/// Maximum number of versions per page.
const PAGE: usize = 200;

impl MemoryService {
    /// Lists the versions of a topic, newest first. If `before` is given, only older versions are listed.
    pub async fn memory_history(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
        limit: Option<usize>,
        before: Option<i64>,
    ) -> Result<api::MemoryHistory> {
        let project = self.project(project_dir).await?;
        let (directory, file) = (project.directory(scope), file_of(name)?);
        let current = directory.read_file(&file).await?.map(|content| content.hash.to_string());
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let path = Some(file.path());
        let filter = MemoryVersionFilter { before, file: path, ..directory.versions(limit) };
        let found = self.cx.store().memory_versions(filter).await?;
        if found.is_empty() && current.is_none() && before.is_none() {
            return Err(no_file(directory, &file));
        }
        let newest_current =
            found.iter().find(|v| Some(&v.hash) == current.as_ref()).map(|v| v.number);
        let versions = found
            .into_iter()
            .map(|v| api::MemoryVersion {
                version: v.number,
                at: rfc3339(v.at),
                author: v.author,
                session: v.session.map(|session| session.0),
                note: v.note,
                bytes: v.bytes,
                etag: v.hash,
                current: Some(v.number) == newest_current,
            })
            .collect();
        Ok(api::MemoryHistory { versions })
    }

    pub async fn memory_version(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
        version: i64,
    ) -> Result<MemoryText> {
        let project = self.project(project_dir).await?;
        let (directory, file) = (project.directory(scope), file_of(name)?);
        let stored = self.version(directory, &file, version).await?;
        match text_of(&stored)? {
            Some(text) => Ok(MemoryText { text, etag: stored.hash }),
            None => Err(ServiceError::not_found(format!(
                "version {version} removed {file}, so it has no text"
            ))),
        }
    }

    /// Restores a version: by default, the newest version that differs from the file. The current text becomes a
    /// version too.
    pub async fn restore_memory(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
        version: Option<i64>,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(project_dir).await?;
        let file = file_of(name)?;
        let directory = project.directory(scope);
        let version = match version {
            Some(version) => version,
            None => self.version_before(directory, &file).await?,
        };
        let stored = self.version(directory, &file, version).await?;
        let note = format!("version {version}");
        let author = Author { by: api::MemoryAuthor::Restore, session: None, note };
        let (text, expected) = (text_of(&stored)?, Expected::Anything);
        let write = MemoryWrite { scope, file, text, expected, author };
        self.write_memory(&project, write).await
    }

    async fn version(
        &self,
        directory: &MemoryDirectory,
        file: &DirectoryFile,
        version: i64,
    ) -> Result<NewMemoryVersion> {
        let (key, path) = (directory.key.clone(), file.path());
        let stored = self.cx.store().memory_content(key, path, version).await?;
        stored.ok_or_else(|| {
            let detail = format!("there is no version {version} of {file}");
            ServiceError::not_found(detail).hint("`bethink memory history NAME` lists the versions")
        })
    }

    async fn version_before(
        &self,
        directory: &Arc<MemoryDirectory>,
        file: &DirectoryFile,
    ) -> Result<i64> {
        let current = directory.read_file(file).await?;
        let current = current.map_or_else(String::new, |content| content.hash.to_string());
        let filter = MemoryVersionFilter { file: Some(file.path()), ..directory.versions(PAGE) };
        let found = self.cx.store().memory_versions(filter).await?;
        let before = found.iter().find(|v| v.hash != current && v.bytes.is_some());
        before.map(|v| v.number).ok_or_else(|| {
            let (detail, hint) = match current.is_empty() && found.is_empty() {
                true => (
                    format!("there is neither the file {file} nor an earlier version of it"),
                    "`bethink memory ls` lists the topics",
                ),
                false => (
                    format!("{file} has no earlier version with a different text"),
                    "`bethink memory history NAME` lists the versions",
                ),
            };
            ServiceError::not_found(detail).hint(hint)
        })
    }
}

fn text_of(version: &NewMemoryVersion) -> Result<Option<String>> {
    let Some(content) = &version.content else { return Ok(None) };
    String::from_utf8(content.to_vec())
        .map(Some)
        .map_err(|_| ServiceError::conflict("the version is not UTF-8 text"))
}
