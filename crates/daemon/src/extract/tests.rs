//! Extraction in process: by rules, and by a model that does what the test wants.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where it fails"
)]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use bethink_api as api;
use bethink_config::Settings;
use bethink_memdir::{Scope, header};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use super::*;
use crate::memory::MemoryWish;
use crate::{Daemon, Kind};

mod model;

const TAUGHT: &str = "From now on, use pnpm for installs.";

async fn boot(home: &tempfile::TempDir) -> Daemon {
    let mut settings = Settings::at(home.path());
    // Asked for by the test, so that it knows when it is done.
    settings.memory.extraction = "off".to_owned();
    Daemon::boot(settings).await.unwrap()
}

async fn session(daemon: &Daemon) -> SessionId {
    let request = serde_json::from_value(json!({ "project_dir": "/project" })).unwrap();
    SessionId(daemon.create_session(request, None).await.unwrap().id)
}

async fn say(daemon: &Daemon, id: SessionId, messages: &[Value]) {
    let roles = ["user", "assistant"].iter().cycle();
    let messages = messages.iter().zip(roles);
    let messages: Vec<Value> =
        messages.map(|(content, role)| json!({ "role": role, "content": content })).collect();
    let body = json!({ "messages": messages }).to_string();
    daemon.append(id, body.into(), None).await.unwrap();
}

async fn extract(daemon: &Daemon, id: SessionId) -> api::Extracted {
    daemon.extract_now(id, api::ExtractRequest::default()).await.unwrap()
}

/// Names of what an extraction wrote.
fn names(done: &api::Extracted) -> Vec<&str> {
    done.memories.iter().map(|memory| memory.name.as_str()).collect()
}

async fn dir(daemon: &Daemon) -> PathBuf {
    daemon.project("/project").await.unwrap().shelf(Scope::Private).dir.clone()
}

async fn read(daemon: &Daemon, name: &str) -> String {
    daemon.memory("/project", "private", name).await.unwrap().text
}

async fn remove(daemon: &Daemon, name: &str) {
    daemon.delete_memory("/project", "private", name, MemoryWish::Anything).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_teaches_is_written_once_with_its_source() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    say(&daemon, id, &[json!("Fix the gauge."), json!("Done."), json!(TAUGHT)]).await;
    // The turn has not ended: the agent may write it down itself.
    assert_eq!(extract(&daemon, id).await.memories.len(), 0);
    say(&daemon, id, &[json!("And sign off."), json!("I will.")]).await;
    let dry =
        daemon.extract_now(id, api::ExtractRequest { dry_run: true, all: false }).await.unwrap();
    assert_eq!((names(&dry), dry.statements), (vec!["use-pnpm-installs"], 2));
    assert!(dry.memories[0].text.as_ref().unwrap().contains(TAUGHT));
    assert!(!dir(&daemon).await.join("use-pnpm-installs.md").exists());
    let done = extract(&daemon, id).await;
    assert_eq!((names(&done), done.strategy.as_str()), (vec!["use-pnpm-installs"], "embedded"));
    let text = read(&daemon, "use-pnpm-installs").await;
    let source = header::read(&text).header.source.unwrap();
    assert_eq!((source.session, source.messages), (id.to_string(), vec!["3".to_owned()]));
    let index = daemon.memory_index("/project", None).await.unwrap();
    assert!(index.content.contains(TAUGHT), "{}", index.content);
    let again = extract(&daemon, id).await;
    assert_eq!((again.memories.len(), again.statements), (0, 0));
    // Another session that says it teaches nothing new.
    let other = session(&daemon).await;
    say(&daemon, other, &[json!("Always use pnpm for installs!"), json!("Yes.")]).await;
    let known = extract(&daemon, other).await;
    assert_eq!((known.memories.len(), known.dropped[0].reason.as_str()), (0, "it is known"));
    daemon.shutdown().await;
}

/// Nobody asks for it: the end of a turn does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_turn_is_enough() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::boot(Settings::at(home.path())).await.unwrap();
    let id = session(&daemon).await;
    let mut events = daemon.events(id, None).await.unwrap();
    say(&daemon, id, &[json!(TAUGHT), json!("I will.")]).await;
    let told = async {
        loop {
            let event = events.next().await.unwrap();
            if event.kind == "memory" {
                return serde_json::from_str::<Value>(&event.data).unwrap();
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    assert_eq!((&told["by"], &told["outcome"]), (&json!("extraction"), &json!("created")));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_agent_wrote_itself_nothing_is_extracted() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    let path = dir(&daemon).await.join("own.md");
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Write",
        "input": { "file_path": path, "content": "pnpm" } }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "written" }]);
    say(&daemon, id, &[json!(TAUGHT), call, result, json!("I wrote it down.")]).await;
    say(&daemon, id, &[json!("Never push to main without asking."), json!("Right.")]).await;
    let done = extract(&daemon, id).await;
    assert_eq!((names(&done), done.by_agent), (vec!["push-main-without"], 1));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_took_out_is_not_learnt_again() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    say(&daemon, id, &[json!(TAUGHT), json!("Yes.")]).await;
    extract(&daemon, id).await;
    remove(&daemon, "use-pnpm-installs").await;
    say(&daemon, id, &[json!("Please always use pnpm for installs."), json!("Yes.")]).await;
    let done = extract(&daemon, id).await;
    assert_eq!((done.memories.len(), done.dropped[0].reason.as_str()), (0, "a person took it out"));
    // In an editor, unseen by the daemon.
    let other = "Never push to main without asking.";
    say(&daemon, id, &[json!(other), json!("Yes.")]).await;
    let name = extract(&daemon, id).await.memories[0].name.clone();
    std::fs::remove_file(dir(&daemon).await.join(format!("{name}.md"))).unwrap();
    let next = session(&daemon).await;
    let again = "Don't ever push to main without asking me.";
    say(&daemon, next, &[json!(again), json!("Yes.")]).await;
    let done = extract(&daemon, next).await;
    assert_eq!((done.memories.len(), done.dropped[0].reason.as_str()), (0, "a person took it out"));
    // Who asks for it changed their mind.
    say(&daemon, next, &[json!("Remember: use pnpm for installs."), json!("Yes.")]).await;
    assert_eq!(extract(&daemon, next).await.memories.len(), 1);
    daemon.shutdown().await;
}

/// Killed between any two steps: what is written by the next daemon is what was planned, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_was_broken_off_is_finished_without_doubles() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    let two = format!("{TAUGHT} Never push to main without asking.");
    say(&daemon, id, &[json!(two), json!("Yes.")]).await;
    let dry =
        daemon.extract_now(id, api::ExtractRequest { dry_run: true, all: false }).await.unwrap();
    let write = |memory: &api::LearntMemory| plan::Write {
        name: memory.name.clone(),
        over: None,
        text: memory.text.clone().unwrap(),
        sentence: memory.statement.clone(),
        seq: memory.seq,
    };
    let writes: Vec<plan::Write> = dry.memories.iter().map(write).collect();
    let whole =
        plan::Plan { strategy: "embedded".to_owned(), through: 2, writes, proposals: Vec::new() };
    daemon.keep_plan(id, &whole).await.unwrap();
    let half = plan::Plan { writes: whole.writes[..1].to_vec(), ..whole.clone() };
    let project = daemon.project("/project").await.unwrap();
    daemon.carry_out(&project, id, &half).await.unwrap();
    daemon.shutdown().await;
    drop((project, daemon));

    let daemon = boot(&home).await;
    let done = extract(&daemon, id).await;
    assert_eq!((done.memories.len(), done.statements), (0, 0), "it was planned before");
    let page = daemon.memories("/project", None, None, None).await.unwrap();
    let found: Vec<&str> = page.memories.iter().map(|memory| memory.name.as_str()).collect();
    assert_eq!(found, ["push-main-without", "use-pnpm-installs"]);
    for memory in &page.memories {
        let text = read(&daemon, &memory.name).await;
        let planned = whole.writes.iter().find(|write| write.name == memory.name).unwrap();
        assert_eq!(text, planned.text);
    }
    assert_eq!(daemon.mark(id).await.unwrap(), Some(Seq(2)));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_text_is_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    say(&daemon, id, &[json!(TAUGHT), json!("Yes.")]).await;
    let write = plan::Write {
        name: "use-pnpm-installs".to_owned(),
        over: None,
        text: "planned\n".to_owned(),
        sentence: None,
        seq: None,
    };
    let plan = plan::Plan {
        strategy: "model".to_owned(),
        through: 2,
        writes: vec![write],
        proposals: Vec::new(),
    };
    daemon
        .put_memory(
            "/project",
            "private",
            "use-pnpm-installs",
            "by hand\n".to_owned(),
            MemoryWish::Absent,
        )
        .await
        .unwrap();
    daemon.keep_plan(id, &plan).await.unwrap();
    let done = extract(&daemon, id).await;
    assert_eq!(read(&daemon, "use-pnpm-installs").await, "by hand\n");
    assert_eq!(done.memories.len(), 0);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_taught_can_be_taken_back_and_restored() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let (one, other) = (session(&daemon).await, session(&daemon).await);
    say(&daemon, one, &[json!("We always deploy the gateway on Mondays."), json!("Yes.")]).await;
    let name = extract(&daemon, one).await.memories[0].name.clone();
    let before = read(&daemon, &name).await;
    let two = format!("We never deploy the gateway on Mondays. {TAUGHT}");
    say(&daemon, other, &[json!(two), json!("Yes.")]).await;
    assert_eq!(extract(&daemon, other).await.memories.len(), 2);
    let both = read(&daemon, &name).await;
    assert!(both.contains("always deploy") && both.contains("never deploy"), "{both}");

    let wish = |dry_run| api::ForgetRequest {
        project_dir: "/project".to_owned(),
        session_id: other.0,
        dry_run,
    };
    let shown = daemon.forget_session(wish(true)).await.unwrap();
    let outcomes: Vec<(&str, &str)> =
        shown.files.iter().map(|file| (file.name.as_str(), file.outcome.as_str())).collect();
    assert_eq!(outcomes, [(name.as_str(), "restored"), ("use-pnpm-installs", "removed")]);
    assert_eq!(read(&daemon, &name).await, both, "a dry run does nothing");
    daemon.forget_session(wish(false)).await.unwrap();
    assert_eq!(read(&daemon, &name).await, before);
    let gone = daemon.memory("/project", "private", "use-pnpm-installs").await.unwrap_err();
    assert_eq!(gone.kind, Kind::NotFound);
    assert_eq!(daemon.forget_session(wish(false)).await.unwrap().files.len(), 0);
    // Forgotten is forgotten, also in other words.
    say(&daemon, one, &[json!("Always use pnpm for installs."), json!("Yes.")]).await;
    assert_eq!(extract(&daemon, one).await.memories.len(), 0);
    daemon.restore_memory("/project", "private", "use-pnpm-installs", None).await.unwrap();
    assert!(read(&daemon, "use-pnpm-installs").await.contains(TAUGHT));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_and_imports_are_not_looked_through_again() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    say(&daemon, id, &[json!(TAUGHT), json!("Yes.")]).await;
    let fork = daemon.fork(id, api::ForkRequest::default()).await.unwrap();
    let fork = SessionId(fork.id);
    assert_eq!(extract(&daemon, fork).await.statements, 0);
    let all = api::ExtractRequest { dry_run: true, all: true };
    assert_eq!(daemon.extract_now(fork, all).await.unwrap().memories.len(), 1);
    say(&daemon, fork, &[json!("Never push to main without asking."), json!("Yes.")]).await;
    assert_eq!(extract(&daemon, fork).await.statements, 1);
    daemon.shutdown().await;
}
