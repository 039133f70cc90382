//! The daemon's side of notes, in process.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::time::Duration;

use bethink_config::Settings;
use serde_json::json;

use super::*;

async fn boot(home: &tempfile::TempDir) -> Daemon {
    Daemon::boot(Settings::at(home.path())).await.unwrap()
}

async fn session(daemon: &Daemon, parent: Option<SessionId>) -> SessionId {
    let parent = parent.map(|id| id.0);
    let request = json!({ "project_dir": "/project", "parent": parent });
    let request = serde_json::from_value(request).unwrap();
    SessionId(daemon.create_session(request, None).await.unwrap().id)
}

async fn say(daemon: &Daemon, id: SessionId, texts: &[&str]) {
    let roles = ["user", "assistant"].iter().cycle();
    let messages: Vec<_> = texts
        .iter()
        .zip(roles)
        .map(|(text, role)| json!({ "role": role, "content": text }))
        .collect();
    let body = json!({ "messages": messages }).to_string();
    daemon.append(id, body.into(), None).await.unwrap();
}

async fn noted(daemon: &Daemon) -> SessionId {
    let id = session(daemon, None).await;
    say(daemon, id, &["Please mend the tide gauge at the old pier", "The gauge is mended."]).await;
    daemon.update_notes(id).await.unwrap();
    id
}

async fn written(daemon: &Daemon, id: SessionId) -> Written {
    serde_json::from_str(&daemon.store().notes(id).await.unwrap().unwrap().written).unwrap()
}

/// Killed after the row was committed and before the file was written: the next look writes it, and
/// no line of the daemon's passes for a person's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_without_its_file_is_finished() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = noted(&daemon).await;
    let before = daemon.notes(id).await.unwrap();
    say(&daemon, id, &["Now paint the gauge", "It is painted."]).await;
    daemon.update_notes(id).await.unwrap();
    let after = daemon.notes(id).await.unwrap().text;
    assert_ne!(before.text, after);
    std::fs::write(daemon.notes_path(id), &before.text).unwrap();
    daemon.shutdown().await;
    drop(daemon);
    let daemon = boot(&home).await;
    assert_eq!(daemon.notes(id).await.unwrap().text, after);
    daemon.update_notes(id).await.unwrap();
    assert_eq!(daemon.notes(id).await.unwrap().text, after);
    assert_eq!(written(&daemon, id).await.removed, []);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bare_notes_are_none_for_a_compaction() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon, None).await;
    let row = |daemon: Daemon| async move { daemon.store().session(id).await.unwrap() };
    let of = async |daemon: &Daemon| {
        let session = row(daemon.clone()).await;
        daemon.notes_now(&session).await.unwrap()
    };
    assert_eq!(of(&daemon).await, None);
    let bare = daemon.notes(id).await.unwrap().text;
    daemon.put_notes(id, bare, None).await.unwrap();
    assert_eq!(of(&daemon).await, None);
    say(&daemon, id, &["Please mend the tide gauge at the pier", "It is mended."]).await;
    daemon.update_notes(id).await.unwrap();
    let (text, through) = of(&daemon).await.unwrap();
    assert!(text.contains("mend the tide gauge"), "{text}");
    assert_eq!(through, Seq(2));
    daemon.shutdown().await;
}

/// An update needs neither the session's lock nor a message that is not stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_does_not_wait_for_a_session_in_use() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = noted(&daemon).await;
    let slot = daemon.hot(id).await.unwrap();
    let in_use = slot.lock(&daemon).await.unwrap();
    let update = daemon.update_notes(id);
    let done = tokio::time::timeout(Duration::from_secs(30), update).await.unwrap().unwrap();
    assert_eq!(done.through_seq, 2);
    drop(in_use);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_of_the_past_keeps_what_a_person_wrote_and_nothing_of_the_future() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = noted(&daemon).await;
    let text =
        daemon.notes(id).await.unwrap().text.replace("# Learnings\n", "# Learnings\n- by hand\n");
    daemon.put_notes(id, text.clone(), None).await.unwrap();
    let fork = async |at: u64| {
        let request = api::ForkRequest { at_seq: Some(at), title: None };
        let fork = SessionId(daemon.fork(id, request).await.unwrap().id);
        daemon.notes(fork).await.unwrap()
    };
    assert_eq!(fork(2).await.text, text);
    let past = fork(1).await;
    assert!(past.text.contains("- by hand") && !past.text.contains("mended"), "{}", past.text);
    assert_eq!(past.through, 0);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_takes_its_notes_along() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = noted(&daemon).await;
    let path = daemon.notes_path(id);
    assert!(path.exists());
    daemon.delete_session(id).await.unwrap();
    assert!(!path.exists());
    assert_eq!(daemon.notes(id).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(daemon.update_notes(id).await.unwrap_err().kind, Kind::NotFound);
    assert!(!path.exists());
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_goes_on_from_another_gets_its_notes_once() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let parent = noted(&daemon).await;
    let child = session(&daemon, Some(parent)).await;
    say(&daemon, child, &["Go on with the gauge", "I do.", "And now?"]).await;
    for _ in 0..2 {
        let body = daemon.context(child, api::ContextRequest::default()).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert_eq!(body.matches("Notes of the session before").count(), 1, "{body}");
        assert!(body.contains("mend the tide gauge"), "{body}");
    }
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_left_gets_its_own_notes_back_once() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    let prompt = async |settings: &Settings| {
        let daemon = Daemon::boot(settings.clone()).await.unwrap();
        let id = match daemon.sessions(None, None, None, None, None).await.unwrap().sessions.first()
        {
            Some(known) => SessionId(known.id),
            None => noted(&daemon).await,
        };
        say(&daemon, id, &["Go on"]).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            let body = daemon.context(id, api::ContextRequest::default()).await.unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            seen.push(body.matches("Notes of this session").count());
        }
        daemon.shutdown().await;
        seen
    };
    assert_eq!(prompt(&settings).await, [0, 0], "nobody was away");
    assert_eq!(prompt(&settings).await, [0, 0], "a restart alone is no absence");
    settings.context.microcompact_idle_minutes = 0;
    assert_eq!(prompt(&settings).await, [1, 1]);
    assert_eq!(prompt(&settings).await, [1, 1], "unchanged notes do not stand there twice");
}
