//! Tests that memories learned on a branch are shown last elsewhere, until the branch is merged.

use std::path::Path;
use std::process::Command;

use bethink_api as api;
use bethink_config::Settings;
use bethink_memdir::Scope;
use serde_json::json;

use super::home::{extract, say, session_in, start};

use crate::service::MemoryService;

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@h"])
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

async fn remember(memories: &MemoryService, dir: &str, name: &str) {
    let request = api::Remember {
        project_dir: dir.to_owned(),
        text: "The release notes are collected in a draft.".to_owned(),
        name: Some(name.to_owned()),
        ..api::Remember::default()
    };
    memories.remember(request).await.unwrap();
}

/// Returns the names of the recalled topics in order, each with its branch if that is not merged; the same for the list
/// of topics; and the index as a prompt shows it.
async fn seen(memories: &MemoryService, dir: &str) -> (Vec<String>, Vec<String>, String) {
    let named = |name: &str, branch: &Option<String>| match branch {
        Some(branch) => format!("{name} on {branch}"),
        None => name.to_owned(),
    };
    let query = "where are the release notes collected?".to_owned();
    let asked = api::RecallRequest { project_dir: dir.to_owned(), query, ..Default::default() };
    let recalled = memories.recall(asked).await.unwrap().memories;
    let recalled = recalled.iter().map(|one| named(&one.name, &one.unmerged)).collect();
    let listed = memories.memories(dir, None, None, None).await.unwrap().memories;
    let listed = listed.iter().map(|one| named(&one.name, &one.unmerged)).collect();
    let project = memories.project(dir).await.unwrap();
    let mut snapshots = <[std::sync::Arc<crate::DirectorySnapshot>; 3]>::default();
    for (shown, scope) in snapshots.iter_mut().zip(Scope::ALL) {
        *shown = memories.snapshot_anew(project.directory(scope)).await.unwrap();
    }
    (recalled, listed, memories.index_texts(&project, dir, &snapshots).await[0].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_counts_fully_where_it_is_merged() {
    let home = tempfile::tempdir().unwrap();
    let app = home.path().join("app");
    std::fs::create_dir(&app).unwrap();
    let dir = app.canonicalize().unwrap().display().to_string();
    let run = |args: &[&str]| git(&app, args);
    run(&["init", "--quiet", "-b", "main"]);
    run(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
    run(&["switch", "--quiet", "-c", "draft"]);
    run(&["commit", "--quiet", "--allow-empty", "-m", "two"]);
    let memories = start(Settings::at(home.path().join("home")), None).await;
    remember(&memories, &dir, "a-draft").await;
    let text = memories.memory(&dir, Scope::Private, "a-draft").await.unwrap().text;
    assert!(text.contains("  branch: draft\n  commit: "), "{text}");
    run(&["switch", "--quiet", "main"]);
    remember(&memories, &dir, "b-main").await;
    let (recalled, listed, index) = seen(&memories, &dir).await;
    assert_eq!(recalled, ["b-main", "a-draft on draft"]);
    assert_eq!(listed, ["a-draft on draft", "b-main"], "a list is in order of names");
    let lines: Vec<&str> = index.lines().collect();
    assert!(lines[0].contains("b-main.md"), "{index}");
    assert!(lines[1].contains("a-draft.md"), "{index}");
    assert!(lines[1].ends_with("(learned on the unmerged branch draft)"), "{index}");
    // A checkout of the branch itself contains it.
    run(&["switch", "--quiet", "draft"]);
    assert!(!seen(&memories, &dir).await.2.contains("not merged"));
    // After a merge, or a squashed merge whose branch is deleted, the topic counts as merged.
    run(&["switch", "--quiet", "main"]);
    run(&["branch", "--quiet", "copy", "draft"]);
    run(&["merge", "--quiet", "--no-ff", "-m", "three", "draft"]);
    assert_eq!(seen(&memories, &dir).await.1, ["a-draft", "b-main"]);
    run(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(seen(&memories, &dir).await.1, ["a-draft on draft", "b-main"]);
    run(&["branch", "--quiet", "-D", "draft"]);
    assert_eq!(seen(&memories, &dir).await.1, ["a-draft", "b-main"]);
    // With a damaged HEAD, all topics count as merged.
    std::fs::write(app.join(".git/HEAD"), "ref: refs/heads/").unwrap();
    assert_eq!(seen(&memories, &dir).await.1, ["a-draft", "b-main"]);
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_from_a_worktree_records_its_branch() {
    let home = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(home.path()).unwrap();
    let (app, tree) = (base.join("app"), base.join("app-fix"));
    std::fs::create_dir(&app).unwrap();
    git(&app, &["init", "--quiet", "--initial-branch=main"]);
    git(&app, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    git(&app, &["worktree", "add", "--quiet", "-b", "fix", "../app-fix"]);
    git(&tree, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    let memories = start(Settings::at(base.join("home")), None).await;
    let [app, tree] = [app, tree].map(|dir| dir.display().to_string());
    remember(&memories, &tree, "draft").await;
    assert_eq!(seen(&memories, &app).await.1, ["draft on fix"]);
    assert_eq!(seen(&memories, &tree).await.1, ["draft"]);
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_becomes_a_worktree_of_another_repository_changes_its_project() {
    let home = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(home.path()).unwrap();
    let [mill, sail, slot] = ["mill", "sail", "slot"].map(|name| base.join(name));
    for repository in [&mill, &sail] {
        std::fs::create_dir(repository).unwrap();
        git(repository, &["init", "--quiet"]);
        git(repository, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    }
    let memories = start(Settings::at(base.join("home")), None).await;
    let dir = slot.display().to_string();
    git(&mill, &["worktree", "add", "--quiet", "../slot"]);
    remember(&memories, &dir, "secret-of-the-mill").await;
    let old = session_in(&memories, &dir).await;
    git(&mill, &["worktree", "remove", "../slot"]);
    git(&sail, &["worktree", "add", "--quiet", "../slot"]);
    // Within a second, the project is looked for again.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while memories.project(&dir).await.unwrap().root != sail {
        assert!(std::time::Instant::now() < deadline, "it still has the memory of another project");
        tokio::task::yield_now().await;
    }
    assert_eq!(seen(&memories, &dir).await.1, [""; 0]);
    // What is said in the old session is about the old repository, whose worktree is gone.
    say(&memories, old, &[json!("From now on, use pnpm for installs."), json!("Good.")]).await;
    let learned = extract(&memories, old).await.memories;
    assert_eq!(learned.len(), 1, "{learned:?}");
    assert_eq!(seen(&memories, &dir).await.1, [""; 0]);
    assert_eq!(seen(&memories, &mill.display().to_string()).await.1.len(), 2);
    memories.cx.stop().await;
}
