//! The daemon with a model in memory: what it is asked, and what happens beside it meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where it fails"
)]

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use bethink_api as api;
use bethink_config::Settings;
use bethink_model::{Answer, Counted, Hearer, Reply, Stop};
use bethink_transcript::{
    Block, Message, MessageId, MessageMeta, Seq, UnixMicros, Usage, message::Source,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;

/// Answers what it is told to, in order; after that it hangs until it is let go.
#[derive(Debug, Default)]
struct Scripted {
    answers: Mutex<VecDeque<Result<Value, Class>>>,
    asked: Mutex<Vec<Request>>,
    called: Notify,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<Value, Class>>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, ..Self::default() })
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Scripted {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn call<'a>(&'a self, request: &'a Request, _heard: &'a dyn Hearer) -> Answer<'a> {
        self.asked.lock().unwrap().push(request.clone());
        self.called.notify_one();
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move {
            match answer {
                Some(Ok(content)) => Ok(reply(&content)),
                Some(Err(class)) => Err(ModelError::new(class, "as the test wants it")),
                None => std::future::pending().await,
            }
        })
    }

    fn count<'a>(&'a self, _request: &'a Request) -> Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

fn reply(content: &Value) -> Reply {
    let calls = content.as_array().is_some_and(|all| all.iter().any(|b| b["type"] == "tool_use"));
    Reply {
        id: "msg_1".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        content: blocks(content),
        stop: if calls { Stop::ToolUse } else { Stop::EndTurn },
        usage: Usage { input_tokens: 100, output_tokens: 50, ..Usage::default() },
        usage_doubtful: false,
    }
}

fn blocks(content: &Value) -> Vec<Block> {
    let raw = json!({ "role": "assistant", "content": content }).to_string();
    let meta =
        MessageMeta { seq: Seq(1), id: MessageId::new("m").unwrap(), created_at: UnixMicros(0) };
    Message::parse(meta, raw.into(), Source::Client).unwrap().blocks.into_vec()
}

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

async fn boot(home: &tempfile::TempDir, model: &Arc<Scripted>) -> Daemon {
    let mut settings = Settings::at(home.path());
    settings.model.provider = "anthropic".to_owned();
    settings.session_memory.enabled = false;
    settings.memory.extraction = "off".to_owned();
    let desk = ModelDesk::new(Some(Arc::clone(model) as Arc<dyn Model>), None);
    Daemon::boot_with(settings, desk).await.unwrap()
}

/// A session of some rounds, one of whose tools edits files.
async fn session(daemon: &Daemon) -> SessionId {
    let request = json!({ "project_dir": "/project",
        "model": { "name": "claude-sonnet-4-5", "context_window": 60_000, "max_output_tokens": 8_000 } });
    let request = serde_json::from_value(request).unwrap();
    let id = SessionId(daemon.create_session(request, None).await.unwrap().id);
    for round in 0..12 {
        let call = format!("call_{round}");
        let text = format!("line of the tide table {round}. ").repeat(80);
        append(daemon, id, &[
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

async fn append(daemon: &Daemon, id: SessionId, messages: &[Value]) {
    let body = json!({ "messages": messages }).to_string();
    daemon.append(id, body.into(), None).await.unwrap();
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
    api::CompactRequest { level: Some("full".to_owned()), ..api::CompactRequest::default() }
}

/// A prompt that was handed out, in its own bytes.
#[derive(serde::Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    system: &'a RawValue,
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow)]
    messages: &'a RawValue,
}

impl<'a> Sent<'a> {
    fn of(body: &'a [u8]) -> Self {
        serde_json::from_slice(body).unwrap()
    }

    /// Without the bracket at the end.
    fn messages(&self) -> &str {
        self.messages.get().strip_suffix(']').unwrap()
    }

    /// What `request` says behind the bytes that were sent.
    fn rest(&self, request: &Request) -> String {
        assert_eq!(request.system, self.system.get());
        assert_eq!(request.tools, self.tools.get());
        let messages = String::from_utf8(request.messages_json()).unwrap();
        messages.strip_prefix(self.messages()).expect("the prefix parted").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_is_asked_over_the_bytes_of_the_last_request() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([Ok(summary("tide"))]));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let body = daemon.context(id, frame()).await.unwrap();
    append(&daemon, id, &[json!({ "role": "user", "content": "And the harbour?" })]).await;
    let done = daemon.compact(id, full()).await.unwrap();
    assert_eq!(done.level, "full", "{:?}", done.attempts);
    assert!(done.summary.contains("tide of section 8") && !done.summary.contains("thinking"));
    assert!(done.summary.contains("Look at the gauge number 3"), "the user's words are ours");
    let asked = model.asked();
    let [request] = &asked[..] else { panic!("{} requests", asked.len()) };
    let rest = Sent::of(&body).rest(request);
    assert!(
        rest.starts_with(r#",{"role":"user","content":[{"type":"text","text":"And the harbour?""#)
    );
    assert!(rest.contains("Primary Request and Intent"), "{rest}");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_and_prompts_go_on_while_a_model_writes_and_are_kept_after_its_summary() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let compacting = tokio::spawn({
        let daemon = daemon.clone();
        async move { daemon.compact(id, full()).await }
    });
    model.called.notified().await;
    let beside = async {
        append(&daemon, id, &[json!({ "role": "user", "content": "Meanwhile the bell rang" })])
            .await;
        let body = daemon.context(id, frame()).await.unwrap();
        assert!(std::str::from_utf8(&body).unwrap().contains("Meanwhile the bell rang"));
        daemon.report(id).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(20), beside).await.unwrap();
    assert!(!compacting.is_finished());
    // The daemon stops: the compaction ends without the model, and whole.
    daemon.shutdown().await;
    let done = compacting.await.unwrap();
    if let Ok(done) = done {
        assert_eq!(done.level, "embedded");
        assert!(done.kept_from_seq <= 49, "what came meanwhile is kept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_fails_leaves_an_embedded_summary_and_its_reasons() {
    let answers = [Err(Class::Auth)];
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new(answers));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let done = daemon.compact(id, full()).await.unwrap();
    assert_eq!(done.level, "embedded");
    assert!(done.attempts.iter().any(|reason| reason.contains("auth")), "{:?}", done.attempts);
    // The breaker is open: the next one asks nobody.
    append(
        &daemon,
        id,
        &[
            json!({ "role": "assistant", "content": "x ".repeat(9_000) }),
            json!({ "role": "user", "content": "on ".repeat(9_000) }),
        ],
    )
    .await;
    let again = daemon.compact(id, full()).await.unwrap();
    assert_eq!((again.level.as_str(), model.asked().len()), ("embedded", 1));
    assert!(again.attempts.iter().any(|reason| reason.contains("left alone")));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_without_its_sections_is_refused() {
    let answers = [Ok(json!("All is well.")), Ok(summary("now"))];
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new(answers));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let done = daemon.compact(id, full()).await.unwrap();
    assert_eq!((done.level.as_str(), model.asked().len()), ("embedded", 1));
    assert!(done.attempts.iter().any(|reason| reason.starts_with("full: ")), "{:?}", done.attempts);
    daemon.shutdown().await;
}

/// A fork may edit the notes and nothing else; what it tried is denied and told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_edited_in_exactly_their_file() {
    let home = tempfile::tempdir().unwrap();
    let model = Scripted::new([]);
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let body = daemon.context(id, frame()).await.unwrap();
    let path = daemon.notes_path(id).display().to_string();
    let bare = daemon.notes(id).await.unwrap().text;
    let heading = bare.lines().position(|line| line.contains("Current State")).unwrap();
    let hint = bare.lines().nth(heading + 2).or(bare.lines().nth(heading + 1)).unwrap();
    let hint =
        [hint, bare.lines().nth(heading + 1).unwrap()].into_iter().find(|l| !l.is_empty()).unwrap();
    let edit = |path: &str, new: &str| json!({ "file_path": path, "old_string": hint, "new_string": format!("{hint}\n{new}") });
    model.answers.lock().unwrap().extend([
        Ok(json!([
            { "type": "tool_use", "id": "a", "name": "Edit", "input": edit(&path, "- The bell is being mended") },
            { "type": "tool_use", "id": "b", "name": "Edit", "input": edit("/etc/passwd", "- x") },
            { "type": "tool_use", "id": "c", "name": "Read", "input": { "file_path": path.clone() } },
        ])),
        Ok(json!("Done.")),
    ]);
    let done = daemon.update_notes(id).await.unwrap();
    assert_eq!(done.strategy, "model");
    assert!(daemon.notes(id).await.unwrap().text.contains("- The bell is being mended"));
    let asked = model.asked();
    assert_eq!(asked.len(), 2);
    let answers = String::from_utf8(asked[1].messages_json()).unwrap();
    assert!(answers.contains(r#""is_error":true"#), "two of three were denied");
    for request in &asked {
        Sent::of(&body).rest(request);
    }
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_hang_hold_up_nobody() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let noting = tokio::spawn({
        let daemon = daemon.clone();
        async move { daemon.update_notes(id).await }
    });
    model.called.notified().await;
    let beside = async {
        append(&daemon, id, &[json!({ "role": "user", "content": "On we go" })]).await;
        daemon.context(id, frame()).await.unwrap();
        daemon.notes(id).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(20), beside).await.unwrap();
    assert!(!noting.is_finished());
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_a_count_says_so() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let refusal = daemon.count(id).await.unwrap_err();
    assert!(refusal.detail.contains("offers no count"), "{refusal}");
    daemon.shutdown().await;
    drop(daemon);
    let daemon = Daemon::boot(Settings::at(home.path())).await.unwrap();
    assert!(daemon.count(id).await.unwrap_err().detail.contains("no model is configured"));
    daemon.shutdown().await;
}

/// Notes that hang take no place from a summary, which somebody waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_waits_for_no_notes() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let daemon = boot(&home, &model).await;
    for asked in 1..=NOTES_AT_ONCE + 1 {
        let id = session(&daemon).await;
        let noting = daemon.clone();
        daemon.spawn(async move { drop(noting.update_notes(id).await) });
        if asked <= NOTES_AT_ONCE {
            model.called.notified().await;
        }
    }
    let id = session(&daemon).await;
    let compacting = daemon.clone();
    daemon.spawn(async move { drop(compacting.compact(id, full()).await) });
    let called = tokio::time::timeout(Duration::from_secs(20), model.called.notified());
    called.await.unwrap();
    let asked = model.asked();
    assert_eq!(asked.len(), NOTES_AT_ONCE + 1, "notes beyond their places wait");
    let newest = String::from_utf8(asked[NOTES_AT_ONCE].messages_json()).unwrap();
    assert!(newest.contains("Primary Request and Intent"), "it is the summary");
    daemon.ask_no_more();
    daemon.shutdown().await;
}

/// A prompt that still fits does not wait for a compaction that waits for a model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_fits_goes_on_beside_a_compaction() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let daemon = boot(&home, &model).await;
    let id = session(&daemon).await;
    let due = |report: &api::ContextReport| report.tokens >= report.thresholds.auto;
    while !due(&daemon.report(id).await.unwrap()) {
        append(&daemon, id, &[json!({ "role": "user", "content": "tide ".repeat(1_000) })]).await;
    }
    let compacting = daemon.clone();
    daemon.spawn(async move { drop(compacting.compact(id, full()).await) });
    model.called.notified().await;
    let prompt = daemon.context(id, api::ContextRequest::default());
    let body = tokio::time::timeout(Duration::from_secs(20), prompt).await.unwrap().unwrap();
    assert!(std::str::from_utf8(&body).unwrap().contains("a compaction is being made"));
    daemon.ask_no_more();
    daemon.shutdown().await;
}

/// Who follows the session is told of a deadline, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_that_ends_at_its_deadline_is_told() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let mut settings = Settings::at(home.path());
    settings.model.provider = "anthropic".to_owned();
    settings.model.deadline_ms = 50;
    settings.session_memory.enabled = false;
    settings.memory.extraction = "off".to_owned();
    let desk = ModelDesk::new(Some(Arc::clone(&model) as Arc<dyn Model>), None);
    let daemon = Daemon::boot_with(settings, desk).await.unwrap();
    let id = session(&daemon).await;
    let mut events = daemon.events(id, None).await.unwrap();
    let done = daemon.compact(id, full()).await.unwrap();
    assert_eq!(done.level, "embedded");
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
    daemon.shutdown().await;
}
