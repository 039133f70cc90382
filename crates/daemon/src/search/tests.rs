#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use bethink_config::Settings;
use serde_json::{Value, json};

use super::*;

async fn boot(home: &tempfile::TempDir) -> Daemon {
    Daemon::boot(Settings::at(home.path())).await.unwrap()
}

async fn session(daemon: &Daemon, project: &str, title: &str) -> SessionId {
    let new = json!({ "project_dir": project, "title": title });
    let made = daemon.create_session(serde_json::from_value(new).unwrap(), None).await.unwrap();
    SessionId(made.id)
}

async fn say(daemon: &Daemon, session: SessionId, messages: Value) {
    let body = json!({ "messages": messages }).to_string();
    daemon.append(session, body.into(), None).await.unwrap();
}

fn work() -> Value {
    json!([
        {"role": "user", "content": "Why is the parser slow?", "created_at": "2026-11-01T10:00:00Z"},
        {"role": "assistant", "created_at": "2026-11-01T10:01:00Z", "content": [
            {"type": "text", "text": "I look at it."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/w/crates/syntax/src/lexer.rs"}}]},
        {"role": "user", "created_at": "2026-11-01T10:02:00Z", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "fn advance() { copies the buffer }"}]},
        {"role": "assistant", "content": "The buffer is copied for every token.", "created_at": "2026-11-05T10:00:00Z"}
    ])
}

fn asks(q: &str) -> SearchRequest {
    SearchRequest { q: q.to_owned(), ..SearchRequest::default() }
}

async fn seqs(daemon: &Daemon, id: SessionId, request: SearchRequest) -> Vec<u64> {
    let found = daemon.search(id, &request).await.unwrap();
    assert!(found.complete);
    let mut seqs: Vec<u64> = found.hits.iter().map(|hit| hit.seq).collect();
    seqs.sort_unstable();
    seqs
}

#[tokio::test]
async fn filters_leave_what_they_name() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon, "/w", "parser").await;
    say(&daemon, id, work()).await;
    let with = |change: fn(&mut SearchRequest)| {
        let mut request = asks("buffer");
        change(&mut request);
        seqs(&daemon, id, request)
    };
    assert_eq!(with(|_| ()).await, [3, 4]);
    assert_eq!(with(|r| r.role = Some("assistant".into())).await, [4]);
    assert_eq!(with(|r| r.tool = Some("read".into())).await, [3]);
    assert_eq!(with(|r| r.tool = Some("Bash".into())).await, [0; 0]);
    assert_eq!(with(|r| r.path = Some("syntax/src".into())).await, [3]);
    assert_eq!(with(|r| r.path = Some("src/syntax".into())).await, [0; 0]);
    assert_eq!(with(|r| r.after = Some("2026-11-02T00:00:00Z".into())).await, [4]);
    assert_eq!(with(|r| r.before = Some("2026-11-01T10:02:00Z".into())).await, [0; 0]);
    assert_eq!(with(|r| r.q = "\"copies the buffer\"".into()).await, [3]);
    for (field, request) in [
        ("role", SearchRequest { role: Some("tool".into()), ..asks("x") }),
        ("after", SearchRequest { after: Some("yesterday".into()), ..asks("x") }),
        ("limit", SearchRequest { limit: Some(0), ..asks("x") }),
        ("q", asks(" \n")),
        ("q", asks(&"x".repeat(MAX_QUERY + 1))),
    ] {
        let refusal = daemon.search(id, &request).await.unwrap_err();
        assert_eq!(refusal.field.as_deref(), Some(field), "{request:?}");
    }
    daemon.shutdown().await;
}

#[tokio::test]
async fn a_result_comes_with_the_call_that_it_answers() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon, "/w", "parser").await;
    say(&daemon, id, work()).await;
    let hits = daemon.search(id, &asks("advance")).await.unwrap().hits;
    let answers = hits[0].answers.as_ref().unwrap();
    assert_eq!((hits[0].seq, answers.seq, answers.tool.as_str()), (3, 2, "Read"));
    assert!(answers.input.contains("lexer.rs"));
    let [start, end] = hits[0].highlights[0];
    let shown: String = hits[0].snippet.chars().take(end).skip(start).collect();
    assert_eq!(shown, "advance");
    daemon.shutdown().await;
}

#[tokio::test]
async fn a_project_is_searched_across_sessions_and_forks_count_once() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let one = session(&daemon, "/w", "first").await;
    let other = session(&daemon, "/w", "second").await;
    let elsewhere = session(&daemon, "/elsewhere", "third").await;
    for id in [one, elsewhere] {
        say(&daemon, id, json!([{"role": "user", "content": "the kelp farm"}])).await;
    }
    say(&daemon, other, json!([{"role": "user", "content": "more kelp here"}])).await;
    daemon.fork(one, api::ForkRequest::default()).await.unwrap();
    let found = daemon.search_project("/w".into(), &asks("kelp")).await.unwrap();
    let mut titles: Vec<_> = found.hits.iter().filter_map(|hit| hit.title.clone()).collect();
    titles.sort();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert!(found.hits.iter().all(|hit| hit.session_id != elsewhere.0));
    let nowhere = daemon.search_project("/nowhere".into(), &asks("kelp")).await.unwrap();
    assert!(nowhere.hits.is_empty() && nowhere.complete);
    daemon.shutdown().await;
}

#[tokio::test]
async fn odd_questions_are_answered_with_nothing() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon, "/w", "parser").await;
    say(&daemon, id, work()).await;
    let long = "x ".repeat(MAX_QUERY / 2);
    for odd in ["\"", "\"\" OR *", "a AND NOT b", "🦀", "the", "(", "\0", ":begins", ":user", &long]
    {
        assert_eq!(seqs(&daemon, id, asks(odd)).await, [0; 0], "{odd:?}");
    }
    assert_eq!(seqs(&daemon, id, asks("walrus buffer")).await, [3, 4]);
    let mostly_elsewhere = asks("walrus ledger quota buffer kelp");
    assert_eq!(seqs(&daemon, id, mostly_elsewhere).await, [0; 0], "a weak word alone");
    daemon.shutdown().await;
}

#[tokio::test]
async fn an_index_is_made_anew_from_history() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon, "/w", "parser").await;
    say(&daemon, id, work()).await;
    let before = seqs(&daemon, id, asks("buffer")).await;
    let job = daemon.rebuild_index(&[id]).await.unwrap();
    assert_eq!(job.kind, "index");
    assert!(daemon.store().unindexed(id).await.unwrap().is_some());
    assert_eq!(seqs(&daemon, id, asks("buffer")).await, before);
    let gone = SessionId(uuid::Uuid::from_u128(9));
    assert!(daemon.rebuild_index(&[gone]).await.is_err());
    daemon.shutdown().await;
}

/// After a recovery, or a new shape of the index, nobody has to ask.
#[tokio::test]
async fn a_start_leaves_what_lags_to_be_indexed() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon, "/w", "parser").await;
    say(&daemon, id, work()).await;
    daemon.shutdown().await;
    drop(daemon);
    let daemon = boot(&home).await;
    let done = async {
        while daemon.store().unindexed(id).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), done).await.unwrap();
    daemon.shutdown().await;
}
