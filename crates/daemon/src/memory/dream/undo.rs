//! The last dream taken back, as far as nobody changed its files since.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::File;
use bethink_store::{MemoryVersion, MemoryVersionFilter};

use crate::memory::{Author, MemoryWish, MemoryWrite, Project, Shelf};
use crate::{Daemon, Kind, Refusal, Result};

/// Versions of a directory that are looked through for those of its last dream, and of one file for what stood
/// there before.
const VERSIONS: usize = 5_000;
const VERSIONS_OF_A_FILE: usize = 500;

impl Daemon {
    pub(super) async fn undo_dream(
        &self,
        project: &Project,
        result: &mut api::DreamResult,
    ) -> Result<()> {
        let mut state = self.dream_state(&project.key).await?;
        let shelf = project.shelf(Scope::Private);
        let nothing = || {
            Refusal::new(Kind::NotFound, "no dream changed anything here that could be taken back")
        };
        let id = state.id.clone().ok_or_else(nothing)?;
        let files = self.dreamt_files(shelf, &id).await?;
        if files.is_empty() {
            return Err(nothing());
        }
        // The index first: where a topic comes back, its line is there already.
        for (path, versions) in files.iter().rev() {
            match self.undo_file(project, shelf, path, versions, &id).await? {
                None => result.applied.push(path.clone()),
                Some(why) => result.left_alone.push(api::DreamLeft { file: path.clone(), why }),
            }
        }
        state.id = None;
        state.last = Some(self.now().0);
        self.keep_dream_state(&project.key, &state).await
    }

    /// The versions that the dream made, newest first, by file; the index is the last.
    async fn dreamt_files(
        &self,
        shelf: &Shelf,
        id: &str,
    ) -> Result<BTreeMap<String, Vec<MemoryVersion>>> {
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            limit: VERSIONS,
            ..MemoryVersionFilter::default()
        };
        let mut files: BTreeMap<String, Vec<MemoryVersion>> = BTreeMap::new();
        for version in self.store().memory_versions(filter).await? {
            if version.author == "dream" && version.note == id {
                files.entry(version.file.clone()).or_default().push(version);
            }
        }
        Ok(files)
    }

    /// Why it was left, if it was.
    async fn undo_file(
        &self,
        project: &Project,
        shelf: &Arc<Shelf>,
        path: &str,
        made: &[MemoryVersion],
        id: &str,
    ) -> Result<Option<String>> {
        let (Some(newest), Some(oldest)) = (made.first(), made.last()) else { return Ok(None) };
        let file = File::parse(path).map_err(Refusal::internal)?;
        let text = self.memory_text_before(shelf, path, oldest.number).await?;
        let wish = match newest.hash.parse::<Hash>() {
            Ok(hash) => MemoryWish::Hash(hash),
            Err(_) => MemoryWish::Absent,
        };
        let author = Author { by: "restore", session: None, note: format!("before {id}") };
        let write = MemoryWrite { scope: Scope::Private, file, text, wish, author };
        match self.write_memory(project, write).await {
            Ok(_) => Ok(None),
            Err(refusal) if matches!(refusal.kind, Kind::Conflict | Kind::ReadOnly) => {
                Ok(Some(refusal.detail))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// What the file held before a version; `None`: there was no file.
    async fn memory_text_before(
        &self,
        shelf: &Shelf,
        path: &str,
        number: i64,
    ) -> Result<Option<String>> {
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            file: Some(path.to_owned()),
            before: Some(number),
            limit: VERSIONS_OF_A_FILE,
            ..MemoryVersionFilter::default()
        };
        let before = self.store().memory_versions(filter).await?.into_iter().next();
        let Some(before) = before else { return Ok(None) };
        let content = self.store().memory_content(before.number).await?;
        let bytes = content.and_then(|version| version.content);
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).map_err(Refusal::internal)).transpose()
    }
}
