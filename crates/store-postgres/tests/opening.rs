//! Tests of opening a database: whose it is, which schema it has, and what its server is set to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use bethink_postgres_server::GUARDED_USER;
use bethink_store::{
    Append, CheckStore, HealthStore, NewMessage, NewSession, PauseRecord, RecordingStore, SeqRange,
    SessionStore, StoreError,
};
use bethink_store_postgres::{
    PostgresAddress, PostgresOpenError, PostgresOpenReport, PostgresOptions, PostgresStore,
    check_database,
};
use bethink_transcript::{MessageId, Role, SessionId, UnixMicros};
use futures_util::future::join_all;
use sqlx::{Executor, PgConnection};
use uuid::Uuid;

/// Everything in the catalog that a migration would change, and the list of migrations.
const CATALOG: &str = "
    SELECT string_agg(pg_class::text, E'\\n' ORDER BY oid)
    FROM pg_class
    WHERE relnamespace = 'public'::regnamespace";

async fn catalog(db: &mut PgConnection) -> Option<String> {
    sqlx::query_scalar(CATALOG).fetch_one(db).await.unwrap()
}

#[tokio::test]
async fn a_newer_schema_is_left_as_it_is() {
    let server = server::server().await;
    let database = server.new_database().await;
    let mut db = server.connect(&database).await;
    let count = "SELECT count(*) FROM _sqlx_migrations";
    let migrations: i64 = sqlx::query_scalar(count).fetch_one(&mut db).await.unwrap();
    let newer = "
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (9999, 'later', TRUE, 'x', 1)";
    db.execute(newer).await.unwrap();
    let before = catalog(&mut db).await;
    let refused = PostgresStore::open(&server.options(&database)).await.unwrap_err();
    let is_newer =
        matches!(refused, PostgresOpenError::Newer { found: 9999, known } if known == migrations);
    assert!(is_newer, "{refused:?}");
    assert_eq!(catalog(&mut db).await, before);
    let after: i64 = sqlx::query_scalar(count).fetch_one(&mut db).await.unwrap();
    assert_eq!(after, migrations + 1);
}

#[tokio::test]
async fn a_database_of_another_program_is_left_as_it_is() {
    let server = server::server().await;
    let database = server.bare_database().await;
    let mut db = server.connect(&database).await;
    db.execute("CREATE TABLE invoices (number BIGINT)").await.unwrap();
    let before = catalog(&mut db).await;
    let options = server.options(&database);
    let refused = PostgresStore::open(&options).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::Foreign), "{refused:?}");
    assert_eq!(catalog(&mut db).await, before);
    // A program that also uses sqlx.
    let other = "
        CREATE TABLE _sqlx_migrations (version BIGINT, checksum BYTEA);
        INSERT INTO _sqlx_migrations VALUES (1, 'x')";
    db.execute(sqlx::raw_sql(other)).await.unwrap();
    let refused = PostgresStore::open(&options).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::Foreign), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_that_open_an_empty_database_at_once_migrate_it_once() {
    let server = server::server().await;
    let options = server.options(&server.bare_database().await);
    let open = || {
        let options = options.clone();
        tokio::spawn(async move { PostgresStore::open(&options).await })
    };
    let opened = join_all((0..4).map(|_| open())).await;
    let reports: Vec<PostgresOpenReport> =
        opened.iter().map(|opened| opened.as_ref().unwrap().as_ref().unwrap().1).collect();
    assert_eq!(reports.iter().filter(|report| report.new).count(), 1);
}

/// The test server has `synchronous_commit` off, so an append would be answered before it is on disk.
#[tokio::test]
async fn every_commit_is_synced() {
    let server = server::server().await;
    let database = server.new_database().await;
    let mut plain = server.connect(&database).await;
    let setting = "SELECT current_setting('synchronous_commit')";
    let of_server: String = sqlx::query_scalar(setting).fetch_one(&mut plain).await.unwrap();
    assert_eq!(of_server, "off");
    // A trigger sees the setting of the transaction that writes.
    let spy = "
        CREATE TABLE seen (setting TEXT);
        CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO seen VALUES (current_setting('synchronous_commit'));
            RETURN NULL;
        END $$;
        CREATE TRIGGER spy AFTER INSERT ON pauses_of_homes EXECUTE FUNCTION spy()";
    plain.execute(sqlx::raw_sql(spy)).await.unwrap();
    let store = server.open(&database).await;
    let pause = PauseRecord { since: UnixMicros(1), until: None };
    store.put_pause(pause).await.unwrap();
    let seen: Vec<String> =
        sqlx::query_scalar("SELECT setting FROM seen").fetch_all(&mut plain).await.unwrap();
    assert_eq!(seen, ["on"]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_without_the_password() {
    let address: PostgresAddress = "postgres://ann:hunter2@127.0.0.1:1/nowhere".parse().unwrap();
    let error = PostgresStore::open(&PostgresOptions::new(address)).await.unwrap_err();
    assert!(matches!(error, PostgresOpenError::Unreachable(_)), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    let address: PostgresAddress = "postgres://ann@%2Fnowhere/notes".parse().unwrap();
    let error = PostgresStore::open(&PostgresOptions::new(address)).await.unwrap_err();
    assert!(error.to_string().contains("the socket in /nowhere: No such file"), "{error}");
}

#[tokio::test]
async fn a_wrong_password_is_an_error_without_it() {
    let server = server::server().await;
    let (user, password) = GUARDED_USER;
    let database = server.new_database().await;
    let address: PostgresAddress = server.url(user, &database).parse().unwrap();
    let wrong = PostgresOptions::new(address.clone().with_password("hunter2"));
    let error = PostgresStore::open(&wrong).await.unwrap_err();
    assert!(matches!(error, PostgresOpenError::Refused(_)), "{error:?}");
    assert!(!format!("{error} {error:?} {wrong:?}").contains("hunter2"));
    let right = PostgresOptions::new(address.with_password(password));
    PostgresStore::open(&right).await.unwrap();
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_an_error_that_says_why() {
    let server = server::server().await;
    let mut admin = server.connect("postgres").await;
    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    admin.execute(latin).await.unwrap();
    let refused = PostgresStore::open(&server.options("latin")).await.unwrap_err();
    assert!(matches!(&refused, PostgresOpenError::Encoding(found) if found == "LATIN1"));

    let missing = PostgresStore::open(&server.options("missing")).await.unwrap_err();
    assert!(
        matches!(&missing, PostgresOpenError::Refused(why) if why.contains("missing")),
        "{missing:?}"
    );

    let read_only = server.bare_database().await;
    let set = format!("ALTER DATABASE {read_only} SET default_transaction_read_only = on");
    admin.execute(sqlx::AssertSqlSafe(set)).await.unwrap();
    let refused = PostgresStore::open(&server.options(&read_only)).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::ReadOnly(_)), "{refused:?}");

    admin.execute("CREATE ROLE reader LOGIN").await.unwrap();
    let database = server.bare_database().await;
    let address: PostgresAddress = server.url("reader", &database).parse().unwrap();
    let refused = PostgresStore::open(&PostgresOptions::new(address)).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::ReadOnly(_)), "{refused:?}");

    let mut options = server.options(&database);
    options.address = server.address(&database).options([("search_path", "nowhere")]).into();
    let refused = PostgresStore::open(&options).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::NoSchema), "{refused:?}");
}

#[tokio::test]
async fn an_altered_message_is_an_error() {
    let server = server::server().await;
    let database = server.new_database().await;
    let store = server.open(&database).await;
    let id = SessionId(Uuid::from_u128(1));
    let now = UnixMicros(1);
    let new = NewSession::new(id, "/project".into(), "{}".into(), now);
    store.create_session(new, None).await.unwrap();
    let message = NewMessage {
        id: MessageId::new("m").unwrap(),
        role: Role::User,
        raw: "text".into(),
        recorded: false,
        created_at: now,
    };
    let append =
        Append { session: id, messages: vec![message], only_new: false, receipt: None, at: now };
    store.append(append).await.unwrap();
    assert_eq!(store.check().await.unwrap(), None);
    let mut db = server.connect(&database).await;
    db.execute("UPDATE messages SET raw = 'tex7'").await.unwrap();
    let read = store.messages(id, SeqRange::all()).await;
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    assert!(store.damage().is_some());
    let checked = store.check().await.unwrap();
    assert!(checked.is_some_and(|why| why.contains("message 1 of session")));
}

/// The server reports a schema that may not be used as if its tables did not exist.
#[tokio::test]
async fn a_schema_without_its_rights_is_not_damage_and_heals() {
    let server = server::server().await;
    let database = server.bare_database().await;
    let mut admin = server.connect(&database).await;
    let make = "CREATE ROLE barred LOGIN; CREATE SCHEMA barred AUTHORIZATION barred";
    admin.execute(sqlx::raw_sql(make)).await.unwrap();
    let address: PostgresAddress = server.url("barred", &database).parse().unwrap();
    let options = PostgresOptions::new(address.clone());
    let (store, _) = PostgresStore::open(&options).await.unwrap();
    let bar = "
        ALTER SCHEMA barred OWNER TO CURRENT_USER;
        REVOKE ALL ON SCHEMA barred FROM barred";
    admin.execute(sqlx::raw_sql(bar)).await.unwrap();
    // Two at once, on connections that are new.
    let (one, two) = tokio::join!(store.pauses(), store.projects());
    assert!(matches!(&one, Err(StoreError::Denied(why)) if why.contains("barred")), "{one:?}");
    assert!(matches!(two, Err(StoreError::Denied(_))), "{two:?}");
    assert!(matches!(store.probe().await, Err(StoreError::Denied(_))));
    assert!(matches!(store.fault(), Some(StoreError::Denied(_))), "{:?}", store.fault());
    let checked = check_database(&address).await.unwrap_err();
    assert!(matches!(checked, PostgresOpenError::OtherSchema { .. }), "{checked}");

    admin.execute("GRANT ALL ON SCHEMA barred TO barred").await.unwrap();
    assert_eq!(store.probe().await.unwrap(), None);
    let (one, two) = tokio::join!(store.pauses(), store.projects());
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    assert!(store.fault().is_none() && store.damage().is_none());
}
