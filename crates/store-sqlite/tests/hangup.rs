//! Tests with callers that stop waiting for the answer.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;

use bethink_store::{SessionStore, Store, StoreError};
use common::{Home, append, make_session, message, whole_messages};
use futures_util::future::join_all;

/// Drops an append after it was polled this many times.
async fn hang_up_after(steps: usize, write: impl Future<Output = ()>) {
    let enough = async {
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = write => {}
        () = enough => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_hangs_up_stops_no_other() {
    let home = Home::new();
    let (store, _) = home.open().await;
    let session = make_session(&store, 1).await;
    for n in 0..60 {
        let write = async {
            let _ = store.append(append(session, vec![message(2 * n)])).await;
        };
        hang_up_after(n % 12, write).await;
        let next = store.append(append(session, vec![message(2 * n + 1)])).await.unwrap();
        assert_eq!(
            next.last_seq.0 as usize,
            2 * n + 2,
            "an append that has begun is finished first"
        );
    }
    assert_eq!(whole_messages(&store, session).await, 120);
    store.close().await.unwrap();
    assert_eq!(home.open().await.1.damage, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_served_with_one_that_hangs_up_is_answered() {
    let home = Home::new();
    let (store, _) = home.open().await;
    let session = make_session(&store, 1).await;
    for round in 0..20 {
        let write = |n: usize| store.append(append(session, vec![message(round * 10 + n)]));
        let first = hang_up_after(round % 4, async {
            let _ = write(0).await;
        });
        let others = join_all((1..10).map(write));
        let ((), answers) = tokio::join!(first, others);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
    assert_eq!(store.messages(session, bethink_store::SeqRange::all()).await.unwrap().len(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_closes_answers_everybody() {
    let home = Home::new();
    let (store, _) = home.open().await;
    let session = make_session(&store, 1).await;
    let writes = (0..40).map(|n| store.append(append(session, vec![message(n)])));
    let (answers, closed) = tokio::join!(join_all(writes), store.close());
    closed.unwrap();
    let stored = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(StoreError::Closed))));
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    let kept = store.messages(session, bethink_store::SeqRange::all()).await.unwrap();
    assert_eq!(kept.len(), stored, "only the answered appends are stored");
}
