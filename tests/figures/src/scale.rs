//! Measures how much space history takes in a database, by table, and how many transactions a turn makes.

use std::path::PathBuf;
use std::time::Duration;

use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Daemon, Home};
use bethink_postgres_server::TestServer;
use sqlx::PgConnection;
use tokio::runtime::Runtime;

use crate::drive;
use crate::sides::Side;
use crate::table::{Goal, Row};

const WINDOW: u64 = 60_000;
/// Number of turns whose commits are counted, each with two appends and a prompt.
const TURNS: usize = 200;
const WORDS: usize = 150;
/// Number of tables that are shown.
const SHOWN: usize = 6;

/// Sizes in bytes, without free space.
const TABLES: &str = "
    SELECT relname::TEXT AS name,
           n_live_tup AS rows,
           pg_table_size(relid) AS data,
           pg_indexes_size(relid) AS indexes
    FROM pg_stat_user_tables
    ORDER BY pg_total_relation_size(relid) DESC";

const COMMITS: &str = "
    SELECT xact_commit
    FROM pg_stat_database
    WHERE datname = current_database()";

const CONNECTIONS: &str = "
    SELECT count(*)
    FROM pg_stat_activity
    WHERE datname = current_database()
      AND pid <> pg_backend_pid()";

const MESSAGES: &str = "SELECT count(*), sum(length(raw))::BIGINT FROM messages";

/// Name, rows, bytes, and bytes of the indexes.
type Table = (String, i64, i64, i64);

pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let runtime = Runtime::new().expect("a runtime");
    let server = runtime.block_on(TestServer::start_durable());
    let mut rows = sizes(&runtime, &server, files);
    rows.extend(commits(&runtime, &server));
    rows
}

/// Drives the same sessions with a history in PostgreSQL and in SQLite.
fn sizes(runtime: &Runtime, server: &TestServer, files: &[PathBuf]) -> Vec<Row> {
    let database = runtime.block_on(server.bare_database());
    let home = Home::new().with("BETHINK_STORE__URL", &server.url("bethink", &database));
    let mut daemon = driven(home, files);
    assert!(daemon.terminate().success(), "the daemon stops");
    let mut db = runtime.block_on(server.connect(&database));
    let (messages, raw, tables) = runtime.block_on(async {
        sqlx::query("VACUUM FULL ANALYZE").execute(&mut db).await.expect("a vacuum");
        let (messages, raw): (i64, i64) =
            sqlx::query_as(MESSAGES).fetch_one(&mut db).await.expect("messages");
        let tables: Vec<Table> = sqlx::query_as(TABLES).fetch_all(&mut db).await.expect("sizes");
        (messages as f64, raw as f64, tables)
    });
    let mut daemon = driven(Home::new(), files);
    assert!(daemon.terminate().success(), "the daemon stops");
    let file = std::fs::metadata(daemon.home.path().join("bethink.db")).expect("a file").len();
    let all: i64 = tables.iter().map(|(_, _, data, indexes)| data + indexes).sum();
    let largest = tables.iter().take(SHOWN).map(|(name, rows, data, indexes)| {
        let of = |bytes: i64| bytes as f64 / messages;
        format!("{name}: {:.2} rows, {:.0} + {:.0} bytes", of(*rows), of(*data), of(*indexes))
    });
    let largest: Vec<String> = largest.collect();
    vec![
        Row::new(
            "PostgreSQL, size of the database per message",
            all as f64 / messages,
            "bytes",
            Goal::None,
        )
        .detail(format!(
            "{} files, {messages} messages of {:.0} bytes; data + indexes by table: {}",
            files.len(),
            raw / messages,
            largest.join("; ")
        )),
        Row::new(
            "SQLite, size of the database per message",
            file as f64 / messages,
            "bytes",
            Goal::None,
        ),
    ]
}

fn driven(home: Home, files: &[PathBuf]) -> Daemon {
    let daemon = home.start();
    for file in files {
        drive::drive(&daemon, file, WINDOW);
    }
    daemon
}

fn commits(runtime: &Runtime, server: &TestServer) -> Vec<Row> {
    let database = runtime.block_on(server.bare_database());
    let home = Home::new().with("BETHINK_STORE__URL", &server.url("bethink", &database));
    let mut side = Side::new(home);
    let mut db = runtime.block_on(server.connect(&database));
    let before = settled(runtime, &side, &mut db);
    side.turns(TURNS, WORDS);
    let connections: i64 = runtime
        .block_on(sqlx::query_scalar(CONNECTIONS).fetch_one(&mut db))
        .expect("a count of connections");
    let after = settled(runtime, &side, &mut db);
    let each = (after - before) as f64 / TURNS as f64;
    vec![
        Row::new(
            "PostgreSQL, connections of a daemon with one busy session",
            connections as f64,
            "",
            Goal::None,
        ),
        Row::new("PostgreSQL, transactions per turn", each, "", Goal::None)
            .detail(format!("{TURNS} turns, each with two appends and a prompt")),
    ]
}

/// Returns the number of commits, once the background work has ended. The server counts with a delay of a second.
fn settled(runtime: &Runtime, side: &Side, db: &mut PgConnection) -> i64 {
    side.settle();
    let mut count =
        || runtime.block_on(sqlx::query_scalar(COMMITS).fetch_one(&mut *db)).expect("a count");
    let mut seen: i64 = count();
    until(PATIENCE, || {
        std::thread::park_timeout(Duration::from_secs(2));
        let now: i64 = count();
        // One of them is the count itself, and the daemon tests its connection now and then.
        let is_settled = now - seen <= 3;
        seen = now;
        is_settled.then_some(now)
    })
    .unwrap_or(seen)
}
