//! Notes in sessions, without the rest of the daemon.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_config::Settings;
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::ErrorKind;
use bethink_service_testing as testing;
use bethink_session_memory::{GateLimits, WrittenNotes};
use bethink_sessions::{Listener, SessionService};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;

use crate::meter::Meter;
use crate::service::NotesService;

async fn boot(home: &tempfile::TempDir) -> NotesService {
    open(Settings::at(home.path())).await
}

/// Notes and sessions without other services.
async fn open(settings: Settings) -> NotesService {
    let cx = testing::context_with(settings).await;
    let models = ModelService::open(cx.clone(), None).await.unwrap();
    let search = SearchService::new(cx.clone());
    let sessions = SessionService::new(cx.clone(), models.clone(), search);
    let notes = NotesService::new(cx, models, sessions.clone());
    let observer = notes.clone();
    let listener: Listener = Box::new(move |event| observer.observe(event));
    sessions.connect(vec![Arc::new(notes.clone())], vec![listener]);
    notes
}

async fn session(notes: &NotesService, parent: Option<SessionId>) -> SessionId {
    let parent = parent.map(|id| id.0);
    let request = json!({ "project_dir": "/project", "parent": parent });
    let request = serde_json::from_value(request).unwrap();
    SessionId(notes.sessions.create_session(request, None).await.unwrap().id)
}

async fn say(notes: &NotesService, id: SessionId, texts: &[&str]) {
    let roles = ["user", "assistant"].iter().cycle();
    let messages: Vec<_> = texts
        .iter()
        .zip(roles)
        .map(|(text, role)| json!({ "role": role, "content": text }))
        .collect();
    let body = json!({ "messages": messages }).to_string();
    notes.sessions.append(id, body.into(), None).await.unwrap();
}

async fn noted(notes: &NotesService) -> SessionId {
    let id = session(notes, None).await;
    say(notes, id, &["Please mend the tide gauge at the old pier", "The gauge is mended."]).await;
    notes.update_notes(id).await.unwrap();
    id
}

async fn written(notes: &NotesService, id: SessionId) -> WrittenNotes {
    serde_json::from_str(&notes.cx.store().notes(id).await.unwrap().unwrap().written).unwrap()
}

/// A daemon is killed after it committed the row and before it wrote the file. The next access writes the file, and the
/// daemon's lines do not count as a person's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_without_its_file_is_finished() {
    let home = tempfile::tempdir().unwrap();
    let notes = boot(&home).await;
    let id = noted(&notes).await;
    let before = notes.notes(id).await.unwrap();
    say(&notes, id, &["Now paint the gauge", "It is painted."]).await;
    notes.update_notes(id).await.unwrap();
    let after = notes.notes(id).await.unwrap().text;
    assert_ne!(before.text, after);
    std::fs::write(notes.notes_path(id), &before.text).unwrap();
    notes.cx.stop().await;
    drop(notes);
    let notes = boot(&home).await;
    assert_eq!(notes.notes(id).await.unwrap().text, after);
    notes.update_notes(id).await.unwrap();
    assert_eq!(notes.notes(id).await.unwrap().text, after);
    assert_eq!(written(&notes, id).await.removed, []);
    notes.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bare_notes_are_none_for_a_compaction() {
    let home = tempfile::tempdir().unwrap();
    let notes = boot(&home).await;
    let id = session(&notes, None).await;
    let row = |notes: NotesService| async move { notes.cx.store().session(id).await.unwrap() };
    let of = async |notes: &NotesService| {
        let session = row(notes.clone()).await;
        notes.notes_now(&session).await.unwrap()
    };
    assert_eq!(of(&notes).await, None);
    let bare = notes.notes(id).await.unwrap().text;
    notes.put_notes(id, bare, None).await.unwrap();
    assert_eq!(of(&notes).await, None);
    say(&notes, id, &["Please mend the tide gauge at the pier", "It is mended."]).await;
    notes.update_notes(id).await.unwrap();
    let summary = of(&notes).await.unwrap();
    assert!(summary.text.contains("mend the tide gauge"), "{}", summary.text);
    assert_eq!(summary.through, Seq(2));
    notes.cx.stop().await;
}

/// An update needs neither the session's lock nor a message that has not been stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_does_not_wait_for_a_session_in_use() {
    let home = tempfile::tempdir().unwrap();
    let notes = boot(&home).await;
    let id = noted(&notes).await;
    let handle = notes.sessions.handle(id).await.unwrap();
    let in_use = notes.sessions.lock(&handle).await.unwrap();
    let update = notes.update_notes(id);
    let done = tokio::time::timeout(Duration::from_secs(30), update).await.unwrap().unwrap();
    assert_eq!(done.through_seq, 2);
    drop(in_use);
    notes.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_of_the_past_keeps_what_a_person_wrote_and_nothing_of_the_future() {
    let home = tempfile::tempdir().unwrap();
    let notes = boot(&home).await;
    let id = noted(&notes).await;
    let text =
        notes.notes(id).await.unwrap().text.replace("# Learnings\n", "# Learnings\n- by hand\n");
    notes.put_notes(id, text.clone(), None).await.unwrap();
    let fork = async |at: u64| {
        let request = api::ForkRequest { at_seq: Some(at), title: None };
        let fork = SessionId(notes.sessions.fork(id, request, None).await.unwrap().id);
        notes.notes(fork).await.unwrap()
    };
    assert_eq!(fork(2).await.text, text);
    let past = fork(1).await;
    assert!(past.text.contains("- by hand") && !past.text.contains("mended"), "{}", past.text);
    assert_eq!(past.through, 0);
    notes.cx.stop().await;
}

/// A client that changes its last answer makes a fork in each turn. The notes of each fork are due when those of one session
/// would be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_does_not_repeat_the_notes_of_its_parent() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.session_memory.enabled = false;
    let notes = open(settings).await;
    let id = session(&notes, None).await;
    say(&notes, id, &[&"mend the gauge ".repeat(6_000), "It is mended."]).await;
    let is_due = async |id: SessionId| {
        let handle = notes.sessions.handle(id).await.unwrap();
        drop(notes.sessions.lock(&handle).await.unwrap());
        handle.feature::<Meter>().due(&GateLimits::DEFAULT).is_some()
    };
    assert!(is_due(id).await);
    notes.update_notes(id).await.unwrap();
    let request = api::ForkRequest { at_seq: Some(1), title: None };
    let fork = SessionId(notes.sessions.fork(id, request, None).await.unwrap().id);
    assert_eq!(notes.notes(fork).await.unwrap().through, 0);
    say(&notes, fork, &["Go on", "I do."]).await;
    assert!(!is_due(fork).await);
    say(&notes, fork, &[&"and the bell ".repeat(6_000), "It is, too."]).await;
    assert!(is_due(fork).await);
    notes.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_takes_its_notes_along() {
    let home = tempfile::tempdir().unwrap();
    let notes = boot(&home).await;
    let id = noted(&notes).await;
    let path = notes.notes_path(id);
    assert!(path.exists());
    notes.sessions.delete_session(id).await.unwrap();
    assert!(!path.exists());
    assert_eq!(notes.notes(id).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(notes.update_notes(id).await.unwrap_err().kind, ErrorKind::NotFound);
    assert!(!path.exists());
    notes.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_gets_no_notes_of_its_parent() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.context.microcompact_idle_minutes = 0;
    let notes = open(settings).await;
    let parent = noted(&notes).await;
    let child = session(&notes, Some(parent)).await;
    say(&notes, child, &["Where is the gauge?", "I look.", "And now?"]).await;
    let body = notes.sessions.prompt(child, api::ContextRequest::default()).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(!body.contains("Notes of") && !body.contains("mend the tide gauge"), "{body}");
    notes.cx.stop().await;
}

/// A daemon that keeps running notices that a session was idle, just like a daemon that was restarted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_stays_in_memory_gets_its_notes_back_too() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.context.microcompact_idle_minutes = 0;
    let notes = open(settings).await;
    let id = noted(&notes).await;
    let mut seen = Vec::new();
    for text in ["Go on", "Paint the bell, too"] {
        say(&notes, id, &[text, "I do.", "And now?"]).await;
        notes.update_notes(id).await.unwrap();
        let body = notes.sessions.prompt(id, api::ContextRequest::default()).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        seen.push(body.matches("This session's notes").count());
    }
    assert_eq!(seen, [1, 2], "each prompt adds the notes of its time");
    notes.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_left_gets_its_own_notes_back_once() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    let prompt = async |settings: &Settings| {
        let notes = open(settings.clone()).await;
        let id = match notes
            .sessions
            .sessions(api::SessionQuery::default())
            .await
            .unwrap()
            .sessions
            .first()
        {
            Some(known) => SessionId(known.id),
            None => noted(&notes).await,
        };
        say(&notes, id, &["Go on"]).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            let body = notes.sessions.prompt(id, api::ContextRequest::default()).await.unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            seen.push(body.matches("This session's notes").count());
        }
        notes.cx.stop().await;
        seen
    };
    assert_eq!(prompt(&settings).await, [0, 0], "the session was not idle");
    assert_eq!(prompt(&settings).await, [0, 0], "a restart does not make it idle");
    settings.context.microcompact_idle_minutes = 0;
    assert_eq!(prompt(&settings).await, [1, 1]);
    assert_eq!(prompt(&settings).await, [1, 1], "unchanged notes are attached once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_without_a_title_gets_that_of_its_notes() {
    let home = tempfile::tempdir().unwrap();
    let notes = boot(&home).await;
    let id = noted(&notes).await;
    let title = async || notes.sessions.session(id).await.unwrap().title;
    let found = title().await.unwrap();
    assert!(found.contains("tide gauge"), "{found}");
    let renamed = api::PatchSession { title: Some("My own".to_owned()), ..Default::default() };
    notes.sessions.patch_session(id, renamed).await.unwrap();
    notes.update_notes(id).await.unwrap();
    assert_eq!(title().await.as_deref(), Some("My own"));
    notes.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_codes_template_belongs_to_its_layout() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("person/.claude/session-memory/config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("template.md"), "# Session Title\n\n# Claude's Own Section\n")
        .unwrap();
    for (layout, expect) in [("bethink", false), ("claude", true)] {
        let mut settings = Settings::at(home.path().join(layout));
        std::fs::create_dir_all(&settings.home).unwrap();
        settings.person = Some(home.path().join("person"));
        settings.memory.layout = layout.to_owned();
        let notes = open(settings).await;
        let id = noted(&notes).await;
        let text = notes.notes(id).await.unwrap().text;
        assert_eq!(text.contains("# Claude's Own Section"), expect, "{layout}: {text}");
        notes.cx.stop().await;
    }
}
