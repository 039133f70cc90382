//! What memory files held, and what features remember.

use bethink_transcript::{SessionId, UnixMicros};
use bytes::Bytes;

use super::{NOW, make_session};
use crate::{Kept, MemoryVersionFilter, NewMemoryVersion, Store, VERSIONS_OF_A_FILE};

fn version(file: &str, content: Option<&[u8]>, session: Option<SessionId>) -> NewMemoryVersion {
    NewMemoryVersion {
        directory: "app/private".to_owned(),
        file: file.to_owned(),
        hash: content.map_or_else(String::new, |content| format!("hash of {content:?}")),
        content: content.map(Bytes::copy_from_slice),
        author: "person".to_owned(),
        session,
        note: "a note with ä\n and a line".to_owned(),
        at: NOW,
    }
}

fn of(file: Option<&str>) -> MemoryVersionFilter {
    MemoryVersionFilter {
        directory: "app/private".to_owned(),
        file: file.map(str::to_owned),
        limit: 10,
        ..MemoryVersionFilter::default()
    }
}

pub async fn versions_come_back_newest_first(store: &impl Store) {
    let session = make_session(store, 1).await;
    let other = NewMemoryVersion {
        directory: "app/team".to_owned(),
        ..version("fog.md", Some(b"t"), None)
    };
    let first = version("fog.md", Some(b"\xff\x00 any bytes\r\n"), Some(session));
    let all = vec![
        first.clone(),
        version("sky.md", Some(b""), None),
        version("fog.md", None, None),
        other,
    ];
    store.add_memory_versions(all).await.unwrap();
    let found = store.memory_versions(of(None)).await.unwrap();
    let seen: Vec<_> = found.iter().map(|v| (v.file.as_str(), v.bytes)).collect();
    assert_eq!(seen, [("fog.md", None), ("sky.md", Some(0)), ("fog.md", Some(14))]);
    let fog = store.memory_versions(of(Some("fog.md"))).await.unwrap();
    assert_eq!(fog.len(), 2);
    let oldest = &fog[1];
    assert_eq!(
        (&oldest.hash, &oldest.note, oldest.session, oldest.at),
        (&first.hash, &first.note, Some(session), NOW)
    );
    let content = store.memory_content(oldest.number).await.unwrap();
    assert_eq!(content, Some(first));
    let older = MemoryVersionFilter { before: Some(fog[0].number), limit: 1, ..of(Some("fog.md")) };
    assert_eq!(store.memory_versions(older).await.unwrap(), std::slice::from_ref(oldest));
    let taught = MemoryVersionFilter { session: Some(session), ..of(None) };
    assert_eq!(store.memory_versions(taught).await.unwrap(), std::slice::from_ref(oldest));
    assert_eq!(store.memory_content(i64::MAX).await.unwrap(), None);
}

pub async fn versions_outlive_their_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.add_memory_versions(vec![version("fog.md", Some(b"x"), Some(session))]).await.unwrap();
    store.delete_session(session).await.unwrap();
    assert_eq!(store.memory_versions(of(None)).await.unwrap().len(), 1);
}

pub async fn the_oldest_of_too_many_versions_go(store: &impl Store) {
    let one = |n: usize| version("fog.md", Some(n.to_string().as_bytes()), None);
    store.add_memory_versions(vec![version("sky.md", Some(b"stays"), None)]).await.unwrap();
    let many = (0..2 * VERSIONS_OF_A_FILE).map(one).collect();
    store.add_memory_versions(many).await.unwrap();
    let all = MemoryVersionFilter { limit: usize::MAX, ..of(Some("fog.md")) };
    let left = store.memory_versions(all).await.unwrap();
    assert!(
        left.len() >= VERSIONS_OF_A_FILE && left.len() < VERSIONS_OF_A_FILE + 1_000,
        "{}",
        left.len()
    );
    assert_eq!(left[0].hash, one(2 * VERSIONS_OF_A_FILE - 1).hash, "the newest is there");
    assert_eq!(store.memory_versions(of(Some("sky.md"))).await.unwrap().len(), 1);
}

fn kept(owner: &str, key: &str, value: &str) -> Kept {
    Kept {
        space: "approval".to_owned(),
        owner: owner.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        at: UnixMicros(NOW.0 + 1),
    }
}

pub async fn what_is_kept_is_replaced_and_forgotten(store: &impl Store) {
    for (owner, key, value) in
        [("app", "b", "1"), ("app", "a", r#"{"x":"ä"}"#), ("lib", "a", "3"), ("app", "b", "4")]
    {
        store.keep(kept(owner, key, value)).await.unwrap();
    }
    let other = Kept { space: "mark".to_owned(), ..kept("app", "a", "5") };
    store.keep(other.clone()).await.unwrap();
    let all = || store.kept("approval".to_owned(), "app".to_owned());
    assert_eq!(all().await.unwrap(), [kept("app", "a", r#"{"x":"ä"}"#), kept("app", "b", "4")]);
    let gone = || store.forget_kept("approval".to_owned(), "app".to_owned(), "a".to_owned());
    assert!(gone().await.unwrap());
    assert!(!gone().await.unwrap(), "forgotten already");
    assert_eq!(all().await.unwrap(), [kept("app", "b", "4")]);
    assert_eq!(store.kept("mark".to_owned(), "app".to_owned()).await.unwrap(), [other]);
}
