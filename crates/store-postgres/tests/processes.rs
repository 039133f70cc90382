//! Tests of stores that share a database, as those of several daemons do: each has its own connections and its own writer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use std::collections::BTreeSet;

use bethink_store::{
    Append, AppendResult, IndexBatch, IndexLookup, IndexStore, JobStore, Lease, MemoryAuthor,
    MemoryStore, MemoryVersionFilter, NewJob, NewMemoryVersion, NewMessage, NewSession,
    NotesRecord, NotesStore, Receipt, SearchScope, SeqRange, SessionStore, StoreError, StoreResult,
    Terms,
};
use bethink_store_postgres::PostgresStore;
use bethink_transcript::{JobId, MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;
use futures_util::future::join_all;
use uuid::Uuid;

const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);

async fn two_stores() -> [PostgresStore; 2] {
    let server = server::server().await;
    let database = server.new_database().await;
    [server.open(&database).await, server.open(&database).await]
}

fn session_id(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

async fn make_session(store: &PostgresStore, number: u128) -> SessionId {
    let id = session_id(number);
    let new = NewSession::new(id, "/project".into(), "{}".into(), NOW);
    store.create_session(new, None).await.unwrap().session.id
}

fn append(session: SessionId, ids: &[String]) -> Append {
    let message = |id: &String| NewMessage {
        id: MessageId::new(id).unwrap(),
        role: Role::User,
        raw: Bytes::from(id.clone()),
        recorded: false,
        created_at: NOW,
    };
    Append {
        session,
        messages: ids.iter().map(message).collect(),
        only_new: false,
        receipt: None,
        at: NOW,
    }
}

async fn say(store: &PostgresStore, session: SessionId, ids: &[String]) -> AppendResult {
    store.append(append(session, ids)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_append_to_one_session() {
    const APPENDERS: usize = 12;
    const EACH: usize = 10;
    let stores = two_stores().await;
    let session = make_session(&stores[0], 1).await;
    let appender = |appender: usize| {
        let store = &stores[appender % 2];
        async move {
            let mut new = 0;
            for turn in 0..EACH {
                let own = [format!("{appender}-{turn}"), format!("{appender}-{turn}-again")];
                let [(first, true), (second, true)] = say(store, session, &own).await.places[..]
                else {
                    panic!("a new message was not new")
                };
                assert_eq!(second, first.next(), "messages of a request stay together");
                // All appenders send this one.
                let shared = say(store, session, &[format!("shared-{turn}")]).await;
                new += usize::from(shared.places[0].1);
            }
            new
        }
    };
    let new: usize = join_all((0..APPENDERS).map(appender)).await.into_iter().sum();
    assert_eq!(new, EACH, "each shared message was new once");
    for store in &stores {
        let messages = store.messages(session, SeqRange::all()).await.unwrap();
        let seqs: Vec<Seq> = messages.iter().map(|message| message.seq).collect();
        let expect: Vec<Seq> = (1..=(APPENDERS * EACH * 2 + EACH) as u64).map(Seq).collect();
        assert_eq!(seqs, expect);
        let ids: BTreeSet<_> = messages.iter().map(|message| &message.id).collect();
        assert_eq!(ids.len(), messages.len());
        assert_eq!(store.session(session).await.unwrap().last_seq, *expect.last().unwrap());
    }
}

/// Appends to several sessions in opposite orders do not wait for each other forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_append_to_many_sessions() {
    const SESSIONS: u128 = 8;
    let stores = two_stores().await;
    for number in 0..SESSIONS {
        make_session(&stores[0], number).await;
    }
    for round in 0..20 {
        let appends = (0..2 * SESSIONS).map(|n| {
            let (store, number) = match n % 2 {
                0 => (&stores[0], n / 2),
                _ => (&stores[1], SESSIONS - 1 - n / 2),
            };
            say_once(store, session_id(number), format!("{round}-{n}"))
        });
        join_all(appends).await;
    }
    for number in 0..SESSIONS {
        assert_eq!(stores[0].session(session_id(number)).await.unwrap().last_seq, Seq(40));
    }
}

async fn say_once(store: &PostgresStore, session: SessionId, id: String) {
    assert!(say(store, session, &[id]).await.places[0].1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_counts_in_both_stores() {
    let stores = two_stores().await;
    let session = make_session(&stores[0], 1).await;
    let request = |number: usize| {
        let receipt = Some(Receipt { key: "key".into(), fingerprint: "print".into() });
        let append = Append { receipt, ..append(session, &[format!("m{number}")]) };
        stores[number % 2].append(append)
    };
    let answers = join_all((0..16).map(request)).await;
    let fresh = answers.iter().filter(|answer| !answer.as_ref().unwrap().repeated).count();
    assert_eq!(fresh, 1);
    assert_eq!(stores[0].session(session).await.unwrap().last_seq, Seq(1));
    let create = |number: u128| {
        let new = NewSession::new(session_id(number), "/project".into(), "{}".into(), NOW);
        let receipt = Receipt { key: "create".into(), fingerprint: "print".into() };
        stores[usize::from(number.is_multiple_of(2))].create_session(new, Some(receipt))
    };
    let created = join_all((10..20).map(create)).await;
    let ids: BTreeSet<_> = created.iter().map(|one| one.as_ref().unwrap().session.id).collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_lease_each_job_once() {
    const JOBS: u128 = 40;
    let stores = two_stores().await;
    for number in 0..JOBS {
        let new = NewJob {
            id: JobId(Uuid::from_u128(number)),
            kind: "work".into(),
            session: None,
            payload: "{}".into(),
            background: false,
            created_at: NOW,
        };
        stores[0].enqueue(new).await.unwrap();
    }
    let worker = |worker: usize| {
        let store = &stores[worker % 2];
        async move {
            let mut taken = Vec::new();
            loop {
                let owner = format!("worker{worker}");
                let until = UnixMicros(NOW.0 + 60_000_000);
                let lease = Lease { owner, background: true, now: NOW, until };
                let Some(job) = store.lease(lease).await.unwrap() else { break taken };
                assert_eq!(job.attempts, 1);
                taken.push(job.id);
            }
        }
    };
    let taken = join_all((0..8).map(worker)).await;
    assert!(taken.iter().all(|taken| taken.len() < JOBS as usize), "both stores took some");
    let taken: Vec<JobId> = taken.into_iter().flatten().collect();
    assert_eq!(taken.len(), JOBS as usize);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), JOBS as usize);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_number_versions_without_gaps() {
    let stores = two_stores().await;
    let add = |number: usize| {
        let version = NewMemoryVersion {
            directory: "app/private".into(),
            file: "fog.md".into(),
            hash: number.to_string(),
            content: None,
            author: MemoryAuthor::Person,
            session: None,
            note: String::new(),
            at: NOW,
        };
        stores[number % 2].add_memory_versions(vec![version])
    };
    join_all((0..40).map(add)).await.into_iter().collect::<StoreResult<Vec<()>>>().unwrap();
    let filter =
        MemoryVersionFilter { directory: "app/private".into(), limit: 99, ..Default::default() };
    let versions = stores[0].memory_versions(filter).await.unwrap();
    let numbers: Vec<i64> = versions.iter().map(|version| version.number).collect();
    assert_eq!(numbers, (1..=40).rev().collect::<Vec<i64>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_index_and_merge_at_once() {
    const MESSAGES: u64 = 40;
    let stores = two_stores().await;
    let session = make_session(&stores[0], 1).await;
    let work = |store: usize| {
        let store = &stores[store];
        async move {
            for n in 1..=MESSAGES {
                say(store, session, &[format!("m{n}")]).await;
                let terms = Terms { user: format!("common word{n}"), ..Terms::default() };
                let entries = vec![(Seq(n), terms)];
                store.index(IndexBatch { session, entries, through: Seq(n) }).await.unwrap();
                store.tidy().await.unwrap();
            }
        }
    };
    join_all([0, 1].map(work)).await;
    while stores[0].tidy().await.unwrap() {}
    for store in &stores {
        let scope = SearchScope::Session(session);
        let terms = vec!["common".to_owned(), "word7".to_owned()];
        let lookup =
            IndexLookup { scope, terms, families: Vec::new(), marks: Vec::new(), most: 1_000 };
        let found = store.lookup(lookup).await.unwrap();
        let seqs = |list: usize| -> Vec<u32> {
            found.lists[list].as_ref().unwrap().iter().map(|posting| posting.seq).collect()
        };
        assert_eq!(seqs(0), (1..=40).collect::<Vec<u32>>());
        assert_eq!(seqs(1), [7]);
        assert_eq!(found.sessions[0].messages, MESSAGES, "no message was counted twice");
    }
}

/// Whatever writes to a session while another store deletes it comes before, or is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_gets_no_more_rows() {
    let server = server::server().await;
    let database = server.new_database().await;
    let stores = [server.open(&database).await, server.open(&database).await];
    for number in 0..20 {
        let session = make_session(&stores[0], number).await;
        let notes = NotesRecord {
            session,
            text: "text".into(),
            replaced: String::new(),
            written: "{}".into(),
            through: Seq(1),
            tokens: 1,
            strategy: "embedded".into(),
            updated_at: NOW,
        };
        let id = [format!("m{number}")];
        let (put, appended, deleted) = tokio::join!(
            stores[0].put_notes(notes),
            stores[0].append(append(session, &id)),
            stores[1].delete_session(session)
        );
        deleted.unwrap();
        for outcome in [put.err(), appended.err()].into_iter().flatten() {
            assert!(matches!(outcome, StoreError::NotFound { .. }), "{outcome:?}");
        }
    }
    let mut db = server.connect(&database).await;
    let left = "SELECT (SELECT count(*) FROM notes) + (SELECT count(*) FROM messages)";
    assert_eq!(sqlx::query_scalar::<_, i64>(left).fetch_one(&mut db).await.unwrap(), 0);
}
