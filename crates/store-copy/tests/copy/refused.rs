//! Copies that are refused, or that find damage.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bethink_store::Store;
use bethink_store_copy::{CopyError, CopyRequest, StorePlace, check, copy};
use bethink_store_postgres::{
    DaemonIdentity, PostgresAddress, PostgresOpenError, PostgresOptions, PostgresStore,
};
use bethink_store_sqlite::OpenError;
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

use crate::random::{fill_home, sums_of_home};
use crate::{copied, in_database, in_home, open, request, server};

/// Returns the whole message of an error, with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(told).unwrap_or_default();
    format!("{error}: {cause}")
}

async fn change(database: &str, statement: &'static str) {
    server().await.connect(database).await.execute(sqlx::raw_sql(statement)).await.unwrap();
}

#[tokio::test]
async fn invalid_arguments_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fill_home(&home, 1).await;
    let database = in_database(&server().await.bare_database().await).await;
    let missing = in_home(&dir.path().join("missing"));
    let refused = copied(missing.clone(), database.clone()).await;
    assert!(matches!(refused, Err(CopyError::NoHome(_))), "{refused:?}");
    let refused = copied(database.clone(), missing.clone()).await.unwrap_err();
    assert!(told(&refused).contains("the database is empty"), "{refused:?}");
    assert!(!dir.path().join("missing").exists(), "nothing was created");
    let refused = copied(database.clone(), database.clone()).await;
    assert!(matches!(refused, Err(CopyError::TwoDatabases)), "{refused:?}");
    let same = in_home(&dir.path().join("home/../home"));
    let refused = copied(in_home(&home), same).await;
    assert!(matches!(refused, Err(CopyError::SameHome)), "{refused:?}");
    let with_home = CopyRequest { home: Some(home.clone()), ..request(in_home(&home), missing) };
    let refused = copy(&with_home, &mut |_| {}).await;
    assert!(matches!(refused, Err(CopyError::NoDatabase)), "{refused:?}");
    let unknown = in_database("missing").await;
    let refused = copied(in_home(&home), unknown).await.unwrap_err();
    assert!(told(&refused).contains("does not exist"), "{refused:?}");
    for url in ["mysql://ann:hunter2@db", "postgres://ann:hunter2@db.invalid/x?sslmode=disable"] {
        let refused = url.parse::<StorePlace>().unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_reported_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fill_home(&home, 1).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://ann@{}/notes", free.local_addr().unwrap());
    drop(free);
    let nowhere: StorePlace = url.parse().unwrap();
    let checked = told(&check(&nowhere).await.unwrap_err());
    let copied = told(&copied(in_home(&home), nowhere).await.unwrap_err());
    for refused in [checked, copied] {
        assert!(refused.contains("Connection refused"), "{refused}");
    }
}

#[tokio::test]
async fn other_rows_are_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (from, other) = (dir.path().join("from"), dir.path().join("other"));
    fill_home(&from, 1).await;
    fill_home(&other, 2).await;
    let before = sums_of_home(&other).await;
    let refused = copied(in_home(&from), in_home(&other)).await;
    assert!(matches!(refused, Err(CopyError::NotEmpty { .. })), "{refused:?}");
    assert_eq!(sums_of_home(&other).await, before);
    let database = server().await.bare_database().await;
    copied(in_home(&other), in_database(&database).await).await.unwrap();
    let refused = copied(in_home(&from), in_database(&database).await).await;
    assert!(matches!(refused, Err(CopyError::NotEmpty { .. })), "{refused:?}");
    let again = copied(in_home(&other), in_database(&database).await).await.unwrap();
    assert!(again.already_complete);
}

#[tokio::test]
async fn a_copy_is_refused_while_a_daemon_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fill_home(&from, 1).await;
    let database = server().await.bare_database().await;
    copied(in_home(&from), in_database(&database).await).await.unwrap();
    let address = PostgresAddress::from(server().await.address(&database));
    let daemon = DaemonIdentity { home: Uuid::new_v4(), name: "process 7 on ant".to_owned() };
    let options = PostgresOptions { daemon: Some(daemon), ..PostgresOptions::new(address) };
    let (store, _) = PostgresStore::open(&options).await.unwrap();
    for (from, to) in [
        (in_home(&from), in_database(&database).await),
        (in_database(&database).await, in_home(&to)),
    ] {
        let refused = copied(from, to).await.unwrap_err();
        assert!(told(&refused).contains("process 7 on ant"), "{refused:?}");
    }
    assert_eq!(check(&in_database(&database).await).await.unwrap().damage, None);
    store.close().await.unwrap();

    let lock = std::fs::File::create(from.join("lock")).unwrap();
    lock.lock().unwrap();
    std::fs::write(from.join("lock"), "pid 7\n").unwrap();
    let refused = copied(in_home(&from), in_home(&to)).await.unwrap_err();
    assert!(told(&refused).contains("pid 7"), "{refused:?}");
    assert_eq!(check(&in_home(&from)).await.unwrap().damage, None);
}

/// Changes a byte of a message in the file.
fn damage(home: &Path) {
    let path = home.join("bethink.db");
    let bytes = std::fs::read(&path).unwrap();
    let pattern: Vec<u8> = (0..100_i64).map(|at| (at * 31 + 702) as u8).collect();
    let at = bytes.windows(100).position(|window| window == pattern).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[!bytes[at]], at as u64).unwrap();
}

#[tokio::test]
async fn damage_stops_the_copy_and_names_the_row() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fill_home(&from, 1).await;
    let database = server().await.bare_database().await;
    copied(in_home(&from), in_database(&database).await).await.unwrap();
    damage(&from);
    let copy = server().await.bare_database().await;
    for place in [in_database(&copy).await, in_home(&to)] {
        let refused = copied(in_home(&from), place).await.unwrap_err();
        assert!(told(&refused).contains("is corrupted"), "{refused:?}");
    }
    assert!(!to.join("bethink.db").exists());
    let found = check(&in_home(&from)).await.unwrap().damage.unwrap();
    assert!(found.contains("of messages is corrupted"), "{found}");
    // It is marked, so that the next start recovers it.
    let refused = copied(in_home(&from), in_home(&dir.path().join("other"))).await.unwrap_err();
    let is_damage = |source: &OpenError| matches!(source, OpenError::Damaged(_));
    assert!(matches!(&refused, CopyError::File { source, .. } if is_damage(source)), "{refused:?}");

    let statement = "UPDATE messages SET raw = 'x' WHERE number = 300";
    change(&database, statement).await;
    let refused = copied(in_database(&database).await, in_home(&dir.path().join("third"))).await;
    let refused = told(&refused.unwrap_err());
    assert!(refused.contains("message 300 of session"), "{refused}");
    let found = check(&in_database(&database).await).await.unwrap().damage.unwrap();
    assert!(found.contains("message 300 of session"), "{found}");
}

#[tokio::test]
async fn a_database_that_cannot_be_written_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fill_home(&home, 1).await;
    let newer = server().await.bare_database().await;
    open(&newer).await.close().await.unwrap();
    change(
        &newer,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', TRUE, 'x', 1)",
    )
    .await;
    let foreign = server().await.bare_database().await;
    change(&foreign, "CREATE TABLE invoices (number BIGINT)").await;
    let guarded = server().await.bare_database().await;
    server().await.admin("CREATE ROLE nobody_in_particular LOGIN").await;
    let reader = server().await.address(&guarded).username("nobody_in_particular");
    for (place, expect) in [
        (in_database(&newer).await, "written by a newer version"),
        (in_database(&foreign).await, "tables of another program"),
        (StorePlace::in_database(reader.into()), "permission denied"),
    ] {
        let refused = told(&copied(in_home(&home), place).await.unwrap_err());
        assert!(refused.contains(expect), "{refused}");
    }
    let other = dir.path().join("newer");
    fill_home(&other, 2).await;
    let path = other.join("bethink.db");
    let statement =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', TRUE, x'00', 1)";
    let url = format!("sqlite://{}", path.display());
    let mut db = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url).await.unwrap();
    db.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
    drop(db);
    let refused = told(&copied(in_home(&home), in_home(&other)).await.unwrap_err());
    assert!(refused.contains("written by a newer version"), "{refused}");
    let refused: PostgresOpenError = "mysql://x".parse::<PostgresAddress>().unwrap_err();
    assert!(matches!(refused, PostgresOpenError::Address));
}
