//! Tests of daemons that share a database: each session belongs to one of them, and rows about files to one home.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use std::time::Duration;

use bethink_store::{
    Append, HealthStore, JobStore, Lease, NewDecision, NewJob, NewMessage, NewSession, PauseRecord,
    PeerNews, PeerStore, RecordingStore, SessionChange, SessionStore, Store, StoreError,
    StoreResult, SyncedChange, SyncedDirectory, SyncedFile, SyncedMemoryStore,
};
use bethink_store_postgres::{DaemonIdentity, PostgresOpenError, PostgresStore};
use bethink_transcript::{JobId, MessageId, Role, Seq, SessionId, UnixMicros};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, PgConnection};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

/// Ends the connections that have the lock of a daemon, as if they were lost.
const CUT_LOCKS: &str = "
    SELECT count(pg_terminate_backend(pid))
    FROM (
        SELECT DISTINCT pid
        FROM pg_locks
        WHERE locktype = 'advisory'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS holders";

const SOON: Duration = Duration::from_secs(10);

fn pause(number: i64) -> PauseRecord {
    PauseRecord { since: UnixMicros(number), until: None }
}

async fn cut_locks(db: &mut PgConnection, daemons: i64) {
    let cut: i64 = sqlx::query_scalar(CUT_LOCKS).fetch_one(db).await.unwrap();
    assert_eq!(cut, daemons, "only daemons have locks");
}

const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);

async fn make_session(store: &PostgresStore) -> SessionId {
    let new = NewSession::new(SessionId(Uuid::new_v4()), "/project".into(), "{}".into(), NOW);
    store.create_session(new, None).await.unwrap().session.id
}

async fn say(store: &PostgresStore, session: SessionId, text: &str) -> StoreResult<Seq> {
    let message = NewMessage {
        id: MessageId::new(text).unwrap(),
        role: Role::User,
        raw: text.to_owned().into(),
        recorded: false,
        created_at: NOW,
    };
    let append =
        Append { session, messages: vec![message], only_new: false, receipt: None, at: NOW };
    Ok(store.append(append).await?.last_seq)
}

fn decision() -> NewDecision {
    let (kind, data) = ("shown".to_owned(), "{}".to_owned());
    NewDecision { kind, data, made_after: Seq(1), created_at: NOW }
}

async fn news(store: &PostgresStore) -> PeerNews {
    loop {
        let news = timeout(SOON, store.peer_news()).await.expect("no news");
        if news != PeerNews::Joined {
            return news;
        }
    }
}

/// Gives up the sessions that others want, as a daemon does.
fn serve(store: &PostgresStore) -> JoinHandle<()> {
    let store = store.clone();
    tokio::spawn(async move {
        loop {
            if let PeerNews::Wanted(session) = store.peer_news().await {
                store.release_session(session).await.unwrap();
            }
        }
    })
}

fn is_moved<T: std::fmt::Debug>(outcome: &StoreResult<T>, to: &str) -> bool {
    matches!(outcome, Err(StoreError::Moved { holder, .. }) if holder == to)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_of_a_home_is_refused() {
    let server = server::server().await;
    let database = server.new_database().await;
    let home = Uuid::new_v4();
    let first = server.open_in(home, "process 1 on ant", &database).await.unwrap();
    let refused = server.open_in(home, "process 2 on ant", &database).await.unwrap_err();
    assert!(
        matches!(&refused, PostgresOpenError::InUse(holder) if holder == "process 1 on ant"),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("delete its file database-id"), "{refused}");
    first.put_pause(pause(1)).await.unwrap();
    first.close().await.unwrap();
    let second = server.open_in(home, "process 2 on ant", &database).await.unwrap();
    assert_eq!(second.pauses().await.unwrap(), [pause(1)]);
}

/// The keys of all advisory locks in this database.
const LOCK_KEYS: &str = "
    SELECT (classid::BIGINT << 32) | objid::BIGINT
    FROM pg_locks
    WHERE locktype = 'advisory'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_who_takes_the_locks_is_named() {
    let server = server::server().await;
    let database = server.new_database().await;
    server.admin("CREATE ROLE eve LOGIN").await;
    let home = Uuid::new_v4();
    let first = server.open_in(home, "process 1 on ant", &database).await.unwrap();
    let mut eve = server.address(&database).username("eve").connect().await.unwrap();
    let keys: Vec<i64> = sqlx::query_scalar(LOCK_KEYS).fetch_all(&mut eve).await.unwrap();
    assert!(keys.len() >= 3, "{keys:?}");
    first.close().await.unwrap();
    let take = sqlx::query("SELECT pg_advisory_lock(key) FROM unnest($1) AS keys (key)");
    take.bind(keys).execute(&mut eve).await.unwrap();
    let refused = server.open_in(home, "process 2 on ant", &database).await.unwrap_err();
    assert!(
        matches!(&refused, PostgresOpenError::Locked { user, .. } if user == "eve"),
        "{refused:?}"
    );
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut eve).await.unwrap();
    assert!(refused.to_string().contains(&format!("pg_terminate_backend({pid})")), "{refused}");
    drop(eve);
    server.open_in(home, "process 3 on ant", &database).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_moves_to_the_daemon_that_takes_it() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let bee = server.open_for("bee", &database).await.unwrap();
    let session = make_session(&ant).await;
    say(&ant, session, "one").await.unwrap();
    let change = || SessionChange { updated_at: NOW, ..SessionChange::default() };
    assert!(is_moved(&say(&bee, session, "two").await, "ant"));
    assert!(is_moved(&bee.add_decisions(session, vec![decision()]).await, "ant"));
    assert!(is_moved(&bee.update_session(session, change()).await, "ant"));

    let taking = tokio::spawn({
        let bee = bee.clone();
        async move { bee.take_session(session).await }
    });
    assert_eq!(news(&ant).await, PeerNews::Wanted(session));
    say(&ant, session, "two").await.expect("it still has the session");
    ant.release_session(session).await.unwrap();
    timeout(SOON, taking).await.unwrap().unwrap().unwrap();
    assert!(is_moved(&say(&ant, session, "three").await, "bee"));
    assert!(is_moved(&ant.add_decisions(session, vec![decision()]).await, "bee"));
    assert!(is_moved(&ant.update_session(session, change()).await, "bee"));
    assert_eq!(say(&bee, session, "three").await.unwrap(), Seq(3));
    assert_eq!(say(&bee, session, "two").await.unwrap(), Seq(3), "nothing is stored twice");

    let serving = serve(&bee);
    timeout(SOON, ant.delete_session(session)).await.unwrap().unwrap();
    assert!(matches!(say(&bee, session, "four").await, Err(StoreError::NotFound { .. })));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_does_not_answer_loses_the_session() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let bee = server.open_for("bee", &database).await.unwrap();
    let session = make_session(&ant).await;
    timeout(3 * SOON, bee.take_session(session)).await.unwrap().unwrap();
    assert!(is_moved(&say(&ant, session, "one").await, "bee"));
    say(&bee, session, "one").await.unwrap();
    assert_eq!(news(&ant).await, PeerNews::Wanted(session), "it learns of the loss");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_a_daemon_that_is_gone_are_taken_at_once() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let (lost, kept) = (make_session(&ant).await, make_session(&ant).await);
    cut_locks(&mut server.connect(&database).await, 1).await;
    timeout(SOON, ant.failed()).await.expect("the loss is noticed at once");
    let bee = server.open_for("bee", &database).await.unwrap();
    timeout(Duration::from_secs(5), bee.take_session(lost)).await.unwrap().unwrap();

    assert!(is_moved(&say(&ant, lost, "one").await, "bee"));
    say(&ant, kept, "one").await.expect("nobody has taken this one");
    ant.probe().await.unwrap();
    assert!(ant.fault().is_none());
    assert_eq!(news(&ant).await, PeerNews::Missed);
    let serving = serve(&ant);
    timeout(SOON, bee.take_session(kept)).await.unwrap().unwrap();
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_changes_nothing_while_a_daemon_is_alone() {
    let server = server::server().await;
    let database = server.new_database().await;
    let home = Uuid::new_v4();
    let store = server.open_in(home, "first", &database).await.unwrap();
    let session = make_session(&store).await;
    cut_locks(&mut server.connect(&database).await, 1).await;
    timeout(SOON, store.failed()).await.expect("the loss is noticed at once");
    say(&store, session, "one").await.unwrap();
    store.probe().await.unwrap();
    assert!(store.fault().is_none());
    let refused = server.open_in(home, "second", &database).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::InUse(_)), "{refused:?}");
    let told = timeout(Duration::from_millis(200), store.peer_news()).await;
    assert!(told.is_err(), "{told:?}");
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_sees_its_own_rows_and_jobs_follow_their_session() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let bee = server.open_for("bee", &database).await.unwrap();
    ant.put_pause(pause(1)).await.unwrap();
    assert_eq!(bee.pauses().await.unwrap(), []);
    bee.put_pause(pause(1)).await.unwrap();
    assert_eq!(ant.pauses().await.unwrap(), [pause(1)]);

    let session = make_session(&ant).await;
    let mut ids = Vec::new();
    for background in [true, false] {
        let id = JobId(Uuid::new_v4());
        ids.push(id);
        let (kind, payload) = ("notes".to_owned(), "{}".to_owned());
        let session = Some(session);
        ant.enqueue(NewJob { id, kind, session, payload, background, created_at: NOW })
            .await
            .unwrap();
    }
    let lease = || Lease {
        owner: "home".to_owned(),
        background: true,
        now: NOW,
        until: UnixMicros(NOW.0 + 1_000_000),
    };
    assert_eq!(bee.lease(lease()).await.unwrap(), None);
    let serving = serve(&ant);
    timeout(SOON, bee.take_session(session)).await.unwrap().unwrap();
    serving.abort();
    assert_eq!(bee.lease(lease()).await.unwrap().map(|job| job.id), Some(ids[0]));
    assert_eq!(ant.lease(lease()).await.unwrap().map(|job| job.id), Some(ids[1]));
    assert_eq!(ant.lease(lease()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_reach_other_daemons() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let bee = server.open_for("bee", &database).await.unwrap();
    bee.tell_peers(vec!["one".into(), "x".repeat(9_000), "two".into(), "one".into()])
        .await
        .unwrap();
    assert_eq!(news(&ant).await, PeerNews::Text("one".into()));
    assert_eq!(news(&ant).await, PeerNews::Text("two".into()));
    assert_eq!(news(&ant).await, PeerNews::Text("one".into()), "an event that occurs again");
    ant.tell_peers(vec!["three".into()]).await.unwrap();
    assert_eq!(news(&bee).await, PeerNews::Text("three".into()), "it does not hear itself");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_are_not_changed_under_a_running_daemon() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let mut db = server.connect(&database).await;
    db.execute(
        "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
    )
    .await
    .unwrap();
    let refused = server.open_for("bee", &database).await.unwrap_err();
    assert!(
        matches!(&refused, PostgresOpenError::Shared(others) if others == "ant"),
        "{refused:?}"
    );
    ant.put_pause(pause(1)).await.unwrap();
}

#[tokio::test]
async fn schemas_are_independent() {
    let server = server::server().await;
    let database = server.bare_database().await;
    let mut db = server.connect(&database).await;
    db.execute(sqlx::raw_sql("CREATE SCHEMA ant; CREATE SCHEMA bee")).await.unwrap();
    let mut stores = Vec::new();
    for schema in ["ant", "bee"] {
        let address = server.address(&database).options([("search_path", schema)]);
        let mut options = server.options(&database);
        options.address = address.into();
        options.daemon = Some(DaemonIdentity { home: Uuid::from_u128(1), name: schema.to_owned() });
        let opened = bethink_store_postgres::PostgresStore::open(&options).await;
        let (store, report) = opened.unwrap();
        assert!(report.new);
        store.put_pause(pause(1)).await.unwrap();
        assert_eq!(store.pauses().await.unwrap().len(), 1);
        stores.push(store);
    }
}

/// A person who was alone, whose tables are in `public`, and who then gets a schema.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_history_is_not_begun_beside_another_one() {
    let server = server::server().await;
    server.admin("CREATE ROLE dora LOGIN; CREATE ROLE emil LOGIN").await;
    let database = server.bare_database().await;
    server.admin(&format!("ALTER DATABASE {database} OWNER TO dora")).await;
    let home = Uuid::new_v4();
    let open = async |person: &str, schema: Option<&str>| {
        let address = server.address(&database).username(person);
        let mut options = server.options(&database);
        options.address = match schema {
            Some(schema) => address.options([("search_path", schema)]).into(),
            None => address.into(),
        };
        options.daemon = Some(DaemonIdentity { home, name: person.to_owned() });
        PostgresStore::open(&options).await
    };
    let (store, report) = open("dora", None).await.unwrap();
    assert!(report.new);
    let session = make_session(&store).await;
    store.close().await.unwrap();
    let mut db = server.connect(&database).await;
    let schemas = "CREATE SCHEMA AUTHORIZATION dora; CREATE SCHEMA AUTHORIZATION emil";
    db.execute(sqlx::raw_sql(schemas)).await.unwrap();
    let refused = open("dora", None).await.unwrap_err();
    assert!(
        matches!(&refused, PostgresOpenError::OtherSchema { own, other } if own == "dora" && other == "public"),
        "{refused:?}"
    );
    let tables: Vec<String> =
        sqlx::query_scalar(TABLES).bind("dora").fetch_all(&mut db).await.unwrap();
    assert!(tables.is_empty(), "{tables:?}");
    // The history of somebody else keeps nobody from beginning their own one.
    let (other, report) = open("emil", None).await.unwrap();
    assert!(report.new);
    other.close().await.unwrap();
    // Both ways out that the error names.
    let (store, _) = open("dora", Some("public")).await.unwrap();
    store.session(session).await.unwrap();
    store.close().await.unwrap();
    let (store, report) = open("dora", Some("dora")).await.unwrap();
    assert!(report.new);
    store.close().await.unwrap();
    // As the documentation moves it.
    let moved = "
        DROP SCHEMA dora CASCADE;
        ALTER SCHEMA public RENAME TO dora;
        ALTER SCHEMA dora OWNER TO dora;
        REVOKE ALL ON SCHEMA dora FROM PUBLIC;
        CREATE SCHEMA public AUTHORIZATION pg_database_owner;
        GRANT USAGE ON SCHEMA public TO PUBLIC;
        ALTER DATABASE {database} OWNER TO bethink";
    let moved = AssertSqlSafe(moved.replace("{database}", &database));
    db.execute(sqlx::raw_sql(moved)).await.unwrap();
    let (store, report) = open("dora", None).await.unwrap();
    assert!(!report.new);
    store.take_session(session).await.unwrap();
    say(&store, session, "after the move").await.unwrap();
}

/// All tables and views of a schema.
const TABLES: &str = "
    SELECT format('%I.%I', nspname, relname)
    FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1
      AND relkind IN ('r', 'v')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_people_cannot_read_a_persons_schema() {
    let server = server::server().await;
    let database = server.bare_database().await;
    let mut db = server.connect(&database).await;
    for person in ["ann", "bob"] {
        let create = format!("CREATE ROLE {person} LOGIN; CREATE SCHEMA AUTHORIZATION {person}");
        db.execute(sqlx::raw_sql(AssertSqlSafe(create))).await.unwrap();
    }
    let open = async |person: &str, name: &str| {
        let address = server.address(&database).username(person);
        let mut options = server.options(&database);
        options.address = address.into();
        options.daemon = Some(DaemonIdentity { home: Uuid::new_v4(), name: name.to_owned() });
        PostgresStore::open(&options).await.unwrap().0
    };
    let (laptop, devbox) = (open("ann", "laptop").await, open("ann", "devbox").await);
    let (bob, other) = (open("bob", "desk").await, open("bob", "other").await);
    let session = make_session(&laptop).await;
    say(&laptop, session, "the boathouse key").await.unwrap();
    assert_eq!(devbox.session(session).await.unwrap().last_seq, Seq(1), "a person's other machine");
    assert!(matches!(bob.session(session).await, Err(StoreError::NotFound { .. })));
    assert!(bob.projects().await.unwrap().is_empty());
    laptop.tell_peers(vec!["secret".into()]).await.unwrap();
    assert_eq!(news(&devbox).await, PeerNews::Text("secret".into()));
    other.tell_peers(vec!["for bob".into()]).await.unwrap();
    assert_eq!(news(&bob).await, PeerNews::Text("for bob".into()), "nothing else arrives");

    let tables: Vec<String> =
        sqlx::query_scalar(TABLES).bind("ann").fetch_all(&mut db).await.unwrap();
    assert!(tables.len() > 40, "{tables:?}");
    let mut stranger = server.address(&database).username("bob").connect().await.unwrap();
    for table in &tables {
        let read = AssertSqlSafe(format!("SELECT FROM {table}"));
        let refused = stranger.execute(sqlx::raw_sql(read)).await.unwrap_err();
        let code = refused.as_database_error().and_then(sqlx::error::DatabaseError::code);
        assert_eq!(code.as_deref(), Some("42501"), "{table}: {refused}");
    }
    let channel: Uuid = sqlx::query_scalar("SELECT channel FROM ann.database_state")
        .fetch_one(&mut db)
        .await
        .unwrap();
    let seen: Vec<String> =
        sqlx::query_scalar("SELECT query FROM pg_stat_activity WHERE query LIKE $1")
            .bind(format!("%{}%", channel.simple()))
            .fetch_all(&mut stranger)
            .await
            .unwrap();
    assert!(seen.is_empty(), "{seen:?}");
}

#[tokio::test]
async fn a_database_that_became_read_only_is_a_fault() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open_for("first", &database).await.unwrap();
    let mut db = server.connect(&database).await;
    let set = |value: &str| {
        format!("ALTER DATABASE {database} SET default_transaction_read_only = {value}")
    };
    let cut = "
        SELECT count(pg_terminate_backend(pid))
        FROM pg_stat_activity
        WHERE datname = current_database()
          AND pid <> pg_backend_pid()";
    db.execute(sqlx::AssertSqlSafe(set("on"))).await.unwrap();
    db.execute(cut).await.unwrap();
    timeout(SOON, store.failed()).await.expect("the loss is noticed at once");
    let probed = store.probe().await;
    assert!(matches!(probed, Err(StoreError::ReadOnly(_))), "{probed:?}");
    assert!(matches!(store.put_pause(pause(1)).await, Err(StoreError::ReadOnly(_))));
    assert!(matches!(store.fault(), Some(StoreError::ReadOnly(_))), "{:?}", store.fault());
    assert_eq!(store.pauses().await.unwrap(), []);

    let mut admin = server.connect("postgres").await;
    admin.execute(sqlx::AssertSqlSafe(set("off"))).await.unwrap();
    db.execute(cut).await.unwrap();
    // It may find a connection that was lost.
    let _ = store.probe().await;
    store.probe().await.unwrap();
    assert!(store.fault().is_none());
    store.put_pause(pause(1)).await.unwrap();
}

/// Another process has a lock, and never ends its transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_waits_for_a_lock_for_ever() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open(&database).await;
    let mut other = server.connect(&database).await;
    let locked = sqlx::raw_sql("BEGIN; LOCK TABLE pauses").execute(&mut other).await;
    locked.unwrap();
    let refused = timeout(Duration::from_secs(20), store.put_pause(pause(1))).await.unwrap();
    assert!(matches!(refused, Err(StoreError::Contended(_))), "{refused:?}");
}

fn change(file: &str, expected: Option<&str>, new: Option<&'static str>) -> SyncedChange {
    let new = new.map(|text| (text.into(), format!("hash of {text}")));
    SyncedChange {
        file: file.to_owned(),
        expected: expected.map(|text| format!("hash of {text}")),
        new,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn synced_files_are_changed_together_or_not_at_all() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let bee = server.open_for("bee", &database).await.unwrap();
    let name = || "mill/private".to_owned();
    assert_eq!(ant.synced_directory(name()).await.unwrap(), SyncedDirectory::default());
    let put = |store: &PostgresStore, changes: Vec<SyncedChange>| {
        let store = store.clone();
        async move { store.change_synced_files(name(), changes).await.unwrap() }
    };
    let new = vec![change("dam.md", None, Some("one")), change("fog.md", None, Some("two"))];
    let first = put(&ant, new).await.unwrap();
    assert_eq!(news(&bee).await, PeerNews::Memory(name()));

    // One of the files is not what it should be.
    for stale in [change("fog.md", Some("three"), None), change("fog.md", None, Some("three"))] {
        let changes = vec![change("dam.md", Some("one"), Some("four")), stale];
        assert_eq!(put(&bee, changes).await, None);
    }
    let missing = change("mist.md", Some("five"), Some("six"));
    assert_eq!(put(&bee, vec![missing]).await, None);
    let hash = |text: &str| format!("hash of {text}");
    let both = vec![("dam.md".to_owned(), hash("one")), ("fog.md".to_owned(), hash("two"))];
    let unchanged = SyncedDirectory { version: Some(first), files: both };
    assert_eq!(bee.synced_directory(name()).await.unwrap(), unchanged);

    let removal = change("fog.md", Some("two"), None);
    let replacement = change("dam.md", Some("one"), Some("three"));
    let second = put(&bee, vec![removal, replacement]).await.unwrap();
    assert!(second.id == first.id && second.revision > first.revision, "{second:?}");
    assert_eq!(news(&ant).await, PeerNews::Memory(name()));
    let files = vec!["dam.md".to_owned(), "fog.md".to_owned()];
    let found = ant.synced_files(name(), files).await.unwrap();
    assert_eq!(found, [SyncedFile { file: "dam.md".to_owned(), content: "three".into() }]);

    // A directory without files is still known.
    put(&ant, vec![change("dam.md", Some("three"), None)]).await.unwrap();
    let empty = ant.synced_directory(name()).await.unwrap();
    assert_eq!((empty.version.map(|version| version.id), empty.files), (Some(first.id), vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_has_the_same_name_on_all_machines() {
    let server = server::server().await;
    let database = server.new_database().await;
    let ant = server.open_for("ant", &database).await.unwrap();
    let bee = server.open_for("bee", &database).await.unwrap();
    let ask = |store: &PostgresStore, known: Option<&str>| {
        let (store, known) = (store.clone(), known.map(str::to_owned));
        async move { store.record_project_name("mill-1".to_owned(), known).await.unwrap() }
    };
    assert_eq!(ask(&bee, None).await, None);
    for name in ["github.com/ann/mill", "github.com/ann/mill-2"] {
        assert_eq!(ask(&ant, Some(name)).await.as_deref(), Some(name));
        assert_eq!(ask(&bee, None).await.as_deref(), Some(name));
    }
}
