//! Runs the `git` binary so that a hostile repository cannot execute anything and a silent remote cannot block.
//!
//! Owns how git is started ([`run`]), what its failures mean ([`error`]), and the few operations that a shared
//! directory needs. Git never reads or writes the files that people see: it reads objects and is given content,
//! so a repository's checkout, filters, attributes and symlinks have no effect. Its settings come from the
//! person's configuration and from here, never from the repository's: a [`Repo`] is opened through a directory
//! of ours, in which only objects and refs are the repository's own.
//!
//! Rejected alternative: overriding each setting that can run a program, a list that grows with every release of git.
//!
//! Reading order: [`oid`] → [`error`] → [`run`] → [`repo`] → [`read`] → [`write`] → [`remote`].

pub mod error;
pub mod oid;
pub mod read;
pub mod remote;
pub mod repo;
pub mod run;
pub mod write;

#[cfg(test)]
mod tests;

pub use error::{GitError, GitTrouble};
pub use oid::{NotAnOid, Oid};
pub use read::TreeEntry;
pub use remote::{BadRemote, Pushed, Remote};
pub use repo::Repo;
pub use run::{Git, GitLimits};
pub use write::{Commit, Person, TreeChange};
