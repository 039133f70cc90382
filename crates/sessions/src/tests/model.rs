//! Sessions with a model in memory: what it is asked, and what happens during the call.

use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_config::Settings;
use bethink_model::{ErrorClass, Model};
use bethink_service_testing::{self as testing, Scripted, SentBody};
use bethink_transcript::SessionId;
use serde_json::{Value, json};

use crate::tests::home::SessionsHome;

fn summary(marker: &str) -> Value {
    let sections: Vec<String> = bethink_compactor::Section::ALL
        .iter()
        .enumerate()
        .map(|(at, section)| format!("{}\n- {marker} of section {}", section.heading(), at + 1))
        .collect();
    json!(format!(
        "<analysis>thinking</analysis>\n<summary>\n{}\n</summary>",
        sections.join("\n\n")
    ))
}

async fn open(directory: &tempfile::TempDir, model: &Arc<Scripted>) -> SessionsHome {
    let model = Arc::clone(model) as Arc<dyn Model>;
    SessionsHome::open_with(testing::settings(directory.path()), Some(model)).await
}

async fn session(home: &SessionsHome) -> SessionId {
    let created = home.sessions.create_session(testing::create_session(), None).await;
    let id = SessionId(created.unwrap().id);
    home.append(id, &testing::rounds()).await;
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_is_asked_over_the_bytes_of_the_last_request() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([Ok(summary("tide"))]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let body = home.sessions.prompt(id, testing::prompt_request()).await.unwrap();
    home.append(id, &[json!({ "role": "user", "content": "And the harbour?" })]).await;
    let done = home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
    assert_eq!(done.level, api::CompactionLevel::Full, "{:?}", done.attempts);
    assert!(done.summary.contains("tide of section 8") && !done.summary.contains("thinking"));
    assert!(done.summary.contains("Look at the gauge number 3"), "the user's words are ours");
    let asked = model.asked();
    let [request] = &asked[..] else { panic!("{} requests", asked.len()) };
    let rest = SentBody::of(&body).added_by(request);
    assert!(
        rest.starts_with(r#",{"role":"user","content":[{"type":"text","text":"And the harbour?""#)
    );
    assert!(rest.contains("Primary Request and Intent"), "{rest}");
    home.close().await;
}

/// Returns a request with parameters on which the provider's cache depends.
fn request_with_thinking() -> api::ContextRequest {
    let parameters = json!({ "betas": ["interleaved-thinking-2025-05-14", "b2"], "temperature": 1,
        "thinking": { "type": "enabled", "budget_tokens": 4_000 } });
    let raw = serde_json::value::RawValue::from_string(parameters.to_string()).unwrap();
    api::ContextRequest { parameters: Some(raw), ..testing::prompt_request() }
}

/// Whatever happens to the session in memory, the first call after it repeats the last request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_repeats_the_last_request_after_a_reload() {
    let directory = tempfile::tempdir().unwrap();
    for how in ["restart", "rename", "evict"] {
        let model = Scripted::new([Ok(summary("tide")), Ok(summary("ebb"))]);
        let mut home = open(&directory, &model).await;
        let id = session(&home).await;
        let body = home.sessions.prompt(id, request_with_thinking()).await.unwrap();
        match how {
            "restart" => {
                home.close().await;
                home = open(&directory, &model).await;
            }
            "rename" => {
                let title = Some("Harbour".to_owned());
                let patch = api::PatchSession { title, ..api::PatchSession::default() };
                home.sessions.patch_session(id, patch).await.unwrap();
            }
            _ => {
                while home
                    .cx
                    .store()
                    .sent_request(id)
                    .await
                    .unwrap()
                    .is_none_or(|r| r.marks.is_none())
                {
                    tokio::task::yield_now().await;
                }
                home.sessions.inner.registry.evict(0);
            }
        }
        home.append(id, &[json!({ "role": "user", "content": "And the harbour?" })]).await;
        home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
        let asked = model.asked();
        SentBody::of(&body).added_by(&asked[0]);
        assert_eq!(asked[0].marks.len(), 1, "{how}");
        let form = &asked[0].form;
        assert_eq!(form.betas, "interleaved-thinking-2025-05-14,b2", "{how}");
        assert_eq!(
            form.parameters,
            r#"{"temperature":1,"thinking":{"budget_tokens":4000,"type":"enabled"}}"#,
            "{how}"
        );
        assert!(asked[0].max_tokens > 4_000, "there is room for an answer besides the thinking");
        home.close().await;
    }
}

/// A prompt that compacts at once knows its system prompt and its tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_prompt_of_a_session_is_compacted_with_its_own_frame() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([Ok(summary("tide"))]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let due = |report: &api::ContextReport| report.tokens >= report.thresholds.auto;
    while !due(&home.sessions.report(id).await.unwrap()) {
        home.append(id, &[json!({ "role": "user", "content": "tide ".repeat(1_000) })]).await;
    }
    let request = api::ContextRequest { compact: None, ..request_with_thinking() };
    let body = home.sessions.prompt(id, request).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(body["report"]["compacted"].is_string(), "{}", body["report"]);
    let asked = model.asked();
    let read = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap();
    assert_eq!(read(&asked[0].system), body["system"]);
    assert_eq!(read(&asked[0].tools), body["tools"]);
    assert!(asked[0].form.parameters.starts_with(b"{\"temperature\""));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_that_are_no_object_are_refused() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    for (parameters, field) in [
        ("[]", "parameters"),
        (r#"{"betas":"one"}"#, "parameters.betas"),
        (r#"{"betas":["a\nb"]}"#, "parameters.betas"),
    ] {
        let raw = serde_json::value::RawValue::from_string(parameters.to_owned()).unwrap();
        let request = api::ContextRequest { parameters: Some(raw), ..testing::prompt_request() };
        let refused = home.sessions.prompt(id, request).await.unwrap_err();
        assert_eq!(refused.field.as_deref(), Some(field), "{parameters}");
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_and_prompts_go_on_while_a_model_writes_and_are_kept_after_its_summary() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let compacting = tokio::spawn({
        let sessions = home.sessions.clone();
        async move { sessions.compact(id, testing::full_compaction(), None).await }
    });
    model.called.notified().await;
    let beside = async {
        home.append(id, &[json!({ "role": "user", "content": "Meanwhile the bell rang" })]).await;
        let body = home.sessions.prompt(id, testing::prompt_request()).await.unwrap();
        assert!(std::str::from_utf8(&body).unwrap().contains("Meanwhile the bell rang"));
        home.sessions.report(id).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(20), beside).await.unwrap();
    assert!(!compacting.is_finished());
    // The daemon stops: the compaction is completed without the model.
    home.cx.stop().await;
    let done = compacting.await.unwrap().unwrap();
    assert_eq!(done.level, api::CompactionLevel::Embedded);
    assert!(done.kept_from_seq <= 49, "what came meanwhile is kept");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_fails_leaves_an_embedded_summary_and_its_reasons() {
    let answers = [Err(ErrorClass::Auth)];
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new(answers));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let done = home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
    assert_eq!(done.level, api::CompactionLevel::Embedded);
    assert!(done.attempts.iter().any(|reason| reason.contains("auth")), "{:?}", done.attempts);
    // The circuit breaker is open: no model is called.
    home.append(
        id,
        &[
            json!({ "role": "assistant", "content": "x ".repeat(9_000) }),
            json!({ "role": "user", "content": "on ".repeat(9_000) }),
        ],
    )
    .await;
    let again = home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
    assert_eq!((again.level, model.asked().len()), (api::CompactionLevel::Embedded, 1));
    assert!(again.attempts.iter().any(|reason| reason.contains("paused for")));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_without_its_sections_is_refused() {
    let answers = [Ok(json!("All is well.")), Ok(summary("now"))];
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new(answers));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let done = home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
    assert_eq!((done.level, model.asked().len()), (api::CompactionLevel::Embedded, 1));
    assert!(done.attempts.iter().any(|reason| reason.starts_with("full: ")), "{:?}", done.attempts);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_calls_a_tool_is_not_asked_again() {
    let call = json!([{ "type": "tool_use", "id": "t", "name": "Read", "input": {} }]);
    let answers = [Ok(call), Ok(summary("now"))];
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new(answers));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let done = home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
    assert_eq!((done.level, model.asked().len()), (api::CompactionLevel::Embedded, 1));
    assert!(done.attempts.iter().any(|reason| reason.starts_with("full: ")), "{:?}", done.attempts);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_a_count_says_so() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let refusal = home.sessions.count(id).await.unwrap_err();
    assert!(refusal.detail.contains("does not count tokens"), "{refusal}");
    home.close().await;
    let home = SessionsHome::open(Settings::at(directory.path())).await;
    assert!(home.sessions.count(id).await.unwrap_err().detail.contains("no model is configured"));
    home.close().await;
}

/// A prompt that still fits does not wait for a compaction during its model call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_fits_goes_on_beside_a_compaction() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let due = |report: &api::ContextReport| report.tokens >= report.thresholds.auto;
    while !due(&home.sessions.report(id).await.unwrap()) {
        home.append(id, &[json!({ "role": "user", "content": "tide ".repeat(1_000) })]).await;
    }
    let compacting = home.sessions.clone();
    home.cx
        .spawn(async move { drop(compacting.compact(id, testing::full_compaction(), None).await) });
    model.called.notified().await;
    let prompt = home.sessions.prompt(id, api::ContextRequest::default());
    let body = tokio::time::timeout(Duration::from_secs(20), prompt).await.unwrap().unwrap();
    assert!(std::str::from_utf8(&body).unwrap().contains("another compaction is running"));
    home.cx.closing().cancel();
    home.close().await;
}

/// A deadline is also sent as an event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_that_ends_at_its_deadline_is_told() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let mut settings = testing::settings(directory.path());
    settings.model.deadline_ms = 50;
    let asked = Arc::clone(&model) as Arc<dyn Model>;
    let home = SessionsHome::open_with(settings, Some(asked)).await;
    let id = session(&home).await;
    let mut events = home.sessions.events(id, None).await.unwrap();
    let done = home.sessions.compact(id, testing::full_compaction(), None).await.unwrap();
    assert_eq!(done.level, api::CompactionLevel::Embedded);
    let mut steps = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), events.next());
        let event = next.await.unwrap().unwrap();
        match event.kind() {
            "model" => steps.push(serde_json::from_str::<Value>(&event.data()).unwrap()),
            "compaction" => break,
            _ => {}
        }
    }
    let steps: Vec<_> = steps.iter().map(|step| (&step["step"], &step["class"])).collect();
    assert_eq!(steps, [(&json!("asked"), &Value::Null), (&json!("gave_up"), &json!("timed_out"))]);
    home.close().await;
}
