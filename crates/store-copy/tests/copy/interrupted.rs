//! Copies that do not reach their end.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bethink_api::{CopyProgress, CopyReport};
use bethink_store_copy::{CopyError, CopyRequest, StorePlace, check, copy};
use bethink_store_postgres::{PostgresAddress, PostgresOpenError, PostgresOptions, PostgresStore};
use tokio::sync::Notify;

use crate::random::{fill_home, sums_of_home};
use crate::{copied, in_database, in_home, request, server};

/// Copies until `steps` batches were copied or compared, and then stops in the middle of what it does.
async fn copy_some(request: &CopyRequest, steps: u64) -> Option<Result<CopyReport, CopyError>> {
    let (left, stop) = (Arc::new(AtomicU64::new(steps)), Arc::new(Notify::new()));
    let mut progress = {
        let (left, stop) = (Arc::clone(&left), Arc::clone(&stop));
        move |_: CopyProgress| {
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                stop.notify_one();
            }
        }
    };
    let copying = pin!(copy(request, &mut progress));
    tokio::select! {
        biased;
        () = stop.notified() => None,
        done = copying => Some(done),
    }
}

/// Repeats the copy, each time a bit further, until it is complete.
async fn copy_in_parts(from: StorePlace, to: StorePlace) -> CopyReport {
    let request = request(from, to);
    for steps in 1.. {
        if let Some(done) = copy_some(&request, steps * 3).await {
            // The connection of the copy that was stopped may still be open.
            match done {
                Err(CopyError::Database { source: PostgresOpenError::Daemons(_), .. }) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                done => return done.unwrap(),
            }
        }
    }
    unreachable!("the loop has no end")
}

#[tokio::test]
async fn an_interrupted_copy_continues_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fill_home(&from, 1).await;
    let database = server().await.bare_database().await;
    let report = copy_in_parts(in_home(&from), in_database(&database).await).await;
    assert!(report.resumed, "{report:?}");
    let report = copy_in_parts(in_database(&database).await, in_home(&to)).await;
    assert!(report.resumed, "{report:?}");
    assert_eq!(sums_of_home(&from).await, sums_of_home(&to).await);
}

#[tokio::test]
async fn an_incomplete_copy_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let (from, other, to) =
        (dir.path().join("from"), dir.path().join("other"), dir.path().join("to"));
    fill_home(&from, 1).await;
    fill_home(&other, 2).await;
    let database = server().await.bare_database().await;
    let to_database = request(in_home(&from), in_database(&database).await);
    assert!(copy_some(&to_database, 5).await.is_none());
    tokio::time::sleep(Duration::from_millis(100)).await;
    let address = PostgresAddress::from(server().await.address(&database));
    let opened = PostgresStore::open(&PostgresOptions::new(address)).await;
    assert!(matches!(opened, Err(PostgresOpenError::Unfinished)), "{opened:?}");
    let refused = copied(in_home(&other), in_database(&database).await).await;
    assert!(matches!(refused, Err(CopyError::OtherCopy { .. })), "{refused:?}");
    let refused = copied(in_database(&database).await, in_home(&to)).await.unwrap_err();
    let unfinished = |source: &PostgresOpenError| matches!(source, PostgresOpenError::Unfinished);
    assert!(matches!(&refused, CopyError::Database { source, .. } if unfinished(source)));

    let to_home = request(in_home(&from), in_home(&to));
    assert!(copy_some(&to_home, 5).await.is_none());
    assert!(!to.join("bethink.db").exists());
    let refused = copied(in_home(&other), in_home(&to)).await.unwrap_err();
    assert!(matches!(&refused, CopyError::File { .. }), "{refused:?}");
    copied(in_home(&from), in_home(&to)).await.unwrap();
    assert_eq!(sums_of_home(&from).await, sums_of_home(&to).await);
}

#[tokio::test]
async fn a_copy_that_stops_before_all_tables_exist_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    fill_home(&from, 1).await;
    let database = server().await.bare_database().await;
    let mut db = server().await.connect(&database).await;
    let mut ignored = |_: CopyProgress| {};
    let to_database = request(in_home(&from), in_database(&database).await);
    let begun = async {
        let exists = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
        while !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut db).await.unwrap() {}
    };
    tokio::select! {
        biased;
        () = begun => {}
        done = copy(&to_database, &mut ignored) => panic!("it was not stopped: {done:?}"),
    }
    is_unusable(&database).await;

    copied(in_home(&from), in_database(&database).await).await.unwrap();

    // Stopped before the first table.
    let empty = server().await.bare_database().await;
    let mut db = server().await.connect(&empty).await;
    let mark = "CREATE TABLE unfinished_copy AS SELECT 'another home'::TEXT AS source";
    sqlx::raw_sql(mark).execute(&mut db).await.unwrap();
    is_unusable(&empty).await;
}

/// Checks that the database is reported as an unfinished copy.
async fn is_unusable(database: &str) {
    tokio::time::sleep(Duration::from_millis(100)).await;
    let refused = check(&in_database(database).await).await.unwrap_err();
    let unfinished = |source: &PostgresOpenError| matches!(source, PostgresOpenError::Unfinished);
    assert!(
        matches!(&refused, CopyError::Database { source, .. } if unfinished(source)),
        "{refused:?}"
    );
    let address = PostgresAddress::from(server().await.address(database));
    let opened = PostgresStore::open(&PostgresOptions::new(address)).await;
    assert!(matches!(opened, Err(PostgresOpenError::Unfinished)), "{opened:?}");
}

/// The daemon of the source ran between two attempts.
#[tokio::test]
async fn rows_that_changed_after_an_interruption_are_copied_again() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fill_home(&from, 1).await;
    let database = server().await.bare_database().await;
    let to_database = request(in_home(&from), in_database(&database).await);
    // Everything was copied, but not yet compared.
    assert!(copy_some(&to_database, 40).await.is_none());
    let mut db = server().await.connect(&database).await;
    let changed = "
        UPDATE notes SET text = 'older' WHERE number = 3;
        INSERT INTO team_places_of_homes (project, dir, home)
        SELECT 'gone', 'since', home FROM team_places_of_homes LIMIT 1;
        -- As if the source had replaced the row of this session after the interruption.
        CREATE TEMPORARY TABLE replaced AS
        SELECT session, number FROM sent_marks ORDER BY number DESC LIMIT 1;
        DELETE FROM sent_marks WHERE number = (SELECT number FROM replaced);
        UPDATE sent_marks
        SET session = (SELECT session FROM replaced)
        WHERE number = (SELECT min(number) FROM sent_marks)";
    sqlx::raw_sql(changed).execute(&mut db).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    copied(in_home(&from), in_database(&database).await).await.unwrap();
    copied(in_database(&database).await, in_home(&to)).await.unwrap();
    assert_eq!(sums_of_home(&from).await, sums_of_home(&to).await);
}
