//! What is in commits: their trees, and what the blobs hold.

use std::collections::BTreeSet;

use crate::error::GitError;
use crate::oid::Oid;
use crate::repo::Repo;

/// One file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// As bytes that are text; a name that is none is left out.
    pub path: String,
    /// `100644`, `100755`; `120000` is a symlink, `160000` a submodule.
    pub mode: String,
    pub oid: Oid,
    /// Bytes; 0 for what is no blob.
    pub size: u64,
}

impl Entry {
    /// A file, and not a link to one.
    pub fn is_file(&self) -> bool {
        matches!(self.mode.as_str(), "100644" | "100755")
    }
}

impl Repo {
    /// Every file of a commit.
    pub async fn tree(&self, commit: &Oid) -> Result<Vec<Entry>, GitError> {
        let doing = "list the files of a commit";
        let said = self
            .git
            .succeed(
                self.call(doing, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit.as_str()]),
            )
            .await?;
        let records = said.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        Ok(records.filter_map(entry).collect())
    }

    /// What blobs hold, in the order asked for; `None` for what is larger than `most` bytes.
    pub async fn blobs(&self, oids: &[Oid], most: u64) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let doing = "read files of a commit";
        let sizes = self.sizes(oids).await?;
        let fits: Vec<bool> = sizes.iter().map(|size| *size <= most).collect();
        let wanted: Vec<&Oid> =
            oids.iter().zip(&fits).filter(|(_, fits)| **fits).map(|(oid, _)| oid).collect();
        let call = self.call(doing, ["cat-file", "--batch"]).input(lines(wanted.iter().copied()));
        let said = self.git.succeed(call).await?;
        let mut rest = said.as_slice();
        let mut out = Vec::with_capacity(oids.len());
        for fits in fits {
            out.push(if fits {
                Some(next_blob(&mut rest).ok_or_else(|| GitError::odd(doing))?)
            } else {
                None
            });
        }
        Ok(out)
    }

    async fn sizes(&self, oids: &[Oid]) -> Result<Vec<u64>, GitError> {
        let doing = "look at files of a commit";
        let call = self.call(doing, ["cat-file", "--batch-check=%(objecttype) %(objectsize)"]);
        let said = self.git.succeed(call.input(lines(oids))).await?;
        let said = String::from_utf8_lossy(&said);
        let sizes: Option<Vec<u64>> =
            said.lines().map(|line| line.strip_prefix("blob ")?.trim().parse().ok()).collect();
        sizes.filter(|sizes| sizes.len() == oids.len()).ok_or_else(|| GitError::odd(doing))
    }

    /// Every path and blob that commits brought which `known` does not have: also what a later commit took
    /// away again. At most `most` commits are looked at.
    pub async fn brought(
        &self,
        tip: &Oid,
        known: Option<&Oid>,
        most: usize,
    ) -> Result<Option<Vec<(Oid, Entry)>>, GitError> {
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

    /// Oldest first.
    async fn commits(
        &self,
        tip: &Oid,
        known: Option<&Oid>,
        most: usize,
    ) -> Result<Vec<Oid>, GitError> {
        let doing = "list commits";
        let mut args = vec!["rev-list".to_owned(), format!("--max-count={most}"), tip.to_string()];
        args.extend(known.map(|known| format!("^{known}")));
        let said = self.git.succeed(self.call(doing, args)).await?;
        let said = String::from_utf8_lossy(&said);
        let commits: Result<Vec<Oid>, _> = said.lines().rev().map(str::parse).collect();
        commits.map_err(|_| GitError::odd(doing))
    }

    /// Whether all that `old` has is in `new`.
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
        let doing = "find where histories part";
        let call = self.call(doing, ["merge-base", one.as_str(), other.as_str()]);
        let output = self.git.run(call).await?;
        match output.status.code() {
            Some(0) => {
                let said = String::from_utf8_lossy(&output.said);
                said.trim().parse().map(Some).map_err(|_| GitError::odd(doing))
            }
            Some(1) => Ok(None),
            _ => Err(GitError::failed(doing, &output.messages)),
        }
    }

    /// Who made a commit, in clean characters.
    pub async fn author(&self, commit: &Oid) -> Result<String, GitError> {
        let args = ["show", "--no-patch", "--no-show-signature", "--format=%an", commit.as_str()];
        let said = self.git.succeed(self.call("read a commit", args)).await?;
        let said = String::from_utf8_lossy(&said);
        Ok(said.trim().chars().filter(|c| !c.is_control()).take(80).collect())
    }
}

/// `100644 blob <oid> <size>\t<path>`.
fn entry(record: &[u8]) -> Option<Entry> {
    let record = std::str::from_utf8(record).ok()?;
    let (head, path) = record.split_once('\t')?;
    let mut parts = head.split_ascii_whitespace();
    let (mode, _, oid, size) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(Entry {
        path: path.to_owned(),
        mode: mode.to_owned(),
        oid: oid.parse().ok()?,
        size: size.parse().unwrap_or(0),
    })
}

/// `<oid> blob <size>\n<bytes>\n`.
fn next_blob(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&rest[..end]).ok()?;
    let size: usize = head.rsplit(' ').next()?.parse().ok()?;
    let bytes = rest.get(end + 1..end + 1 + size)?.to_vec();
    *rest = rest.get(end + size + 2..)?;
    Some(bytes)
}

fn lines<'a>(oids: impl IntoIterator<Item = &'a Oid>) -> Vec<u8> {
    let text: String = oids.into_iter().map(|oid| format!("{oid}\n")).collect();
    text.into_bytes()
}
