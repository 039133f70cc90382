//! Tests texts that seem to contain a secret: they are refused, allowed, and never shown.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;

use bethink_api as api;
use bethink_config::Settings;
use bethink_memdir::Scope;
use bethink_service::{ErrorKind, ServiceError};
use serde_json::json;

use crate::memory_write::Expected;
use crate::service::MemoryService;
use crate::tests::home::start;

const DIR: &str = "/project";

fn key() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

fn remember(text: &str, allow: &[&str]) -> api::Remember {
    api::Remember {
        project_dir: DIR.to_owned(),
        text: text.to_owned(),
        allow_secret: allow.iter().map(|one| (*one).to_owned()).collect(),
        ..api::Remember::default()
    }
}

/// Checks that an error says what was found, and repeats nothing of the secret.
fn check(error: &ServiceError, found: &str) {
    let said = format!("{error:?}").to_lowercase();
    assert_eq!(error.kind, ErrorKind::Invalid, "{said}");
    assert!(said.contains(found), "{said}");
    assert!(!said.contains(&key()[4..12].to_lowercase()), "{said}");
}

async fn dir(memories: &MemoryService) -> std::path::PathBuf {
    memories.project(DIR).await.unwrap().directory(Scope::Private).dir.clone()
}

const QUESTION: &str = "what does the deploy robot of the harbour use?";

/// Returns whether recall finds a memory about the robot.
async fn recalls_robot(memories: &MemoryService) -> bool {
    let query = QUESTION.to_owned();
    let asked = api::RecallRequest { project_dir: DIR.to_owned(), query, ..Default::default() };
    let found = memories.recall(asked).await.unwrap().memories;
    found.iter().any(|memory| memory.content.contains("deploy robot") || memory.name == "robot")
}

/// Returns the private index as prompts show it, and as `bethink memory index` shows it.
async fn indexes(memories: &MemoryService) -> [String; 2] {
    let project = memories.project(DIR).await.unwrap();
    let snapshots = memories.snapshots_soon(&project).await;
    let [shown, ..] = memories.index_texts(&project, DIR, &snapshots).await;
    [shown, memories.memory_index(DIR, None).await.unwrap().content]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_text_with_a_secret_waits_for_the_person() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let text = format!("The deploy robot of the harbour uses {}", key());
    let refused = memories.remember(remember(&text, &[])).await.unwrap_err();
    check(&refused, "line 1: a github token (github-token)");
    assert!(refused.hint.unwrap().contains("--allow-secret github-token"));
    let agent = memories.remember_for_agent(remember(&text, &[])).await.unwrap_err();
    check(&agent, "github-token");
    assert!(!agent.hint.unwrap().contains("allow"), "an agent is not told how");
    let team = api::Remember { scope: Some(Scope::Team), ..remember(&text, &[]) };
    check(&memories.remember(team.clone()).await.unwrap_err(), "github-token");
    check(&memories.remember_for_agent(team.clone()).await.unwrap_err(), "github-token");
    let team = api::Remember { allow_secret: vec!["github-token".to_owned()], ..team };
    check(&memories.remember(team).await.unwrap_err(), "cannot be allowed in the team's memory");
    check(&memories.remember(remember(&text, &["password"])).await.unwrap_err(), "no such finding");
    let named = api::Remember { name: Some(key()), ..remember("The robot", &[]) };
    check(&memories.remember(named).await.unwrap_err(), "contains what looks like a secret");
    let described =
        api::Remember { description: Some(key()), ..remember(&text, &["github-token"]) };
    check(&memories.remember(described).await.unwrap_err(), "github-token");
    assert!(!dir(&memories).await.exists(), "nothing was written");

    let fresh = remember("The harbour crane is yellow", &[]);
    memories.remember(fresh).await.unwrap();
    let done = memories.remember(remember(&text, &["github-token"])).await;
    // The line was already allowed in the attempt with the refused description; allowing it again changes nothing.
    let done = done.unwrap();
    let part = key()[4..12].to_lowercase();
    assert!(!done.name.contains(&part), "{}", done.name);
    let index = memories.memory_index(DIR, None).await.unwrap().content;
    assert!(!index.to_lowercase().contains(&part), "{index}");
    assert!(recalls_robot(&memories).await);
    let directory = memories.project(DIR).await.unwrap();
    let key_of = directory.directory(Scope::Private).key.clone();
    let allowed = memories.cx.store().secret_allowances(key_of).await.unwrap();
    let by: Vec<_> = allowed.iter().map(|one| (one.rule.as_str(), one.by)).collect();
    assert_eq!(by, [("github-token", api::MemoryAuthor::Person)]);
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_somebody_saved_is_not_shown_until_it_is_allowed() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    memories.remember(remember("The harbour crane is yellow", &[])).await.unwrap();
    let dir = dir(&memories).await;
    let text = format!(
        "---\nname: robot\ndescription: The deploy robot of the harbour\n---\n\nFirst.\nIt uses {0}\nand {0}\n",
        key()
    );
    fs::write(dir.join("robot.md"), &text).unwrap();
    let line = format!("- [Robot](robot.md) — uses {}\n- [Crane](crane.md) — yellow\n", key());
    fs::write(dir.join("MEMORY.md"), &line).unwrap();
    let project = memories.project(DIR).await.unwrap();
    project.directory(Scope::Private).doubt();
    let shown = memories.snapshot(project.directory(Scope::Private)).await.unwrap();
    assert_eq!(shown.index_text(), "- [Crane](crane.md) — yellow\n");
    assert!(!recalls_robot(&memories).await);
    // A line that does not contain the secret is left out, too, because its topic is not recalled.
    fs::write(dir.join("MEMORY.md"), line.replace(&key(), "a key")).unwrap();
    project.directory(Scope::Private).doubt();
    assert_eq!(indexes(&memories).await, ["- [Crane](crane.md) — yellow\n"; 2]);
    fs::write(dir.join("MEMORY.md"), &line).unwrap();
    project.directory(Scope::Private).doubt();
    let hook = memories.recall_for_hook(DIR, QUESTION, &Default::default(), None).await.unwrap();
    assert_eq!(hook.len(), 0);
    let view = json!({ "command": "view", "path": "/memories/robot.md" });
    let call = api::MemoryToolCall { project_dir: DIR.to_owned(), input: view, session_id: None };
    let told = memories.memory_tool(call).await.unwrap();
    assert!(told.is_error && told.content.contains("line 7: a GitHub token"), "{}", told.content);
    assert!(!told.content.contains(&key()));
    assert!(memories.memory_for_agent(DIR, Scope::Private, "robot").await.is_err());
    let lint = memories.memory_lint(DIR, None).await.unwrap();
    let found = lint.shelves[0].findings.iter().filter(|one| one.rule == "secret");
    let lines: Vec<_> = found.map(|one| (one.file.as_str(), one.line)).collect();
    assert_eq!(lines, [("robot.md", Some(7)), ("robot.md", Some(8)), ("MEMORY.md", Some(1))]);

    // Each allowance covers one finding.
    let allow = async |named: &str| {
        let named = [named.to_owned()];
        memories.allow_secrets_of(DIR, Scope::Private, "robot", &text, &named).await
    };
    check(&allow("github-token").await.unwrap_err(), "several findings match");
    allow("github-token:7").await.unwrap();
    let put = memories.put_memory(DIR, Scope::Private, "robot", text.clone(), Expected::Anything);
    check(&put.await.unwrap_err(), "line 8");
    allow("github-token:8").await.unwrap();
    memories
        .put_memory(DIR, Scope::Private, "robot", text.clone(), Expected::Anything)
        .await
        .unwrap();
    assert!(recalls_robot(&memories).await);
    fs::write(dir.join("MEMORY.md"), line.replace(&key(), "a key")).unwrap();
    project.directory(Scope::Private).doubt();
    assert!(indexes(&memories).await.iter().all(|index| index.contains("robot.md")));
    memories.cx.stop().await;
}
