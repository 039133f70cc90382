//! Measures appends to the store, compared with raw SQLite on the same disk at the same time.
//!
//! `cargo run --release -p bethink-store-sqlite --example pace [directory]`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "prints figures; stops at a failure")]

use std::path::Path;
use std::time::{Duration, Instant};

use bethink_store::{
    Append, ImportBatch, ImportStore, IndexBatch, IndexStore, NewMessage, NewRecord, NewSession,
    SessionStore, Store, Terms,
};
use bethink_store_sqlite::{Options, SqliteStore};
use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use uuid::Uuid;

const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);
const ROUND: Duration = Duration::from_millis(700);
const ROUNDS: usize = 5;
/// Size of a message, in bytes.
const SIZE: usize = 600;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let place = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let home = tempfile::tempdir_in(place).unwrap();
    let path = home.path().join("db");
    let (store, _) = SqliteStore::open(&path, Options::new(NOW)).await.unwrap();
    let mut raw = Vec::new();
    let mut one = Vec::new();
    let mut many = Vec::new();
    // The measurements alternate, so that a busy machine affects all of them equally.
    for round in 0..ROUNDS {
        raw.push(tokio::spawn(raw_commits(home.path().join(format!("raw{round}")))).await.unwrap());
        one.push(appends(&store, 1, round).await);
        many.push(appends(&store, 32, round).await);
    }
    let (raw, one, many) = (median(raw), median(one), median(many));
    println!("raw commits        {raw:>9.0}/s");
    println!("one task           {one:>9.0}/s   {:.2} of raw", one / raw);
    println!("32 tasks           {many:>9.0}/s   {:.2} of one task", many / one);
    import(&store).await;
    store.close().await.unwrap();
}

/// Inserts rows of the same size, each in its own transaction.
async fn raw_commits(path: impl AsRef<Path>) -> f64 {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging();
    let mut connection = options.connect().await.unwrap();
    sqlx::query("CREATE TABLE rows (number INTEGER PRIMARY KEY, raw BLOB NOT NULL)")
        .execute(&mut connection)
        .await
        .unwrap();
    let begin = Instant::now();
    let mut rows = 0_u32;
    while begin.elapsed() < ROUND {
        sqlx::query("INSERT INTO rows (raw) VALUES (?)")
            .bind(vec![b'x'; SIZE])
            .execute(&mut connection)
            .await
            .unwrap();
        rows += 1;
    }
    let pace = f64::from(rows) / begin.elapsed().as_secs_f64();
    connection.close().await.unwrap();
    pace
}

async fn appends(store: &SqliteStore, tasks: u32, round: usize) -> f64 {
    let mut running = Vec::new();
    let begin = Instant::now();
    for task in 0..tasks {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            let session = make_session(&store).await;
            let mut appended = 0_u32;
            while begin.elapsed() < ROUND {
                let messages = vec![message(&format!("{round}-{task}-{appended}"), SIZE)];
                let append = Append { session, messages, only_new: false, receipt: None, at: NOW };
                store.append(append).await.unwrap();
                appended += 1;
            }
            appended
        }));
    }
    let mut appended = 0;
    for task in running {
        appended += task.await.unwrap();
    }
    f64::from(appended) / begin.elapsed().as_secs_f64()
}

/// Imports 34 MB in 8,800 lines, like a session of one or two days.
async fn import(store: &SqliteStore) {
    const LINES: u64 = 8800;
    /// Makes a batch of lines with about 4 MB.
    const BATCH: usize = 1024;
    let session = make_session(store).await;
    let mut lines = Vec::new();
    let mut terms = Vec::new();
    for line in 1..=LINES {
        let message = NewMessage { recorded: true, ..message(&format!("line{line}"), 3860) };
        let text = String::from_utf8_lossy(&message.raw).into_owned();
        terms.push((Seq(line), Terms { tool_result: text, ..Terms::default() }));
        lines.push(NewRecord {
            line,
            head: Bytes::from_static(b"{\"type\":\"user\",\"message\":"),
            tail: Bytes::from_static(b",\"uuid\":\"0\"}\n"),
            message: Some((session, message)),
        });
    }
    let begin = Instant::now();
    for records in lines.chunks(BATCH) {
        let batch = ImportBatch { session, records: records.to_vec(), progress: None };
        store.import(batch).await.unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("import             {:>9.0} MB/s  34 MB in {seconds:.2} s", 34.0 / seconds);
    let begin = Instant::now();
    for entries in terms.chunks(128) {
        let through = entries.last().unwrap().0;
        let batch = IndexBatch { session, entries: entries.to_vec(), through };
        store.index(batch).await.unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("index              {:>9.0} MB/s  34 MB in {seconds:.2} s", 34.0 / seconds);
}

async fn make_session(store: &SqliteStore) -> SessionId {
    let new = NewSession::new(SessionId(Uuid::new_v4()), "/project".into(), "{}".into(), NOW);
    store.create_session(new, None).await.unwrap().session.id
}

/// Makes a message with `size` bytes of text. Half of the words also occur in other messages.
fn message(id: &str, size: usize) -> NewMessage {
    let mut state = blake3::hash(id.as_bytes()).as_bytes()[..8]
        .iter()
        .fold(0_u64, |state, byte| state << 8 | u64::from(*byte));
    let mut text = String::with_capacity(size);
    while text.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let draw = state >> 40;
        // A few words are frequent and many are rare, as in real text.
        let word = match draw % 8 {
            0..6 => draw % 256,
            6 => draw % 4096,
            _ => draw % 65_536,
        };
        text.push_str(&format!("word{word:x} "));
    }
    NewMessage {
        id: MessageId::new(id).unwrap(),
        role: Role::User,
        raw: Bytes::from(text),
        recorded: false,
        created_at: NOW,
    }
}

fn median(mut paces: Vec<f64>) -> f64 {
    paces.sort_by(f64::total_cmp);
    paces[paces.len() / 2]
}
