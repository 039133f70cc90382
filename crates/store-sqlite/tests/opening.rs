//! Tests of opening intact files: new, used, not closed, of a newer or another program, on a full disk.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;

use bethink_store::{PageRequest, SessionFilter, SessionStore, Store, StoreError};
use bethink_store_sqlite::{OpenError, Options, SqliteStore};
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
        assert!(kept < 10_000, "the limit is never met");
    };
    assert!(matches!(refused, StoreError::Full), "{refused}");
    assert_eq!(whole_messages(&store, session).await, kept, "reads go on");
    let again = store.append(append(session, vec![message(kept)])).await;
    assert!(matches!(again, Err(StoreError::Full)), "{again:?}");
    // There is space again, and the same process can write.
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
    assert_eq!(whole_messages(&store, session).await, kept, "what was answered, and no more");
    let next = store.append(append(session, vec![message(kept)])).await.unwrap();
    assert_eq!(next.places[0].0.0 as usize, kept + 1);
}
