//! The `git` binary, called so that a hostile repository runs nothing and a silent remote ends.
//!
//! Owns: how git is started ([`run`]), what its failures mean ([`error`]), and the few things that a shared
//! directory needs of it. Git never reads or writes the files that people see: it is asked for objects and
//! handed contents, so that no checkout, filter, attribute or symlink of a repository has a say. Its
//! settings come from the person's own configuration and from here, and never from the repository's: a
//! [`Repo`] is opened through a directory of ours, in which only objects and refs are the repository's own.
//!
//! The road not taken: overriding each setting that can run a program, a list that grows with every
//! release of git.
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
