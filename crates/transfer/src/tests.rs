//! Files in and out, without the rest of the daemon.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::{JobRunner, ServiceContext};
use bethink_service_testing as testing;
use bethink_sessions::SessionService;
use bethink_store::{JobRecord, JobState, Progress};
use bethink_transcript::{JobId, SessionId};
use serde_json::{Value, json};

use crate::TransferService;

/// A message, its answer, a line that is not JSON, and a sidechain.
const FILE: &str = concat!(
    r#"{"type":"user","uuid":"a","cwd":"/project","message":{"role":"user","content":"mend it"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":[{"type":"text","text":"mended"}]}}"#,
    "\nno json\n",
    r#"{"type":"user","uuid":"c","isSidechain":true,"message":{"role":"user","content":"look"}}"#,
    "\n",
);

async fn open(home: &tempfile::TempDir) -> (TransferService, JobRunner) {
    open_in(testing::context(home.path()).await).await
}

async fn open_in(cx: ServiceContext) -> (TransferService, JobRunner) {
    let models = ModelService::open(cx.clone(), None).await.unwrap();
    let search = SearchService::new(cx.clone());
    let sessions = SessionService::new(cx.clone(), models, search.clone());
    let transfer = TransferService::new(cx.clone(), search, sessions);
    let runner = JobRunner::new(cx.clone(), vec![Arc::new(transfer.clone())]);
    cx.spawn(runner.clone().work());
    (transfer, runner)
}

async fn import(transfer: &TransferService) -> api::ImportFile {
    let job = transfer.import_body(FILE.into()).await.unwrap();
    let ended = async {
        loop {
            let job = transfer.cx.jobs().job(JobId(job.id)).await.unwrap();
            assert_ne!(job.state, api::JobState::Failed, "{:?}", job.error);
            if let Some(result) = job.result {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let result = tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    report(result)
}

fn report(result: Value) -> api::ImportFile {
    let mut files: Vec<api::ImportFile> = serde_json::from_value(result).unwrap();
    files.remove(0)
}

/// The job of a body that was imported.
async fn finished_job(transfer: &TransferService) -> JobRecord {
    let job = transfer.import_body(FILE.into()).await.unwrap();
    ended(transfer, JobId(job.id)).await
}

async fn ended(transfer: &TransferService, job: JobId) -> JobRecord {
    let ended = async {
        loop {
            let job = transfer.cx.store().job(job).await.unwrap();
            if job.result.is_some() || job.state == JobState::Failed {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap()
}

/// A crash between the end of an import and the end of its job, before or after the removal of the request's body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_was_finished_survives_its_second_attempt() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, runner) = open(&home).await;
    for body in [None, Some(FILE)] {
        let job = JobRecord { attempts: 2, ..finished_job(&transfer).await };
        let copy = home.path().join(format!("spool/{}.jsonl", job.id));
        if let Some(body) = body {
            std::fs::write(&copy, body).unwrap();
        }
        let again = report(transfer.run_import(&job, &runner).await.unwrap());
        assert_eq!((again.messages, again.children.len()), (2, 1));
        transfer.sessions.session(SessionId(again.session_id)).await.unwrap();
        assert!(!copy.exists());
        transfer.sessions.delete_session(SessionId(again.session_id)).await.unwrap();
    }
    transfer.cx.stop().await;
}

/// The file of an import by path may be gone or changed when a crash repeats its job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_import_does_not_need_its_file_again() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, runner) = open(&home).await;
    let path = home.path().join("session.jsonl");
    std::fs::write(&path, FILE).unwrap();
    let path_given = path.to_str().unwrap().to_owned();
    let request = api::ImportRequest { path: path_given, ..api::ImportRequest::default() };
    let job = transfer.import_path(request).await.unwrap();
    let job = JobRecord { attempts: 2, ..ended(&transfer, JobId(job.id)).await };
    std::fs::remove_file(&path).unwrap();
    let again = report(transfer.run_import(&job, &runner).await.unwrap());
    assert_eq!((again.messages, again.children.len()), (2, 1));
    transfer.sessions.session(SessionId(again.session_id)).await.unwrap();
    transfer.cx.stop().await;
}

/// Half an import would count as the whole file when it is imported again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_import_leaves_no_session() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, runner) = open(&home).await;
    let gone = home.path().join("gone.jsonl");
    for (path, spooled, attempts) in
        [(gone.as_path(), false, 1), (Path::new("gone.jsonl"), true, 2)]
    {
        let half = SessionId(uuid::Uuid::now_v7());
        let new = transfer.sessions.new_session(half, "/project".to_owned()).await.unwrap();
        transfer.cx.store().create_session(new, None).await.unwrap();
        let payload = json!({
            "path": path, "file": "x", "project_dir": null, "session": half, "spooled": spooled,
        });
        let job = finished_job(&transfer).await;
        let progress = Progress::default();
        let job = JobRecord { payload: payload.to_string(), attempts, progress, ..job };
        transfer.run_import(&job, &runner).await.unwrap_err();
        transfer.sessions.session(half).await.unwrap_err();
    }
    transfer.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_without_messages_makes_no_session() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _) = open(&home).await;
    for (bytes, why) in [
        (&b""[..], "the file contains no messages"),
        (b"{\"type\":\"user\",\n", "the file contains no messages; line 1: not JSON"),
        (b"\xff\x00\n\xfe", "the file contains no messages; line 1: invalid UTF-8"),
        (b"{\"type\":\"file-history-snapshot\"}\n", "the file contains no messages"),
    ] {
        let path = home.path().join("file.jsonl");
        std::fs::write(&path, bytes).unwrap();
        let path = path.display().to_string();
        let request = api::ImportRequest { path, ..Default::default() };
        let job = transfer.import_path(request).await.unwrap();
        let ended = ended(&transfer, JobId(job.id)).await;
        assert!(ended.error.as_ref().is_some_and(|error| error.contains(why)), "{ended:?}");
    }
    let page = bethink_store::PageRequest { limit: 10, cursor: None };
    let (sessions, _) = transfer.cx.store().sessions(Default::default(), page).await.unwrap();
    assert!(sessions.is_empty(), "{sessions:?}");
    transfer.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_back_byte_for_byte_and_is_imported_once() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _) = open(&home).await;
    let first = import(&transfer).await;
    assert_eq!((first.messages, first.children.len(), first.already_imported), (2, 1, false));
    let skipped: Vec<u64> = first.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(skipped, [3]);
    let session = transfer.sessions.session(SessionId(first.session_id)).await.unwrap();
    assert_eq!(session.project_dir, "/project");
    let mut export = transfer.export(SessionId(first.session_id)).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(lines) = export.next().await {
        bytes.extend_from_slice(&lines.unwrap());
    }
    assert_eq!(String::from_utf8(bytes).unwrap(), FILE);
    let again = import(&transfer).await;
    assert_eq!((again.session_id, again.already_imported), (first.session_id, true));
    assert_eq!(again.children, first.children);
    let spool = home.path().join("spool");
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 0, "bodies that were imported are gone");
    transfer.cx.stop().await;
}

/// A compacted session, and its file.
async fn compacted(transfer: &TransferService) -> (SessionId, String) {
    let sessions = &transfer.sessions;
    let id = SessionId(sessions.create_session(testing::create_session(), None).await.unwrap().id);
    let append = async |messages: &[Value]| {
        let body = json!({ "messages": messages }).to_string();
        sessions.append(id, body.into(), None).await.unwrap();
    };
    append(&testing::rounds()).await;
    let plan = bytes::Bytes::from_static(br#"{"content":"dig, then sow"}"#);
    sessions.put_state(id, api::StateKind::Plan, plan).await.unwrap();
    sessions.compact(id, api::CompactRequest::default(), None).await.unwrap();
    append(&[json!({ "role": "user", "content": "And now the bell" })]).await;
    let mut export = transfer.export(id).await.unwrap();
    let mut file = Vec::new();
    while let Some(lines) = export.next().await {
        file.extend_from_slice(&lines.unwrap());
    }
    (id, String::from_utf8(file).unwrap())
}

async fn imported(transfer: &TransferService, file: String) -> SessionId {
    let job = transfer.import_body(file.into()).await.unwrap();
    let result = ended(transfer, JobId(job.id)).await.result.unwrap();
    SessionId(report(serde_json::from_str(&result).unwrap()).session_id)
}

async fn messages(transfer: &TransferService, id: SessionId) -> Vec<Value> {
    let body = transfer.sessions.prompt(id, testing::prompt_request()).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compacted_session_has_the_same_prompt_after_export_and_import() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let (id, file) = compacted(&transfer).await;
    let before = messages(&transfer, id).await;
    let copy = imported(&transfer, file.clone()).await;
    assert_eq!(messages(&transfer, copy).await, before);
    let history = async |id| {
        let stored =
            transfer.cx.store().messages(id, bethink_store::SeqRange::all()).await.unwrap();
        stored.into_iter().map(|message| message.raw).collect::<Vec<_>>()
    };
    assert_eq!(history(copy).await, history(id).await, "no summary is among the messages");
    transfer.cx.stop().await;
}

/// Claude Code knows the preserved segment only, and drops a line that it does not know when it goes on in a new file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_boundary_alone_leads_to_the_same_messages() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let (id, file) = compacted(&transfer).await;
    let lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = lines.iter().position(|line| line["subtype"] == "compact_boundary").unwrap();
    let segment = &lines[at]["compactMetadata"]["preservedSegment"];
    assert_eq!(segment["tailUuid"], lines[at - 1]["uuid"]);
    assert_eq!(segment["anchorUuid"], lines[at + 1]["uuid"]);
    assert!(lines.iter().any(|line| line["uuid"] == segment["headUuid"]));
    assert!(lines[at + 2]["isMeta"] == true && lines[at + 2].to_string().contains("dig, then sow"));
    let own: String = file
        .lines()
        .filter(|line| !line.contains("\"type\":\"bethink\""))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(own, file);
    let copy = imported(&transfer, own).await;
    let (before, after) = (messages(&transfer, id).await, messages(&transfer, copy).await);
    assert_eq!(after.len(), before.len(), "{after:?}");
    assert_eq!(after[1..after.len() - 1], before[1..before.len() - 1]);
    transfer.cx.stop().await;
}

/// A view for other messages, or one that would break the session, is not used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_that_does_not_fit_is_ignored() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    for view in [
        json!(7),
        json!({ "messages": 9, "entries": [] }),
        json!({ "messages": 1, "entries": [{ "decision": { "kind": "replaced", "data": "no", "made_after": 1, "created_at": 1 } }] }),
        json!({ "messages": 1, "entries": [{ "decision": { "kind": "shown", "data": r#"{"shown":{"through":99}}"#, "made_after": 99, "created_at": 1 } }] }),
    ] {
        let line = json!({ "type": "bethink", "bethink": view });
        let copy = imported(&transfer, format!("{FILE}{line}\n")).await;
        assert!(messages(&transfer, copy).await.len() >= 2, "{view}");
    }
    transfer.cx.stop().await;
}

/// A record of Codex.
fn codex(ordinal: u64, kind: &str, payload: &Value) -> String {
    codex_at("2026-03-01T10:00:00.000Z", ordinal, kind, payload)
}

fn codex_at(time: &str, ordinal: u64, kind: &str, payload: &Value) -> String {
    let record = json!({ "timestamp": time, "ordinal": ordinal, "type": kind, "payload": payload });
    format!("{record}\n")
}

fn codex_message(role: &str, text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({ "type": "message", "role": role, "content": content })
}

fn codex_said(ordinal: u64, role: &str, text: &str) -> String {
    codex(ordinal, "response_item", &codex_message(role, text))
}

/// A directory with the sessions of Codex.
struct CodexDir(tempfile::TempDir);

impl CodexDir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(format!("rollout-{name}.jsonl"))
    }

    fn add(&self, name: &str, text: &str) {
        use std::io::Write;
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Adds the beginning of a session.
    fn begin(&self, name: &str, meta: &Value) {
        self.add(name, &codex(0, "session_meta", meta));
    }

    async fn import(&self, transfer: &TransferService) -> api::AgentTranscripts {
        let request = api::ImportRequest {
            path: self.0.path().to_str().unwrap().to_owned(),
            agent: Some("codex".to_owned()),
            ..api::ImportRequest::default()
        };
        let job = transfer.import_path(request).await.unwrap();
        let job = ended(transfer, JobId(job.id)).await;
        serde_json::from_str(&job.result.unwrap()).unwrap()
    }
}

async fn codex_session(transfer: &TransferService, id: &str) -> bethink_store::SessionRecord {
    let known = transfer.cx.store().client_session("codex".to_owned(), id.to_owned());
    transfer.cx.store().session(known.await.unwrap().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_sessions_are_imported_once_and_read_on() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let dir = CodexDir::new();
    dir.begin("1-main", &json!({ "id": "main", "cwd": "/work" }));
    dir.add(
        "1-main",
        &(codex_said(1, "user", "mend the gate") + &codex_said(2, "assistant", "mended")),
    );
    dir.add("1-main", &codex_said(3, "user", "and the fence"));
    dir.begin("2-helper", &json!({ "id": "helper", "cwd": "/work", "parent_thread_id": "main" }));
    dir.add("2-helper", &codex_said(1, "user", "look"));
    let base = json!({ "thread_id": "main", "end_ordinal_exclusive": 3 });
    dir.begin("3-fork", &json!({ "id": "fork", "cwd": "/work", "history_base": base }));
    dir.add("3-fork", &codex_said(3, "user", "rather the roof"));
    dir.begin("4-empty", &json!({ "id": "empty", "cwd": "/work" }));
    let first = dir.import(&transfer).await;
    assert_eq!((first.sessions, first.messages, first.unread.len()), (3, 5, 0));
    assert_eq!(first.newest.as_deref(), Some("2026-03-01T10:00:00.000Z"));
    let main = codex_session(&transfer, "main").await;
    assert_eq!((main.last_seq.0, main.title.as_deref()), (3, Some("mend the gate")));
    assert_eq!((&*main.project_dir, main.updated_at.0), ("/work", 1_772_359_200_000_000));
    let helper = codex_session(&transfer, "helper").await;
    assert_eq!((helper.parent, helper.forked_at), (Some(main.id), None));
    let fork = codex_session(&transfer, "fork").await;
    assert_eq!((fork.parent, fork.forked_at.map(|at| at.0)), (Some(main.id), Some(2)));
    assert_eq!(fork.last_seq.0, 3);

    let again = dir.import(&transfer).await;
    assert!(again.files.iter().all(|file| file.already_imported), "{again:?}");
    dir.add("1-main", &codex_said(4, "assistant", "done"));
    let more = dir.import(&transfer).await;
    let new: Vec<_> = more.files.iter().filter(|file| !file.already_imported).collect();
    assert_eq!((new.len(), new[0].messages), (1, 4));
    assert_eq!(codex_session(&transfer, "fork").await.last_seq.0, 3);
    // A line that is read in two parts, and a last one without a line end.
    dir.add("1-main", &codex_said(5, "user", &"long ".repeat(1 << 20)));
    dir.add("1-main", codex_said(6, "assistant", "done").trim_end());
    dir.import(&transfer).await;
    assert_eq!(codex_session(&transfer, "main").await.last_seq.0, 6);
    transfer.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transcript_is_followed_from_its_first_answer_on() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let dir = CodexDir::new();
    let agent = bethink_agent_transcript::TranscriptAgent::Codex;
    let follow = async || transfer.follow(agent, dir.path("a")).await.unwrap();
    dir.begin("a", &json!({ "id": "a", "cwd": "/work" }));
    dir.add("a", &codex_said(1, "user", "mend the gate"));
    follow().await;
    let known = transfer.cx.store().client_session("codex".to_owned(), "a".to_owned()).await;
    assert_eq!(known.unwrap(), None);
    let answer = codex_said(2, "assistant", "mended");
    dir.add("a", &answer[..40]);
    follow().await;
    dir.add("a", &answer[40..]);
    follow().await;
    assert_eq!(codex_session(&transfer, "a").await.last_seq.0, 2);
    dir.add("a", &codex(3, "compacted", &json!({ "message": "what happened" })));
    follow().await;
    follow().await;
    let session = codex_session(&transfer, "a").await;
    assert_eq!(session.last_seq.0, 3);
    assert_eq!(transfer.cx.store().compactions(session.id).await.unwrap().len(), 1);
    // The file is written again, as another program would do: nothing is imported twice.
    let text = std::fs::read_to_string(dir.path("a")).unwrap() + &codex_said(4, "user", "thanks");
    std::fs::remove_file(dir.path("a")).unwrap();
    dir.add("a", &text);
    follow().await;
    assert_eq!(codex_session(&transfer, "a").await.last_seq.0, 4);
    transfer.cx.stop().await;
}

/// Neither what was said in the pause nor texts that the agent made from it later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_in_a_pause_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let dir = CodexDir::new();
    let agent = bethink_agent_transcript::TranscriptAgent::Codex;
    let follow = async || transfer.follow(agent, dir.path("a")).await.unwrap();
    let forever = serde_json::from_value(json!({})).unwrap();
    let status = transfer.cx.pause_recording(forever).await.unwrap();
    let paused = status.pause.unwrap().since;
    let said = |time: &str, ordinal, role, text| {
        codex_at(time, ordinal, "response_item", &codex_message(role, text))
    };
    dir.begin("a", &json!({ "id": "a", "cwd": "/project" }));
    dir.add("a", &said(&paused, 1, "user", "the vault code is 7"));
    dir.add("a", &said(&paused, 2, "assistant", "a vault"));
    dir.begin("b", &json!({ "id": "b", "cwd": "/project" }));
    dir.add("b", &(codex_said(1, "user", "mend the roof") + &codex_said(2, "assistant", "mended")));
    follow().await;
    transfer.follow(agent, dir.path("b")).await.unwrap();
    let begun = transfer.cx.store().client_session("codex".to_owned(), "b".to_owned()).await;
    assert_eq!(begun.unwrap(), None, "no session begins during a pause");
    transfer.cx.resume_recording().await.unwrap();
    transfer.follow(agent, dir.path("b")).await.unwrap();
    assert_eq!(codex_session(&transfer, "b").await.last_seq.0, 2);
    let later = bethink_service::rfc3339(transfer.cx.now());
    dir.add("a", &said(&later, 3, "user", "mend the gate"));
    dir.add("a", &said(&later, 4, "assistant", "mended"));
    let summary = json!({ "message": "they spoke about a vault" });
    dir.add("a", &codex_at(&later, 5, "compacted", &summary));
    dir.add("a", &said(&later, 6, "user", "and the fence"));
    follow().await;
    let session = codex_session(&transfer, "a").await;
    let stored = messages(&transfer, session.id).await;
    let texts = stored.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    assert!(texts.contains("gate") && texts.contains("fence"), "{texts}");
    assert!(!texts.contains("vault"), "{texts}");
    assert_eq!((session.last_seq.0, session.title), (3, None));
    assert_eq!(transfer.cx.store().compactions(session.id).await.unwrap(), []);
    transfer.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transcripts_of_excluded_projects_are_not_followed_and_not_read_on() {
    let home = tempfile::tempdir().unwrap();
    let dir = CodexDir::new();
    let agent = bethink_agent_transcript::TranscriptAgent::Codex;
    let (transfer, _runner) = open(&home).await;
    for name in ["a", "b"] {
        dir.begin(name, &json!({ "id": name, "cwd": "/secret/client" }));
        dir.add(name, &codex_said(1, "user", "mend the gate"));
        dir.add(name, &codex_said(2, "assistant", "mended"));
    }
    transfer.follow(agent, dir.path("a")).await.unwrap();
    transfer.cx.stop().await;
    transfer.cx.store().close().await.unwrap();

    let mut settings = testing::settings(home.path());
    settings.capture.exclude = vec!["/secret/**".to_owned()];
    let (transfer, _runner) = open_in(testing::context_with(settings).await).await;
    dir.add("a", &codex_said(3, "user", "the vault code is 7"));
    for name in ["a", "b"] {
        transfer.follow(agent, dir.path(name)).await.unwrap();
    }
    dir.import(&transfer).await;
    assert_eq!(codex_session(&transfer, "a").await.last_seq.0, 2);
    let other = transfer.cx.store().client_session("codex".to_owned(), "b".to_owned());
    assert_eq!(other.await.unwrap(), None);
    transfer.cx.stop().await;
}

/// Waits until a session has this many messages.
async fn grown(transfer: &TransferService, id: &str, messages: u64) {
    let grown = async {
        loop {
            let known = transfer.cx.store().client_session("codex".to_owned(), id.to_owned());
            if let Some(session) = known.await.unwrap()
                && transfer.cx.store().session(session).await.unwrap().last_seq.0 == messages
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), grown).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_imported_is_read_on_without_a_hook() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let dir = CodexDir::new();
    dir.begin("1-a", &json!({ "id": "a", "cwd": "/work" }));
    dir.add("1-a", &(codex_said(1, "user", "mend the gate") + &codex_said(2, "assistant", "done")));
    dir.import(&transfer).await;
    dir.add("1-a", &codex_said(3, "user", "and the fence"));
    grown(&transfer, "a", 3).await;
    // A session that begins later is found, too.
    dir.begin("2-b", &json!({ "id": "b", "cwd": "/work" }));
    dir.add("2-b", &(codex_said(1, "user", "paint it") + &codex_said(2, "assistant", "painted")));
    grown(&transfer, "b", 2).await;
    transfer.cx.stop().await;
    transfer.cx.store().close().await.unwrap();
    // So is what is written while no daemon runs.
    dir.add("2-b", &codex_said(3, "user", "red"));
    let (transfer, _runner) = open(&home).await;
    transfer.follow_places().await.unwrap();
    grown(&transfer, "b", 3).await;
    assert_eq!(codex_session(&transfer, "a").await.last_seq.0, 3);
    transfer.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_the_gateway_records_is_left_to_it() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let recorded = SessionId(uuid::Uuid::now_v7());
    let new = transfer.sessions.new_session(recorded, "/work".to_owned()).await.unwrap();
    transfer.cx.store().create_session(new, None).await.unwrap();
    let said = json!({ "messages": [{ "role": "user", "content": "mend the gate" }] });
    transfer.sessions.append(recorded, said.to_string().into(), None).await.unwrap();
    let known = bethink_store::ClientSession {
        client: "openai".to_owned(),
        key: "a".to_owned(),
        session: recorded,
    };
    transfer.cx.store().put_client_session(known).await.unwrap();
    let dir = CodexDir::new();
    dir.begin("a", &json!({ "id": "a", "cwd": "/work" }));
    dir.add("a", &(codex_said(1, "user", "mend the gate") + &codex_said(2, "assistant", "mended")));
    let report = dir.import(&transfer).await;
    assert_eq!(report.files[0].session_id, recorded.0);
    assert!(report.files[0].already_imported);
    assert_eq!(transfer.cx.store().session(recorded).await.unwrap().last_seq.0, 1);
    transfer.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parents_in_a_circle_and_damaged_files_end_an_import_well() {
    let home = tempfile::tempdir().unwrap();
    let (transfer, _runner) = open(&home).await;
    let dir = CodexDir::new();
    for (id, parent) in [("a", "b"), ("b", "a"), ("c", "c")] {
        dir.begin(id, &json!({ "id": id, "cwd": "/work", "parent_thread_id": parent }));
        dir.add(id, &codex_said(1, "user", "look"));
    }
    dir.add("d", "no json\n");
    dir.add("e", "");
    std::fs::create_dir(dir.path("f")).unwrap();
    let report = dir.import(&transfer).await;
    assert_eq!((report.files.len(), report.unread.len()), (3, 2), "{report:?}");
    assert!(report.unread[0].reason.contains("it has no session id"), "{report:?}");
    for id in ["a", "b", "c"] {
        assert_eq!(codex_session(&transfer, id).await.last_seq.0, 1, "{id}");
    }
    let a = codex_session(&transfer, "a").await;
    assert_eq!(a.parent, Some(codex_session(&transfer, "b").await.id));
    assert_eq!(codex_session(&transfer, "b").await.parent, None);
    transfer.cx.stop().await;
}

#[test]
fn the_api_names_every_agent_whose_sessions_are_imported() {
    for agent in bethink_agent_transcript::TranscriptAgent::ALL {
        let named = serde_json::from_value::<bethink_api::ImportedAgent>(json!(agent.as_str()));
        assert!(named.is_ok(), "{agent:?}");
    }
}
