//! Tests searches as clients make them: filters, hits with their calls, projects, and a rebuilt index.

// A test stops where it fails.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_api::SearchQuery;
use bethink_models::ModelService;
use bethink_search::{MAX_QUERY, SearchService};
use bethink_service::{JobRunner, ServiceContext};
use bethink_service_testing as testing;
use bethink_sessions::{ForkCheckJob, SessionService};
use bethink_store::SessionLocation;
use bethink_transcript::SessionId;
use serde_json::{Value, json};

struct Home {
    cx: ServiceContext,
    search: SearchService,
    sessions: SessionService,
    runner: JobRunner,
}

impl Home {
    async fn open(directory: &Path) -> Self {
        let cx = testing::context(directory).await;
        let models = ModelService::open(cx.clone(), None).await.unwrap();
        let search = SearchService::new(cx.clone());
        let sessions = SessionService::new(cx.clone(), models, search.clone());
        let handlers: Vec<Arc<dyn bethink_service::JobHandler>> =
            vec![Arc::new(search.clone()), Arc::new(ForkCheckJob(sessions.clone()))];
        let runner = JobRunner::new(cx.clone(), handlers);
        runner.release().await.unwrap();
        Self { cx, search, sessions, runner }
    }

    /// Starts the worker.
    fn work(&self) {
        self.cx.spawn(self.runner.clone().work());
    }

    async fn close(self) {
        self.cx.stop().await;
        self.runner.release().await.unwrap();
        self.cx.store().close().await.unwrap();
    }

    async fn session(&self, project: &str, title: &str) -> SessionId {
        let new = json!({ "project_dir": project, "title": title });
        let new = serde_json::from_value(new).unwrap();
        SessionId(self.sessions.create_session(new, None).await.unwrap().id)
    }

    async fn say(&self, session: SessionId, messages: Value) {
        let body = json!({ "messages": messages }).to_string();
        self.sessions.append(session, body.into(), None).await.unwrap();
    }
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

fn asks(q: &str) -> SearchQuery {
    SearchQuery { q: q.to_owned(), ..SearchQuery::default() }
}

async fn seqs(home: &Home, id: SessionId, request: SearchQuery) -> Vec<u64> {
    let found = home.search.search(id, &request).await.unwrap();
    assert!(found.complete);
    let mut seqs: Vec<u64> = found.hits.iter().map(|hit| hit.seq).collect();
    seqs.sort_unstable();
    seqs
}

#[tokio::test]
async fn filters_leave_what_they_name() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(directory.path()).await;
    home.work();
    let id = home.session("/w", "parser").await;
    home.say(id, work()).await;
    let with = |change: fn(&mut SearchQuery)| {
        let mut request = asks("buffer");
        change(&mut request);
        seqs(&home, id, request)
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
        ("role", SearchQuery { role: Some("tool".into()), ..asks("x") }),
        ("after", SearchQuery { after: Some("yesterday".into()), ..asks("x") }),
        ("limit", SearchQuery { limit: Some(0), ..asks("x") }),
        ("q", asks(" \n")),
        ("q", asks(&"x".repeat(MAX_QUERY + 1))),
    ] {
        let refusal = home.search.search(id, &request).await.unwrap_err();
        assert_eq!(refusal.field.as_deref(), Some(field), "{request:?}");
    }
    home.close().await;
}

#[tokio::test]
async fn a_result_comes_with_the_call_that_it_answers() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(directory.path()).await;
    home.work();
    let id = home.session("/w", "parser").await;
    home.say(id, work()).await;
    let hits = home.search.search(id, &asks("advance")).await.unwrap().hits;
    let answers = hits[0].answers.as_ref().unwrap();
    assert_eq!((hits[0].seq, answers.seq, answers.tool.as_str()), (3, 2, "Read"));
    assert!(answers.input.contains("lexer.rs"));
    let [start, end] = hits[0].highlights[0];
    let shown: String = hits[0].snippet.chars().take(end).skip(start).collect();
    assert_eq!(shown, "advance");
    home.close().await;
}

#[tokio::test]
async fn a_project_is_searched_across_sessions_and_forks_count_once() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(directory.path()).await;
    home.work();
    let one = home.session("/w", "first").await;
    let other = home.session("/w", "second").await;
    let elsewhere = home.session("/elsewhere", "third").await;
    for id in [one, elsewhere] {
        home.say(id, json!([{"role": "user", "content": "the kelp farm"}])).await;
    }
    home.say(other, json!([{"role": "user", "content": "more kelp here"}])).await;
    home.sessions.fork(one, api::ForkRequest::default(), None).await.unwrap();
    let found = home
        .search
        .search_sessions(Some(SessionLocation::directory("/w")), &asks("kelp"))
        .await
        .unwrap();
    let mut titles: Vec<_> = found.hits.iter().filter_map(|hit| hit.title.clone()).collect();
    titles.sort();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert!(found.hits.iter().all(|hit| hit.session_id != elsewhere.0));
    let (asked, nowhere) = (asks("kelp"), Some(SessionLocation::directory("/nowhere")));
    let nowhere = home.search.search_sessions(nowhere, &asked).await.unwrap();
    assert!(nowhere.hits.is_empty() && nowhere.complete);
    let all = home.search.search_sessions(None, &asks("kelp")).await.unwrap();
    assert!(all.hits.iter().any(|hit| hit.session_id == elsewhere.0));
    assert_eq!(all.hits.len(), 3, "{all:?}");
    home.close().await;
}

#[tokio::test]
async fn odd_questions_are_answered_with_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(directory.path()).await;
    home.work();
    let id = home.session("/w", "parser").await;
    home.say(id, work()).await;
    let long = "x ".repeat(MAX_QUERY / 2);
    for odd in ["\"", "\"\" OR *", "a AND NOT b", "🦀", "the", "(", "\0", ":begins", ":user", &long]
    {
        assert_eq!(seqs(&home, id, asks(odd)).await, [0; 0], "{odd:?}");
    }
    assert_eq!(seqs(&home, id, asks("walrus buffer")).await, [3, 4]);
    let mostly_elsewhere = asks("walrus ledger quota buffer kelp");
    assert_eq!(seqs(&home, id, mostly_elsewhere).await, [0; 0], "a weak word alone");
    home.close().await;
}

#[tokio::test]
async fn an_index_is_made_anew_from_history() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(directory.path()).await;
    home.work();
    let id = home.session("/w", "parser").await;
    home.say(id, work()).await;
    let before = seqs(&home, id, asks("buffer")).await;
    let job = home.search.rebuild_index(&[id]).await.unwrap();
    assert_eq!(job.kind, "index");
    assert!(home.cx.store().unindexed(id).await.unwrap().is_some());
    assert_eq!(seqs(&home, id, asks("buffer")).await, before);
    let gone = SessionId(uuid::Uuid::from_u128(9));
    assert!(home.search.rebuild_index(&[gone]).await.is_err());
    home.close().await;
}

/// After a recovery, or if the format of the index changed, no request is needed.
#[tokio::test]
async fn a_start_leaves_what_lags_to_be_indexed() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(directory.path()).await;
    home.work();
    let id = home.session("/w", "parser").await;
    home.say(id, work()).await;
    home.close().await;
    let home = Home::open(directory.path()).await;
    home.search.enqueue_stale_indexes().await.unwrap();
    home.work();
    let done = async {
        while home.cx.store().unindexed(id).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), done).await.unwrap();
    home.close().await;
}
