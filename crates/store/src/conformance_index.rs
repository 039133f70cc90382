//! The index, made after the messages.

use bethink_transcript::{Seq, SessionId};

use super::imports::{batch, record};
use super::{assert_not_found, make_session, message, say, session_id};
use crate::{IndexBatch, SearchQuery, SeqRange, Store, Terms};

pub async fn messages_are_found_once_indexed(store: &impl Store) {
    let session = make_session(store, 1).await;
    assert_eq!(store.unindexed(session).await.unwrap(), None);
    import(store, session, 1..=100).await;
    import(store, session, 101..=200).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(1, 200)));
    assert_eq!(found(store, session, "word150").await, []);
    index(store, session, 1..=200).await;
    assert_eq!(found(store, session, "word150").await, [Seq(150)]);
    assert_eq!(store.unindexed(session).await.unwrap(), None);
}

pub async fn an_index_done_twice_is_done_once(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=70).await;
    index(store, session, 1..=70).await;
    let once = score(store, session, "common").await;
    index(store, session, 1..=70).await;
    assert_eq!(found(store, session, "word7").await, [Seq(7)]);
    assert_eq!(score(store, session, "common").await, once, "no word was counted again");
    say(store, session, &["appended"]).await;
    index(store, session, 61..=71).await;
    assert_eq!(found(store, session, "word71").await, [Seq(71)]);
    assert_eq!(found(store, session, "word61").await, [Seq(61)]);
}

pub async fn an_index_is_made_in_stretches(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=10).await;
    index(store, session, 1..=4).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(5, 10)));
    assert_eq!(found(store, session, "word4").await, [Seq(4)]);
    assert_eq!(found(store, session, "word5").await, []);
    import(store, session, 11..=12).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(5, 12)));
    let wordless = IndexBatch { session, entries: Vec::new(), through: Seq(6) };
    store.index(wordless).await.unwrap();
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(7, 12)));
    index(store, session, 7..=12).await;
    assert_eq!(found(store, session, "word12").await, [Seq(12)]);
    assert_eq!(store.unindexed(session).await.unwrap(), None);
}

pub async fn an_append_amid_an_import_is_marked_with_it(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=3).await;
    say(store, session, &["amid"]).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(1, 4)));
    index(store, session, 1..=4).await;
    assert_eq!(found(store, session, "word4").await, [Seq(4)]);
    import(store, session, 5..=6).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(5, 6)));
    let beyond = IndexBatch { session, entries: Vec::new(), through: Seq(9) };
    store.index(beyond).await.unwrap();
    say(store, session, &["later"]).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(7, 7)), "not there then");
}

pub async fn the_mark_goes_with_its_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=3).await;
    store.delete_session(session).await.unwrap();
    assert_not_found(store.unindexed(session).await);
    let late = IndexBatch { session, entries: vec![terms(1)], through: Seq(3) };
    assert_not_found(store.index(late).await);
    make_session(store, 1).await;
    assert_eq!(store.unindexed(session).await.unwrap(), None);
    assert_not_found(store.unindexed(session_id(9)).await);
}

/// Lines with one message each, which lands on the seq of its line.
async fn import(store: &impl Store, session: SessionId, lines: std::ops::RangeInclusive<u64>) {
    let records = lines.map(|n| record(session, n, message(&format!("m{n}"), "x"))).collect();
    store.import(batch(session, records)).await.unwrap();
}

async fn index(store: &impl Store, session: SessionId, seqs: std::ops::RangeInclusive<u64>) {
    let through = Seq(*seqs.end());
    let entries = seqs.map(terms).collect();
    store.index(IndexBatch { session, entries, through }).await.unwrap();
}

fn terms(seq: u64) -> (Seq, Terms) {
    (Seq(seq), Terms { user: format!("common word{seq}"), ..Terms::default() })
}

fn stretch(first: u64, last: u64) -> SeqRange {
    SeqRange { before: Some(Seq(last + 1)), ..SeqRange::from(Seq(first)) }
}

async fn found(store: &impl Store, session: SessionId, word: &str) -> Vec<Seq> {
    let query = SearchQuery { session, terms: vec![word.to_owned()], limit: 5 };
    store.search(query).await.unwrap().iter().map(|hit| hit.message.seq).collect()
}

async fn score(store: &impl Store, session: SessionId, word: &str) -> f64 {
    let query = SearchQuery { session, terms: vec![word.to_owned()], limit: 1 };
    store.search(query).await.unwrap()[0].score
}
