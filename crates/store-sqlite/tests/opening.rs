//! Tests of opening intact files: new, used, not closed, written by a newer or another program, on a full disk.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;

use bethink_store::{HealthStore, PageRequest, SessionFilter, SessionStore, Store, StoreError};
use bethink_store_sqlite::{OpenError, OpenReport, Options, SqliteStore};
use common::{Home, append, fill, make_session, message, mode, session_id, whole_messages};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

async fn run_sql(home: &Home, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(home.db()).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_new_home_is_for_its_user_alone() {
    let home = Home::new();
    let (store, report) = home.open().await;
    assert!(report.new && report.damage.is_none() && !report.check_due);
    make_session(&store, 1).await;
    assert_eq!(mode(home.db().parent().unwrap()), 0o700);
    for end in ["", "-wal", "-shm"] {
        assert_eq!(mode(&home.beside(end)), 0o600, "{end}");
    }
}

#[tokio::test]
async fn a_closed_store_is_one_file_and_a_mark() {
    let home = Home::filled(20).await;
    assert_eq!(home.names(), ["db", "db.clean"]);
    let (store, report) = home.open().await;
    assert!(!report.new && report.damage.is_none() && !report.check_due);
    assert_eq!(whole_messages(&store, session_id(1)).await, 10);
    assert!(!home.names().contains(&"db.clean".to_owned()), "from now on a stop is unclean");
}

#[tokio::test]
async fn what_was_answered_outlives_a_drop() {
    let home = Home::new();
    let (store, _) = home.open().await;
    fill(&store, 200).await;
    drop(store);
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    assert_eq!(whole_messages(&store, session_id(2)).await, 100);
    let next = store.append(append(session_id(2), vec![message(100)])).await.unwrap();
    assert_eq!(next.places[0].0.0, 101);
}

/// Copies the files as `kill -9` leaves them: with a WAL, and without the mark of a clean stop.
#[tokio::test]
async fn what_was_answered_outlives_a_kill() {
    let home = Home::new();
    let (store, _) = home.open().await;
    fill(&store, 200).await;
    let killed = Home::new();
    std::fs::create_dir(killed.db().parent().unwrap()).unwrap();
    for end in ["", "-wal"] {
        std::fs::copy(home.beside(end), killed.beside(end)).unwrap();
    }
    let (store, report) = killed.open().await;
    assert_eq!(report.damage, None);
    assert_eq!(whole_messages(&store, session_id(1)).await, 100);
    assert_eq!(whole_messages(&store, session_id(2)).await, 100);
}

#[tokio::test]
async fn a_newer_schema_is_left_as_it_is() {
    let home = Home::filled(20).await;
    run_sql(
        &home,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', 1, x'00', 0)",
    )
    .await;
    std::fs::remove_file(home.beside(".clean")).unwrap();
    let before = std::fs::read(home.db()).unwrap();
    let refused = home.try_open().await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 9999, known: 1..9999 }), "{refused}");
    assert!(std::fs::read(home.db()).unwrap() == before, "untouched");
}

#[tokio::test]
async fn a_database_of_another_program_is_left_as_it_is() {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    run_sql(&home, "CREATE TABLE theirs (x)").await;
    let before = std::fs::read(home.db()).unwrap();
    let refused = home.try_open().await.unwrap_err();
    assert!(matches!(refused, OpenError::Foreign(_)), "{refused}");
    assert!(std::fs::read(home.db()).unwrap() == before, "untouched");
    assert_eq!(home.names(), ["db"]);
}

/// Puts a directory in place of the mark of a clean stop. It cannot be removed, as on a failing disk.
fn break_writing(home: &Home) {
    let _ = std::fs::remove_file(home.beside(".clean"));
    std::fs::create_dir(home.beside(".clean")).unwrap();
}

/// Opens a home that is not writable and reads it. Then makes it writable and writes to it without a restart.
async fn reads_and_heals(home: &Home, expect: usize) {
    break_writing(home);
    let (store, report) = home.open().await;
    assert_eq!(report, OpenReport::default());
    assert!(matches!(store.fault(), Some(StoreError::Disk(_))), "{:?}", store.fault());
    assert_eq!(whole_messages(&store, session_id(1)).await, expect);
    let next = append(session_id(1), vec![message(expect)]);
    let refused = store.append(next.clone()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Disk(_)), "{refused}");
    assert!(store.probe().await.is_err(), "the disk still fails");
    assert_eq!(whole_messages(&store, session_id(1)).await, expect);
    let reads = tokio::spawn({
        let store = store.clone();
        async move {
            for _ in 0..200 {
                assert!(whole_messages(&store, session_id(1)).await >= expect);
            }
        }
    });
    std::fs::remove_dir(home.beside(".clean")).unwrap();
    assert!(store.probe().await.unwrap().is_some(), "opened now");
    assert!(store.fault().is_none());
    assert_eq!(store.probe().await.unwrap(), None, "open already");
    store.append(next).await.unwrap();
    reads.await.unwrap();
    assert_eq!(whole_messages(&store, session_id(1)).await, expect + 1);
    store.close().await.unwrap();
    let (store, _) = home.open().await;
    assert_eq!(whole_messages(&store, session_id(1)).await, expect + 1);
}

#[tokio::test]
async fn a_closed_store_that_cannot_be_written_is_read_and_heals() {
    reads_and_heals(&Home::filled(20).await, 10).await;
}

#[tokio::test]
async fn a_killed_store_that_cannot_be_written_is_read_and_heals() {
    let home = Home::new();
    let (store, _) = home.open().await;
    fill(&store, 200).await;
    let killed = Home::new();
    std::fs::create_dir(killed.db().parent().unwrap()).unwrap();
    for end in ["", "-wal"] {
        std::fs::copy(home.beside(end), killed.beside(end)).unwrap();
    }
    reads_and_heals(&killed, 100).await;
}

#[tokio::test]
async fn a_store_that_must_be_migrated_and_cannot_be_written_is_not_opened() {
    let home = Home::filled(20).await;
    run_sql(&home, "DELETE FROM _sqlx_migrations WHERE version > 1").await;
    break_writing(&home);
    let refused = home.try_open().await.unwrap_err();
    assert!(matches!(refused, OpenError::Disk(_)), "{refused}");
}

#[tokio::test]
async fn a_full_disk_refuses_and_heals() {
    let home = Home::new();
    let (store, _) = home.open().await;
    let session = make_session(&store, 1).await;
    let other = make_session(&store, 2).await;
    store.append(append(other, (0..30).map(message).collect())).await.unwrap();
    store.close().await.unwrap();
    let limited = Options { max_pages: Some(120), ..common::options() };
    let (store, _) = SqliteStore::open(&home.db(), limited).await.unwrap();
    let mut kept = 0;
    let refused = loop {
        match store.append(append(session, vec![message(kept)])).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 10_000, "the limit was never reached");
    };
    assert!(matches!(refused, StoreError::Full), "{refused}");
    assert_eq!(whole_messages(&store, session).await, kept, "reads go on");
    let again = store.append(append(session, vec![message(kept)])).await;
    assert!(matches!(again, Err(StoreError::Full)), "{again:?}");
    // There is space again, so the same process can write.
    let all = store
        .sessions(SessionFilter::default(), PageRequest { limit: 9, cursor: None })
        .await
        .unwrap();
    assert_eq!(all.0.len(), 2, "reads go on");
    store.delete_session(session_id(2)).await.unwrap();
    store.append(append(session, vec![message(kept)])).await.unwrap();
    kept += 1;
    store.close().await.unwrap();
    let (store, _) = home.open().await;
    assert_eq!(whole_messages(&store, session).await, kept, "only the answered appends are stored");
    let next = store.append(append(session, vec![message(kept)])).await.unwrap();
    assert_eq!(next.places[0].0.0 as usize, kept + 1);
}
