//! Tests extraction in process: by rules, and by a scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where it fails"
)]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_api::MemoryOutcome;
use bethink_config::Settings;
use bethink_memdir::{Scope, header};
use bethink_service::ErrorKind;
use bethink_store::{ExtractedCandidates, ExtractionPlan, PlannedWrite};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use crate::memory_write::Expected;
use crate::service::MemoryService;
use crate::tests::home::{boot, extract, say, session, start};

mod model;

const TAUGHT: &str = "From now on, use pnpm for installs.";

/// Returns the names of the topics that an extraction wrote.
fn names(done: &api::Extracted) -> Vec<&str> {
    done.memories.iter().map(|memory| memory.name.as_str()).collect()
}

async fn dir(memories: &MemoryService) -> PathBuf {
    memories.project("/project").await.unwrap().directory(Scope::Private).dir.clone()
}

async fn read(memories: &MemoryService, name: &str) -> String {
    memories.memory("/project", Scope::Private, name).await.unwrap().text
}

async fn remove(memories: &MemoryService, name: &str) {
    memories.delete_memory("/project", Scope::Private, name, Expected::Anything).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_teaches_is_written_once_with_its_source() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let id = session(&memories).await;
    say(&memories, id, &[json!("Fix the gauge."), json!("Done."), json!(TAUGHT)]).await;
    // The turn has not ended: the agent may still write the memory itself.
    assert_eq!(extract(&memories, id).await.memories.len(), 0);
    say(&memories, id, &[json!("And sign off."), json!("I will.")]).await;
    let dry =
        memories.extract_now(id, api::ExtractRequest { dry_run: true, all: false }).await.unwrap();
    assert_eq!((names(&dry), dry.statements), (vec!["use-pnpm-installs"], 2));
    assert!(dry.memories[0].text.as_ref().unwrap().contains(TAUGHT));
    assert!(!dir(&memories).await.join("use-pnpm-installs.md").exists());
    let done = extract(&memories, id).await;
    assert_eq!(names(&done), ["use-pnpm-installs"]);
    assert_eq!(done.strategy, Some(api::Strategy::Embedded));
    let text = read(&memories, "use-pnpm-installs").await;
    let source = header::read(&text).header.source.unwrap();
    assert_eq!((source.session, source.messages), (id.to_string(), vec!["3".to_owned()]));
    let index = memories.memory_index("/project", None).await.unwrap();
    assert!(index.content.contains(TAUGHT), "{}", index.content);
    let again = extract(&memories, id).await;
    assert_eq!((again.memories.len(), again.statements), (0, 0));
    // The same statement in another session teaches nothing new.
    let other = session(&memories).await;
    say(&memories, other, &[json!("Always use pnpm for installs!"), json!("Yes.")]).await;
    let known = extract(&memories, other).await;
    assert_eq!((known.memories.len(), known.dropped[0].reason.as_str()), (0, "already known"));
    memories.cx.stop().await;
}

/// Nobody requests the extraction: the end of a turn triggers it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_turn_is_enough() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let id = session(&memories).await;
    let mut events = memories.sessions.events(id, None).await.unwrap();
    say(&memories, id, &[json!(TAUGHT), json!("I will.")]).await;
    let told = async {
        loop {
            let event = events.next().await.unwrap();
            if event.kind() == "memory" {
                return serde_json::from_str::<Value>(&event.data()).unwrap();
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    assert_eq!((&told["by"], &told["outcome"]), (&json!("extraction"), &json!("created")));
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_agent_wrote_itself_nothing_is_extracted() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let id = session(&memories).await;
    let path = dir(&memories).await.join("own.md");
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Write",
        "input": { "file_path": path, "content": "pnpm" } }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "written" }]);
    say(&memories, id, &[json!(TAUGHT), call, result, json!("I wrote it down.")]).await;
    say(&memories, id, &[json!("Never push to main without asking."), json!("Right.")]).await;
    let done = extract(&memories, id).await;
    assert_eq!((names(&done), done.by_agent), (vec!["never-push-main-without-asking"], 1));
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_took_out_is_not_learnt_again() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let id = session(&memories).await;
    say(&memories, id, &[json!(TAUGHT), json!("Yes.")]).await;
    extract(&memories, id).await;
    remove(&memories, "use-pnpm-installs").await;
    say(&memories, id, &[json!("Please always use pnpm for installs."), json!("Yes.")]).await;
    let done = extract(&memories, id).await;
    assert_eq!(
        (done.memories.len(), done.dropped[0].reason.as_str()),
        (0, "a person has already removed or rejected it")
    );
    // The person deletes the file in an editor, without the daemon.
    let other = "Never push to main without asking.";
    say(&memories, id, &[json!(other), json!("Yes.")]).await;
    let name = extract(&memories, id).await.memories[0].name.clone();
    std::fs::remove_file(dir(&memories).await.join(format!("{name}.md"))).unwrap();
    let next = session(&memories).await;
    let again = "Don't ever push to main without asking me.";
    say(&memories, next, &[json!(again), json!("Yes.")]).await;
    let done = extract(&memories, next).await;
    assert_eq!(
        (done.memories.len(), done.dropped[0].reason.as_str()),
        (0, "a person has already removed or rejected it")
    );
    // A user who asks to remember the statement has changed their mind.
    say(&memories, next, &[json!("Remember: use pnpm for installs."), json!("Yes.")]).await;
    assert_eq!(extract(&memories, next).await.memories.len(), 1);
    memories.cx.stop().await;
}

/// The daemon is killed between any two steps: the next one writes exactly what was planned, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_was_broken_off_is_finished_without_doubles() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let id = session(&memories).await;
    let two = format!("{TAUGHT} Never push to main without asking.");
    say(&memories, id, &[json!(two), json!("Yes.")]).await;
    let dry =
        memories.extract_now(id, api::ExtractRequest { dry_run: true, all: false }).await.unwrap();
    let write = |memory: &api::LearnedMemory| PlannedWrite {
        name: memory.name.clone(),
        over: None,
        text: memory.text.clone().unwrap(),
        sentence: memory.statement.clone(),
        seq: memory.seq.map(Seq),
    };
    let writes: Vec<PlannedWrite> = dry.memories.iter().map(write).collect();
    let whole = ExtractionPlan {
        strategy: "embedded".to_owned(),
        through: Seq(2),
        writes,
        proposals: Vec::new(),
    };
    memories
        .cx
        .store()
        .put_extraction_plan(id, whole.clone(), ExtractedCandidates::default())
        .await
        .unwrap();
    let half = ExtractionPlan { writes: whole.writes[..1].to_vec(), ..whole.clone() };
    let project = memories.project("/project").await.unwrap();
    memories.carry_out(&project, id, &half).await.unwrap();
    memories.cx.stop().await;
    drop((project, memories));

    let memories = boot(&home).await;
    let done = extract(&memories, id).await;
    assert_eq!((done.memories.len(), done.statements), (0, 0), "it was planned before");
    let page = memories.memories("/project", None, None, None).await.unwrap();
    let found: Vec<&str> = page.memories.iter().map(|memory| memory.name.as_str()).collect();
    assert_eq!(found, ["never-push-main-without-asking", "use-pnpm-installs"]);
    for memory in &page.memories {
        let text = read(&memories, &memory.name).await;
        let planned = whole.writes.iter().find(|write| write.name == memory.name).unwrap();
        assert_eq!(text, planned.text);
    }
    assert_eq!(memories.cx.store().extraction_mark(id).await.unwrap(), Some(Seq(2)));
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_text_is_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let id = session(&memories).await;
    say(&memories, id, &[json!(TAUGHT), json!("Yes.")]).await;
    let write = PlannedWrite {
        name: "use-pnpm-installs".to_owned(),
        over: None,
        text: "planned\n".to_owned(),
        sentence: None,
        seq: None,
    };
    let plan = ExtractionPlan {
        strategy: "model".to_owned(),
        through: Seq(2),
        writes: vec![write],
        proposals: Vec::new(),
    };
    memories
        .put_memory(
            "/project",
            Scope::Private,
            "use-pnpm-installs",
            "by hand\n".to_owned(),
            Expected::Absent,
        )
        .await
        .unwrap();
    memories
        .cx
        .store()
        .put_extraction_plan(id, plan.clone(), ExtractedCandidates::default())
        .await
        .unwrap();
    let done = extract(&memories, id).await;
    assert_eq!(read(&memories, "use-pnpm-installs").await, "by hand\n");
    assert_eq!(done.memories.len(), 0);
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_taught_can_be_taken_back_and_restored() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let (one, other) = (session(&memories).await, session(&memories).await);
    say(&memories, one, &[json!("We always deploy the gateway on Mondays."), json!("Yes.")]).await;
    let name = extract(&memories, one).await.memories[0].name.clone();
    let before = read(&memories, &name).await;
    let two = format!("We never deploy the gateway on Mondays. {TAUGHT}");
    say(&memories, other, &[json!(two), json!("Yes.")]).await;
    assert_eq!(extract(&memories, other).await.memories.len(), 2);
    let both = read(&memories, &name).await;
    assert!(both.contains("always deploy") && both.contains("never deploy"), "{both}");

    let wish = |dry_run| api::ForgetRequest {
        project_dir: "/project".to_owned(),
        session_id: other.0,
        dry_run,
    };
    let shown = memories.forget_session(wish(true)).await.unwrap();
    let outcomes: Vec<(&str, MemoryOutcome)> =
        shown.files.iter().map(|file| (file.name.as_str(), file.outcome)).collect();
    let expect =
        [(name.as_str(), MemoryOutcome::Restored), ("use-pnpm-installs", MemoryOutcome::Removed)];
    assert_eq!(outcomes, expect);
    assert_eq!(read(&memories, &name).await, both, "a dry run does nothing");
    memories.forget_session(wish(false)).await.unwrap();
    assert_eq!(read(&memories, &name).await, before);
    let gone = memories.memory("/project", Scope::Private, "use-pnpm-installs").await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::NotFound);
    assert_eq!(memories.forget_session(wish(false)).await.unwrap().files.len(), 0);
    // A forgotten statement is not learned again, even in other words.
    say(&memories, one, &[json!("Always use pnpm for installs."), json!("Yes.")]).await;
    assert_eq!(extract(&memories, one).await.memories.len(), 0);
    memories.restore_memory("/project", Scope::Private, "use-pnpm-installs", None).await.unwrap();
    assert!(read(&memories, "use-pnpm-installs").await.contains(TAUGHT));
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_and_imports_are_not_looked_through_again() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let id = session(&memories).await;
    say(&memories, id, &[json!(TAUGHT), json!("Yes.")]).await;
    let fork = memories.sessions.fork(id, api::ForkRequest::default(), None).await.unwrap();
    let fork = SessionId(fork.id);
    assert_eq!(extract(&memories, fork).await.statements, 0);
    let all = api::ExtractRequest { dry_run: true, all: true };
    assert_eq!(memories.extract_now(fork, all).await.unwrap().memories.len(), 1);
    say(&memories, fork, &[json!("Never push to main without asking."), json!("Yes.")]).await;
    assert_eq!(extract(&memories, fork).await.statements, 1);
    memories.cx.stop().await;
}

/// The turn has not ended when the session is compacted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_of_an_open_turn_is_written_when_it_leaves_the_view() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.memory.extraction = "embedded".to_owned();
    let memories = start(settings, None).await;
    let id = session(&memories).await;
    let mut events = memories.sessions.events(id, None).await.unwrap();
    let call = |n: usize| json!([{ "type": "tool_use", "id": format!("c{n}"), "name": "Read", "input": {} }]);
    let result = |n: usize| json!([{ "type": "tool_result", "tool_use_id": format!("c{n}"), "content": "x ".repeat(2_000) }]);
    let mut said = vec![json!(TAUGHT)];
    (0..20).for_each(|n| said.extend([call(n), result(n)]));
    say(&memories, id, &said).await;
    memories.sessions.compact(id, api::CompactRequest::default(), None).await.unwrap();
    let written = async { while events.next().await.unwrap().kind() != "memory" {} };
    tokio::time::timeout(Duration::from_secs(30), written).await.unwrap();
    let mark = memories.cx.store().extraction_mark(id).await.unwrap();
    assert!(mark.is_none_or(|mark| mark == Seq(41)), "{mark:?}");
    memories.cx.stop().await;
}
