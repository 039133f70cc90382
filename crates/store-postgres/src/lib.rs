//! Stores sessions in a PostgreSQL database: the [`bethink_store::Store`] port, with sqlx.
//!
//! Owns the schema and the connections. Other crates define what the rows mean.
//!
//! Several processes may use one database. What is remembered of it is checked by the statement that uses it, and each
//! transaction locks what it depends on. A transaction that appends locks the rows of its sessions, one that needs a session to exist
//! locks its key, and what has no row to lock has an advisory lock (see `locks`). Locks are taken in this order: sessions
//! by id, advisory locks by key, other rows. A unique constraint stands behind each lock.
//!
//! Daemons keep sessions in memory, so a session belongs to one of them at a time (see `peers`). Rows about the files of a
//! home are seen only by the daemon of that home.
//!
//! Every wait for the server has a time limit, because a connection to a machine that is gone does not end by itself.
//!
//! A write of rows is answered after its commit, with `synchronous_commit` on; only notifications are sent with it off. Appends
//! that wait at the same time in this process share a commit.
//!
//! Messages and lines of imported files have the same checksums as on SQLite. Other rows have none: PostgreSQL has
//! checksums of pages, and a checksum that covers the whole row would mean writing each row twice.
//!
//! Reading order: `address`, `open`, `schema`, `presence`, `peers`, `sql`, `store`, `connections`, `writer`, `append`; then one file for each group of
//! tables.

mod address;
mod append;
mod background;
mod calls;
mod candidates;
mod check;
mod collapses;
mod compactions;
mod connect;
mod connections;
mod decisions;
mod error;
mod findings;
mod gateway;
mod health;
mod home_id;
mod hooks;
mod import;
mod index;
mod inspect;
mod jobs;
mod locks;
mod memory;
mod messages;
mod notes;
mod open;
mod opened;
mod options;
mod peers;
mod plans;
mod presence;
mod projects;
mod receipts;
mod record;
mod recording;
mod row_values;
mod rows;
mod schema;
mod search;
mod segments;
mod sent;
mod sessions;
mod sql;
mod store;
mod synced;
mod team;
mod team_history;
mod tidy;
mod withdrawal;
mod writer;

pub use address::PostgresAddress;
pub use home_id::{make_home_id, read_home_id};
pub use inspect::check_database;
pub use opened::{PostgresOpenError, PostgresOpenReport};
pub use options::{DaemonIdentity, PostgresOptions};
pub use rows::{HomeOfRows, PostgresRows, PostgresTarget};
pub use store::PostgresStore;
