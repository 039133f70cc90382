//! People, what they share, and git as they type it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bethink_harness::{Answer, Client, Daemon, Home, Request};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What lies between people: one bare repository.
pub(crate) struct Between {
    dir: TempDir,
}

impl Between {
    pub(crate) fn new() -> Self {
        let between = Self { dir: TempDir::with_prefix("bethink-between-").unwrap() };
        git(between.dir.path(), &["init", "--quiet", "--bare", "-b", "main", "shared.git"]);
        between
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("shared.git")
    }

    pub(crate) fn url(&self) -> String {
        self.path().display().to_string()
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Somebody who uses git alone.
    pub(crate) fn clone_by_hand(&self, name: &str) -> PathBuf {
        git(self.dir.path(), &["clone", "--quiet", &self.url(), name]);
        self.beside(name)
    }

    /// Every version of every file that was ever pushed.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let objects = git(&self.path(), &["rev-list", "--objects", "--all"]);
        objects.lines().any(|line| {
            let oid = line.split(' ').next().unwrap();
            git(&self.path(), &["cat-file", "-p", oid]).contains(text)
        })
    }
}

/// Git as a person types it. What it prints.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Hand",
            "-c",
            "user.email=hand@example.org",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) struct Person {
    pub(crate) daemon: Daemon,
    pub(crate) http: Client,
    pub(crate) project: PathBuf,
}

impl Person {
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, Home::new())
    }

    pub(crate) fn with(name: &str, home: Home) -> Self {
        let person = home.scratch().join("person");
        fs::create_dir_all(&person).unwrap();
        let config = format!("[user]\n\tname = {name}\n\temail = {name}@example.org\n");
        fs::write(person.join(".gitconfig"), config).unwrap();
        let daemon = home.start();
        let project = daemon.home.scratch().join("app");
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let http = daemon.client();
        Self { daemon, http, project }
    }

    pub(crate) fn dir(&self) -> String {
        self.project.display().to_string()
    }

    /// A person who shares the repository already.
    pub(crate) fn sharing(name: &str, between: &Between) -> Self {
        let mut person = Self::new(name);
        person.init(&between.url());
        person
    }

    pub(crate) fn init(&mut self, remote: &str) -> Value {
        let body = json!({ "project_dir": self.dir(), "remote": remote });
        self.http.post("/v1/team/init", &body).ok()
    }

    pub(crate) fn status(&mut self, ask: bool) -> Value {
        let dir = self.dir();
        self.http.get(&format!("/v1/team?project_dir={dir}&ask={ask}")).ok()
    }

    pub(crate) fn try_sync(&mut self) -> Answer {
        self.http.post("/v1/team/sync", &json!({ "project_dir": self.dir() }))
    }

    pub(crate) fn sync(&mut self) -> Value {
        self.try_sync().ok()
    }

    pub(crate) fn team(&mut self) -> PathBuf {
        self.status(false)["dir"].as_str().unwrap().into()
    }

    pub(crate) fn try_write(&mut self, name: &str, text: &str) -> Answer {
        let path = format!("/v1/memories/team/{name}?project_dir={}", self.dir());
        let request = Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
        self.http.send(&request).unwrap()
    }

    pub(crate) fn write(&mut self, name: &str, text: &str) {
        self.try_write(name, text).ok();
    }

    pub(crate) fn remove(&mut self, name: &str) {
        let path = format!("/v1/memories/team/{name}?project_dir={}", self.dir());
        self.http.delete(&path).ok();
    }

    /// As it stands in its file.
    pub(crate) fn reads(&mut self, file: &str) -> Option<String> {
        fs::read_to_string(self.team().join(file)).ok()
    }

    /// Every file and what it holds.
    pub(crate) fn files(&mut self) -> Vec<(String, String)> {
        let dir = self.team();
        let mut out: Vec<(String, String)> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name().to_string_lossy().ends_with(".md"))
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        out.sort();
        out
    }
}

/// A topic as people write them.
pub(crate) fn topic(name: &str, about: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {about}\ntype: project\n---\n\n{body}\n")
}

/// A key of the right form that opens nothing.
pub(crate) fn key() -> String {
    format!("ghp_{}", "q8Zt2LmXp0VrKt5Wb3NcJ7yHd4Fs6GaEu1Bo")
}

pub(crate) fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
