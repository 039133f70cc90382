//! Tests of daemons that want the same database: one of them holds it, and no other one writes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use std::time::Duration;

use bethink_store::{HealthStore, PauseRecord, RecordingStore, Store, StoreError};
use bethink_store_postgres::PostgresOpenError;
use bethink_transcript::UnixMicros;
use sqlx::{Executor, PgConnection};
use tokio::time::timeout;

/// Ends the connections that have the lock of a daemon, as if they were lost.
const CUT_LOCKS: &str = "
    SELECT count(pg_terminate_backend(pid))
    FROM pg_locks
    WHERE locktype = 'advisory'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

const SOON: Duration = Duration::from_secs(10);

fn pause(number: i64) -> PauseRecord {
    PauseRecord { since: UnixMicros(number), until: None }
}

async fn cut_locks(db: &mut PgConnection) {
    let cut: i64 = sqlx::query_scalar(CUT_LOCKS).fetch_one(db).await.unwrap();
    assert_eq!(cut, 1, "only the daemon has a lock");
}

#[tokio::test]
async fn a_second_daemon_is_refused_until_the_first_one_stops() {
    let server = server::server().await;
    let database = server.new_database().await;
    let first = server.open_for("process 1 on ant", &database).await.unwrap();
    let refused = server.open_for("process 2 on bee", &database).await.unwrap_err();
    assert!(
        matches!(&refused, PostgresOpenError::InUse(holder) if holder == "process 1 on ant"),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("process 1 on ant"), "{refused}");
    first.put_pause(pause(1)).await.unwrap();
    first.close().await.unwrap();
    let second = server.open_for("process 2 on bee", &database).await.unwrap();
    second.put_pause(pause(2)).await.unwrap();
    assert_eq!(second.pauses().await.unwrap().len(), 2);
}

#[tokio::test]
async fn schemas_of_one_database_are_held_separately() {
    let server = server::server().await;
    let database = server.bare_database().await;
    let mut db = server.connect(&database).await;
    db.execute(sqlx::raw_sql("CREATE SCHEMA ant; CREATE SCHEMA bee")).await.unwrap();
    let mut stores = Vec::new();
    for schema in ["ant", "bee"] {
        let address = server.address(&database).options([("search_path", schema)]);
        let mut options = server.options(&database);
        options.address = address.into();
        options.holder = Some(schema.to_owned());
        let opened = bethink_store_postgres::PostgresStore::open(&options).await;
        let (store, report) = opened.unwrap();
        assert!(report.new);
        store.put_pause(pause(1)).await.unwrap();
        assert_eq!(store.pauses().await.unwrap().len(), 1);
        stores.push(store);
    }
}

/// The lock ends with its connection, and then a second daemon may start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_lost_the_database_writes_nothing() {
    let server = server::server().await;
    let database = server.new_database().await;
    let first = server.open_for("first", &database).await.unwrap();
    first.put_pause(pause(1)).await.unwrap();
    cut_locks(&mut server.connect(&database).await).await;
    let second = server.open_for("second", &database).await.unwrap();

    let refused = first.put_pause(pause(2)).await;
    assert!(
        matches!(&refused, Err(StoreError::InUse(why)) if why.contains("second")),
        "{refused:?}"
    );
    let probed = first.probe().await;
    assert!(matches!(probed, Err(StoreError::InUse(_))), "{probed:?}");
    assert!(matches!(first.fault(), Some(StoreError::InUse(_))));
    assert_eq!(first.pauses().await.unwrap(), [pause(1)], "reads still work");

    // What the first daemon has in memory is out of date, even when the database is free again.
    second.put_pause(pause(3)).await.unwrap();
    second.close().await.unwrap();
    assert!(matches!(first.probe().await, Err(StoreError::InUse(_))));
    assert!(matches!(first.put_pause(pause(4)).await, Err(StoreError::InUse(_))));
    let third = server.open_for("third", &database).await.expect("the first one does not hold it");
    third.put_pause(pause(5)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_takes_back_what_nobody_else_has_taken() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open_for("first", &database).await.unwrap();
    cut_locks(&mut server.connect(&database).await).await;
    timeout(SOON, store.failed()).await.expect("the loss is noticed at once");
    store.put_pause(pause(1)).await.unwrap();
    store.probe().await.unwrap();
    assert!(store.fault().is_none());
    let refused = server.open_for("second", &database).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::InUse(_)), "{refused:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_database_that_became_read_only_is_a_fault() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open_for("first", &database).await.unwrap();
    let mut db = server.connect(&database).await;
    let set = |value: &str| {
        format!("ALTER DATABASE {database} SET default_transaction_read_only = {value}")
    };
    let cut = "
        SELECT count(pg_terminate_backend(pid))
        FROM pg_stat_activity
        WHERE datname = current_database()
          AND pid <> pg_backend_pid()";
    db.execute(sqlx::AssertSqlSafe(set("on"))).await.unwrap();
    db.execute(cut).await.unwrap();
    timeout(SOON, store.failed()).await.expect("the loss is noticed at once");
    let probed = store.probe().await;
    assert!(matches!(probed, Err(StoreError::ReadOnly(_))), "{probed:?}");
    assert!(matches!(store.put_pause(pause(1)).await, Err(StoreError::ReadOnly(_))));
    assert!(matches!(store.fault(), Some(StoreError::ReadOnly(_))), "{:?}", store.fault());
    assert_eq!(store.pauses().await.unwrap(), []);

    let mut admin = server.connect("postgres").await;
    admin.execute(sqlx::AssertSqlSafe(set("off"))).await.unwrap();
    db.execute(cut).await.unwrap();
    store.probe().await.unwrap();
    assert!(store.fault().is_none());
    store.put_pause(pause(1)).await.unwrap();
}

/// Another process has a lock, and never ends its transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_waits_for_a_lock_for_ever() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open(&database).await;
    let mut other = server.connect(&database).await;
    let locked = sqlx::raw_sql("BEGIN; LOCK TABLE pauses").execute(&mut other).await;
    locked.unwrap();
    let refused = timeout(Duration::from_secs(20), store.put_pause(pause(1))).await.unwrap();
    assert!(matches!(refused, Err(StoreError::Server(_))), "{refused:?}");
}
