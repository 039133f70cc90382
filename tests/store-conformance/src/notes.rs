//! Tests of notes.

use bethink_transcript::{Seq, SessionId, UnixMicros};

use super::{NOW, assert_not_found, make_session, session_id};
use bethink_store::{NotesRecord, Store};

fn notes(session: SessionId, text: &str, through: u64) -> NotesRecord {
    NotesRecord {
        session,
        text: text.to_owned(),
        replaced: "before".to_owned(),
        written: r#"{"rows":[]}"#.to_owned(),
        through: Seq(through),
        tokens: 12_345,
        strategy: "embedded".to_owned(),
        updated_at: UnixMicros(NOW.0 + i64::try_from(through).unwrap()),
    }
}

pub async fn notes_come_back_as_put(store: &impl Store) {
    let (session, other) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(store.notes(session).await.unwrap(), None);
    let first = notes(session, "# Worklog\n- ä 记忆\r\n", 7);
    store.put_notes(first.clone()).await.unwrap();
    assert_eq!(store.notes(session).await.unwrap(), Some(first));
    let second = notes(session, "", 9);
    store.put_notes(second.clone()).await.unwrap();
    assert_eq!(store.notes(session).await.unwrap(), Some(second), "replaced whole");
    assert_eq!(store.notes(other).await.unwrap(), None);
}

pub async fn notes_go_with_their_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.put_notes(notes(session, "text", 7)).await.unwrap();
    store.delete_session(session).await.unwrap();
    assert_not_found(store.notes(session).await);
    assert_not_found(store.put_notes(notes(session, "late", 8)).await);
    make_session(store, 1).await;
    assert_eq!(store.notes(session).await.unwrap(), None);
    assert_not_found(store.notes(session_id(9)).await);
}
