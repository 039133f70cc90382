//! Tests of finding the session that a request continues.

use bethink_transcript::{Seq, SessionId};

use super::{assert_not_found, make_session, new_session, say, session_id};
use bethink_store::{ClientSession, Lineage, Relative, Store};

const SCOPE: u64 = u64::MAX - 1;

fn lineage(session: SessionId, marks: &[u128]) -> Lineage {
    Lineage { session, scope: SCOPE, marks: marks.to_vec() }
}

async fn put(store: &impl Store, session: SessionId, after: u64, marks: &[u128]) {
    store.put_lineage(lineage(session, marks), Seq(after)).await.unwrap();
}

async fn found(store: &impl Store, marks: &[u128]) -> Vec<(SessionId, u64, u64)> {
    let found = store.relatives(SCOPE, marks.to_vec()).await.unwrap();
    found
        .iter()
        .map(|Relative { session, through, last_seq }| (*session, through.0, last_seq.0))
        .collect()
}

pub async fn the_longest_beginning_is_found(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(found(store, &[]).await, []);
    assert_eq!(found(store, &[10]).await, []);
    say(store, one, &["a", "b", "c"]).await;
    say(store, two, &["a", "b"]).await;
    put(store, one, 0, &[10, 11, u128::MAX]).await;
    put(store, two, 0, &[10, 12]).await;
    assert_eq!(found(store, &[10, 11, u128::MAX, 14]).await, [(one, 3, 3)]);
    assert_eq!(found(store, &[10, 12, 99]).await, [(two, 2, 2)]);
    assert_eq!(found(store, &[10, 11, 99]).await, [(one, 2, 3)]);
    let mut firsts = store.beginnings().await.unwrap();
    firsts.dedup();
    assert_eq!(firsts, [(SCOPE, 10)]);
    let both = found(store, &[10]).await;
    assert_eq!(both.len(), 2, "{both:?}");
    // Also for very long requests.
    let long: Vec<u128> = [10, 11].into_iter().chain(1_000..2_000).collect();
    assert_eq!(found(store, &long).await, [(one, 2, 3)]);
}

pub async fn a_whole_history_goes_before_a_part(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    put(store, two, 0, &[10]).await;
    put(store, one, 0, &[10, 11]).await;
    say(store, two, &["a"]).await;
    say(store, one, &["a", "b"]).await;
    assert_eq!(found(store, &[10]).await, [(two, 1, 1), (one, 1, 2)]);
}

pub async fn marks_are_replaced_from_a_message_on(store: &impl Store) {
    let one = make_session(store, 1).await;
    assert_eq!(store.lineage(one).await.unwrap(), None);
    put(store, one, 0, &[10, 11, 12]).await;
    put(store, one, 1, &[21]).await;
    assert_eq!(store.lineage(one).await.unwrap(), Some(lineage(one, &[10, 21])));
    assert_eq!(found(store, &[10, 11, 12]).await, [(one, 1, 0)]);
    put(store, one, 1, &[]).await;
    assert_eq!(store.lineage(one).await.unwrap(), Some(lineage(one, &[10])));
    assert_not_found(store.put_lineage(lineage(session_id(9), &[10]), Seq::ZERO).await);
}

pub async fn a_session_begins_with_its_marks_or_not_at_all(store: &impl Store) {
    let (one, two) = (session_id(1), session_id(2));
    let known =
        |session| Some(ClientSession { client: "c".to_owned(), key: "k".to_owned(), session });
    store.begin_session(new_session(1), lineage(one, &[10]), known(one)).await.unwrap();
    assert_eq!(found(store, &[10]).await, [(one, 1, 0)]);
    let meant = || store.client_session("c".to_owned(), "k".to_owned());
    assert_eq!(meant().await.unwrap(), Some(one));
    let torn = store.begin_session(new_session(2), lineage(two, &[20]), known(session_id(9)));
    assert_not_found(torn.await);
    assert_not_found(store.session(two).await);
    assert_eq!(found(store, &[20]).await, []);
    assert_eq!(meant().await.unwrap(), Some(one));
}

pub async fn scopes_are_apart(store: &impl Store) {
    let one = make_session(store, 1).await;
    put(store, one, 0, &[10]).await;
    assert_eq!(store.relatives(SCOPE - 1, vec![10]).await.unwrap(), []);
}

pub async fn marks_go_with_their_session(store: &impl Store) {
    let one = make_session(store, 1).await;
    put(store, one, 0, &[10]).await;
    store.delete_session(one).await.unwrap();
    assert_eq!(found(store, &[10]).await, []);
    assert_eq!(store.lineage(one).await.unwrap(), None);
}
