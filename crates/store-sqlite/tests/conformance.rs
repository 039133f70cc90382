//! Every promise of the port, kept by SQLite.

use bethink_store_sqlite::{Options, SqliteStore};
use bethink_transcript::UnixMicros;

async fn empty_store() -> SqliteStore {
    let home = tempfile::tempdir().unwrap().keep();
    let (store, report) =
        SqliteStore::open(&home.join("db"), Options::new(UnixMicros(1))).await.unwrap();
    assert!(report.new);
    store
}

bethink_store::store_conformance!(empty_store);
