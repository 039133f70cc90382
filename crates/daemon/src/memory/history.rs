//! What a topic held before, and putting it back.

use bethink_api as api;
use bethink_memdir_fs::File;
use bethink_store::{MemoryVersionFilter, NewMemoryVersion};

use super::read::{file_of, no_file, scope_of};
use super::{Author, MemoryFile, MemoryWish, MemoryWrite, Shelf};
use crate::clock::rfc3339;
use crate::{Daemon, Kind, Refusal, Result};

/// Versions that are listed unless fewer are asked for.
const PAGE: usize = 200;

impl Daemon {
    /// Newest first, from the version before `before` on.
    pub async fn memory_history(
        &self,
        project_dir: &str,
        scope: &str,
        name: &str,
        limit: Option<usize>,
        before: Option<i64>,
    ) -> Result<api::MemoryHistory> {
        let project = self.project(project_dir).await?;
        let (shelf, file) = (project.shelf(scope_of(scope)?), file_of(name)?);
        let current = shelf.read_file(&file).await?.map(|content| content.hash.to_string());
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let filter = MemoryVersionFilter { before, ..versions_of(shelf, &file, limit) };
        let found = self.store().memory_versions(filter).await?;
        if found.is_empty() && current.is_none() && before.is_none() {
            return Err(no_file(shelf, &file));
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

    /// The text of one version.
    pub async fn memory_version(
        &self,
        project_dir: &str,
        scope: &str,
        name: &str,
        version: i64,
    ) -> Result<MemoryFile> {
        let project = self.project(project_dir).await?;
        let (shelf, file) = (project.shelf(scope_of(scope)?), file_of(name)?);
        let kept = self.version(shelf, &file, version).await?;
        match text_of(&kept)? {
            Some(text) => Ok(MemoryFile { text, etag: kept.hash }),
            None => Err(Refusal::new(
                Kind::NotFound,
                format!("version {version} is the removal of {file}"),
            )),
        }
    }

    /// Puts a version back; the newest that differs from the file, unless one is named. What stands there now is
    /// kept as every other.
    pub async fn restore_memory(
        &self,
        project_dir: &str,
        scope: &str,
        name: &str,
        version: Option<i64>,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(project_dir).await?;
        let (scope, file) = (scope_of(scope)?, file_of(name)?);
        let shelf = project.shelf(scope);
        let version = match version {
            Some(version) => version,
            None => self.version_before(shelf, &file).await?,
        };
        let kept = self.version(shelf, &file, version).await?;
        let note = format!("version {version}");
        let write = MemoryWrite {
            scope,
            file,
            text: text_of(&kept)?,
            wish: MemoryWish::Anything,
            author: Author { by: "restore", session: None, note },
        };
        self.write_memory(&project, write).await
    }

    async fn version(&self, shelf: &Shelf, file: &File, version: i64) -> Result<NewMemoryVersion> {
        let kept = self.store().memory_content(version).await?;
        let of_this =
            |kept: &NewMemoryVersion| kept.directory == shelf.key && kept.file == file.path();
        kept.filter(of_this).ok_or_else(|| {
            let detail = format!("there is no version {version} of {file}");
            Refusal::new(Kind::NotFound, detail).hint("its history lists the versions")
        })
    }

    async fn version_before(&self, shelf: &std::sync::Arc<Shelf>, file: &File) -> Result<i64> {
        let current = shelf.read_file(file).await?;
        let current = current.map_or_else(String::new, |content| content.hash.to_string());
        let found = self.store().memory_versions(versions_of(shelf, file, PAGE)).await?;
        let before = found.iter().find(|v| v.hash != current && v.bytes.is_some());
        before.map(|v| v.number).ok_or_else(|| {
            let detail = format!("no version of {file} differs from what it holds now");
            Refusal::new(Kind::NotFound, detail)
        })
    }
}

fn versions_of(shelf: &Shelf, file: &File, limit: usize) -> MemoryVersionFilter {
    MemoryVersionFilter {
        directory: shelf.key.clone(),
        file: Some(file.path()),
        limit,
        ..MemoryVersionFilter::default()
    }
}

fn text_of(kept: &NewMemoryVersion) -> Result<Option<String>> {
    let Some(content) = &kept.content else { return Ok(None) };
    match std::str::from_utf8(content) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => {
            Err(Refusal::new(Kind::Conflict, "the version is not UTF-8; it is kept as it was"))
        }
    }
}
