//! Measures durable appends through the store and over HTTP, compared with plain inserts in the same run.

use std::path::Path;
use std::time::Duration;

use bethink_harness::{Daemon, say};
use bethink_store::{Append, NewMessage, NewSession, SessionStore};
use bethink_store_sqlite::{Options, SqliteStore};
use bethink_transcript::{MessageId, Role, SessionId, UnixMicros};
use bytes::Bytes;
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::table::{Goal, Row};
use crate::{median, timed};

/// Number of rounds. The compared variants alternate, so that a busy disk affects all of them.
const ROUNDS: usize = 7;
/// Number of appends of a task in a round.
const EACH: usize = 150;
const TASKS: usize = 32;
/// Size of a message in bytes. An agent's message is rarely smaller.
const BYTES: usize = 600;

/// Appends per second, from the median of the rounds.
pub fn rows() -> Vec<Row> {
    let runtime = Runtime::new().expect("a runtime");
    let Rates { raw, one, many } = runtime.block_on(in_process());
    let (http_one, http_many) = over_http();
    let detail = |a: f64, b: f64| format!("{a:.0}/s against {b:.0}/s");
    vec![
        Row::new(
            "durable appends, store, one task, to raw SQLite",
            one / raw,
            "",
            Goal::AtLeast(0.7),
        )
        .detail(detail(one, raw)),
        Row::new("durable appends, store, 32 tasks, to one", many / one, "", Goal::AtLeast(6.0))
            .detail(detail(many, one)),
        Row::new(
            "durable appends, HTTP, one client, to raw SQLite",
            http_one / raw,
            "",
            Goal::None,
        )
        .detail(detail(http_one, raw)),
        Row::new("durable appends, HTTP, 32 clients, to one", http_many / http_one, "", Goal::None)
            .detail(detail(http_many, http_one)),
    ]
}

async fn in_process() -> Rates {
    let dir = tempfile::tempdir().expect("a directory");
    let mut raw = raw(&dir.path().join("raw.db")).await;
    let (store, _) = SqliteStore::open(&dir.path().join("store.db"), Options::new(UnixMicros(0)))
        .await
        .expect("a store");
    rates(&mut raw, &store).await
}

/// Appends per second.
pub(crate) struct Rates {
    /// Plain inserts.
    pub(crate) raw: f64,
    pub(crate) one: f64,
    pub(crate) many: f64,
}

/// A table without bethink's checks, in the same kind of database.
pub(crate) trait RawTable {
    /// Inserts one row and commits.
    fn insert(&mut self, n: usize) -> impl Future<Output = ()>;
}

/// Compares a store with plain inserts.
pub(crate) async fn rates(
    raw: &mut impl RawTable,
    store: &(impl SessionStore + Clone + Send + Sync + 'static),
) -> Rates {
    let sessions = sessions(store).await;
    let (mut raws, mut ones, mut manys) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 0;
    for _ in 0..ROUNDS {
        let start = std::time::Instant::now();
        for n in 0..EACH {
            raw.insert(next + n).await;
        }
        raws.push(start.elapsed());
        let start = std::time::Instant::now();
        for n in 0..EACH {
            append(store, sessions[0], next + n).await;
        }
        ones.push(start.elapsed());
        next += EACH;
        let start = std::time::Instant::now();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (store, session) = (store.clone(), sessions[task]);
                let from = next + task * EACH;
                tokio::spawn(async move {
                    for n in 0..EACH {
                        append(&store, session, from + n).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a task");
        }
        manys.push(start.elapsed());
        next += TASKS * EACH;
    }
    Rates { raw: rate(EACH, &raws), one: rate(EACH, &ones), many: rate(TASKS * EACH, &manys) }
}

async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = SqliteConnection::connect_with(&options).await.expect("SQLite");
    sqlx::query("CREATE TABLE message (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, raw BLOB NOT NULL)")
        .execute(&mut connection)
        .await
        .expect("a table");
    connection
}

impl RawTable for SqliteConnection {
    async fn insert(&mut self, n: usize) {
        sqlx::query("INSERT INTO message (id, raw) VALUES (?, ?)")
            .bind(format!("m{n}"))
            .bind(body(n))
            .execute(self)
            .await
            .expect("an insert");
    }
}

async fn sessions(store: &(impl SessionStore + Sync)) -> Vec<SessionId> {
    let mut ids = Vec::new();
    for n in 1..=TASKS as u128 {
        let id = SessionId(Uuid::from_u128(n));
        let new = NewSession::new(id, "/proj/garden".to_owned(), "{}".to_owned(), UnixMicros(0));
        store.create_session(new, None).await.expect("a session");
        ids.push(id);
    }
    ids
}

async fn append(store: &(impl SessionStore + Sync), session: SessionId, n: usize) {
    let message = NewMessage {
        id: MessageId::new(&format!("m{n}")).expect("an id"),
        role: Role::User,
        raw: Bytes::from(body(n)),
        recorded: false,
        created_at: UnixMicros(0),
    };
    let append = Append {
        session,
        messages: vec![message],
        only_new: false,
        receipt: None,
        at: UnixMicros(0),
    };
    store.append(append).await.expect("an append");
}

pub(crate) fn body(n: usize) -> Vec<u8> {
    let text = format!("message {n} {}", "x".repeat(BYTES));
    say::user(&text).to_string().into_bytes()
}

fn over_http() -> (f64, f64) {
    let daemon = Daemon::fresh();
    let sessions: Vec<String> = (0..TASKS).map(|_| daemon.session(200_000)).collect();
    let pairs: Vec<(&Daemon, &str)> =
        sessions.iter().map(|session| (&daemon, session.as_str())).collect();
    one_and_all(&pairs)
}

/// Returns the appends per second of the first of these clients alone, and of all together.
pub(crate) fn one_and_all(clients: &[(&Daemon, &str)]) -> (f64, f64) {
    let (mut ones, mut all) = (Vec::new(), Vec::new());
    let [(daemon, session), ..] = clients else { return (0.0, 0.0) };
    for _ in 0..ROUNDS {
        ones.push(timed(|| client(daemon, session)).0);
        let together = || {
            std::thread::scope(|scope| {
                for (daemon, session) in clients {
                    scope.spawn(|| client(daemon, session));
                }
            });
        };
        all.push(timed(together).0);
    }
    (rate(EACH, &ones), rate(clients.len() * EACH, &all))
}

fn client(daemon: &Daemon, session: &str) {
    let mut client = daemon.client();
    let path = format!("/v1/sessions/{session}/messages");
    for n in 0..EACH {
        let text = format!("message {n} {}", "x".repeat(BYTES));
        client.post(&path, &json!({"messages": [say::user(&text)]})).ok();
    }
}

fn rate(appends: usize, rounds: &[Duration]) -> f64 {
    appends as f64 / median(rounds).as_secs_f64()
}
