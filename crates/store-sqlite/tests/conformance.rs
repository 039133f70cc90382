//! Runs the port's conformance tests with SQLite.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use bethink_store_sqlite::{Options, SqliteStore};
use bethink_transcript::UnixMicros;

async fn empty_store() -> (tempfile::TempDir, SqliteStore) {
    let home = tempfile::tempdir().unwrap();
    let options = Options::new(UnixMicros(1));
    let (store, report) = SqliteStore::open(&home.path().join("db"), options).await.unwrap();
    assert!(report.new);
    (home, store)
}

bethink_store_conformance::store_conformance!(empty_store);
