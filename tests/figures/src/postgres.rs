//! Measures a history in PostgreSQL: appends compared with plain inserts, several daemons compared with one client, and prompts with
//! those on SQLite. The server has its own default settings, so that a commit is on disk.

use std::time::{Duration, Instant};

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, Request, until};
use bethink_postgres_server::TestServer;
use bethink_store::Store;
use bethink_store_postgres::{PostgresAddress, PostgresOptions, PostgresStore};
use sqlx::{Executor, PgConnection};
use tokio::runtime::Runtime;

use crate::appends::{self, Rates, RawTable};
use crate::sides::Side;
use crate::table::{Goal, Row};
use crate::{median, ms};

const DAEMONS: usize = 8;
/// Number of clients of a daemon.
const CLIENTS: usize = 4;
const ROUNDS: usize = 9;
/// Number of turns in a round, each with two appends and a prompt.
const TURNS: usize = 60;
/// Number of turns that are not measured.
const WARM: usize = 15;
const WORDS: usize = 150;
const MEMORIES: usize = 60;

pub fn rows() -> Vec<Row> {
    let runtime = Runtime::new().expect("a runtime");
    let server = runtime.block_on(TestServer::start_durable());
    let database = || runtime.block_on(server.bare_database());
    let Rates { raw, one, many } = runtime.block_on(in_process(&server, &database()));
    let mut rows = vec![
        Row::new(
            "durable appends, PostgreSQL, store, one task, to a plain INSERT",
            one / raw,
            "",
            Goal::AtLeast(0.7),
        )
        .detail(format!("{one:.0}/s against {raw:.0}/s")),
        Row::new(
            "durable appends, PostgreSQL, store, 32 tasks, to one",
            many / one,
            "",
            Goal::None,
        )
        .detail(format!("{many:.0}/s against {one:.0}/s")),
    ];
    let url = server.url("bethink", &database());
    let daemons: Vec<Daemon> = (0..DAEMONS).map(|_| home(&url).start()).collect();
    let sessions: Vec<(&Daemon, String)> = daemons
        .iter()
        .flat_map(|daemon| (0..CLIENTS).map(move |_| (daemon, daemon.session(200_000))))
        .collect();
    let clients: Vec<(&Daemon, &str)> =
        sessions.iter().map(|(daemon, session)| (*daemon, session.as_str())).collect();
    let (one, all) = appends::one_and_all(&clients);
    rows.push(
        Row::new(
            "durable appends, PostgreSQL, 8 daemons of 4 clients each, to one client",
            all / one,
            "",
            Goal::AtLeast(4.0),
        )
        .detail(format!("{all:.0}/s against {one:.0}/s")),
    );
    drop(daemons);
    rows.push(memories(&server.url("bethink", &database())));
    rows.extend(prompts(&server.url("bethink", &database())));
    rows
}

fn home(url: &str) -> Home {
    Home::new().with("BETHINK_STORE__URL", url)
}

/// Measures how long after a memory was written another machine has it.
fn memories(url: &str) -> Row {
    let [here, there] = [(); 2].map(|()| home(url).start());
    let mut times: Vec<Duration> = (0..MEMORIES)
        .map(|n| {
            let path = format!("/v1/memories/private/topic-{n}?project_dir=/git/mill");
            let text = format!("---\ndescription: number {n}\n---\n\nThe wheel has {n} spokes.\n");
            // The directory is in use there.
            there.client().get(&path);
            let put = Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
            here.client().must(&put);
            let began = Instant::now();
            let is_there = || (there.client().get(&path).status == 200).then_some(());
            until(PATIENCE, is_there).expect("the memory arrives");
            began.elapsed()
        })
        .collect();
    times.sort();
    let slowest = times[MEMORIES * 95 / 100];
    Row::new(
        "memory on another machine after its write, p50",
        median(&times).as_secs_f64() * 1000.0,
        "ms",
        Goal::None,
    )
    .detail(format!("{MEMORIES} topics; p95 {}", ms(slowest)))
}

async fn in_process(server: &TestServer, database: &str) -> Rates {
    let mut raw = server.connect(database).await;
    // A schema of its own, because a store refuses tables that it does not know.
    for statement in [
        "CREATE SCHEMA raw",
        "CREATE TABLE raw.message (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, raw BYTEA NOT NULL)",
    ] {
        raw.execute(statement).await.expect("a table");
    }
    let address = PostgresAddress::from(server.address(database));
    let options = PostgresOptions::new(address);
    let (store, _) = PostgresStore::open(&options).await.expect("a store");
    let rates = appends::rates(&mut raw, &store).await;
    store.close().await.expect("a close");
    rates
}

impl RawTable for PgConnection {
    async fn insert(&mut self, n: usize) {
        sqlx::query("INSERT INTO raw.message (id, raw) VALUES ($1, $2)")
            .bind(format!("m{n}"))
            .bind(appends::body(n))
            .execute(self)
            .await
            .expect("an insert");
    }
}

/// Compares turns on PostgreSQL with the same turns on SQLite, in pairs of rounds.
fn prompts(url: &str) -> Vec<Row> {
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for side in [round % 2, (round + 1) % 2] {
            match side {
                0 => ours.push(medians(home(url))),
                _ => others.push(medians(Home::new())),
            }
        }
    }
    let row = |what: &str, nth: usize, goal: Goal| {
        let all = |side: &[[Duration; 2]]| {
            median(&side.iter().map(|times| times[nth]).collect::<Vec<_>>())
        };
        let mut ratios: Vec<f64> = ours
            .iter()
            .zip(&others)
            .map(|(own, other)| own[nth].as_secs_f64() / other[nth].as_secs_f64())
            .collect();
        ratios.sort_by(f64::total_cmp);
        let detail =
            format!("{} and {}, {ROUNDS} rounds of each", ms(all(&ours)), ms(all(&others)));
        Row::new(format!("{what} p50, PostgreSQL to SQLite"), ratios[ROUNDS / 2], "", goal)
            .detail(detail)
    };
    vec![row("context", 0, Goal::AtMost(1.1)), row("append", 1, Goal::None)]
}

/// Returns the median times of a prompt and of an append.
fn medians(home: Home) -> [Duration; 2] {
    let mut side = Side::new(home);
    side.turns(TURNS, WORDS);
    [&side.prompts[WARM..], &side.appends[2 * WARM..]].map(median)
}
