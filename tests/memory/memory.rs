//! What the suites of memory share: a project directory, and its memory through the API.

use std::path::{Path, PathBuf};

use bethink_harness::http::{Answer, Request};
use bethink_harness::{Daemon, Home};
use serde_json::{Value, json};

/// A daemon and a project of its own.
pub(crate) struct Desk {
    pub(crate) daemon: Daemon,
    pub(crate) project: PathBuf,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with(Home::new())
    }

    pub(crate) fn with(home: Home) -> Self {
        let project = home.scratch().join("app");
        std::fs::create_dir_all(&project).unwrap();
        Self { daemon: home.start(), project }
    }

    pub(crate) fn project(&self) -> &str {
        self.project.to_str().unwrap()
    }

    /// `/v1/memories…?project_dir=…`
    pub(crate) fn path(&self, rest: &str) -> String {
        let join = if rest.contains('?') { '&' } else { '?' };
        format!("/v1/memories{rest}{join}project_dir={}", self.project())
    }

    /// Where the memory lies.
    pub(crate) fn dir(&self) -> PathBuf {
        let index = self.daemon.client().get(&self.path("/index")).ok();
        Path::new(index["dir"].as_str().unwrap()).to_path_buf()
    }

    /// Puts files there before the daemon ever looked.
    pub(crate) fn lay(&self, files: &[(&str, &str)]) {
        let dir = self.dir();
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    pub(crate) fn put(&self, name: &str, text: &str, headers: &[(&str, &str)]) -> Answer {
        let path = self.path(&format!("/private/{name}"));
        let request = Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        self.daemon.client().send(&request).unwrap()
    }

    pub(crate) fn get(&self, name: &str) -> Answer {
        self.daemon.client().get(&self.path(&format!("/private/{name}")))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let page = self.daemon.client().get(&self.path("")).ok();
        let memories = page["memories"].as_array().unwrap();
        memories.iter().map(|memory| memory["name"].as_str().unwrap().to_owned()).collect()
    }

    /// A session of the project.
    pub(crate) fn session(&self) -> String {
        let body = json!({
            "project_dir": self.project(),
            "model": { "name": "test-model", "context_window": 200_000, "max_output_tokens": 8_000 },
        });
        let made = self.daemon.client().post("/v1/sessions", &body).ok();
        made["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn say(&self, session: &str, role: &str, text: &str) {
        self.daemon.append(session, &[json!({ "role": role, "content": text })]);
    }

    pub(crate) fn context(&self, session: &str, body: &Value) -> Value {
        self.daemon.client().post(&format!("/v1/sessions/{session}/context"), body).ok()
    }
}
