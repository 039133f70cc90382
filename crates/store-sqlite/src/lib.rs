//! Stores sessions in one SQLite file: the [`bethink_store::Store`] port, with sqlx.
//!
//! Owns the file with its schema, the one writing connection, the few reading connections, and the handling of a file
//! that is damaged, written by a newer version, or on a full disk. Other crates define what the rows mean.
//!
//! A write is answered after its fsync. One task owns the writing connection; it takes all waiting requests and
//! commits them together, so that concurrent appends share an fsync. Readers have their own connections, which
//! never wait in WAL mode.
//!
//! Reading order: `open`, `sql`, `store`, `writer`, `append`; then one file for each group of tables.

mod append;
mod background;
mod calls;
mod candidates;
mod check;
mod checksum;
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
mod inspect;
mod jobs;
mod leaves;
mod memory;
mod messages;
mod notes;
mod open;
mod opened;
mod options;
mod probe;
mod projects;
mod readers;
mod receipts;
mod record;
mod recording;
mod recover;
mod rows;
mod salvage;
mod seal;
mod search;
mod segments;
mod sent;
mod sessions;
mod sql;
mod store;
mod team;
mod tidy;
mod wal;
mod wal_repair;
mod wal_scan;
mod writer;

pub use inspect::check_file;
pub use opened::{Damage, OpenError, OpenReport, RecoveredTable};
pub use options::Options;
pub use rows::{SqliteRows, SqliteTarget, UnfinishedFile};
pub use store::SqliteStore;
