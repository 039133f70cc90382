//! What a home last had in common with the database, for each file of a directory. It is stored in the home, so that a home that
//! is restored from a back-up, together with this, does not take its old files for new ones.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bethink_config::Home;
use bethink_memdir::{DirectoryFile, Hash};
use bethink_service::{Result, ServiceError, blocking, private_file};
use bethink_store::{DirectoryRevision, SyncedDirectory};
use serde::{Deserialize, Serialize};

/// Hashes of the files of a directory.
pub(crate) type FileHashes = BTreeMap<DirectoryFile, Hash>;

/// Returns the file with the base of the directory that has this key.
pub(crate) fn base_path(home: &Home, key: &str) -> PathBuf {
    home.memory_sync().join(format!("{}.json", key.replace('/', ".")))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SyncBase {
    /// The directory's name on all machines.
    pub(crate) name: String,
    /// The newest known state of the database.
    pub(crate) version: Option<DirectoryRevision>,
    pub(crate) files: FileHashes,
    /// The text of the index, which is needed to merge two versions of it.
    pub(crate) index: Option<Arc<str>>,
}

/// A base in its file.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredBase {
    name: String,
    version: Option<DirectoryRevision>,
    files: BTreeMap<String, String>,
    index: Option<Arc<str>>,
}

impl SyncBase {
    /// Reads a base. One that is missing or damaged is empty: then files that differ are kept in both versions.
    pub(super) async fn read(path: PathBuf) -> Result<Self> {
        blocking(move || {
            private_file::remove_drafts(&path);
            match fs::read(&path) {
            Ok(json) => Ok(parsed(&json).unwrap_or_else(|| {
                tracing::warn!(path = %path.display(), "could not parse the base of a memory sync; both versions of files that differ will be kept");
                Self::default()
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(ServiceError::of_file(format_args!("could not read {}", path.display()), &error)),
            }
        })
        .await
    }

    /// Remembers the text of the index if it is the common one.
    pub(super) fn note_index(&mut self, text: &str, hash: Hash) {
        if self.files.get(&DirectoryFile::Index) == Some(&hash)
            && self.index.as_deref() != Some(text)
        {
            self.index = Some(text.into());
        }
    }

    pub(super) async fn write(&self, path: PathBuf) -> Result<()> {
        let files = self.files.iter().map(|(file, hash)| (file.path(), hash.to_string()));
        let stored = StoredBase {
            name: self.name.clone(),
            version: self.version,
            files: files.collect(),
            index: self.index.clone(),
        };
        let json = serde_json::to_vec(&stored).map_err(ServiceError::internal)?;
        blocking(move || {
            let dir = path.parent().map_or(Ok(()), fs::create_dir_all);
            let written = dir.and_then(|()| private_file::replace(&path, &json));
            written.map_err(|error| {
                ServiceError::of_file(format_args!("could not write {}", path.display()), &error)
            })
        })
        .await
    }

    /// Returns the base for a sync of the files `ours` with the directory `theirs` of this name.
    pub(super) fn for_sync(&self, name: &str, ours: &FileHashes, theirs: &SyncedDirectory) -> Self {
        // Another directory, or a database that was restored from a back-up and lacks the newest changes.
        let is_known = self.name == name
            && matches!((self.version, theirs.version), (Some(base), Some(there))
                if base.id == there.id && base.revision <= there.revision);
        let mut base = if is_known { self.clone() } else { Self::default() };
        // The directory was removed or replaced here. Topics are deleted one by one.
        if ours.is_empty() && base.files.len() > 1 {
            base.files.clear();
        }
        name.clone_into(&mut base.name);
        base.version = theirs.version;
        base
    }
}

/// Returns the hashes of the directory's files, except those whose names are not those of memories.
pub(super) fn hashes(directory: &SyncedDirectory) -> FileHashes {
    let parsed = directory
        .files
        .iter()
        .filter_map(|(file, hash)| Some((DirectoryFile::parse(file).ok()?, hash.parse().ok()?)));
    parsed.collect()
}

fn parsed(json: &[u8]) -> Option<SyncBase> {
    let StoredBase { name, version, files, index } = serde_json::from_slice(json).ok()?;
    let files = files
        .into_iter()
        .map(|(file, hash)| Some((DirectoryFile::parse(&file).ok()?, hash.parse().ok()?)));
    Some(SyncBase { name, version, files: files.collect::<Option<_>>()?, index })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn version(id: u128, revision: i64) -> Option<DirectoryRevision> {
        Some(DirectoryRevision { id: Uuid::from_u128(id), revision })
    }

    fn files(names: &[&str]) -> FileHashes {
        names.iter().map(|name| (DirectoryFile::parse(name).unwrap(), Hash::of(b"old"))).collect()
    }

    fn base() -> SyncBase {
        let (name, index) = ("mill/private".to_owned(), Some("- [fog](fog.md)\n".into()));
        SyncBase { name, version: version(1, 7), files: files(&["fog", "mist"]), index }
    }

    fn check(version: Option<DirectoryRevision>, name: &str, ours: &[&str], expect: &FileHashes) {
        let new = Hash::of(b"new").to_string();
        let theirs = SyncedDirectory { version, files: vec![("fog.md".to_owned(), new)] };
        let found = base().for_sync(name, &files(ours), &theirs);
        assert_eq!((&found.files, found.version, &*found.name), (expect, version, name));
    }

    #[test]
    fn a_base_belongs_to_one_directory_of_one_database() {
        let ours = ["fog"];
        check(version(1, 9), "mill/private", &ours, &base().files);
        for (version, name) in [
            (version(2, 9), "mill/private"),
            (version(1, 9), "github.com/ann/mill/private"),
            (None, "mill/private"),
        ] {
            check(version, name, &ours, &FileHashes::new());
        }
    }

    #[test]
    fn a_database_from_a_back_up_removes_nothing() {
        check(version(1, 6), "mill/private", &["fog"], &FileHashes::new());
    }

    #[test]
    fn files_that_are_gone_at_once_come_back() {
        check(version(1, 7), "mill/private", &[], &FileHashes::new());
    }

    #[tokio::test]
    async fn a_base_round_trips_and_a_damaged_one_is_empty() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("memory-sync/mill.json");
        assert_eq!(SyncBase::read(path.clone()).await.unwrap(), SyncBase::default());
        base().write(path.clone()).await.unwrap();
        assert_eq!(SyncBase::read(path.clone()).await.unwrap(), base());
        fs::write(&path, "{\"files\": {\"fog.md\": \"x\"}}").unwrap();
        assert_eq!(SyncBase::read(path).await.unwrap(), SyncBase::default());
    }
}
