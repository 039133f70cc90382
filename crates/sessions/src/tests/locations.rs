//! Tests which sessions are listed with a project.

use std::fs;
use std::path::Path;
use std::process::Command;

use bethink_api as api;
use bethink_config::Settings;
use bethink_service::ErrorKind;
use bethink_store::NewSession;
use bethink_transcript::{SessionId, UnixMicros};
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

use super::home::SessionsHome;

/// A repository `mill`, its worktree `mill-fix`, another repository in it, and another one beside it.
struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        let disk = Self(tempfile::tempdir().unwrap());
        for dir in ["mill/src", "mill/vendored", "sail"] {
            fs::create_dir_all(disk.0.path().join(dir)).unwrap();
        }
        for dir in ["mill", "mill/vendored", "sail"] {
            disk.git(dir, &["init", "-q"]);
            disk.git(dir, &["commit", "-q", "--allow-empty", "-m", "begin"]);
        }
        disk.git("mill", &["worktree", "add", "-q", "../mill-fix"]);
        disk
    }

    fn git(&self, dir: &str, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=ada", "-c", "user.email=ada@h"]).args(words);
        let output = git.current_dir(self.0.path().join(dir)).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    fn dir(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

async fn begin(home: &SessionsHome, dir: &str) {
    let request = serde_json::from_value(json!({ "project_dir": dir })).unwrap();
    home.sessions.create_session(request, None).await.unwrap();
}

/// Returns the directories of the listed sessions, sorted.
async fn listed(home: &SessionsHome, dir: String, exact_dir: bool) -> Vec<String> {
    let query = api::SessionQuery { project_dir: Some(dir), exact_dir, ..Default::default() };
    let page = home.sessions.sessions(query).await.unwrap();
    let mut dirs: Vec<_> = page.sessions.into_iter().map(|one| one.project_dir).collect();
    dirs.sort();
    dirs
}

async fn check(home: &SessionsHome, disk: &Disk, asked: &[&str], expect: &[&str]) {
    let mut expect: Vec<String> = expect.iter().map(|name| disk.dir(name)).collect();
    expect.sort();
    for name in asked {
        assert_eq!(listed(home, disk.dir(name), false).await, expect, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worktrees_and_subdirectories_stay_in_their_project_after_they_are_gone() {
    let (at, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let home = SessionsHome::open_with(Settings::at(at.path()), None).await;
    std::os::unix::fs::symlink(disk.dir("mill"), disk.dir("link")).unwrap();
    let inside = ["mill", "mill/src", "mill-fix", "mill/gone", "link", "link/gone"];
    let outside = ["mill/vendored", "sail", "elsewhere"];
    for name in inside.iter().chain(&outside) {
        begin(&home, &disk.dir(name)).await;
    }
    check(&home, &disk, &inside, &inside).await;
    for name in outside {
        check(&home, &disk, &[name], &[name]).await;
    }
    assert_eq!(listed(&home, disk.dir("mill"), true).await, [disk.dir("mill")]);

    disk.git("mill", &["worktree", "remove", "../mill-fix"]);
    check(&home, &disk, &inside, &inside).await;
    // What is imported now belongs to the project, too.
    begin(&home, &disk.dir("mill-fix")).await;
    let inside = [&inside[..], &["mill-fix"]].concat();
    check(&home, &disk, &inside, &inside).await;
    // Another repository has its worktree there now.
    disk.git("sail", &["worktree", "add", "-q", "../mill-fix"]);
    check(&home, &disk, &["sail", "mill-fix"], &["sail"]).await;
    assert_eq!(listed(&home, disk.dir("mill-fix"), true).await, [""; 0]);
    let near = home.sessions.nearest_sessions(&disk.dir("mill-fix"), 1).await.unwrap();
    assert!(near.is_empty(), "{near:?}");
    begin(&home, &disk.dir("mill-fix")).await;
    check(&home, &disk, &["sail", "mill-fix"], &["sail", "mill-fix"]).await;
    check(&home, &disk, &["mill"], &inside).await;

    // The nearest session is one of the same working tree.
    let nearest = async |name: &str| {
        let found = home.sessions.nearest_sessions(&disk.dir(name), 1).await.unwrap();
        found.first().map(|one| one.project_dir.clone())
    };
    assert_eq!(nearest("mill/src/deep").await, Some(disk.dir("mill/src")));
    assert_eq!(nearest("link/src").await, Some(disk.dir("mill/src")));
    fs::create_dir(disk.0.path().join("elsewhere")).unwrap();
    assert_eq!(nearest("elsewhere/deep").await, Some(disk.dir("elsewhere")));
    disk.git("elsewhere", &["init", "-q", "deep"]);
    assert_eq!(nearest("elsewhere/deep").await, None);
    // A directory keeps its sessions when it becomes a part of a repository.
    disk.git(".", &["init", "-q"]);
    check(&home, &disk, &["elsewhere"], &["elsewhere"]).await;
    assert_eq!(nearest("elsewhere").await, Some(disk.dir("elsewhere")));

    let query = api::SessionQuery { project_dir: Some("mill".to_owned()), ..Default::default() };
    let refused = home.sessions.sessions(query).await.unwrap_err();
    assert_eq!((refused.kind, refused.field.as_deref()), (ErrorKind::Invalid, Some("project_dir")));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_projects_of_sessions_of_earlier_versions_are_found() {
    let (at, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let home = SessionsHome::open_with(Settings::at(at.path()), None).await;
    for dir in [disk.dir("mill"), disk.dir("mill-fix"), disk.dir("gone"), "relative".to_owned()] {
        let (id, model) = (SessionId(Uuid::now_v7()), "{}".to_owned());
        let new = NewSession::new(id, dir, model, UnixMicros(1));
        home.cx.store().create_session(new, None).await.unwrap();
    }
    // Until then, they belong to the project of their directory.
    check(&home, &disk, &["mill"], &["mill"]).await;
    home.sessions.backfill_projects().await.unwrap();
    check(&home, &disk, &["mill", "mill-fix"], &["mill", "mill-fix"]).await;
    let unknown = home.cx.store().directories_without_project().await.unwrap();
    assert!(unknown.iter().any(|dir| Path::new(dir).ends_with("gone")), "{unknown:?}");
    assert_eq!(unknown.len(), 2, "{unknown:?}");
    home.close().await;
}
