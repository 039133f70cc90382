//! Tests of collapsed spans.

use bethink_transcript::{CollapseId, Seq, SessionId, UnixMicros};
use uuid::Uuid;

use super::{NOW, assert_not_found, make_session, session_id};
use bethink_store::{CollapseRecord, NewDecision, Store, StoreError};

fn span(session: SessionId, first: u64, last: u64) -> CollapseRecord {
    CollapseRecord {
        id: CollapseId(Uuid::from_u128(u128::from(first * 1_000 + last))),
        session,
        first_seq: Seq(first),
        last_seq: Seq(last),
        text: format!("messages {first} to {last}, ä 记忆"),
        tokens_before: 4_000,
        tokens: 300,
        strategy: "embedded".to_owned(),
        staged_after: Seq(40),
        staged_at: NOW,
        committed: None,
    }
}

fn committed(span: &CollapseRecord) -> CollapseRecord {
    CollapseRecord { committed: Some((Seq(50), UnixMicros(NOW.0 + 7))), ..span.clone() }
}

fn decision(span: &CollapseRecord) -> NewDecision {
    NewDecision {
        kind: "collapsed".to_owned(),
        data: format!(r#"{{"id":"{}"}}"#, span.id),
        made_after: Seq(50),
        created_at: NOW,
    }
}

pub async fn spans_come_back_in_order(store: &impl Store) {
    let (session, other) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(store.collapses(session).await.unwrap(), []);
    let (late, early) = (span(session, 20, 29), span(session, 3, 19));
    store.put_collapses(session, vec![late.clone(), early.clone()], Vec::new()).await.unwrap();
    assert_eq!(store.collapses(session).await.unwrap(), [early.clone(), late]);
    assert_eq!(store.collapses(other).await.unwrap(), []);
    // A fork has the same spans as its parent.
    let copy = CollapseRecord { session: other, ..early };
    store.put_collapses(other, vec![copy.clone()], Vec::new()).await.unwrap();
    assert_eq!(store.collapses(other).await.unwrap(), [copy]);
}

pub async fn a_commit_comes_with_its_decisions_or_not_at_all(store: &impl Store) {
    let session = make_session(store, 1).await;
    let staged = span(session, 3, 19);
    store.put_collapses(session, vec![staged.clone()], Vec::new()).await.unwrap();
    let shown = committed(&staged);
    let unstaged = committed(&span(session, 20, 25));
    let with = vec![decision(&shown), decision(&unstaged)];
    let both = vec![shown.clone(), unstaged.clone()];
    store.put_collapses(session, both, with).await.unwrap();
    assert_eq!(store.collapses(session).await.unwrap(), [shown.clone(), unstaged.clone()]);
    assert_eq!(store.decisions(session).await.unwrap().len(), 2);
    // A committed span does not change: not if it is staged or committed again …
    let other = CollapseRecord {
        text: "another".to_owned(),
        committed: Some((Seq(60), UnixMicros(0))),
        ..shown.clone()
    };
    store.put_collapses(session, vec![staged, other], Vec::new()).await.unwrap();
    assert_eq!(store.collapses(session).await.unwrap(), [shown.clone(), unstaged.clone()]);
    // … and not if another span overlaps it, which makes the whole request fail.
    let (apart, across) = (span(session, 30, 40), span(session, 25, 29));
    let with = vec![decision(&across)];
    let refused = store.put_collapses(session, vec![apart, across], with).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert_eq!(store.collapses(session).await.unwrap(), [shown, unstaged]);
    assert_eq!(store.decisions(session).await.unwrap().len(), 2);
}

pub async fn a_staged_span_gives_way_to_a_newer_one(store: &impl Store) {
    let session = make_session(store, 1).await;
    let old = [span(session, 3, 9), span(session, 10, 19), span(session, 20, 29)];
    store.put_collapses(session, old.to_vec(), Vec::new()).await.unwrap();
    let new = span(session, 9, 12);
    store.put_collapses(session, vec![new.clone()], Vec::new()).await.unwrap();
    assert_eq!(store.collapses(session).await.unwrap(), [new, old[2].clone()]);
}

pub async fn spans_go_with_their_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.put_collapses(session, vec![span(session, 3, 9)], Vec::new()).await.unwrap();
    store.delete_session(session).await.unwrap();
    assert_not_found(store.collapses(session).await);
    assert_not_found(store.put_collapses(session, vec![span(session, 3, 9)], Vec::new()).await);
    make_session(store, 1).await;
    assert_eq!(store.collapses(session).await.unwrap(), []);
    assert_not_found(store.collapses(session_id(9)).await);
}
