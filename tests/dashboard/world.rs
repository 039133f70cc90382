//! A daemon with something to look at.

use std::fs;

use bethink_harness::{Client, Daemon, Home, Request, say};
use serde_json::{Value, json};

/// Small enough that a few turns of work fill it.
const WINDOW: u64 = 60_000;

pub(crate) struct World {
    pub(crate) daemon: Daemon,
    pub(crate) http: Client,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(Home::new())
    }

    pub(crate) fn of(home: Home) -> Self {
        let daemon = home.start();
        let http = daemon.client();
        let world = Self { daemon, http };
        fs::create_dir_all(world.project()).unwrap();
        world
    }

    pub(crate) fn project(&self) -> String {
        self.daemon.home.scratch().join("garden").display().to_string()
    }

    /// Writes a file beside the home.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.daemon.home.scratch().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn session(&mut self, title: &str) -> String {
        let body = json!({
            "project_dir": self.project(), "title": title,
            "model": {"name": "claude-sonnet-4-5", "context_window": WINDOW, "max_output_tokens": 8000}});
        self.http.post("/v1/sessions", &body).ok()["id"].as_str().unwrap().to_owned()
    }

    /// Turns of work, each with a prompt.
    pub(crate) fn work(&mut self, session: &str, turns: std::ops::Range<usize>) {
        for n in turns {
            self.daemon.append(session, &say::work(n, 2_000));
            let frame = json!({"system": [{"part": "introduction", "text": "You mend things. ".repeat(200)}]});
            self.http.post(&format!("/v1/sessions/{session}/context"), &frame).ok();
        }
    }

    /// What a user says, each with a short answer. Then the session is read for memories and candidates.
    pub(crate) fn say(&mut self, session: &str, words: &[&str]) {
        for said in words {
            let turn = json!({"messages": [
                {"role": "user", "content": said}, {"role": "assistant", "content": "I see."}]});
            self.http.post(&format!("/v1/sessions/{session}/messages"), &turn).ok();
        }
        self.http.post(&format!("/v1/sessions/{session}/extract"), &json!({})).ok();
    }

    pub(crate) fn compact(&mut self, session: &str) -> String {
        let done = self.http.post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
        done["id"].as_str().unwrap().to_owned()
    }

    /// Returns the path of the memory's file.
    pub(crate) fn remember(&mut self, scope: &str, name: &str, text: &str) -> String {
        let path = format!("/v1/memories/{scope}/{name}?project_dir={}", self.project());
        let put = Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
        self.http.must(&put).ok()["path"].as_str().unwrap().to_owned()
    }

    pub(crate) fn propose(&mut self, name: &str, text: &str) -> String {
        let source = json!({"session": "s-1", "messages": ["3"], "strategy": "model", "time": "2026-11-22T08:00:00Z"});
        let body =
            json!({"project_dir": self.project(), "name": name, "text": text, "source": source});
        let made = self.http.post("/v1/proposals", &body).ok();
        made["proposal"]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn put_todos(&mut self, session: &str, todos: &Value) {
        let body = json!({"todos": todos});
        self.http.put(&format!("/v1/sessions/{session}/todos"), &body).ok();
    }
}

/// A topic as people write them.
pub(crate) fn topic(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ntype: project\n---\n{body}\n")
}
