//! Tests of what hooks have sent and received.

use bethink_transcript::{Seq, UnixMicros};

use super::{assert_not_found, make_session, session_id};
use bethink_store::{DeliveredMemories, Store, TranscriptPlace, TranscriptPosition};

fn position(bytes: u64, elsewhere: bool) -> TranscriptPosition {
    TranscriptPosition { bytes, hash: format!("hash of {bytes}"), through: Seq(bytes), elsewhere }
}

pub async fn transcript_positions_are_replaced(store: &impl Store) {
    let (session, other) = (make_session(store, 1).await, make_session(store, 2).await);
    let read = |path: &str| store.transcript_position(session, path.to_owned());
    assert!(!store.has_transcript(session).await.unwrap());
    assert_eq!(read("/a").await.unwrap(), None);
    for (path, bytes, elsewhere) in [("/a", 10, false), ("/b", 20, false), ("/a", 30, true)] {
        let put =
            store.put_transcript_position(session, path.to_owned(), position(bytes, elsewhere));
        put.await.unwrap();
    }
    assert_eq!(read("/a").await.unwrap(), Some(position(30, true)));
    assert_eq!(read("/b").await.unwrap(), Some(position(20, false)));
    assert!(store.has_transcript(session).await.unwrap());
    assert!(!store.has_transcript(other).await.unwrap());
}

pub async fn transcript_positions_go_with_their_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    let put = |session| store.put_transcript_position(session, "/a".to_owned(), position(1, false));
    put(session).await.unwrap();
    store.delete_session(session).await.unwrap();
    assert_not_found(put(session).await);
    make_session(store, 1).await;
    assert!(!store.has_transcript(session).await.unwrap());
    assert_not_found(put(session_id(9)).await);
}

pub async fn transcript_places_are_added_once(store: &impl Store) {
    let place = |agent: &str, path: &str, at| TranscriptPlace {
        agent: agent.to_owned(),
        path: path.to_owned(),
        read_at: UnixMicros(at),
    };
    assert!(store.transcript_places().await.unwrap().is_empty());
    for (agent, path, at) in
        [("pi", "/a", 1), ("qwen", "/a", 2), ("pi", "/ä b", 3), ("pi", "/a", 4)]
    {
        store.put_transcript_place(place(agent, path, at)).await.unwrap();
    }
    let expect = [place("pi", "/a", 4), place("qwen", "/a", 2), place("pi", "/ä b", 3)];
    assert_eq!(store.transcript_places().await.unwrap(), expect);
}

pub async fn delivered_memories_are_replaced_and_deleted(store: &impl Store) {
    let of = |names: &[&str], bytes| DeliveredMemories {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        bytes,
    };
    let read =
        |client: &str, key: &str| store.delivered_memories(client.to_owned(), key.to_owned());
    assert_eq!(read("codex", "1").await.unwrap(), None);
    for (client, key, delivered) in [
        ("codex", "1", of(&["private/fog"], 10)),
        ("codex", "2", of(&[], 0)),
        ("gemini", "1", of(&["team/\"sky\""], 7)),
        ("codex", "1", of(&["private/fog", "team/ä"], 30)),
    ] {
        let put = store.put_delivered_memories(client.to_owned(), key.to_owned(), delivered);
        put.await.unwrap();
    }
    let both = of(&["private/fog", "team/ä"], 30);
    assert_eq!(read("codex", "1").await.unwrap(), Some(both));
    assert_eq!(read("gemini", "1").await.unwrap(), Some(of(&["team/\"sky\""], 7)));
    store.delete_delivered_memories("codex".to_owned(), "1".to_owned()).await.unwrap();
    store.delete_delivered_memories("codex".to_owned(), "9".to_owned()).await.unwrap();
    assert_eq!(read("codex", "1").await.unwrap(), None);
    assert_eq!(read("codex", "2").await.unwrap(), Some(of(&[], 0)));
}
