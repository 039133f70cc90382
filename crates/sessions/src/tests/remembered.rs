//! What a session keeps through a rename, an undo, an eviction and a restart.

use std::sync::Arc;

use bethink_api::{self as api, FillLevel, PromptChange};
use bethink_compactor::Trigger;
use bethink_model::Model;
use bethink_service::{ErrorKind, Receipt};
use bethink_service_testing::{self as testing, Scripted};
use bethink_transcript::{CompactionId, SessionId};
use serde_json::{Value, json};

use crate::compactions::CompactionRequest;
use crate::tests::home::SessionsHome;

async fn open(directory: &tempfile::TempDir) -> (SessionsHome, SessionId) {
    let home = SessionsHome::open(testing::settings(directory.path())).await;
    let created = home.sessions.create_session(testing::create_session(), None).await;
    let id = SessionId(created.unwrap().id);
    home.append(id, &testing::rounds()).await;
    home.append(id, &[json!({ "role": "user", "content": "Is it high?" })]).await;
    (home, id)
}

async fn prompt(home: &SessionsHome, id: SessionId) -> api::ContextReport {
    let body = home.sessions.prompt(id, testing::prompt_request()).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    serde_json::from_value(body["report"].clone()).unwrap()
}

/// Ways in which the messages of a session leave memory and come back.
const WAYS: [&str; 3] = ["rename", "eviction", "restart"];

async fn reload(home: &SessionsHome, id: SessionId, way: &str) {
    match way {
        "rename" => {
            let title = serde_json::from_value(json!({ "title": "Gauges" })).unwrap();
            home.sessions.patch_session(id, title).await.unwrap();
        }
        "eviction" => home.sessions.inner.registry.evict(0),
        _ => home.sessions.inner.registry.remove(id),
    }
}

fn check_repeats(report: &api::ContextReport, what: &str) {
    let (first, by) = (report.first_changed, report.changed_by);
    assert_eq!((first, by), (None, None), "{what}");
    assert!(report.predicted_cache_hit > 0.9, "{what}: {}", report.predicted_cache_hit);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_repeats_the_one_before() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    let first = prompt(&home, id).await;
    assert_eq!((first.first_changed, first.predicted_cache_hit), (None, 0.0));
    check_repeats(&home.sessions.report(id).await.unwrap(), "the report");
    for way in WAYS {
        home.append(id, &[json!({ "role": "assistant", "content": "High." })]).await;
        home.append(id, &[json!({ "role": "user", "content": "And now?" })]).await;
        reload(&home, id, way).await;
        let report = home.sessions.report(id).await.unwrap();
        assert_eq!((report.first_changed, report.changed_by), (None, None), "{way}");
        check_repeats(&prompt(&home, id).await, way);
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_by_hand_and_its_undoing_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    prompt(&home, id).await;
    let by_compaction = (Some(0), Some(PromptChange::Compaction));
    let changed = |report: api::ContextReport| (report.first_changed, report.changed_by);
    let done = home.sessions.compact(id, api::CompactRequest::default(), None).await.unwrap();
    assert_eq!(changed(home.sessions.report(id).await.unwrap()), by_compaction);
    reload(&home, id, "rename").await;
    assert_eq!(changed(prompt(&home, id).await), by_compaction);
    check_repeats(&prompt(&home, id).await, "the prompt after it");
    let compaction = CompactionId(done.id);
    home.sessions.undo(id, compaction).await.unwrap();
    assert_eq!(changed(prompt(&home, id).await), by_compaction);
    check_repeats(&prompt(&home, id).await, "the prompt after the undo");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_that_is_requested_again_is_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    let key = |key: &str| Some(Receipt { key: key.to_owned(), fingerprint: "print".to_owned() });
    let all = async || home.sessions.compactions(id).await.unwrap().compactions.len();
    let compact = async || {
        let request = api::CompactRequest::default();
        home.sessions.compact(id, request, key("compact")).await.unwrap().id
    };
    let done = compact().await;
    assert_eq!((compact().await, all().await), (done, 1));
    let done = CompactionId(done);
    home.sessions.undo(id, done).await.unwrap();
    let redo = async || home.sessions.redo(id, done, key("redo")).await.unwrap().id;
    let redone = redo().await;
    assert_eq!((redo().await, all().await), (redone, 2));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_newest_compaction_is_undone() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    let compact = async || {
        let done = home.sessions.compact(id, api::CompactRequest::default(), None).await.unwrap();
        CompactionId(done.id)
    };
    let first = compact().await;
    home.append(id, &testing::rounds()).await;
    let second = compact().await;
    let refused = home.sessions.undo(id, first).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::NotCompactable);
    assert!(refused.hint.is_some_and(|hint| hint.contains(&second.to_string())));
    for compaction in [second, first, first] {
        let undone = home.sessions.undo(id, compaction).await.unwrap();
        assert!(undone.undone_at.is_some());
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_smaller_window_is_kept_until_the_model_changes() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    let window = async || home.sessions.report(id).await.unwrap().thresholds.window;
    let before = window().await;
    let error = "prompt is too long: 25000 tokens > 20000 maximum";
    let refused = api::RecoverRequest {
        status: Some(400),
        error: json!({ "type": "error", "error": {
            "type": "invalid_request_error", "message": error } }),
        ..api::RecoverRequest::default()
    };
    let recovered = home.sessions.recover(id, refused).await.unwrap();
    assert_eq!(recovered.step, api::RecoveryStep::Compact, "{recovered:?}");
    assert_eq!(window().await, 20_000);
    for way in WAYS {
        reload(&home, id, way).await;
        assert_eq!(window().await, 20_000, "{way}");
    }
    let model = json!({ "model": { "name": "another", "context_window": before } });
    home.sessions.patch_session(id, serde_json::from_value(model).unwrap()).await.unwrap();
    assert_eq!(window().await, before);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_breaker_stays_open() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    let handle = home.sessions.handle(id).await.unwrap();
    let mut loaded = home.sessions.lock(&handle).await.unwrap();
    for _ in 0..home.sessions.limits.compact.max_failures {
        loaded.breakers.failed();
    }
    let open = loaded.breakers.clone();
    home.sessions.keep_remembered(&mut loaded).await.unwrap();
    drop((loaded, handle));
    for way in WAYS {
        reload(&home, id, way).await;
        let handle = home.sessions.handle(id).await.unwrap();
        assert_eq!(home.sessions.lock(&handle).await.unwrap().breakers, open, "{way}");
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_it_is_thrashing_no_model_is_asked_and_the_cause_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let model = Scripted::new([]);
    let settings = testing::settings(directory.path());
    let model = Arc::clone(&model) as Arc<dyn Model>;
    let home = SessionsHome::open_with(settings, Some(model)).await;
    let created = home.sessions.create_session(testing::create_session(), None).await;
    let id = SessionId(created.unwrap().id);
    home.append(id, &testing::rounds()).await;
    let handle = home.sessions.handle(id).await.unwrap();
    let mut loaded = home.sessions.lock(&handle).await.unwrap();
    let [auto, manual] = [Trigger::Auto, Trigger::Manual].map(CompactionRequest::new);
    assert!(home.sessions.full_request(&loaded, &auto).await.unwrap().is_some());
    let limits = home.sessions.limits.compact;
    for _ in 0..=limits.thrash_times {
        loaded.breakers.succeeded(Trigger::Auto, &limits);
    }
    assert!(home.sessions.full_request(&loaded, &auto).await.unwrap().is_none());
    assert!(home.sessions.full_request(&loaded, &manual).await.unwrap().is_some());
    // The window is about as full as it can be before a compaction that cannot be delayed.
    let thresholds = &mut loaded.state.thresholds;
    (thresholds.auto, thresholds.blocking) = (1, u64::MAX);
    drop((loaded, handle));
    let request = api::ContextRequest { compact: None, ..testing::prompt_request() };
    let body = home.sessions.prompt(id, request).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let notices: Vec<String> = serde_json::from_value(body["report"]["notices"].clone()).unwrap();
    let named = notices.iter().find(|notice| notice.contains("filled up again")).unwrap();
    assert!(named.contains("results of `Read` ("), "{notices:?}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_counts_what_the_provider_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (home, id) = open(&directory).await;
    prompt(&home, id).await;
    let model = home.sessions.session(id).await.unwrap().model.name;
    let answer = json!({ "role": "assistant", "model": model, "content": "High.",
        "usage": { "input_tokens": 150_000, "output_tokens": 4 } });
    let body = json!({ "messages": [answer] }).to_string();
    let level = home.sessions.append(id, body.into(), None).await.unwrap().context;
    let report = home.sessions.report(id).await.unwrap();
    assert_eq!((level.tokens, level.remaining), (report.tokens, report.remaining));
    assert!(level.tokens >= 150_000 && level.level == FillLevel::Blocking, "{level:?}");
    // The error of a prompt that does not fit names what the client adds.
    let refused = home.sessions.prompt(id, testing::prompt_request()).await.unwrap_err();
    assert!(refused.detail.contains("the client's own additions 1"), "{refused}");
    home.close().await;
}
