//! What a session keeps when its store fails, the error for an unreadable log, and a session's size.

use bethink_api as api;
use bethink_config::Settings;
use bethink_context::todos;
use bethink_service::ErrorKind;
use bethink_store::{CompactionRecord, NewDecision};
use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};
use uuid::Uuid;

use crate::tests::home::SessionsHome;

/// Returns a round of one call; its result is the last message.
fn round() -> Vec<Value> {
    vec![
        json!({ "role": "user", "content": "Look at the gauge" }),
        json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": "call_1", "name": "Read", "input": { "file_path": "/g" } } ] }),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_1", "content": "high" } ] }),
    ]
}

async fn prompt(home: &SessionsHome, id: SessionId) -> bethink_service::Result<String> {
    let body = home.sessions.prompt(id, api::ContextRequest::default()).await?;
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

/// Opens the store's file, for changes that its interface does not offer.
async fn database(directory: &tempfile::TempDir) -> SqliteConnection {
    let path = directory.path().join("bethink.db");
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reminder_that_could_not_be_kept_is_shown_by_the_next_prompt() {
    let directory = tempfile::tempdir().unwrap();
    let home = SessionsHome::open(Settings::at(directory.path())).await;
    let id = home.session(&round()).await;
    let todos = json!({ "todos": [
        { "id": "1", "content": "Mend the bell", "status": "pending", "priority": "medium" } ] });
    let todos = serde_json::from_value(todos).unwrap();
    home.sessions.put_todos(id, todos).await.unwrap();
    let mut database = database(&directory).await;
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON decisions
        BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END";
    sqlx::query(refuse).execute(&mut database).await.unwrap();
    assert!(
        prompt(&home, id).await.is_err(),
        "a prompt whose decisions cannot be stored is refused"
    );
    sqlx::query("DROP TRIGGER refuse").execute(&mut database).await.unwrap();
    let shown = prompt(&home, id).await.unwrap();
    assert!(shown.contains("Mend the bell"), "{shown}");
    let again = prompt(&home, id).await.unwrap();
    assert_eq!(again.matches("Mend the bell").count(), 1, "the list is shown once per round");
    // The whole list is shown again, also after a restart.
    let handle = home.sessions.handle(id).await.unwrap();
    let loaded = home.sessions.lock(&handle).await.unwrap();
    let whole = todos::reminder(&loaded.state.todos.items, true, 1_000).unwrap();
    let attachments = loaded.state.decisions.attachments();
    assert_eq!(attachments.iter().map(|a| &a.text).collect::<Vec<_>>(), [&whole]);
    drop(loaded);
    let kept = home.cx.store().decisions(id).await.unwrap();
    assert_eq!(kept.iter().filter(|record| record.kind == "attached").count(), 1, "{kept:?}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_that_can_not_be_read_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let home = SessionsHome::open(Settings::at(directory.path())).await;
    let id = home.session(&round()).await;
    prompt(&home, id).await.unwrap();
    let handle = home.sessions.handle(id).await.unwrap();
    handle.unload().await;
    let unreadable = NewDecision {
        kind: "replaced".to_owned(),
        data: r#"{"replaced":{"seq":"three"}}"#.to_owned(),
        made_after: Seq(3),
        created_at: UnixMicros(1),
    };
    home.cx.store().add_decisions(id, vec![unreadable]).await.unwrap();
    let records = home.cx.store().decisions(id).await.unwrap();
    let record = records.iter().find(|record| record.kind == "replaced").unwrap();
    let error = prompt(&home, id).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    let named = format!("could not read decision {} (replaced)", record.id);
    assert!(error.detail.contains(&named), "{error}");
    assert!(home.sessions.decisions(id).await.unwrap_err().detail.contains(&named));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_that_can_not_be_read_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let home = SessionsHome::open(Settings::at(directory.path())).await;
    let session = home.session(&round()).await;
    let id = CompactionId(Uuid::now_v7());
    let unreadable = CompactionRecord {
        id,
        session,
        trigger: "manual".to_owned(),
        level: "embedded".to_owned(),
        first_seq: Seq(1),
        last_seq: Seq(1),
        kept_from: Seq(2),
        made_after: Seq(3),
        tokens_before: 10,
        tokens_after: 5,
        summary: "They looked.".to_owned(),
        summary_tokens: 3,
        fidelity: 1.0,
        detail: r#"{"marker":7}"#.to_owned(),
        created_at: UnixMicros(1),
        undone_at: None,
    };
    let refused = home.sessions.add_compaction(unreadable.clone()).await.unwrap_err();
    assert!(refused.detail.contains(&id.to_string()), "{refused}");
    // Bypass the check, as if another program had written the row.
    home.cx.store().add_compaction(unreadable, Vec::new()).await.unwrap();
    home.sessions.handle(session).await.unwrap().unload().await;
    let error = home.sessions.compactions(session).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.detail.contains(&format!("could not read compaction {id}")), "{error}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_are_only_appended_to_or_read_stay_within_the_budget() {
    const BUDGET: usize = 200_000;
    let directory = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(directory.path());
    settings.daemon.hot_bytes = BUDGET as u64;
    let home = SessionsHome::open(settings).await;
    let mut most = 0;
    let mut sessions = Vec::new();
    for n in 0..20 {
        let text = format!("gauge {n} ").repeat(5_000);
        sessions.push(home.session(&[json!({ "role": "user", "content": text })]).await);
        let held = home.sessions.inner.registry.weight();
        assert!(held <= BUDGET, "{held} bytes are held after session {n}");
        assert_eq!(home.sessions.inner.registry.counted(), held, "after session {n}");
        most = most.max(held);
    }
    assert!(most > BUDGET / 4, "sessions are held in memory: {most} bytes");
    for id in sessions {
        home.sessions.report(id).await.unwrap();
        let held = home.sessions.inner.registry.weight();
        assert!(held <= 2 * BUDGET, "{held} bytes are held after a report");
    }
    home.close().await;
}
