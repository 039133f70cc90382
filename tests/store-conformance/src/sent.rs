//! Tests of the last request of a session.

use bethink_store::{Store, StoredRequest};

use super::{NOW, assert_not_found, make_session, session_id};

pub async fn the_last_request_is_replaced(store: &impl Store) {
    let (session, other) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(store.sent_request(session).await.unwrap(), None);
    store.put_sent_frame(session, r#"{"system":"ä"}"#.into(), NOW).await.unwrap();
    let stored = StoredRequest { frame: r#"{"system":"ä"}"#.into(), marks: None };
    assert_eq!(store.sent_request(session).await.unwrap(), Some(stored.clone()));
    for marks in ["[1]", "[2]"] {
        store.put_sent_marks(session, marks.into(), NOW).await.unwrap();
    }
    let marked = StoredRequest { marks: Some("[2]".into()), ..stored };
    assert_eq!(store.sent_request(session).await.unwrap(), Some(marked.clone()));
    store.put_sent_frame(session, "{}".into(), NOW).await.unwrap();
    let next = StoredRequest { frame: "{}".into(), ..marked };
    assert_eq!(store.sent_request(session).await.unwrap(), Some(next));
    assert_eq!(store.sent_request(other).await.unwrap(), None);
}

pub async fn the_last_request_goes_with_its_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.put_sent_frame(session, "{}".into(), NOW).await.unwrap();
    store.put_sent_marks(session, "[]".into(), NOW).await.unwrap();
    store.delete_session(session).await.unwrap();
    assert_not_found(store.sent_request(session).await);
    assert_not_found(store.put_sent_frame(session, "{}".into(), NOW).await);
    assert_not_found(store.put_sent_marks(session, "[]".into(), NOW).await);
    make_session(store, 1).await;
    assert_eq!(store.sent_request(session).await.unwrap(), None);
    assert_not_found(store.sent_request(session_id(9)).await);
}
