//! Tests of what happens between two statements of a transaction. A connection outside the stores holds a lock, so that
//! the stores stop at a known place.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use std::time::Duration;

use bethink_store::{
    Append, IndexBatch, IndexLookup, IndexStore, JobStore, Lease, NewJob, NewMessage, NewSession,
    NotesRecord, NotesStore, Receipt, SearchScope, SessionStore, StoreError, Terms,
};
use bethink_store_postgres::PostgresStore;
use bethink_transcript::{JobId, MessageId, Role, Seq, SessionId, UnixMicros};
use sqlx::{Executor, PgConnection};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);
const SESSION: SessionId = SessionId(Uuid::from_u128(1));

/// Two stores on one database, and a connection that stops them.
struct StoppedStores {
    stores: [PostgresStore; 2],
    outside: PgConnection,
    /// Looks for those who wait. Inside a transaction, it would always see the same.
    watcher: PgConnection,
}

impl StoppedStores {
    async fn new() -> Self {
        let server = server::server().await;
        let database = server.new_database().await;
        let stores = [server.open(&database).await, server.open(&database).await];
        stores[0].create_session(new_session(SESSION), None).await.unwrap();
        let outside = server.connect(&database).await;
        Self { stores, outside, watcher: server.connect(&database).await }
    }

    async fn run(&mut self, statements: &'static str) {
        self.outside.execute(sqlx::raw_sql(statements)).await.unwrap();
    }

    /// Waits until each of the tasks has ended or waits for a lock.
    async fn wait_for<T>(&mut self, tasks: &[JoinHandle<T>]) {
        let waiting = "
            SELECT count(*)
            FROM pg_stat_activity
            WHERE datname = current_database()
              AND wait_event_type = 'Lock'";
        let wait = async {
            loop {
                let ended = tasks.iter().filter(|task| task.is_finished()).count();
                let stopped: i64 =
                    sqlx::query_scalar(waiting).fetch_one(&mut self.watcher).await.unwrap();
                if ended + usize::try_from(stopped).unwrap() >= tasks.len() {
                    break;
                }
            }
        };
        timeout(Duration::from_secs(30), wait).await.unwrap();
    }
}

fn new_session(id: SessionId) -> NewSession {
    NewSession::new(id, "/project".into(), "{}".into(), NOW)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_of_a_session_that_is_being_deleted_are_refused() {
    let mut stage = StoppedStores::new().await;
    stage.run("BEGIN; DELETE FROM sessions").await;
    let notes = NotesRecord {
        session: SESSION,
        text: "text".into(),
        replaced: String::new(),
        written: "{}".into(),
        through: Seq(1),
        tokens: 1,
        strategy: "embedded".into(),
        updated_at: NOW,
    };
    let store = stage.stores[0].clone();
    let put = [tokio::spawn(async move { store.put_notes(notes).await })];
    stage.wait_for(&put).await;
    stage.run("COMMIT").await;
    let [put] = put;
    let outcome = put.await.unwrap();
    assert!(matches!(outcome, Err(StoreError::NotFound { .. })), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_being_leased_is_passed_over() {
    let mut stage = StoppedStores::new().await;
    for number in 1..=2 {
        let new = NewJob {
            id: JobId(Uuid::from_u128(number)),
            kind: "work".into(),
            session: None,
            payload: "{}".into(),
            background: false,
            created_at: NOW,
        };
        stage.stores[0].enqueue(new).await.unwrap();
    }
    stage.run("BEGIN; UPDATE jobs SET state = 1, owner = 'other' WHERE number = 1").await;
    let until = UnixMicros(NOW.0 + 60_000_000);
    let lease = Lease { owner: "owner".into(), background: true, now: NOW, until };
    let lease = timeout(Duration::from_secs(10), stage.stores[0].lease(lease));
    let job = lease.await.expect("the other lease was waited for").unwrap().unwrap();
    assert_eq!(job.id, JobId(Uuid::from_u128(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_being_carried_out_is_repeated() {
    let mut stage = StoppedStores::new().await;
    // Receipts can be read, but not stored.
    stage.run("BEGIN; LOCK TABLE receipts IN SHARE ROW EXCLUSIVE MODE").await;
    let create = |number: usize| {
        let store = stage.stores[number].clone();
        let new = new_session(SessionId(Uuid::from_u128(10 + number as u128)));
        let receipt = Receipt { key: "key".into(), fingerprint: "print".into() };
        tokio::spawn(async move { store.create_session(new, Some(receipt)).await })
    };
    let created = [create(0), create(1)];
    stage.wait_for(&created).await;
    stage.run("COMMIT").await;
    let [one, two] = created;
    let (one, two) = (one.await.unwrap().unwrap(), two.await.unwrap().unwrap());
    assert_eq!(one.session.id, two.session.id);
    assert!(one.repeated != two.repeated);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn segments_that_are_being_merged_are_left_alone() {
    let mut stage = StoppedStores::new().await;
    for n in 1..=8 {
        let message = NewMessage {
            id: MessageId::new(&format!("m{n}")).unwrap(),
            role: Role::User,
            raw: "text".into(),
            recorded: false,
            created_at: NOW,
        };
        let append = Append {
            session: SESSION,
            messages: vec![message],
            only_new: false,
            receipt: None,
            at: NOW,
        };
        stage.stores[0].append(append).await.unwrap();
        let terms = Terms { user: "word".into(), ..Terms::default() };
        let batch =
            IndexBatch { session: SESSION, entries: vec![(Seq(n), terms)], through: Seq(n) };
        stage.stores[0].index(batch).await.unwrap();
    }
    // Segments can be read, but not added.
    stage.run("BEGIN; LOCK TABLE index_segments IN SHARE ROW EXCLUSIVE MODE").await;
    let tidy = |number: usize| {
        let store = stage.stores[number].clone();
        tokio::spawn(async move { store.tidy().await })
    };
    let tidied = [tidy(0), tidy(1)];
    stage.wait_for(&tidied).await;
    stage.run("COMMIT").await;
    for tidied in tidied {
        tidied.await.unwrap().unwrap();
    }
    let scope = SearchScope::Session(SESSION);
    let lookup = IndexLookup {
        scope,
        terms: vec!["word".into()],
        families: Vec::new(),
        marks: Vec::new(),
        most: 1_000,
    };
    let found = stage.stores[1].lookup(lookup).await.unwrap().lists.remove(0).unwrap();
    let counts: Vec<u8> = found.iter().map(|posting| posting.counts.of(0)).collect();
    assert_eq!(counts, [1; 8]);
}
