//! Tests of clients' session ids.

use bethink_transcript::SessionId;

use super::{assert_not_found, make_session, session_id};
use bethink_store::{ClientSession, Store};

fn known(client: &str, key: &str, session: SessionId) -> ClientSession {
    ClientSession { client: client.to_owned(), key: key.to_owned(), session }
}

async fn meant(store: &impl Store, client: &str, key: &str) -> Option<SessionId> {
    store.client_session(client.to_owned(), key.to_owned()).await.unwrap()
}

pub async fn a_client_means_one_session(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(meant(store, "claude-code", "a").await, None);
    store.put_client_session(known("claude-code", "a", one)).await.unwrap();
    store.put_client_session(known("other", "a", two)).await.unwrap();
    assert_eq!(meant(store, "claude-code", "a").await, Some(one));
    store.put_client_session(known("claude-code", "a", two)).await.unwrap();
    assert_eq!(meant(store, "claude-code", "a").await, Some(two), "it was replaced");
    assert_eq!(meant(store, "other", "a").await, Some(two));
    let newest = store.client_of(two).await.unwrap().unwrap();
    assert_eq!((newest.client.as_str(), newest.key.as_str()), ("other", "a"));
    assert_eq!(store.client_of(one).await.unwrap(), None);
    assert_not_found(store.put_client_session(known("other", "b", session_id(9))).await);
}

pub async fn what_a_client_meant_goes_with_the_session(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    store.put_client_session(known("claude-code", "a", one)).await.unwrap();
    store.put_client_session(known("claude-code", "b", two)).await.unwrap();
    store.delete_session(one).await.unwrap();
    assert_eq!(meant(store, "claude-code", "a").await, None);
    assert_eq!(meant(store, "claude-code", "b").await, Some(two));
}
