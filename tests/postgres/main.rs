//! The real daemon with its history in a PostgreSQL database.

// A test that can't go on stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../hooks/agent.rs"]
#[allow(dead_code, reason = "the tests of hooks use the rest")]
mod agent;
mod away;
mod disk;
mod hand_over;
mod memory;
mod same;
mod several;
mod team_history;
mod tls;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Exit, Home, kill_loop, say, until};
use bethink_postgres_server::{GUARDED_USER, TestServer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A server, and the runtime that talks to it.
struct World {
    server: TestServer,
    runtime: Runtime,
}

impl World {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        Self { server: runtime.block_on(TestServer::start()), runtime }
    }

    /// The server of all tests that do not stop it.
    fn shared() -> &'static Self {
        static SHARED: OnceLock<World> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    /// Creates an empty database, and returns its name.
    fn database(&self) -> String {
        self.runtime.block_on(self.server.bare_database())
    }

    fn admin(&self, statement: &str) {
        self.runtime.block_on(self.server.admin(statement));
    }

    /// Returns a new home whose history is in this database.
    fn home(&self, database: &str) -> Home {
        Home::new().with("BETHINK_STORE__URL", &self.server.url("bethink", database))
    }
}

fn exit(home: Home) -> Exit {
    let exit = home.try_start().expect_err("the daemon must not start");
    assert!(exit.status.is_some_and(|status| !status.success()), "{exit:?}");
    exit
}

fn stored(daemon: &Daemon, session: &str) -> usize {
    kill_loop::stored(&mut daemon.client(), session).len()
}

fn health(daemon: &Daemon) -> Value {
    daemon.client().get("/health").ok()
}

#[test]
fn history_is_in_the_database_and_survives_a_kill() {
    let world = World::shared();
    let database = world.database();
    let mut daemon = world.home(&database).start();
    let session = daemon.session(200_000);
    for n in 0..20 {
        daemon.append(&session, &[say::user(&format!("the boathouse is number {n}"))]);
    }
    daemon.kill9();
    daemon.start();
    assert_eq!(stored(&daemon, &session), 20);
    let found = daemon.client().get(&format!("/v1/sessions/{session}/search?q=boathouse")).ok();
    assert_eq!(found["complete"], true, "{found}");
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found}");
    assert!(!daemon.home.path().join("bethink.db").exists());
    let file = std::fs::read_to_string(daemon.home.path().join("daemon.json")).unwrap();
    assert!(file.contains(&format!("PostgreSQL database {database} at ")), "{file}");
    daemon.is_well();
    assert!(daemon.terminate().success());
    daemon.start();
    assert_eq!(stored(&daemon, &session), 20);
}

#[test]
fn a_lost_database_degrades_the_daemon_until_it_is_back() {
    let world = World::new();
    let database = world.database();
    let daemon = world.home(&database).start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("before")]);
    let append = |text: &str| {
        let body = json!({ "messages": [say::user(text)] });
        let path = format!("/v1/sessions/{session}/messages");
        daemon.client().patient(PATIENCE).post(&path, &body)
    };

    world.server.stop();
    let problem = append("lost").problem();
    assert_eq!(problem["type"], "storage_failed", "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("database server"), "{problem}");
    let degraded = health(&daemon);
    assert_eq!(degraded["status"], "degraded", "{degraded}");
    assert!(degraded["detail"].as_str().unwrap().contains(&database), "{degraded}");
    world.server.resume();
    let is_well = || (health(&daemon)["status"] == "ok").then_some(());
    until(PATIENCE, is_well).expect("the daemon heals by itself");
    assert_eq!(append("after").status, 200);
    assert_eq!(stored(&daemon, &session), 2, "what failed was not stored");

    // The server does not end the connections, but it does not answer either.
    world.server.pause();
    let began = Instant::now();
    let problem = append("lost, too").problem();
    let took = began.elapsed();
    world.server.unpause();
    assert_eq!(problem["type"], "storage_failed", "{problem}");
    assert!(took < Duration::from_secs(30), "{took:?}");
    until(PATIENCE, is_well).expect("the daemon heals by itself");
    assert_eq!(append("at last").status, 200);
    daemon.is_well();
}

#[test]
fn a_database_that_became_read_only_is_still_read() {
    let world = World::shared();
    let database = world.database();
    let daemon = world.home(&database).start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("before")]);
    let set = |value: &str| {
        world.admin(&format!(
            "ALTER DATABASE {database} SET default_transaction_read_only = {value}"
        ));
        world.admin(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        ));
    };
    set("on");
    let is_degraded = || {
        let health = health(&daemon);
        let detail = health["detail"].as_str().unwrap_or_default().to_owned();
        detail.contains("read-only").then_some(())
    };
    until(PATIENCE, is_degraded).expect("the daemon notices it");
    let body = json!({ "messages": [say::user("refused")] });
    let problem =
        daemon.client().post(&format!("/v1/sessions/{session}/messages"), &body).problem();
    assert_eq!(problem["type"], "read_only", "{problem}");
    assert_eq!(stored(&daemon, &session), 1);
    set("off");
    let is_well = || (health(&daemon)["status"] == "ok").then_some(());
    until(PATIENCE, is_well).expect("the daemon heals by itself");
    daemon.append(&session, &[say::user("after")]);
    assert_eq!(stored(&daemon, &session), 2);
}

#[test]
fn a_password_comes_from_a_command_and_is_never_shown() {
    let world = World::shared();
    let database = world.database();
    let (user, password) = GUARDED_USER;
    let url = world.server.url(user, &database);
    let home = |url: &str| Home::new().with("BETHINK_STORE__URL", url);
    let wrong = exit(home(&url.replace("guarded@", "guarded:hunter2@"))).stderr;
    assert!(wrong.contains("password") && !wrong.contains("hunter2"), "{wrong}");
    let command = format!("printf '%s\\n' '{password}'");
    let home = home(&url.replace("guarded@", "guarded:hunter2@"))
        .with("BETHINK_STORE__PASSWORD_COMMAND", &command)
        .with("BETHINK_LOG", "trace");
    let daemon = home.start();
    daemon.is_well();
    let shown = [
        daemon.home.log(),
        std::fs::read_to_string(daemon.home.path().join("daemon.json")).unwrap(),
        health(&daemon).to_string(),
        daemon.client().get("/metrics").text(),
    ];
    for shown in shown {
        assert!(!shown.contains(password) && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_database_that_cannot_be_used_is_named_with_what_to_do() {
    let world = World::shared();
    let foreign = world.database();
    let newer = world.database();
    world.home(&newer).start().terminate();
    world.admin("CREATE ROLE reader LOGIN");
    let connection = |database: &str, statement: &'static str| {
        world.runtime.block_on(async {
            let mut db = world.server.connect(database).await;
            bethink_postgres_server::execute(&mut db, statement).await;
        });
    };
    connection(&foreign, "CREATE TABLE invoices (number BIGINT)");
    connection(
        &newer,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', TRUE, 'x', 1)",
    );
    let url = |user: &str, database: &str| world.server.url(user, database);
    for (url, expect) in [
        (
            "mysql://ann:hunter2@db/notes".to_owned(),
            "expected a URL such as postgres://USER@HOST:PORT/DATABASE",
        ),
        (
            "postgres://ann:hunter2@db/notes?sslmod=require".to_owned(),
            "supported parameters: sslmode",
        ),
        (
            "postgres://ann:hunter2@db.invalid/notes?sslmode=disable".to_owned(),
            "set it to verify-full",
        ),
        (url("bethink", "missing"), "database \"missing\" does not exist"),
        (url("bethink", &foreign), "use an empty database"),
        (url("bethink", &newer), "use the newer version, or another database"),
        (url("reader", &world.database()), "as a user who may create tables"),
    ] {
        let told = exit(Home::new().with("BETHINK_STORE__URL", &url)).stderr;
        assert!(told.contains(expect) && !told.contains("hunter2"), "{url}: {told}");
    }
}
