//! Makes commits from contents, without a working tree.

use std::io::Write as _;

use crate::error::GitError;
use crate::oid::Oid;
use crate::repo::Repo;

/// The author of a commit if git has no user configured.
const NOBODY: (&str, &str) = ("bethink", "bethink@localhost");
/// The ref of a new commit, until a branch points to it.
const MADE: &str = "refs/bethink/made";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChange {
    Write(Vec<u8>),
    /// Uses the file's blob from another commit.
    Take {
        oid: Oid,
        mode: String,
    },
    Remove,
}

/// A new commit. Its tree is that of the first parent, with `changes` applied.
#[derive(Clone, Debug)]
pub struct Commit {
    pub parents: Vec<Oid>,
    pub changes: Vec<(String, TreeChange)>,
    pub message: String,
    pub person: Person,
    /// The commit's time, in seconds since 1970.
    pub at: i64,
}

impl Repo {
    /// Returns the author's identity from the settings of the repository or the person, or a default.
    pub async fn person(&self) -> Result<Person, GitError> {
        let name = self.setting("user.name").await?.unwrap_or_else(|| NOBODY.0.to_owned());
        let email = self.setting("user.email").await?.unwrap_or_else(|| NOBODY.1.to_owned());
        let plain = |text: &str| -> String {
            text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(100).collect()
        };
        Ok(Person { name: plain(&name), email: plain(&email) })
    }

    /// Returns a setting of the repository, or else of the person's git configuration.
    async fn setting(&self, name: &str) -> Result<Option<String>, GitError> {
        if let Some(own) = self.own_setting(name).await? {
            return Ok(Some(own));
        }
        let call = self.call("read a setting", ["config", "--get", name]);
        Ok(self.git.run(call).await?.value())
    }

    /// Writes a commit's objects. Does not move any branch.
    pub async fn commit(&self, commit: &Commit) -> Result<Oid, GitError> {
        let doing = "make a commit";
        let mut call = self.call(doing, ["fast-import", "--quiet", "--force", "--date-format=raw"]);
        call.input = stream(commit);
        self.git.succeed(call).await?;
        self.tip(MADE).await?.ok_or_else(|| GitError::unknown_format(doing))
    }

    /// Moves a ref by compare-and-swap. If `from` is `None`, the ref must not exist.
    pub async fn set_ref(&self, name: &str, to: &Oid, from: Option<&Oid>) -> Result<(), GitError> {
        let zero = "0".repeat(to.as_str().len());
        let from = from.map_or(zero.as_str(), Oid::as_str);
        let args = ["update-ref", name, to.as_str(), from];
        self.git.succeed(self.call("move a branch", args)).await.map(drop)
    }

    /// Updates the index, so that a person's `git status` compares against this commit.
    pub async fn reset_index(&self, commit: &Oid) -> Result<(), GitError> {
        let mut call = self.call("write git's index", ["read-tree", commit.as_str()]);
        call.env.push(("GIT_INDEX_FILE", self.own.join("index").into()));
        self.git.succeed(call).await.map(drop)
    }
}

/// Formats a commit for `git fast-import`. Lengths precede contents, so content cannot be read as a command.
fn stream(commit: &Commit) -> Vec<u8> {
    let mut out = Vec::new();
    let person = format!("{} <{}> {} +0000", commit.person.name, commit.person.email, commit.at);
    let _ = writeln!(out, "commit {MADE}\nauthor {person}\ncommitter {person}");
    data(&mut out, commit.message.as_bytes());
    for (index, parent) in commit.parents.iter().enumerate() {
        let _ = writeln!(out, "{} {parent}", if index == 0 { "from" } else { "merge" });
    }
    for (path, change) in &commit.changes {
        let path = quoted(path);
        let _ = match change {
            TreeChange::Write(_) => writeln!(out, "M 100644 inline {path}"),
            TreeChange::Take { oid, mode } => writeln!(out, "M {mode} {oid} {path}"),
            TreeChange::Remove => writeln!(out, "D {path}"),
        };
        if let TreeChange::Write(bytes) = change {
            data(&mut out, bytes);
        }
    }
    out.extend_from_slice(b"\ndone\n");
    out
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    let _ = writeln!(out, "data {}", bytes.len());
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

/// Formats a path as a C string, the stream's format for arbitrary paths.
fn quoted(path: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", path.bytes().map(byte).collect::<String>())
}
