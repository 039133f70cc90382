//! The last dream taken back, as far as nobody changed its files since.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::File;
use bethink_store::{MemoryVersion, MemoryVersionFilter};

use crate::memory::{Author, MemoryWish, MemoryWrite, Project, Shelf};
use crate::{Daemon, Kind, Refusal, Result};

/// Versions of a directory that are looked through for those of its last dream.
const VERSIONS: usize = 5_000;

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
        // The index last: each topic that comes back brings its line along.
        let is_index = |path: &&String| path.as_str() == File::Index.path();
        for path in files.keys().filter(|path| !is_index(path)).chain(files.keys().filter(is_index))
        {
            let oldest = files.get(path).copied().unwrap_or_default();
            match self.undo_file(project, shelf, path, oldest, &id).await? {
                None => result.applied.push(path.clone()),
                Some(why) => result.left_alone.push(api::DreamLeft { file: path.clone(), why }),
            }
        }
        state.id = None;
        state.last = Some(self.now().0);
        self.keep_dream_state(&project.key, &state).await
    }

    /// Files that the dream changed, each with the number of its first version by the dream.
    async fn dreamt_files(&self, shelf: &Shelf, id: &str) -> Result<BTreeMap<String, i64>> {
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            limit: VERSIONS,
            ..MemoryVersionFilter::default()
        };
        let mut files = BTreeMap::new();
        for version in self.store().memory_versions(filter).await? {
            if version.note == id {
                files.insert(version.file, version.number);
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
        oldest: i64,
        id: &str,
    ) -> Result<Option<String>> {
        let file = File::parse(path).map_err(Refusal::internal)?;
        let note = format!("before {id}");
        let newest = self.newest_version(shelf, path, None).await?;
        let ours = newest.filter(|version| version.note == id || version.note == note);
        let Some(newest) = ours else { return Ok(Some("it was changed since".to_owned())) };
        let text = self.memory_text_before(shelf, path, oldest).await?;
        let wish = newest.hash.parse::<Hash>().map_or(MemoryWish::Absent, MemoryWish::Hash);
        let author = Author { by: "restore", session: None, note };
        let write = MemoryWrite { scope: Scope::Private, file, text, wish, author };
        match self.write_memory(project, write).await {
            Ok(_) => Ok(None),
            Err(refusal) if matches!(refusal.kind, Kind::Conflict | Kind::ReadOnly) => {
                Ok(Some(refusal.detail))
            }
            Err(refusal) => Err(refusal),
        }
    }

    async fn newest_version(
        &self,
        shelf: &Shelf,
        path: &str,
        before: Option<i64>,
    ) -> Result<Option<MemoryVersion>> {
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            file: Some(path.to_owned()),
            before,
            limit: 1,
            ..MemoryVersionFilter::default()
        };
        Ok(self.store().memory_versions(filter).await?.into_iter().next())
    }

    /// What the file held before a version; `None`: there was no file.
    async fn memory_text_before(
        &self,
        shelf: &Shelf,
        path: &str,
        number: i64,
    ) -> Result<Option<String>> {
        let Some(before) = self.newest_version(shelf, path, Some(number)).await? else {
            return Ok(None);
        };
        let content = self.store().memory_content(before.number).await?;
        let bytes = content.and_then(|version| version.content);
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).map_err(Refusal::internal)).transpose()
    }
}
