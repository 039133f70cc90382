//! Tests of what must not be recorded.

use bethink_store::{PauseRecord, Store};
use bethink_transcript::UnixMicros;

use super::NOW;

pub async fn pauses_are_ended_in_place(store: &impl Store) {
    let pause = |since, until: Option<i64>| PauseRecord {
        since: UnixMicros(since),
        until: until.map(UnixMicros),
    };
    assert_eq!(store.pauses().await.unwrap(), []);
    for one in [pause(20, None), pause(10, Some(15)), pause(20, Some(30))] {
        store.put_pause(one).await.unwrap();
    }
    assert_eq!(store.pauses().await.unwrap(), [pause(10, Some(15)), pause(20, Some(30))]);
}

pub async fn unrecorded_marks_are_kept_once(store: &impl Store) {
    for mark in [7, u128::MAX, 7] {
        store.add_unrecorded_mark(mark, NOW).await.unwrap();
    }
    assert_eq!(store.unrecorded_marks().await.unwrap(), [7, u128::MAX]);
}
