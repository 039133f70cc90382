//! Tests that the data of older schemas survives an upgrade.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;

use bethink_store::{
    DeliveredMemories, ExtractionPlan, HookStore, IndexStore, LastDream, MemorySource, MemoryStore,
    MemoryVersionFilter, PlannedWrite, ProposalAuthor, ProposalFilter, ProposalState,
    RefusedStatement, SeqRange, Store, StoredProposal, TeamBase, TeamStore, TranscriptPosition,
};
use bethink_store_sqlite::SqliteStore;
use bethink_transcript::{Seq, UnixMicros};
use common::{Home, found, session_id};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use uuid::Uuid;

const SESSION: &str = "00000000-0000-0000-0000-000000000001";
const PROPOSED: &str = "01900000-0000-7000-8000-00000000000";

/// Rows of each kind that schema 8 stored as JSON: space, owner, key, value.
fn kept() -> Vec<(&'static str, &'static str, String, &'static str)> {
    let id = |number: u8| format!("{PROPOSED}{number}");
    let key = str::to_owned;
    vec![
        (
            "proposal",
            "team",
            id(1),
            r#"{"id":"01900000-0000-7000-8000-000000000001","project_dir":"/app","name":"fog","text":"---\nä\r\n","by":"agent","state":"open","proposed_at":"2023-11-14T22:13:20.5Z"}"#,
        ),
        (
            "proposal",
            "team",
            id(2),
            r#"{"id":"01900000-0000-7000-8000-000000000002","project_dir":"/app","name":"sky","text":"t","replaces":"hash","by":"dream","source":{"session":"s","messages":["m1","\"m2\""],"strategy":"model","time":"today"},"state":"rejected","proposed_at":"2023-11-14T22:13:20Z","decided_at":"2023-11-14T22:13:21.000042Z"}"#,
        ),
        ("import_approval", "app", key("/b"), "true"),
        ("import_approval", "app", key("/a"), "true"),
        ("team_base", "app", key("fog.md"), "b10b"),
        ("team_base", "app", key("sky.md"), ""),
        ("team_place", "app", key("dir"), r#""/shared/\"team\" ä""#),
        (
            "hook_transcript",
            SESSION,
            key("/t.jsonl"),
            r#"{"bytes":12,"hash":"h","through":3,"elsewhere":true}"#,
        ),
        ("hook_transcript", SESSION, key("/u.jsonl"), r#"{"bytes":1,"hash":"","through":0}"#),
        (
            "hook_told",
            "claude-code/a/b",
            key("told"),
            r#"{"names":["private/fog","ä"],"bytes":40}"#,
        ),
        ("refused_memory", "app", key("hash"), r#"{"words":["npm","ä"],"negative":true}"#),
        ("extraction_mark", SESSION, key("through"), "17"),
        (
            "extraction_plan",
            SESSION,
            key("plan"),
            r#"{"strategy":"model","through":20,"writes":[{"name":"b","over":null,"text":"x","sentence":"Use b.","seq":4},{"name":"a","over":"hash","text":"y","sentence":null,"seq":null}],"proposals":[{"name":"c","over":null,"text":"z","sentence":null,"seq":null}]}"#,
        ),
        ("dream", "app", key("state"), r#"{"last":1700000000000001,"id":"d1"}"#),
        ("dream", "lib", key("state"), r#"{"last":null,"id":null}"#),
        ("dream", "", key("dreamer"), "bethink-abc"),
    ]
}

/// Rows that are invalid for their kind.
fn unreadable() -> Vec<(&'static str, &'static str, String, &'static str)> {
    let key = str::to_owned;
    vec![
        ("proposal", "team", format!("{PROPOSED}8"), "{\"id\":"),
        ("proposal", "team", format!("{PROPOSED}9"), r#"{"project_dir":"/app","state":"open"}"#),
        ("proposal", "team", key("no id"), "{}"),
        ("team_place", "lib", key("dir"), "/not json"),
        ("hook_transcript", SESSION, key("/v"), r#"{"bytes":"many","hash":"h","through":3}"#),
        ("hook_transcript", "no session", key("/w"), r#"{"bytes":1,"hash":"h","through":3}"#),
        ("hook_told", "no slash", key("told"), r#"{"names":[],"bytes":1}"#),
        ("hook_told", "codex/a", key("told"), r#"{"names":[1],"bytes":1}"#),
        ("refused_memory", "app", key("x"), "[]"),
        ("extraction_mark", "00000000-0000-0000-0000-000000000002", key("through"), "soon"),
        (
            "extraction_plan",
            "00000000-0000-0000-0000-000000000002",
            key("plan"),
            r#"{"strategy":"model","through":20,"writes":[7]}"#,
        ),
        ("dream", "fog", key("state"), r#"{"last":"never"}"#),
        ("a_space_of_tomorrow", "app", key("k"), "{}"),
    ]
}

/// Makes a database of schema 8, with one message and these rows.
async fn older(rows: &[(&'static str, &'static str, String, &'static str)]) -> Home {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new().filename(home.db()).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::migrate!("../../migrations").run_to(8, &mut connection).await.unwrap();
    sqlx::query(
        "INSERT INTO sessions (id, project_dir, model, last_seq, created_at, updated_at)
         VALUES (x'00000000000000000000000000000001', '/project', '{}', 1, 0, 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    for (number, (space, owner, key, value)) in (1_i64..).zip(rows) {
        sqlx::query("INSERT INTO kept (space, owner, key, value, at) VALUES (?, ?, ?, ?, ?)")
            .bind(*space)
            .bind(*owner)
            .bind(key)
            .bind(*value)
            .bind(number)
            .execute(&mut connection)
            .await
            .unwrap();
    }
    connection.close().await.unwrap();
    home
}

async fn rows_left(home: &Home) -> Vec<(String, String, String, String, i64)> {
    let mut connection = connect(home).await;
    let rows =
        sqlx::query_as("SELECT space, owner, key, value, at FROM unreadable_kept ORDER BY number")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    connection.close().await.unwrap();
    rows
}

async fn connect(home: &Home) -> SqliteConnection {
    SqliteConnectOptions::new().filename(home.db()).connect().await.unwrap()
}

fn write(name: &str, over: Option<&str>, text: &str) -> PlannedWrite {
    PlannedWrite {
        name: name.to_owned(),
        over: over.map(str::to_owned),
        text: text.to_owned(),
        sentence: None,
        seq: None,
    }
}

fn strings(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

/// Reads all of [`kept`] through the port.
async fn assert_all_there(store: &SqliteStore) {
    let session = session_id(1);
    let app = || "app".to_owned();
    let fog = StoredProposal {
        id: Uuid::parse_str(&format!("{PROPOSED}1")).unwrap(),
        project_dir: "/app".to_owned(),
        name: "fog".to_owned(),
        text: "---\nä\r\n".to_owned(),
        replaces: None,
        by: ProposalAuthor::Agent,
        source: None,
        state: ProposalState::Open,
        proposed_at: UnixMicros(1_700_000_000_500_000),
        decided_at: None,
    };
    let sky = StoredProposal {
        id: Uuid::parse_str(&format!("{PROPOSED}2")).unwrap(),
        name: "sky".to_owned(),
        text: "t".to_owned(),
        replaces: Some("hash".to_owned()),
        by: ProposalAuthor::Dream,
        source: Some(MemorySource {
            session: "s".to_owned(),
            messages: vec!["m1".to_owned(), "\"m2\"".to_owned()],
            strategy: "model".to_owned(),
            time: "today".to_owned(),
            ..MemorySource::default()
        }),
        state: ProposalState::Rejected,
        proposed_at: UnixMicros(1_700_000_000_000_000),
        decided_at: Some(UnixMicros(1_700_000_001_000_042)),
        ..fog.clone()
    };
    assert_eq!(store.proposals(ProposalFilter::default()).await.unwrap(), [fog, sky]);
    assert_eq!(store.import_approvals(app()).await.unwrap(), ["/a", "/b"]);
    let bases = [("fog.md", Some("b10b")), ("sky.md", None)]
        .map(|(file, blob)| TeamBase { file: file.to_owned(), blob: blob.map(str::to_owned) });
    assert_eq!(store.team_bases(app()).await.unwrap(), bases);
    let place = store.team_place(app()).await.unwrap();
    assert_eq!(place.as_deref(), Some("/shared/\"team\" ä"));
    let position = |path: &str| store.transcript_position(session, path.to_owned());
    let known =
        TranscriptPosition { bytes: 12, hash: "h".to_owned(), through: Seq(3), elsewhere: true };
    assert_eq!(position("/t.jsonl").await.unwrap(), Some(known));
    let begun = TranscriptPosition { bytes: 1, ..TranscriptPosition::default() };
    assert_eq!(position("/u.jsonl").await.unwrap(), Some(begun));
    let delivered = DeliveredMemories { names: strings(&["private/fog", "ä"]), bytes: 40 };
    let told = store.delivered_memories("claude-code".to_owned(), "a/b".to_owned());
    assert_eq!(told.await.unwrap(), Some(delivered));
    let refused = RefusedStatement { words: strings(&["npm", "ä"]), negative: true };
    assert_eq!(store.refused_statements(app()).await.unwrap(), [refused]);
    assert_eq!(store.extraction_mark(session).await.unwrap(), Some(Seq(17)));
    let first = PlannedWrite {
        sentence: Some("Use b.".to_owned()),
        seq: Some(Seq(4)),
        ..write("b", None, "x")
    };
    let plan = ExtractionPlan {
        strategy: "model".to_owned(),
        through: Seq(20),
        writes: vec![first, write("a", Some("hash"), "y")],
        proposals: vec![write("c", None, "z")],
    };
    assert_eq!(store.extraction_plan(session).await.unwrap(), Some(plan));
    let last = LastDream { at: Some(UnixMicros(1_700_000_000_000_001)), id: Some("d1".to_owned()) };
    assert_eq!(store.last_dream(app()).await.unwrap(), Some(last));
    let never = store.last_dream("lib".to_owned()).await.unwrap();
    assert_eq!(never, Some(LastDream::default()));
    assert_eq!(store.lock_name("new".to_owned()).await.unwrap(), "bethink-abc");
}

#[tokio::test]
async fn what_was_kept_as_json_moves_to_typed_tables() {
    let home = older(&kept()).await;
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    assert_all_there(&store).await;
    store.close().await.unwrap();
    assert_eq!(rows_left(&home).await, []);
    assert_eq!(home.open().await.1.damage, None);
}

#[tokio::test]
async fn what_can_not_be_read_stays_where_it_can_be_found() {
    let mut rows = unreadable();
    rows.extend(kept());
    rows.extend([("proposal", "team", "another".to_owned(), "null")]);
    let home = older(&rows).await;
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    assert_all_there(&store).await;
    assert_eq!(store.extraction_plan(session_id(2)).await.unwrap(), None);
    assert_eq!(store.last_dream("fog".to_owned()).await.unwrap(), None);
    store.close().await.unwrap();
    let is_unreadable = |number: usize| number < unreadable().len() || number == rows.len() - 1;
    let expected: Vec<_> = rows
        .iter()
        .enumerate()
        .filter(|(number, _)| is_unreadable(*number))
        .map(|(number, (space, owner, key, value))| {
            let at = i64::try_from(number).unwrap() + 1;
            ((*space).to_owned(), (*owner).to_owned(), key.clone(), (*value).to_owned(), at)
        })
        .collect();
    assert_eq!(rows_left(&home).await, expected);
}

/// A damaged file of an older schema is recovered with that schema, and then upgraded.
#[tokio::test]
async fn a_damaged_older_database_loses_nothing_it_kept() {
    let mut rows = unreadable();
    rows.extend(kept());
    let home = older(&rows).await;
    std::fs::write(home.beside(".suspect"), "seen by a check").unwrap();
    let (store, report) = home.open().await;
    assert!(report.damage.is_some());
    assert_all_there(&store).await;
    store.close().await.unwrap();
    assert_eq!(rows_left(&home).await.len(), unreadable().len());
}

/// Without the first page, the schema is known from the migrations table.
#[tokio::test]
async fn an_older_database_without_its_first_page_is_read_by_its_own_schema() {
    let home = older(&kept()).await;
    let file = std::fs::OpenOptions::new().write(true).open(home.db()).unwrap();
    file.write_all_at(&[7; 4096], 0).unwrap();
    let (store, report) = home.open().await;
    assert!(report.damage.is_some());
    assert_all_there(&store).await;
    store.close().await.unwrap();
    assert_eq!(home.open().await.1.damage, None);
}

/// An index of an older format is dropped, and the messages are indexed again.
#[tokio::test]
async fn an_older_index_is_made_anew() {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new().filename(home.db()).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::migrate!("../../migrations").run_to(2, &mut connection).await.unwrap();
    for statement in [
        "INSERT INTO sessions (id, project_dir, model, last_seq, indexed_seq, created_at, updated_at)
         VALUES (x'00000000000000000000000000000001', '/project', '{}', 1, 1, 0, 0)",
        "INSERT INTO messages (session, seq, message_id, role, recorded, created_at, checksum, raw)
         VALUES (x'00000000000000000000000000000001', 1, 'm0', 0, 0, 0, -530582087237844956, 'word0 word0')",
        "INSERT INTO message_terms (rowid, session, user) VALUES (1, '1', 'word0')",
    ] {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    let all = SeqRange { before: Some(Seq(2)), ..SeqRange::from(Seq(1)) };
    let unindexed = store.unindexed(session_id(1)).await.unwrap();
    assert_eq!(unindexed, Some(all));
    assert_eq!(found(&store, session_id(1), "word0").await, 1);
}

/// Before schema 12, versions of memory files were numbered across all files.
#[tokio::test]
async fn versions_of_memory_files_are_numbered_per_file() {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new().filename(home.db()).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::migrate!("../../migrations").run_to(11, &mut connection).await.unwrap();
    // The second version of the private topic `fog` restores its first one; that of the team's topic restores a deleted
    // one.
    for (number, directory, file, note) in [
        (7, "app/private", "fog.md", ""),
        (8, "app/private", "sky.md", ""),
        (9, "app/team", "fog.md", ""),
        (20, "app/private", "fog.md", "version 7"),
        (21, "app/team", "fog.md", "version 3"),
    ] {
        sqlx::query(
            "INSERT INTO memory_versions (number, directory, file, hash, content, author, note, at)
             VALUES (?1, ?2, ?3, '', ?1, iif(?4 = '', 'person', 'restore'), ?4, 0)",
        )
        .bind(number)
        .bind(directory)
        .bind(file)
        .bind(note)
        .execute(&mut connection)
        .await
        .unwrap();
    }
    connection.close().await.unwrap();
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    let versions = async |directory: &str| {
        let filter = MemoryVersionFilter {
            directory: directory.to_owned(),
            limit: 10,
            ..MemoryVersionFilter::default()
        };
        let versions = store.memory_versions(filter).await.unwrap();
        versions.into_iter().map(|v| (v.file, v.number, v.note)).collect::<Vec<_>>()
    };
    let of = |file: &str, number: i64, note: &str| (file.to_owned(), number, note.to_owned());
    assert_eq!(
        versions("app/private").await,
        [of("fog.md", 2, "version 1"), of("sky.md", 1, ""), of("fog.md", 1, "")]
    );
    assert_eq!(versions("app/team").await, [of("fog.md", 2, "version 3"), of("fog.md", 1, "")]);
}

/// Before schema 11, an imported session got the time of its import.
#[tokio::test]
async fn an_imported_session_gets_the_dates_of_its_messages() {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new().filename(home.db()).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::migrate!("../../migrations").run_to(10, &mut connection).await.unwrap();
    // Imported; imported and continued; not imported.
    for (session, recorded) in [(1, [true, true]), (2, [true, false]), (3, [false, false])] {
        sqlx::query(
            "INSERT INTO sessions (id, project_dir, model, last_seq, created_at, updated_at)
             VALUES (unhex(printf('%032x', ?)), '/project', '{}', 2, 900, 950)",
        )
        .bind(session)
        .execute(&mut connection)
        .await
        .unwrap();
        for (seq, recorded) in (1_i64..).zip(recorded) {
            sqlx::query(
                "INSERT INTO messages (
                     session, seq, message_id, role, recorded, created_at, checksum, raw
                 )
                 VALUES (unhex(printf('%032x', ?1)), ?2, ?2, 0, ?3, 100 * ?2, 0, x'')",
            )
            .bind(session)
            .bind(seq)
            .bind(recorded)
            .execute(&mut connection)
            .await
            .unwrap();
        }
    }
    sqlx::migrate!("../../migrations").run(&mut connection).await.unwrap();
    let dates: Vec<(i64, i64)> =
        sqlx::query_as("SELECT created_at, updated_at FROM sessions ORDER BY id")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert_eq!(dates, [(100, 200), (100, 950), (900, 950)]);
}
