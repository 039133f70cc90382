//! Tests what happens when the server stops and starts again. These tests have their own binary, because stopping the
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
    Append, HealthStore, NewMessage, NewSession, RecordingStore, SeqRange, SessionStore,
    StoreError, StoreResult,
};
use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// An error comes in less than this time.
const SOON: Duration = Duration::from_secs(8);

/// A connection that was idle for this long is tested before it is used.
const IDLE: Duration = Duration::from_millis(1200);

#[track_caller]
fn assert_of_the_server<T: std::fmt::Debug>(outcome: &StoreResult<T>) {
    assert!(matches!(outcome, Err(StoreError::Server(_))), "{outcome:?}");
}

fn append(session: SessionId, id: &str) -> Append {
    let message = NewMessage {
        id: MessageId::new(id).unwrap(),
        role: Role::User,
        raw: "text".into(),
        recorded: false,
        created_at: UnixMicros(1),
    };
    Append { session, messages: vec![message], only_new: false, receipt: None, at: UnixMicros(1) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_works_again_once_its_server_does() {
    let server = server::server().await;
    let store = server.open(&server.new_database().await).await;
    let session = SessionId(Uuid::from_u128(1));
    let new = NewSession::new(session, "/project".into(), "{}".into(), UnixMicros(1));
    store.create_session(new, None).await.unwrap();
    store.append(append(session, "before")).await.unwrap();
    // Several connections, which all end with the server.
    let (one, two, three) = tokio::join!(store.session(session), store.pauses(), store.projects());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());

    server.stop();
    assert_of_the_server(&timeout(SOON, store.session(session)).await.unwrap());
    assert!(matches!(store.fault(), Some(StoreError::Server(_))), "{:?}", store.fault());
    assert_of_the_server(&timeout(SOON, store.append(append(session, "lost"))).await.unwrap());
    assert_of_the_server(&timeout(SOON, store.delete_session(session)).await.unwrap());

    assert!(matches!(store.fault(), Some(StoreError::Server(_))), "{:?}", store.fault());
    assert!(store.probe().await.is_err() && store.fault().is_some());

    server.resume();
    assert_eq!(store.probe().await.unwrap(), None);
    assert!(store.fault().is_none());
    let appended = store.append(append(session, "after")).await.unwrap();
    assert_eq!(appended.places, [(Seq(2), true)], "what failed was not written");
    assert_eq!(soon(async || store.session(session).await).await.last_seq, Seq(2));

    // Without calls in between, so that the store still has connections to the server that stopped.
    server.stop();
    server.resume();
    sleep(IDLE).await;
    let appended = store.append(append(session, "later")).await.unwrap();
    assert_eq!(appended.places, [(Seq(3), true)]);
    assert_eq!(store.session(session).await.unwrap().last_seq, Seq(3));

    // The server's own setting is to answer before a commit is in its log.
    for number in 0..20 {
        let id = format!("kept-{number}");
        assert!(store.append(append(session, &id)).await.unwrap().places[0].1);
    }
    server.crash();
    server.resume();
    assert_eq!(soon(async || store.session(session).await).await.last_seq, Seq(23));
    let kept = soon(async || store.messages(session, SeqRange::all()).await).await;
    assert_eq!(kept.len(), 23);
}

/// Repeats a call until it finds no lost connection: one that was used just before is not tested first.
async fn soon<T: std::fmt::Debug>(call: impl AsyncFn() -> StoreResult<T>) -> T {
    for _ in 0..10 {
        match call().await {
            Ok(done) => return done,
            lost => assert_of_the_server(&lost),
        }
    }
    call().await.expect("a lost connection is not used again")
}
