#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use super::*;

const SCHEMA: [&str; 3] = [
    "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, title TEXT NOT NULL,
        time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL)",
    "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
        data TEXT NOT NULL)",
    "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, data TEXT NOT NULL)",
];

const ROWS: [&str; 4] = [
    "INSERT INTO session VALUES ('ses_1', NULL, '/work', 'Tidy the shed', 1700000000000, 1700000009000)",
    "INSERT INTO session VALUES ('ses_2', 'ses_1', '/work', 'Look', 1700000001000, 1700000002000)",
    "INSERT INTO message VALUES ('msg_1', 'ses_1', 1700000000000, '{\"role\":\n\"user\"}')",
    "INSERT INTO part VALUES ('prt_1', 'msg_1', '{\"type\":\"text\",\"text\":\"tidy\"}'),
        ('prt_2', 'msg_1', 'no json')",
];

async fn made(path: &Path, statements: &[&'static str]) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    for sql in statements {
        sqlx::query(*sql).execute(&mut connection).await.unwrap();
    }
    connection
}

fn names(dir: &Path) -> Vec<String> {
    let names = dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

async fn read(path: &Path) -> (Vec<OpencodeListing>, String) {
    let mut db = OpencodeDb::open(path).await.unwrap();
    let sessions = db.sessions().await.unwrap();
    let lines = String::from_utf8(db.session("ses_1").await.unwrap()).unwrap();
    db.close().await;
    (sessions, lines)
}

const LINES: &str = concat!(
    r#"{"session":{"directory":"/work","id":"ses_1","parent_id":null,"time_created":1700000000000,"title":"Tidy the shed"}}"#,
    "\n",
    r#"{"message":{"id":"msg_1","time_created":1700000000000,"data":{"role": "user"},"parts":[{"type":"text","text":"tidy"},"no json"]}}"#,
    "\n",
);

#[tokio::test]
async fn sessions_are_read_and_no_file_is_created_beside_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let mut statements = vec!["PRAGMA journal_mode = WAL"];
    statements.extend(SCHEMA);
    statements.extend(ROWS);
    made(&path, &statements).await.close().await.unwrap();
    assert_eq!(names(dir.path()), ["opencode.db"]);
    let (sessions, lines) = read(&path).await;
    let listed: Vec<_> =
        sessions.iter().map(|s| (&*s.id, s.parent.as_deref(), s.messages)).collect();
    assert_eq!(listed, [("ses_1", None, 1), ("ses_2", Some("ses_1"), 0)]);
    assert_eq!(lines, LINES);
    assert_eq!(names(dir.path()), ["opencode.db"]);
}

#[tokio::test]
async fn what_a_running_opencode_has_written_is_read_and_it_can_go_on_writing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let mut statements = vec!["PRAGMA journal_mode = WAL"];
    statements.extend(SCHEMA);
    statements.extend(ROWS);
    let mut writer = made(&path, &statements).await;
    let before = names(dir.path());
    let mut db = OpencodeDb::open(&path).await.unwrap();
    assert_eq!(db.sessions().await.unwrap().len(), 2);
    let more = "INSERT INTO session VALUES ('ses_3', NULL, '/work', 'More', 3, 3)";
    sqlx::query(more).execute(&mut writer).await.unwrap();
    assert_eq!(db.sessions().await.unwrap().len(), 3);
    db.close().await;
    assert_eq!(names(dir.path()), before);

    // As after a crash: there is a log, but no index.
    let left = tempfile::tempdir().unwrap();
    let crashed = left.path().join("opencode.db");
    for end in ["", "-wal"] {
        let name = format!("opencode.db{end}");
        std::fs::copy(dir.path().join(&name), left.path().join(&name)).unwrap();
    }
    assert_eq!(read(&crashed).await.0.len(), 3);
    assert_eq!(names(left.path()), ["opencode.db", "opencode.db-wal"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let told = async |path: &Path| match OpencodeDb::open(path).await {
        Ok(mut db) => db.sessions().await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(told(&path).await.contains("No such file"));
    assert!(told(dir.path()).await.contains("not a regular file"));
    std::fs::write(&path, "no database, but long enough to have a header".repeat(20)).unwrap();
    assert!(told(&path).await.contains("not a database"));
    std::fs::remove_file(&path).unwrap();
    let newer = "CREATE TABLE session (id TEXT PRIMARY KEY, owner TEXT)";
    made(&path, &[newer]).await.close().await.unwrap();
    assert!(told(&path).await.contains("those of opencode 1.x: "));

    let locked = dir.path().join("locked.db");
    let mut writer = made(&locked, &SCHEMA).await;
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut writer).await.unwrap();
    // With a rollback journal, the database is locked as a whole; an immutable reader does not ask for locks.
    std::fs::write(dir.path().join("locked.db-wal"), "x").unwrap();
    std::fs::write(dir.path().join("locked.db-shm"), "x").unwrap();
    assert!(told(&locked).await.contains("the database is locked"));
}
