//! Whether the database can be written to, and whether its bytes are as they were written.

use bethink_store::{Store, StoreError};
use bethink_transcript::UnixMicros;

use super::{make_session, say};

pub async fn a_store_that_can_be_written_has_no_fault(store: &impl Store) {
    assert!(store.fault().is_none() && store.damage().is_none());
    assert_eq!(store.probe().await.unwrap(), None, "it was open already");
    assert!(store.fault().is_none());
}

pub async fn a_fault_stays_until_writing_works(store: &impl Store) {
    store.note_fault(StoreError::Full);
    store.failed().await;
    assert!(matches!(store.fault(), Some(StoreError::Full)));
    // A small write may succeed on a full disk.
    make_session(store, 1).await;
    assert!(store.fault().is_some());
    store.probe().await.unwrap();
    assert!(store.fault().is_none());
}

pub async fn a_check_of_intact_history_finds_nothing(store: &impl Store) {
    let session = make_session(store, 1).await;
    say(store, session, &["a", "b"]).await;
    assert_eq!(store.check().await.unwrap(), None);
    assert!(store.damage().is_none());
}

pub async fn the_time_of_a_check_is_kept(store: &impl Store) {
    assert_eq!(store.checked_at().await.unwrap(), None);
    store.set_checked_at(Some(UnixMicros(7))).await.unwrap();
    assert_eq!(store.checked_at().await.unwrap(), Some(UnixMicros(7)));
    store.set_checked_at(None).await.unwrap();
    assert_eq!(store.checked_at().await.unwrap(), None);
}
