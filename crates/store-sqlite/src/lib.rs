//! Sessions in one SQLite file: the [`bethink_store::Store`] port through sqlx.
//!
//! Owns the file with its schema, the one connection that writes, the few that read, what happens to
//! a file that is damaged, newer or on a full disk. Leaves to others what the rows mean.
//!
//! An answer means fsynced. One task owns the connection that writes; it takes what waits and commits it
//! together, so that concurrent appends share an fsync. Readers use connections of their own, which WAL mode
//! never makes wait.
//!
//! Reading order: `open`, `sql`, `store`, `writer`, `append`; then one file for each group of tables.

mod append;
mod calls;
mod check;
mod collapses;
mod compactions;
mod connect;
mod decisions;
mod error;
mod files;
mod gateway;
mod hooks;
mod import;
mod index;
mod jobs;
mod leaves;
mod memory;
mod messages;
mod notes;
mod open;
mod opened;
mod options;
mod postings;
mod probe;
mod receipts;
mod recover;
mod salvage;
mod search;
mod segments;
mod sessions;
mod sql;
mod store;
mod team;
mod tidy;
mod writer;

pub use opened::{Damage, OpenError, OpenReport, RecoveredTable};
pub use options::Options;
pub use store::SqliteStore;
