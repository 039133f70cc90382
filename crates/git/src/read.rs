//! Reads commits with their trees and blobs.

use std::collections::BTreeSet;

use crate::error::GitError;
use crate::oid::Oid;
use crate::repo::Repo;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The entry's path. Entries whose path is not UTF-8 are left out.
    pub path: String,
    /// `100644` or `100755` for a file, `120000` for a symlink, `160000` for a submodule.
    pub mode: String,
    pub oid: Oid,
    /// Size in bytes; 0 if the entry is not a blob.
    pub size: u64,
}

/// The last change to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedChange {
    pub commit: Oid,
    /// The author's name, without control characters.
    pub author: String,
}

impl TreeEntry {
    /// Returns whether the entry is a regular file.
    pub fn is_file(&self) -> bool {
        matches!(self.mode.as_str(), "100644" | "100755")
    }
}

impl Repo {
    /// Returns all entries of a commit's tree that are not directories.
    pub async fn tree(&self, commit: &Oid) -> Result<Vec<TreeEntry>, GitError> {
        let doing = "list the files in a commit";
        let args = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit.as_str()];
        let said = self.git.succeed(self.call(doing, args)).await?;
        let records = said.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        Ok(records.filter_map(entry).collect())
    }

    /// Returns the contents of blobs, in the given order; `None` for a blob larger than `most` bytes.
    pub async fn blobs(&self, oids: &[Oid], most: u64) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let doing = "read committed files";
        let sizes = self.sizes(oids).await?;
        let wanted = oids.iter().zip(&sizes).filter(|(_, size)| **size <= most);
        let mut call = self.call(doing, ["cat-file", "--batch"]);
        call.input = lines(wanted.map(|(oid, _)| oid));
        let said = self.git.succeed(call).await?;
        let mut rest = said.as_slice();
        let blob = |size: u64| match size <= most {
            true => next_blob(&mut rest).map(Some).ok_or_else(|| GitError::unknown_format(doing)),
            false => Ok(None),
        };
        sizes.into_iter().map(blob).collect()
    }

    async fn sizes(&self, oids: &[Oid]) -> Result<Vec<u64>, GitError> {
        let doing = "read the sizes of committed files";
        let mut call = self.call(doing, ["cat-file", "--batch-check=%(objecttype) %(objectsize)"]);
        call.input = lines(oids);
        let said = self.git.text(call).await?;
        let sizes: Option<Vec<u64>> =
            said.lines().map(|line| line.strip_prefix("blob ")?.trim().parse().ok()).collect();
        sizes
            .filter(|sizes| sizes.len() == oids.len())
            .ok_or_else(|| GitError::unknown_format(doing))
    }

    /// Returns every path and blob in the commits that are not in the history of `known`, including those that a later
    /// commit removed. Returns `None` if there are more than `most` such commits.
    pub async fn brought(
        &self,
        tip: &Oid,
        known: Option<&Oid>,
        most: usize,
    ) -> Result<Option<Vec<(Oid, TreeEntry)>>, GitError> {
        let commits = self.commits(tip, known, most + 1).await?;
        if commits.len() > most {
            return Ok(None);
        }
        let mut seen: BTreeSet<(String, Oid)> = match known {
            Some(known) => self.tree(known).await?.into_iter().map(|e| (e.path, e.oid)).collect(),
            None => BTreeSet::new(),
        };
        let mut out = Vec::new();
        for commit in commits {
            for entry in self.tree(&commit).await? {
                if seen.insert((entry.path.clone(), entry.oid.clone())) {
                    out.push((commit.clone(), entry));
                }
            }
        }
        Ok(Some(out))
    }

    /// Lists commits, oldest first.
    async fn commits(
        &self,
        tip: &Oid,
        known: Option<&Oid>,
        most: usize,
    ) -> Result<Vec<Oid>, GitError> {
        let doing = "list commits";
        let mut args = vec!["rev-list".to_owned(), format!("--max-count={most}"), tip.to_string()];
        args.extend(known.map(|known| format!("^{known}")));
        let said = self.git.text(self.call(doing, args)).await?;
        let commits = said.lines().rev().map(str::parse);
        commits.collect::<Result<_, _>>().map_err(|_| GitError::unknown_format(doing))
    }

    /// Returns whether `old` is an ancestor of `new`.
    pub async fn is_ancestor(&self, old: &Oid, new: &Oid) -> Result<bool, GitError> {
        let doing = "compare commits";
        let call = self.call(doing, ["merge-base", "--is-ancestor", old.as_str(), new.as_str()]);
        let output = self.git.run(call).await?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(GitError::failed(doing, &output.messages)),
        }
    }

    pub async fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, GitError> {
        let doing = "find the common ancestor of two histories";
        let call = self.call(doing, ["merge-base", one.as_str(), other.as_str()]);
        let output = self.git.run(call).await?;
        match output.status.code() {
            Some(0) => output.oid(doing),
            Some(1) => Ok(None),
            _ => Err(GitError::failed(doing, &output.messages)),
        }
    }

    /// Returns the last change to a file up to a commit; `None` if no commit contains the file.
    pub async fn last_change(
        &self,
        commit: &Oid,
        path: &str,
    ) -> Result<Option<CommittedChange>, GitError> {
        let doing = "read the history of a file";
        let head = ["log", "--max-count=1", "--no-show-signature", "--format=%H %an"];
        let args = head.into_iter().chain([commit.as_str(), "--", path]);
        let said = self.git.text(self.call(doing, args)).await?;
        let Some((commit, author)) = said.trim().split_once(' ') else { return Ok(None) };
        let commit = commit.parse().map_err(|_| GitError::unknown_format(doing))?;
        let author = author.chars().filter(|c| !c.is_control()).take(80).collect();
        Ok(Some(CommittedChange { commit, author }))
    }
}

/// Parses `100644 blob <oid> <size>\t<path>`.
fn entry(record: &[u8]) -> Option<TreeEntry> {
    let record = std::str::from_utf8(record).ok()?;
    let (head, path) = record.split_once('\t')?;
    let mut parts = head.split_ascii_whitespace();
    let (mode, _, oid, size) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(TreeEntry {
        path: path.to_owned(),
        mode: mode.to_owned(),
        oid: oid.parse().ok()?,
        size: size.parse().unwrap_or(0),
    })
}

/// Parses `<oid> blob <size>\n<bytes>\n`.
fn next_blob(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&rest[..end]).ok()?;
    let size: usize = head.rsplit(' ').next()?.parse().ok()?;
    let bytes = rest.get(end + 1..end + 1 + size)?.to_vec();
    *rest = rest.get(end + size + 2..)?;
    Some(bytes)
}

fn lines<'a>(oids: impl IntoIterator<Item = &'a Oid>) -> Vec<u8> {
    oids.into_iter().map(|oid| format!("{oid}\n")).collect::<String>().into_bytes()
}
