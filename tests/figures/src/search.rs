//! Measures searches in a million messages: in one session, and in a project with many.
//!
//! The n-th word is used about 1/n as often as the first, as in real text. Histories are stored through the port,
//! and searches use HTTP.

use std::time::{Duration, Instant};

use bethink_harness::rng::Rng;
use bethink_harness::{Daemon, Home};
use bethink_postgres_server::{TestServer, execute};
use bethink_store::{
    Append, CopiedBatch, CopiedMessage, IndexBatch, IndexStore, NewMessage, NewSession,
    SharedProject, Store, TeamHistoryStore, Terms,
};
use bethink_store_postgres::{PostgresOptions, PostgresStore};
use bethink_store_sqlite::{Options, SqliteStore};
use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::ms;
use crate::table::{Goal, Row};

const MESSAGES: usize = 1_000_000;
const SESSIONS: usize = 1_000;
/// Number of messages in an append and in an index segment.
const BATCH: usize = 500;
const WORDS: u32 = 200_000;
/// Mean number of words in a message.
const SAID: u64 = 14;
/// Number of messages between pauses.
const STRETCH: usize = 20;
const QUESTIONS: usize = 300;
const TEAM_TABLES: &str = include_str!("../../../migrations/team/history.sql");

/// Number of sessions on PostgreSQL for a million messages.
const SESSIONS_OF_MILLION: usize = 200;

pub fn rows() -> Vec<Row> {
    let mut rows = rows_of("in one session", 1);
    rows.extend(rows_of("in a project of 1,000 sessions", SESSIONS));
    rows
}

fn rows_of(place: &str, sessions: usize) -> Vec<Row> {
    let home = Home::new();
    let filled = Runtime::new().expect("a runtime").block_on(async {
        let options = Options::new(UnixMicros(0));
        let file = home.path().join("bethink.db");
        let (store, _) = SqliteStore::open(&file, options).await.expect("a store");
        fill(&store, MESSAGES, sessions).await
    });
    let times = ask(&home.start(), sessions);
    let goals = [Goal::AtMost(15.0), Goal::AtMost(60.0)];
    figures(&format!("a million messages {place}"), &times, filled, goals)
}

/// Searches a history in PostgreSQL.
pub fn postgres(millions: usize) -> Vec<Row> {
    let runtime = Runtime::new().expect("a runtime");
    let sessions = millions * SESSIONS_OF_MILLION;
    let server = runtime.block_on(TestServer::start_durable());
    let database = runtime.block_on(server.bare_database());
    let filled = runtime.block_on(async {
        let options = PostgresOptions::new(server.address(&database).into());
        let (store, _) = PostgresStore::open(&options).await.expect("a store");
        fill(&store, millions * MESSAGES, sessions).await
    });
    let home = Home::new().with("BETHINK_STORE__URL", &server.url("bethink", &database));
    let times = ask(&home.start(), sessions);
    let what = format!("{millions} million messages in {sessions} sessions, PostgreSQL");
    figures(&what, &times, filled, [Goal::AtMost(30.0), Goal::AtMost(150.0)])
}

/// Searches copies of sessions that a person shares with the team, as that person.
pub fn team(millions: usize) -> Vec<Row> {
    let runtime = Runtime::new().expect("a runtime");
    let sessions = millions * SESSIONS_OF_MILLION;
    let server = runtime.block_on(TestServer::start_durable());
    let database = runtime.block_on(server.bare_database());
    let filled = runtime.block_on(async {
        let mut admin = server.connect(&database).await;
        // Not as a superuser, for whom there is no row level security.
        execute(&mut admin, "CREATE ROLE ann LOGIN; CREATE SCHEMA AUTHORIZATION ann").await;
        execute(&mut admin, TEAM_TABLES).await;
        let address = server.address(&database).username("ann");
        let (store, _) =
            PostgresStore::open(&PostgresOptions::new(address.into())).await.expect("a store");
        let (project_dir, project) = ("/project".to_owned(), "mill".to_owned());
        let shared = SharedProject { project_dir, project, since: UnixMicros(0) };
        store.share_project(shared).await.expect("a shared project");
        let filled = fill_with(&store, millions * MESSAGES, sessions, copy).await;
        // As it is after a while: PostgreSQL does it by itself.
        execute(&mut admin, "VACUUM ANALYZE").await;
        filled
    });
    let home = Home::new().with("BETHINK_STORE__URL", &server.url("ann", &database));
    let times = ask_at(&home.start(), "/v1/team/history/search?limit=10");
    let what = format!("{millions} million messages in {sessions} shared sessions");
    figures(&what, &times, filled, [Goal::AtMost(30.0), Goal::AtMost(150.0)])
}

/// Returns p50 and p95.
fn figures(
    place: &str,
    times: &[Duration],
    (filling, indexing): (Duration, Duration),
    [median, slow]: [Goal; 2],
) -> Vec<Row> {
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let figure = |time: Duration| time.as_secs_f64() * 1e3;
    let what = |rank: &str| format!("search of {place}, {rank}");
    let detail = format!(
        "{QUESTIONS} questions, worst {}; appended in {:.0} s, indexed in {:.0} s",
        ms(at(100)),
        filling.as_secs_f64(),
        indexing.as_secs_f64()
    );
    vec![
        Row::new(what("p50"), figure(at(50)), "ms", median).detail(detail),
        Row::new(what("p95"), figure(at(95)), "ms", slow),
    ]
}

/// Returns how long it took to append, and to index.
async fn fill<S: Store>(store: &S, messages: usize, sessions: usize) -> (Duration, Duration) {
    fill_with(store, messages, sessions, index).await
}

/// Does the same, and indexes each batch in this way.
async fn fill_with<S: Store>(
    store: &S,
    messages: usize,
    sessions: usize,
    index: impl AsyncFn(&S, SessionId, usize, Vec<String>),
) -> (Duration, Duration) {
    let mut rng = Rng::new(1);
    let (mut filling, mut indexing) = (Duration::ZERO, Duration::ZERO);
    for number in 0..sessions {
        let session = session(number);
        store.create_session(new_session(session), None).await.expect("a session");
        let each = messages / sessions;
        for first in (0..each).step_by(BATCH) {
            let said: Vec<String> = (0..BATCH.min(each - first)).map(|_| words(&mut rng)).collect();
            let start = Instant::now();
            let messages = said.iter().zip(first..).map(|(said, n)| message(n, said)).collect();
            let append =
                Append { session, messages, only_new: false, receipt: None, at: UnixMicros(1) };
            store.append(append).await.expect("an append");
            filling += start.elapsed();
            let start = Instant::now();
            index(store, session, first, said).await;
            indexing += start.elapsed();
        }
    }
    let start = Instant::now();
    while store.tidy().await.expect("a tidy index") {}
    indexing += start.elapsed();
    // So that the daemon does not check all messages while it searches.
    store.set_checked_at(Some(UnixMicros(i64::MAX))).await.expect("a time");
    store.close().await.expect("a close");
    (filling, indexing)
}

async fn index(store: &impl IndexStore, session: SessionId, first: usize, said: Vec<String>) {
    let through = Seq((first + said.len()) as u64);
    let entries =
        said.into_iter().zip(first..).map(|(said, n)| (Seq(n as u64 + 1), terms(n, said)));
    let batch = IndexBatch { session, entries: entries.collect(), through };
    if store.index(batch).await.expect("an index") {
        while store.tidy().await.expect("a tidy index") {}
    }
}

/// Shares the messages with the team.
async fn copy(store: &PostgresStore, session: SessionId, first: usize, said: Vec<String>) {
    let extent = store.copied(session).await.expect("the session").expect("it is shared");
    let messages = said.iter().zip(first..).map(|(said, n)| {
        let NewMessage { id, role, raw, created_at, .. } = message(n, said);
        CopiedMessage { seq: Seq(n as u64 + 1), id, role, created_at, raw, is_redacted: false }
    });
    let messages = messages.collect();
    let through = extent.last;
    let entries = said.into_iter().zip(first..);
    let entries = entries.map(|(said, n)| (Seq(n as u64 + 1), terms(n, said))).collect();
    let batch = CopiedBatch {
        project: extent.project,
        title: None,
        created_at: extent.created_at,
        after: extent.copied,
        messages,
        index: IndexBatch { session, entries, through },
    };
    assert!(store.copy_to_team(batch).await.expect("a copy"));
}

fn session(number: usize) -> SessionId {
    SessionId(Uuid::from_u128(number as u128 + 1))
}

fn new_session(id: SessionId) -> NewSession {
    NewSession::new(
        id,
        "/project".into(),
        r#"{"name":"none","context_window":200000}"#.into(),
        UnixMicros(1),
    )
}

fn message(n: usize, said: &str) -> NewMessage {
    let (role, name) = role(n);
    NewMessage {
        id: MessageId::new(&format!("m{n}")).expect("an id"),
        role,
        raw: Bytes::from(format!(r#"{{"role":"{name}","content":"{said}"}}"#)),
        recorded: false,
        created_at: UnixMicros(n as i64 * 1_000_000),
    }
}

fn role(n: usize) -> (Role, &'static str) {
    if n.is_multiple_of(2) { (Role::User, "user") } else { (Role::Assistant, "assistant") }
}

fn terms(n: usize, said: String) -> Terms {
    let mut marks = format!(":{} :day:{}", role(n).1, n / 86_400);
    if n.is_multiple_of(STRETCH) {
        marks.push_str(" :begins");
    }
    if n.is_multiple_of(5) {
        marks.push_str(if n.is_multiple_of(2) { " :asks" } else { " :ends-asking" });
    }
    match role(n).0 {
        Role::User => Terms { user: said, marks, ..Terms::default() },
        Role::Assistant => Terms { assistant: said, marks, ..Terms::default() },
    }
}

fn words(rng: &mut Rng) -> String {
    let count = 1 + rng.draw() % (2 * SAID);
    (0..count).map(|_| word(any(rng, 1, WORDS))).collect::<Vec<_>>().join(" ")
}

/// Draws a number between the two, with the probability of a word of this rank.
fn any(rng: &mut Rng, first: u32, last: u32) -> u32 {
    let share = (rng.draw() % 1_000_000) as f64 / 1e6;
    let (first, last) = (f64::from(first), f64::from(last));
    (first * (last / first).powf(share)) as u32
}

/// Letters that stemming does not change.
fn word(mut number: u32) -> String {
    const LETTERS: &[u8; 16] = b"bcdfghjklmnpqrtv";
    let mut word = String::from("zz");
    while number > 0 {
        word.push(char::from(LETTERS[number as usize % LETTERS.len()]));
        number /= LETTERS.len() as u32;
    }
    word
}

/// Makes questions: a rare name, words of medium frequency, a rare word among common ones, and common words.
fn question(rng: &mut Rng, n: usize) -> String {
    let ranks: &[(u32, u32)] = match n % 10 {
        0..4 => &[(20_000, WORDS)],
        4..7 => &[(200, 5_000), (200, 5_000), (1_000, 50_000)],
        7..9 => &[(1, 10), (2, 50), (5_000, WORDS)],
        _ => &[(1, 5), (1, 20), (5, 50)],
    };
    ranks.iter().map(|(a, b)| word(any(rng, *a, *b))).collect::<Vec<_>>().join("+")
}

/// Returns the times, shortest first.
fn ask(daemon: &Daemon, sessions: usize) -> Vec<Duration> {
    match sessions {
        1 => ask_at(daemon, &format!("/v1/sessions/{}/search?limit=10", session(0).0)),
        _ => ask_at(daemon, "/v1/search?project_dir=/project&limit=10"),
    }
}

fn ask_at(daemon: &Daemon, path: &str) -> Vec<Duration> {
    let mut client = daemon.client();
    let mut rng = Rng::new(2);
    let mut times = Vec::with_capacity(QUESTIONS);
    for n in 0..QUESTIONS {
        let asked = format!("{path}&q={}", question(&mut rng, n));
        let start = Instant::now();
        let hits = client.get(&asked).ok();
        times.push(start.elapsed());
        assert!(hits["hits"].is_array() && hits["complete"] == true, "{asked}: {hits}");
    }
    times.sort_unstable();
    times
}
