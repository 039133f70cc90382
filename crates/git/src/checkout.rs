//! What a working tree has checked out, read from its files without running git, and which commits it does not contain.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::oid::Oid;
use crate::repo::{BRANCH, Repo, look_through};
use crate::run::Git;

/// Maximum size, in bytes, of a file that contains a single name or path. A branch's name has at most 250 bytes.
const MOST_POINTER: u64 = 8_192;
/// Maximum size of the `packed-refs` file, in bytes. This is enough for some 200,000 refs.
const MOST_PACKED: u64 = 16 << 20;
/// Maximum length of a branch's name, in bytes.
const MOST_NAME: usize = 250;
/// Maximum number of commits that are listed to find those that a history does not contain.
const MOST_COMMITS: usize = 200_000;

/// The commit, and the branch, that a working tree has checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// `None` if HEAD names a commit instead of a branch.
    pub branch: Option<String>,
    pub commit: Oid,
    /// The `.git` directory that all working trees of the repository share.
    common: PathBuf,
}

impl Checkout {
    /// Returns what is checked out in a directory, or in the nearest working tree above it. `None` if there is no
    /// working tree, if its HEAD cannot be read, or if it has no commit. Blocks.
    pub fn of(dir: &Path) -> Option<Self> {
        let own = dir.ancestors().find_map(own_directory)?;
        let common = match small_file(&own.join("commondir"), MOST_POINTER) {
            Some(path) => own.join(path.trim()),
            None => own.clone(),
        };
        let head = small_file(&own.join("HEAD"), MOST_POINTER)?;
        let head = head.trim_end();
        if let Ok(commit) = head.parse() {
            return Some(Self { branch: None, commit, common });
        }
        let branch = head.strip_prefix("ref: refs/heads/").filter(|name| is_branch(name))?;
        let commit = tip(&common, branch)?;
        Some(Self { branch: Some(branch.to_owned()), commit, common })
    }

    /// Whether the repository has a branch of this name. Blocks.
    pub fn has_branch(&self, name: &str) -> bool {
        is_branch(name) && tip(&self.common, name).is_some()
    }

    /// Whether older commits are missing, so that it is unknown what the history contains.
    pub fn is_shallow(&self) -> bool {
        fs::symlink_metadata(self.common.join("shallow")).is_ok()
    }
}

impl Git {
    /// Returns those of `commits` that are not in the history of the checked-out commit. Commits that the repository does not
    /// have are left out. `view` is a directory that belongs to bethink, as for [`Repo::open`].
    pub async fn not_contained(
        &self,
        checkout: &Checkout,
        view: &Path,
        commits: &[Oid],
    ) -> Result<HashSet<Oid>, GitError> {
        let doing = "find out which commits a branch contains";
        look_through(&checkout.common, view, BRANCH)
            .map_err(|source| GitError::Io { doing, source })?;
        let (own, branch) = (checkout.common.clone(), BRANCH.to_owned());
        let repo = Repo { git: self.clone(), own, view: view.to_owned(), branch };
        let mut args = vec![
            "rev-list".to_owned(),
            "--ignore-missing".to_owned(),
            format!("--max-count={MOST_COMMITS}"),
        ];
        args.extend(commits.iter().map(ToString::to_string));
        args.push(format!("^{}", checkout.commit));
        let said = self.text(repo.call(doing, args)).await?;
        let lacking: HashSet<&str> = said.lines().collect();
        Ok(commits.iter().filter(|commit| lacking.contains(commit.as_str())).cloned().collect())
    }
}

/// Returns the `.git` directory of a working tree, which may be linked to another one.
fn own_directory(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if fs::symlink_metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let pointer = small_file(&git, MOST_POINTER)?;
    Some(tree.join(pointer.trim().strip_prefix("gitdir:")?.trim_start()))
}

/// Returns the commit of a branch.
fn tip(common: &Path, branch: &str) -> Option<Oid> {
    let name = format!("refs/heads/{branch}");
    if let Some(loose) = small_file(&common.join(&name), MOST_POINTER) {
        return loose.trim().parse().ok();
    }
    let packed = small_file(&common.join("packed-refs"), MOST_PACKED)?;
    let mut refs = packed.lines().filter_map(|line| line.split_once(' '));
    refs.find(|(_, packed)| *packed == name)?.0.parse().ok()
}

/// Whether a text can be the name of a branch, and of a file below `refs/heads`.
fn is_branch(name: &str) -> bool {
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    name.len() <= MOST_NAME
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.contains(is_bad)
        && name.split('/').all(is_part)
}

/// Returns the text of a regular file up to this size.
fn small_file(path: &Path, most: u64) -> Option<String> {
    let kind = fs::symlink_metadata(path).ok()?;
    if !kind.is_file() || kind.len() > most {
        return None;
    }
    fs::read_to_string(path).ok()
}
