//! Tests what happens when the server hangs, as if its machine were gone. This test has its own binary, because pausing the
//! server affects all tests in a binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use std::time::Duration;

use bethink_store::{
    HealthStore, NewSession, PauseRecord, RecordingStore, SessionStore, StoreError,
};
use bethink_transcript::{SessionId, UnixMicros};
use sqlx::Executor;
use tokio::time::timeout;
use uuid::Uuid;

/// An error comes in less than this time: the limit for an answer and that for a new connection.
const BOUND: Duration = Duration::from_secs(30);

const WAITING: &str = "
    SELECT count(*)
    FROM pg_locks
    WHERE NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_waits_for_ever() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open_for("first", &database).await.unwrap();
    let session = SessionId(Uuid::from_u128(1));
    let new = NewSession::new(session, "/project".into(), "{}".into(), UnixMicros(1));
    store.create_session(new, None).await.unwrap();
    let pause = PauseRecord { since: UnixMicros(1), until: None };

    // A statement that runs when the server begins to hang, because it waits for another process's lock.
    let mut other = server.connect(&database).await;
    other.execute(sqlx::raw_sql("BEGIN; LOCK TABLE unrecorded_marks")).await.unwrap();
    let running = {
        let store = store.clone();
        tokio::spawn(async move { store.add_unrecorded_mark(1, UnixMicros(1)).await })
    };
    let mut waiting = 0_i64;
    while waiting == 0 {
        waiting = sqlx::query_scalar(WAITING).fetch_one(&mut other).await.unwrap();
    }

    server.pause();
    let (read, written, probed) = tokio::join!(
        timeout(BOUND, async { store.session(session).await.map(drop) }),
        timeout(BOUND, store.put_pause(pause)),
        timeout(BOUND, store.probe()),
    );
    let ran = timeout(BOUND, running).await;
    server.unpause();
    let outcomes = [read, written, probed.map(|probed| probed.map(drop))];
    let outcomes = outcomes.map(|outcome| outcome.unwrap().err());
    assert!(
        outcomes.iter().all(|error| matches!(error, Some(StoreError::Server(_)))),
        "{outcomes:?}"
    );
    assert!(matches!(ran.unwrap().unwrap(), Err(StoreError::Server(_))));
    assert!(store.fault().is_some());

    store.probe().await.unwrap();
    assert!(store.fault().is_none());
    assert_eq!(store.session(session).await.unwrap().id, session);
}
