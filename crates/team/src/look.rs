//! Reads the three sides of a merge: ours, the remote's, and their common base.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_git::{Oid, Repo, TreeEntry};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::{MAX_MEMORY_BYTES, MemoryProject};
use bethink_service::{Result, ServiceError};
use bethink_store::TeamBase;

use crate::errors::git_error;
use crate::service::TeamService;
use bethink_memdir::merge::FileSet;

/// A commit's memory files, and its other files, which are not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct TeamTree {
    pub(crate) files: FileSet,
    pub(crate) blobs: BTreeMap<DirectoryFile, Oid>,
    pub(crate) others: BTreeMap<String, TreeEntry>,
    /// Files that are named like a memory but cannot be one, and the reason.
    pub(crate) withheld: BTreeMap<DirectoryFile, &'static str>,
}

/// The local files, with the hashes that writes expect.
#[derive(Clone, Debug, Default)]
pub(crate) struct TeamFiles {
    pub(crate) files: FileSet,
    pub(crate) hashes: BTreeMap<DirectoryFile, Hash>,
    /// Files that could not be read, and the reason. They are not synced.
    pub(crate) unread: BTreeMap<DirectoryFile, String>,
}

/// Reads the tree of a commit; without a commit, the tree is empty. Links, submodules, files with invalid topic names
/// and files that are too large are not memories.
pub(crate) async fn tree(repo: &Repo, commit: Option<&Oid>) -> Result<TeamTree> {
    let Some(commit) = commit else { return Ok(TeamTree::default()) };
    let entries = repo.tree(commit).await.map_err(git_error)?;
    let mut tree = TeamTree::default();
    let mut folded = BTreeSet::new();
    for entry in entries {
        if let Ok(file) = DirectoryFile::parse(&entry.path)
            && file.path() == entry.path
        {
            // If two names are the same on some file systems, only the first is used.
            let Some(why) =
                unusable(&entry, folded.insert(bethink_memdir::name::fold(&entry.path)))
            else {
                tree.blobs.insert(file, entry.oid);
                continue;
            };
            tree.withheld.insert(file, why);
        }
        tree.others.insert(entry.path.clone(), entry);
    }
    let oids: Vec<Oid> = tree.blobs.values().cloned().collect();
    let blobs = repo.blobs(&oids, MAX_MEMORY_BYTES).await.map_err(git_error)?;
    let files = tree.blobs.keys().cloned().zip(blobs);
    tree.files = files.filter_map(|(file, bytes)| Some((file, bytes?.into()))).collect();
    Ok(tree)
}

impl TeamTree {
    /// Returns the git object of a file, even if the file cannot be a memory.
    pub(crate) fn oid(&self, file: &DirectoryFile) -> Option<&Oid> {
        self.blobs.get(file).or_else(|| Some(&self.others.get(&file.path())?.oid))
    }
}

fn unusable(entry: &TreeEntry, first: bool) -> Option<&'static str> {
    match () {
        () if !entry.is_file() => Some("it is a link or a submodule, not a file"),
        () if entry.size > MAX_MEMORY_BYTES => Some("it exceeds the maximum size of a memory"),
        () if !first => Some("on some systems, its name is the same as that of another file"),
        () => None,
    }
}

impl TeamService {
    pub(crate) async fn team_here(&self, project: &MemoryProject) -> Result<TeamFiles> {
        let directory = project.directory(Scope::Team);
        directory.doubt();
        let snapshot = self.memories.snapshot(directory).await?;
        if let Some(fault) = &snapshot.fault {
            // A directory that cannot be read must not be mistaken for an empty one.
            return Err(ServiceError::conflict(fault.clone())
                .hint("`bethink doctor` shows what is wrong with the team directory"));
        }
        let topics = snapshot.topics.keys().cloned().map(DirectoryFile::Topic);
        let mut here = TeamFiles::default();
        for strange in &snapshot.strange {
            if let Ok(file) = DirectoryFile::parse(&strange.path) {
                here.unread.insert(file, strange.why.to_string());
            }
        }
        for file in [DirectoryFile::Index, DirectoryFile::Rejections].into_iter().chain(topics) {
            match directory.read_file(&file).await {
                Ok(Some(content)) => {
                    here.hashes.insert(file.clone(), content.hash);
                    here.files.insert(file, Arc::from(content.bytes));
                }
                Ok(None) => {}
                Err(error) => drop(here.unread.insert(file, error.detail)),
            }
        }
        Ok(here)
    }

    /// Reads the common base: the last commit that was synced, except for files that were left out then.
    pub(crate) async fn team_base(
        &self,
        project: &MemoryProject,
        repo: &Repo,
        commit: Option<&Oid>,
    ) -> Result<TeamTree> {
        let mut base = tree(repo, commit).await?;
        for kept in self.cx.store().team_bases(project.key.clone()).await? {
            let Ok(file) = DirectoryFile::parse(&kept.file) else { continue };
            base.files.remove(&file);
            base.blobs.remove(&file);
            let Some(oid) = kept.blob.and_then(|blob| blob.parse::<Oid>().ok()) else { continue };
            // If a blob is missing, it was part of a history that was rewritten. Then the file has no common base.
            let blob = repo.blobs(std::slice::from_ref(&oid), MAX_MEMORY_BYTES).await;
            if let Some(Some(bytes)) = blob.ok().and_then(|mut blobs| blobs.pop()) {
                base.files.insert(file.clone(), bytes.into());
                base.blobs.insert(file, oid);
            }
        }
        Ok(base)
    }

    /// Stores the bases: files that were left out keep their base, and all others get the new commit as theirs.
    pub(crate) async fn keep_bases(
        &self,
        project: &MemoryProject,
        base: &TeamTree,
        left_out: &BTreeSet<DirectoryFile>,
    ) -> Result<()> {
        let base_of = |file: &DirectoryFile| TeamBase {
            file: file.path(),
            blob: base.blobs.get(file).map(ToString::to_string),
        };
        let bases = left_out.iter().map(base_of).collect();
        Ok(self.cx.store().put_team_bases(project.key.clone(), bases).await?)
    }
}
