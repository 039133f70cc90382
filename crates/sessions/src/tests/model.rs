//! Sessions with a model in memory: what it is asked, and what happens beside it meanwhile.

use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_config::Settings;
use bethink_model::{ErrorClass, Model, ModelRequest};
use bethink_service_testing::Scripted;
use bethink_transcript::SessionId;
use serde_json::value::RawValue;
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

fn settings(directory: &tempfile::TempDir) -> Settings {
    let mut settings = Settings::at(directory.path());
    settings.model.provider = "anthropic".to_owned();
    settings.session_memory.enabled = false;
    settings.memory.extraction = "off".to_owned();
    settings
}

async fn open(directory: &tempfile::TempDir, model: &Arc<Scripted>) -> SessionsHome {
    let model = Arc::clone(model) as Arc<dyn Model>;
    SessionsHome::open_with(settings(directory), Some(model)).await
}

/// A session of some rounds, one of whose tools edits files.
async fn session(home: &SessionsHome) -> SessionId {
    let request = json!({ "project_dir": "/project",
        "model": { "name": "claude-sonnet-4-5", "context_window": 60_000, "max_output_tokens": 8_000 } });
    let request = serde_json::from_value(request).unwrap();
    let id = SessionId(home.sessions.create_session(request, None).await.unwrap().id);
    for round in 0..12 {
        let call = format!("call_{round}");
        let text = format!("line of the tide table {round}. ").repeat(80);
        home.append(id, &[
            json!({ "role": "user", "content": format!("Look at the gauge number {round}") }),
            json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": call, "name": "Read", "input": { "file_path": "/project/gauge.rs" } } ] }),
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": call, "content": text } ] }),
            json!({ "role": "assistant", "content": format!("Gauge {round} is read.") }),
        ])
        .await;
    }
    id
}

fn frame() -> api::ContextRequest {
    let edit = json!({ "name": "Edit", "description": "edits", "input_schema": { "type": "object",
        "properties": { "file_path": {}, "old_string": {}, "new_string": {} } } });
    serde_json::from_value(json!({
        "system": [ { "part": "system", "text": "You keep a harbour." } ],
        "tools": [ edit, { "name": "Read", "input_schema": { "type": "object" } } ],
        "compact": "never" }))
    .unwrap()
}

fn full() -> api::CompactRequest {
    api::CompactRequest { level: Some(api::SummaryLevel::Full), ..api::CompactRequest::default() }
}

/// A prompt that was handed out, in its own bytes.
#[derive(serde::Deserialize)]
struct SentBody<'a> {
    #[serde(borrow)]
    system: &'a RawValue,
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow)]
    messages: &'a RawValue,
}

impl<'a> SentBody<'a> {
    fn of(body: &'a [u8]) -> Self {
        serde_json::from_slice(body).unwrap()
    }

    /// Without the bracket at the end.
    fn messages(&self) -> &str {
        self.messages.get().strip_suffix(']').unwrap()
    }

    /// What `request` says behind the bytes that were sent.
    fn rest(&self, request: &ModelRequest) -> String {
        assert_eq!(request.system, self.system.get());
        assert_eq!(request.tools, self.tools.get());
        let messages = String::from_utf8(request.messages_json()).unwrap();
        messages.strip_prefix(self.messages()).expect("the prefix parted").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_is_asked_over_the_bytes_of_the_last_request() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([Ok(summary("tide"))]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let body = home.sessions.prompt(id, frame()).await.unwrap();
    home.append(id, &[json!({ "role": "user", "content": "And the harbour?" })]).await;
    let done = home.sessions.compact(id, full()).await.unwrap();
    assert_eq!(done.level, api::CompactionLevel::Full, "{:?}", done.attempts);
    assert!(done.summary.contains("tide of section 8") && !done.summary.contains("thinking"));
    assert!(done.summary.contains("Look at the gauge number 3"), "the user's words are ours");
    let asked = model.asked();
    let [request] = &asked[..] else { panic!("{} requests", asked.len()) };
    let rest = SentBody::of(&body).rest(request);
    assert!(
        rest.starts_with(r#",{"role":"user","content":[{"type":"text","text":"And the harbour?""#)
    );
    assert!(rest.contains("Primary Request and Intent"), "{rest}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_and_prompts_go_on_while_a_model_writes_and_are_kept_after_its_summary() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = open(&directory, &model).await;
    let id = session(&home).await;
    let compacting = tokio::spawn({
        let sessions = home.sessions.clone();
        async move { sessions.compact(id, full()).await }
    });
    model.called.notified().await;
    let beside = async {
        home.append(id, &[json!({ "role": "user", "content": "Meanwhile the bell rang" })]).await;
        let body = home.sessions.prompt(id, frame()).await.unwrap();
        assert!(std::str::from_utf8(&body).unwrap().contains("Meanwhile the bell rang"));
        home.sessions.report(id).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(20), beside).await.unwrap();
    assert!(!compacting.is_finished());
    // The daemon stops: the compaction ends without the model, and whole.
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
    let done = home.sessions.compact(id, full()).await.unwrap();
    assert_eq!(done.level, api::CompactionLevel::Embedded);
    assert!(done.attempts.iter().any(|reason| reason.contains("auth")), "{:?}", done.attempts);
    // The breaker is open: the next one asks nobody.
    home.append(
        id,
        &[
            json!({ "role": "assistant", "content": "x ".repeat(9_000) }),
            json!({ "role": "user", "content": "on ".repeat(9_000) }),
        ],
    )
    .await;
    let again = home.sessions.compact(id, full()).await.unwrap();
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
    let done = home.sessions.compact(id, full()).await.unwrap();
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

/// A prompt that still fits does not wait for a compaction that waits for a model.
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
    home.cx.spawn(async move { drop(compacting.compact(id, full()).await) });
    model.called.notified().await;
    let prompt = home.sessions.prompt(id, api::ContextRequest::default());
    let body = tokio::time::timeout(Duration::from_secs(20), prompt).await.unwrap().unwrap();
    assert!(std::str::from_utf8(&body).unwrap().contains("another compaction is running"));
    home.cx.closing().cancel();
    home.close().await;
}

/// Who follows the session is told of a deadline, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_that_ends_at_its_deadline_is_told() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let mut settings = settings(&directory);
    settings.model.deadline_ms = 50;
    let asked = Arc::clone(&model) as Arc<dyn Model>;
    let home = SessionsHome::open_with(settings, Some(asked)).await;
    let id = session(&home).await;
    let mut events = home.sessions.events(id, None).await.unwrap();
    let done = home.sessions.compact(id, full()).await.unwrap();
    assert_eq!(done.level, api::CompactionLevel::Embedded);
    let mut steps = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), events.next());
        let event = next.await.unwrap().unwrap();
        match event.kind {
            "model" => steps.push(serde_json::from_str::<Value>(&event.data).unwrap()),
            "compaction" => break,
            _ => {}
        }
    }
    let steps: Vec<_> = steps.iter().map(|step| (&step["step"], &step["class"])).collect();
    assert_eq!(steps, [(&json!("asked"), &Value::Null), (&json!("gave_up"), &json!("timed_out"))]);
    home.close().await;
}
