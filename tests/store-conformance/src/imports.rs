//! Tests of records of imported files.

use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;

use super::{
    append, assert_conflict, assert_not_found, history, make_session, message, message_id,
    new_session, session_id,
};
use bethink_store::{ImportBatch, NewMessage, NewRecord, NewSession, Store, StoredRecord};

pub async fn lines_come_back_byte_for_byte(store: &impl Store) {
    let session = make_session(store, 1).await;
    let file: Vec<&[u8]> = vec![
        b"{\"type\":\"summary\"}\n",
        b"{\"a\":1,\"message\":{\"role\":\"user\"},\"z\":\"\xc3\xa9\"}\r\n",
        b"broken \xff\xfe\x00 line\n",
        b"\n",
        b"{\"message\":{}} and no end",
    ];
    let records = file.iter().enumerate().map(|(n, line)| cut(session, n as u64 + 1, line));
    store.import(batch(session, records.collect())).await.unwrap();
    let stored = store.records(session, 0, 100).await.unwrap();
    assert_eq!(stored.iter().map(line).collect::<Vec<_>>(), file);
    assert_eq!(stored.iter().map(|record| record.line).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(stored[1].message, Some((session, Seq(1))));
    assert_eq!(stored[2].message, None);
    let page = store.records(session, 2, 2).await.unwrap();
    assert_eq!(page, stored[2..4]);
    assert_eq!(store.records(session, 5, 2).await.unwrap(), []);
}

pub async fn imported_messages_are_recorded(store: &impl Store) {
    let session = make_session(store, 1).await;
    let records = (1..=200).map(|n| record(session, n, message(&format!("m{n}"), "hay")));
    store.import(batch(session, records.collect())).await.unwrap();
    let messages = history(store, session).await;
    assert_eq!(messages.len(), 200);
    assert!(messages.iter().all(|message| message.recorded));
    assert_eq!(store.session(session).await.unwrap().last_seq, Seq(200));
    let next = store.append(append(session, vec![message("new", "new")])).await.unwrap();
    assert_eq!(next.last_seq, Seq(201));
    assert!(!history(store, session).await[200].recorded);
}

pub async fn a_repeated_id_is_a_record_alone(store: &impl Store) {
    let session = make_session(store, 1).await;
    let records = vec![
        record(session, 1, message("a", "first")),
        record(session, 2, message("a", "other bytes")),
    ];
    store.import(batch(session, records)).await.unwrap();
    let again = vec![record(session, 3, message("a", "third"))];
    store.import(batch(session, again)).await.unwrap();
    let stored = store.records(session, 0, 9).await.unwrap();
    assert_eq!(stored[0].message, Some((session, Seq(1))));
    assert_eq!((stored[1].message, stored[2].message), (None, None));
    for (record, text) in stored.iter().zip(["first", "other bytes", "third"]) {
        assert_eq!(line(record), line_of(&message("a", text).raw));
    }
    assert_eq!(history(store, session).await.len(), 1);
}

pub async fn an_import_is_all_or_nothing(store: &impl Store) {
    let session = make_session(store, 1).await;
    let stray =
        vec![record(session, 1, message("a", "a")), record(session_id(9), 2, message("b", "b"))];
    assert_not_found(store.import(batch(session, stray)).await);
    assert_eq!(store.records(session, 0, 9).await.unwrap(), []);
    assert_eq!(history(store, session).await, []);
    store.import(batch(session, vec![record(session, 1, message("a", "a"))])).await.unwrap();
    let twice = vec![record(session, 2, message("b", "b")), record(session, 1, message("c", "c"))];
    assert_conflict(store.import(batch(session, twice)).await);
    assert_eq!(history(store, session).await.len(), 1);
    let next = store.append(append(session, vec![message("d", "d")])).await.unwrap();
    assert_eq!(next.last_seq, Seq(2), "a refused import takes no place");
    assert_not_found(store.import(batch(session_id(9), Vec::new())).await);
}

pub async fn a_child_that_is_deleted_leaves_its_lines(store: &impl Store) {
    let parent = make_session(store, 1).await;
    let child = session_id(2);
    let new = NewSession { parent: Some(parent), ..new_session(2) };
    store.create_session(new, None).await.unwrap();
    let records =
        vec![record(parent, 1, message("a", "main")), record(child, 2, message("b", "side"))];
    store.import(batch(parent, records)).await.unwrap();
    let before = store.records(parent, 0, 9).await.unwrap();
    assert_eq!(before[1].message, Some((child, Seq(1))));
    store.delete_session(child).await.unwrap();
    let after = store.records(parent, 0, 9).await.unwrap();
    assert_eq!(after[0], before[0]);
    assert_eq!((line(&after[1]), after[1].message), (line(&before[1]), None));
}

pub async fn a_file_is_known_by_its_hash(store: &impl Store) {
    assert_eq!(store.imported("hash").await.unwrap(), None);
    let new = NewSession { content_hash: Some("hash".into()), ..new_session(1) };
    store.create_session(new, None).await.unwrap();
    assert_eq!(store.imported("hash").await.unwrap(), Some(session_id(1)));
    store.delete_session(session_id(1)).await.unwrap();
    assert_eq!(store.imported("hash").await.unwrap(), None, "only if it still lives");
}

pub(super) fn batch(session: SessionId, records: Vec<NewRecord>) -> ImportBatch {
    ImportBatch { session, records, progress: None }
}

/// Makes a line with a `message` of `session`.
pub(super) fn record(session: SessionId, line: u64, message: NewMessage) -> NewRecord {
    NewRecord {
        line,
        head: Bytes::from_static(b"{\"message\":"),
        tail: Bytes::from_static(b"}\n"),
        message: Some((session, NewMessage { recorded: true, ..message })),
    }
}

fn line_of(raw: &[u8]) -> Vec<u8> {
    [b"{\"message\":", raw, b"}\n"].concat()
}

/// Splits a line around the object after `"message":`, if there is one.
fn cut(session: SessionId, number: u64, line: &'static [u8]) -> NewRecord {
    let text = String::from_utf8_lossy(line);
    let Some(start) = text.find("\"message\":").map(|at| at + 10) else {
        return NewRecord {
            line: number,
            head: Bytes::from_static(line),
            tail: Bytes::new(),
            message: None,
        };
    };
    let end = start + text[start..].find('}').unwrap() + 1;
    let message = NewMessage {
        id: message_id(&format!("line{number}")),
        raw: Bytes::from_static(&line[start..end]),
        recorded: true,
        ..message("x", "x")
    };
    NewRecord {
        line: number,
        head: Bytes::from_static(&line[..start]),
        tail: Bytes::from_static(&line[end..]),
        message: Some((session, message)),
    }
}

fn line(record: &StoredRecord) -> Vec<u8> {
    [&record.head[..], &record.raw, &record.tail].concat()
}
