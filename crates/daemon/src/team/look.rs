//! Reads the three sides: what is here, what the remote has, and what both come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_git::{Entry, Oid, Repo};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::File;
use bethink_store::Kept;

use super::plan::Side;
use super::refused;
use crate::memory::{MAX_MEMORY_BYTES, Project};
use crate::{Daemon, Kind, Refusal, Result};

/// The space in which it is kept from what a file here was last made one, where that is not what the
/// histories say: key is the file, the value a blob, or nothing where there was none.
const BASES: &str = "team_base";

/// A commit's memory files, and the others, which are carried along unread.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Side,
    pub(super) blobs: BTreeMap<File, Oid>,
    pub(super) others: BTreeMap<String, Entry>,
    /// Those that have the name of a memory and are none, and why.
    pub(super) withheld: BTreeMap<File, &'static str>,
}

/// What is here, with the hashes to compare with when it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Here {
    pub(super) files: Side,
    pub(super) hashes: BTreeMap<File, Hash>,
    /// Files that could not be read, and why: they take no part.
    pub(super) unread: BTreeMap<File, String>,
}

/// Of a commit; nothing where there is none. Links, submodules, names that are no topics' and what is too
/// large are others.
pub(super) async fn tree(repo: &Repo, commit: Option<&Oid>) -> Result<Tree> {
    let Some(commit) = commit else { return Ok(Tree::default()) };
    let entries = repo.tree(commit).await.map_err(|error| refused(&error))?;
    let mut tree = Tree::default();
    let mut folded = BTreeSet::new();
    for entry in entries {
        match File::parse(&entry.path).ok().filter(|file| file.path() == entry.path) {
            None => drop(tree.others.insert(entry.path.clone(), entry)),
            Some(file) => match unusable(&entry, folded.insert(fold(&file))) {
                None => drop(tree.blobs.insert(file, entry.oid)),
                Some(why) => {
                    tree.withheld.insert(file, why);
                    tree.others.insert(entry.path.clone(), entry);
                }
            },
        }
    }
    let oids: Vec<Oid> = tree.blobs.values().cloned().collect();
    let blobs = repo.blobs(&oids, MAX_MEMORY_BYTES).await.map_err(|error| refused(&error))?;
    let files = tree.blobs.keys().cloned().zip(blobs);
    tree.files = files.filter_map(|(file, bytes)| Some((file, bytes?.into()))).collect();
    Ok(tree)
}

fn unusable(entry: &Entry, first: bool) -> Option<&'static str> {
    match () {
        () if !entry.is_file() => Some("it is a link, and no file"),
        () if entry.size > MAX_MEMORY_BYTES => Some("it is larger than a memory may be"),
        () if !first => Some("another file's name differs from its name in case alone"),
        () => None,
    }
}

/// Two names of which some file system makes one: only the first is taken.
fn fold(file: &File) -> String {
    match file {
        File::Index => String::new(),
        File::Topic(name) => name.folded(),
    }
}

impl Daemon {
    pub(super) async fn team_here(&self, project: &Project) -> Result<Here> {
        let shelf = project.shelf(Scope::Team);
        shelf.doubt();
        let snapshot = shelf.snapshot(self).await?;
        if let Some(fault) = &snapshot.fault {
            // What can't be looked at must not be taken for removed.
            return Err(Refusal::new(Kind::Conflict, fault.clone())
                .hint("`bethink doctor` tells what is wrong with the team directory"));
        }
        let topics = snapshot.topics.keys().cloned().map(File::Topic);
        let mut here = Here::default();
        for strange in &snapshot.strange {
            if let Ok(file) = File::parse(&strange.path) {
                here.unread.insert(file, strange.why.to_string());
            }
        }
        for file in topics.chain(snapshot.index.iter().map(|_| File::Index)) {
            match shelf.read_file(&file).await {
                Ok(Some(content)) => {
                    here.hashes.insert(file.clone(), content.hash);
                    here.files.insert(file, Arc::from(content.bytes));
                }
                Ok(None) => {}
                Err(refusal) => drop(here.unread.insert(file, refusal.detail)),
            }
        }
        Ok(here)
    }

    /// What both come from: a commit, but for the files that were left out when it was made.
    pub(super) async fn team_base(
        &self,
        project: &Project,
        repo: &Repo,
        commit: Option<&Oid>,
    ) -> Result<Tree> {
        let mut base = tree(repo, commit).await?;
        for kept in self.store().kept(BASES.to_owned(), project.key.clone()).await? {
            let Ok(file) = File::parse(&kept.key) else { continue };
            base.files.remove(&file);
            base.blobs.remove(&file);
            let Ok(oid) = kept.value.parse::<Oid>() else { continue };
            // A blob that is gone was in a history that is gone: then nothing is common.
            let blob = repo.blobs(std::slice::from_ref(&oid), MAX_MEMORY_BYTES).await;
            if let Some(Some(bytes)) = blob.ok().and_then(|mut blobs| blobs.pop()) {
                base.files.insert(file.clone(), bytes.into());
                base.blobs.insert(file, oid);
            }
        }
        Ok(base)
    }

    /// Files that were left out keep what they come from; all others come from the new commit.
    pub(super) async fn keep_bases(
        &self,
        project: &Project,
        base: &Tree,
        left_out: &BTreeSet<File>,
    ) -> Result<()> {
        let owner = project.key.clone();
        for kept in self.store().kept(BASES.to_owned(), owner.clone()).await? {
            if !left_out.iter().any(|file| file.path() == kept.key) {
                self.store().forget_kept(BASES.to_owned(), owner.clone(), kept.key).await?;
            }
        }
        for file in left_out {
            let value = base.blobs.get(file).map(ToString::to_string).unwrap_or_default();
            let kept = Kept {
                space: BASES.to_owned(),
                owner: owner.clone(),
                key: file.path(),
                value,
                at: self.now(),
            };
            self.store().keep(kept).await?;
        }
        Ok(())
    }
}
