//! A repository in a memory directory, whose commits are checked out over the files there.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::saves::name;

const COMMITS: usize = 3;

pub(crate) fn prepare(dir: &Path, files: usize) {
    git(dir, &["init", "-q"]);
    for commit in 0..COMMITS {
        for file in 0..files {
            let text = format!("commit {commit}, file {file}\n");
            fs::write(dir.join(name(file)), text).unwrap();
        }
        git(dir, &["add", "--", "*.md"]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        git(dir, &[&author[..], &["commit", "-q", "-m", "all"]].concat());
        git(dir, &["tag", &format!("commit-{commit}")]);
    }
}

pub(crate) fn check_out(dir: &Path, edit: usize) {
    git(dir, &["checkout", "-q", "-f", &format!("commit-{}", edit % COMMITS), "--", "."]);
}

fn git(dir: &Path, words: &[&str]) {
    let done = Command::new("git").args(words).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}
