//! Sessions in one SQLite file: the [`bethink_store::Store`] port through sqlx.
//!
//! Owns the file with its schema, the one connection that writes, the few that read, what happens to
//! a file that is damaged, newer or on a full disk. Leaves to others what the rows mean.
//!
//! An answer means fsynced. Writes queue up before the one writing connection; who has it takes what
//! waits and commits it together, so that concurrent appends share an fsync. Readers use connections
//! of their own, which WAL mode never makes wait.
//!
//! Reading order: `options` → `open` (`files`, `probe`, `connect`, `recover`, `salvage`, `leaves`) → `store` → `queue` → `writer` →
//! `append` (`hot`, `plan`, `rows`) → `import` → `index` (`postings`, `segments`) → `tidy` → `search` → one
//! file for each other table.

mod append;
mod calls;
mod check;
mod clients;
mod collapses;
mod compactions;
mod connect;
mod convert;
mod decisions;
mod error;
mod files;
mod hot;
mod import;
mod index;
mod jobs;
mod leaves;
mod lineage;
mod memory;
mod messages;
mod notes;
mod open;
mod options;
mod plan;
mod postings;
mod probe;
mod queue;
mod receipts;
mod recover;
mod rows;
mod salvage;
mod search;
mod segments;
mod sessions;
mod store;
mod tidy;
mod writer;

pub use open::{Damage, OpenError, OpenReport, RecoveredTable};
pub use options::Options;
pub use store::SqliteStore;
