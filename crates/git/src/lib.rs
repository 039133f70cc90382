//! Runs the `git` binary so that a hostile repository cannot execute anything and a silent remote cannot block.
//!
//! This crate starts git ([`run`]), interprets its failures ([`error`]), and provides the few operations that a shared
//! directory needs. Git never reads or writes the files that people see: it reads objects and receives content, so a
//! repository's checkout, filters, attributes and symlinks have no effect. Settings come from the person's configuration and
//! from this crate, never from the repository: a [`Repo`] is opened through a directory that belongs to bethink, so that only
//! the repository's objects and refs are used. Overriding each setting that can run a program would not be enough, because new
//! releases of git add such settings.
//!
//! Reading order: [`oid`] → [`error`] → [`run`] → [`repo`] → [`read`] → [`write`] → [`remote`] → [`checkout`]; [`name`].

pub mod checkout;
pub mod error;
pub mod name;
pub mod oid;
pub mod read;
pub mod remote;
pub mod repo;
pub mod run;
pub mod write;

#[cfg(test)]
mod tests;

pub use checkout::Checkout;
pub use error::{GitError, GitTrouble};
pub use name::repository_name;
pub use oid::{NotAnOid, Oid};
pub use read::{CommittedChange, TreeEntry};
pub use remote::{BadRemote, PushOutcome, Remote};
pub use repo::Repo;
pub use run::{Git, GitLimits};
pub use write::{Commit, Person, TreeChange};
