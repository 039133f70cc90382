//! Copies between homes and a real PostgreSQL server, with rows in all tables.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::large_futures,
    clippy::cast_possible_truncation,
    reason = "a test stops where it fails"
)]

mod interrupted;
mod random;
mod refused;

use std::path::Path;

use bethink_api::{CopyProgress, CopyReport};
use bethink_postgres_server::TestServer;
use bethink_store::{IndexStore, NewSession, PageRequest, SessionFilter, SessionStore, Store};
use bethink_store_copy::{CopyError, CopyRequest, StorePlace, check, copy};
use bethink_store_format::RowStore;
use bethink_store_postgres::{PostgresAddress, PostgresOptions, PostgresRows, PostgresStore};
use bethink_store_sqlite::{Options, SqliteStore, SqliteTarget};
use bethink_transcript::SessionId;
use tokio::sync::OnceCell;
use uuid::Uuid;

use random::{NOW, fill_home, sums, sums_of_home};

/// Returns the server of this binary.
async fn server() -> &'static TestServer {
    static SERVER: OnceCell<TestServer> = OnceCell::const_new();
    SERVER.get_or_init(TestServer::start).await
}

fn in_home(home: &Path) -> StorePlace {
    StorePlace::Home(home.to_owned())
}

async fn in_database(database: &str) -> StorePlace {
    StorePlace::in_database(PostgresAddress::from(server().await.address(database)))
}

fn request(from: StorePlace, to: StorePlace) -> CopyRequest {
    CopyRequest { from, to, home: None, now: NOW }
}

async fn copied(from: StorePlace, to: StorePlace) -> Result<CopyReport, CopyError> {
    copy(&request(from, to), &mut |_: CopyProgress| {}).await
}

async fn open(database: &str) -> PostgresStore {
    let address = PostgresAddress::from(server().await.address(database));
    PostgresStore::open(&PostgresOptions::new(address)).await.unwrap().0
}

/// A column that only one of them has would be lost in a copy. If this fails, add it to the other one's migrations, or to the
/// list of columns that follow from others in its `rows.rs`.
#[tokio::test]
async fn both_stores_have_the_same_tables_and_columns() {
    let home = tempfile::tempdir().unwrap();
    let opened = SqliteTarget::open(&home.path().join("bethink.db"), "x").await.unwrap();
    let SqliteTarget::Unfinished { mut rows, .. } = opened else { panic!("it has rows") };
    let of_file = rows.tables().await.unwrap();
    let database = server().await.bare_database().await;
    let address = PostgresAddress::from(server().await.address(&database));
    let (mut rows, _) = PostgresRows::open_target(&address, "x").await.unwrap();
    let of_database = rows.tables().await.unwrap();
    assert!(of_file.len() > 30);
    assert_eq!(of_file, of_database);
}

#[tokio::test]
async fn copying_there_and_back_changes_no_row() {
    let dir = tempfile::tempdir().unwrap();
    let (first, last) = (dir.path().join("first"), dir.path().join("last"));
    fill_home(&first, 1).await;
    let database = server().await.bare_database().await;
    let report = copied(in_home(&first), in_database(&database).await).await.unwrap();
    assert!(!report.resumed && !report.already_complete && report.rows > 2000, "{report:?}");
    assert_eq!((report.unreadable_rows, report.other_homes), (0, 0));
    let again = copied(in_home(&first), in_database(&database).await).await.unwrap();
    assert!(again.already_complete && again.rows == report.rows, "{again:?}");

    let back = copied(in_database(&database).await, in_home(&last)).await.unwrap();
    assert_eq!((back.rows, back.bytes, back.tables), (report.rows, report.bytes, report.tables));
    assert_eq!(sums_of_home(&first).await, sums_of_home(&last).await);
    // All checksums are right, also those that only a file has.
    for place in [in_home(&first), in_home(&last), in_database(&database).await] {
        let found = check(&place).await.unwrap();
        assert_eq!(found.damage, None, "{place}");
        assert_eq!(found.messages, random::MESSAGES.unsigned_abs());
    }
    let left: Vec<_> =
        std::fs::read_dir(&last).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("copying")), "{left:?}");
    let (store, report) =
        SqliteStore::open(&last.join("bethink.db"), Options::new(NOW)).await.unwrap();
    assert!(report.damage.is_none() && !report.new, "{report:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_daemon_finds_and_adds_rows_after_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    fill_home(dir.path(), 1).await;
    let database = server().await.bare_database().await;
    copied(in_home(dir.path()), in_database(&database).await).await.unwrap();
    let store = open(&database).await;
    let filter = SessionFilter { tag: Some("tag 3".into()), ..SessionFilter::default() };
    let page = PageRequest { limit: 100, cursor: None };
    let (found, _) = store.sessions(filter, page).await.unwrap();
    assert_eq!(found.len(), 6, "{found:?}");
    let new = NewSession::new(SessionId(Uuid::new_v4()), "/project".into(), "{}".into(), NOW);
    store.create_session(new, None).await.unwrap();
    assert!(!store.lagging(100).await.unwrap().is_empty(), "history is indexed again");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_home_can_be_copied_to_a_home() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fill_home(&from, 1).await;
    // A home whose daemon was started once.
    let (store, _) = SqliteStore::open(&to.join("bethink.db"), Options::new(NOW)).await.unwrap();
    store.close().await.unwrap();
    copied(in_home(&from), in_home(&to)).await.unwrap();
    assert_eq!(sums_of_home(&from).await, sums_of_home(&to).await);
    let (store, report) =
        SqliteStore::open(&to.join("bethink.db"), Options::new(NOW)).await.unwrap();
    assert!(report.damage.is_none(), "{report:?}");
    assert!(!store.lagging(100).await.unwrap().is_empty(), "history is indexed again");
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_empty_home_is_copied_too() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let (store, _) = SqliteStore::open(&from.join("bethink.db"), Options::new(NOW)).await.unwrap();
    store.close().await.unwrap();
    let database = server().await.bare_database().await;
    let report = copied(in_home(&from), in_database(&database).await).await.unwrap();
    assert_eq!(report.rows, 0);
    copied(in_database(&database).await, in_home(&to)).await.unwrap();
    assert_eq!(check(&in_home(&to)).await.unwrap().messages, 0);
    open(&database).await.close().await.unwrap();
}

/// Rows about the files of a home go where that home's files are.
#[tokio::test]
async fn rows_of_the_chosen_home_are_copied() {
    let dir = tempfile::tempdir().unwrap();
    let (ant, bee, to) = (dir.path().join("ant"), dir.path().join("bee"), dir.path().join("to"));
    fill_home(&ant, 1).await;
    fill_home(&bee, 2).await;
    let (database, other) =
        (server().await.bare_database().await, server().await.bare_database().await);
    copied(in_home(&ant), in_database(&database).await).await.unwrap();
    copied(in_home(&bee), in_database(&other).await).await.unwrap();
    // Give the database a row of the other home.
    let bee_id: Uuid =
        std::fs::read_to_string(bee.join("database-id")).unwrap().trim().parse().unwrap();
    let mut db = server().await.connect(&database).await;
    let insert = "INSERT INTO team_places_of_homes (project, dir, home) VALUES ('p', 'd', $1)";
    sqlx::query(insert).bind(bee_id).execute(&mut db).await.unwrap();

    let refused = copied(in_database(&database).await, in_home(&to)).await.unwrap_err();
    assert!(refused.to_string().contains(&bee_id.to_string()), "{refused}");
    assert!(matches!(refused, CopyError::SeveralHomes(homes) if homes.len() == 2));
    let named = CopyRequest {
        home: Some(ant.clone()),
        ..request(in_database(&database).await, in_home(&to))
    };
    let report = copy(&named, &mut |_: CopyProgress| {}).await.unwrap();
    assert_eq!(report.other_homes, 1);
    assert_eq!(sums_of_home(&ant).await, sums_of_home(&to).await);

    // A home whose id has rows needs no name.
    let own = dir.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::copy(bee.join("database-id"), own.join("database-id")).unwrap();
    copied(in_database(&database).await, in_home(&own)).await.unwrap();
    let places = sums_of_home(&own).await;
    let (_, places) = places.iter().find(|(table, _)| table == "team_places").unwrap();
    assert_eq!(places.rows, 1);
    let _ = sums;
}
