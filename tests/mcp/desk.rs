//! A daemon, a project, and somebody who speaks MCP to it.

use std::path::PathBuf;

use bethink_harness::http::{Answer, Request};
use bethink_harness::{Daemon, Home};
use serde_json::{Value, json};

/// The newest version that begins with a handshake.
pub(crate) const VERSION: &str = "2025-11-25";

pub(crate) struct Desk {
    pub(crate) daemon: Daemon,
    pub(crate) project: PathBuf,
}

/// What came of a tool.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) text: String,
    pub(crate) value: Value,
    pub(crate) is_error: bool,
}

impl Called {
    /// Of a tool that did what it was called for.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert!(!self.is_error, "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn bad(self) -> String {
        assert!(self.is_error, "{}", self.text);
        self.text
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let project = home.scratch().join("app");
        std::fs::create_dir_all(&project).unwrap();
        Self { daemon: home.start(), project }
    }

    pub(crate) fn project(&self) -> &str {
        self.project.to_str().unwrap()
    }

    /// A message as a client of this project sends it.
    pub(crate) fn request(&self, message: &Value) -> Request {
        Request::new("POST", "/mcp")
            .json(message)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", VERSION)
            .header("X-Bethink-Project", self.project())
    }

    pub(crate) fn send(&self, message: &Value) -> Answer {
        self.daemon.client().must(&self.request(message))
    }

    /// The whole answer to a request.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.send(&message).json();
        assert_eq!(answer["id"], 1, "{answer}");
        answer
    }

    /// Its result; an error ends the test.
    #[track_caller]
    pub(crate) fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Called {
        let result = self.result("tools/call", &json!({ "name": tool, "arguments": arguments }));
        Called {
            text: result["content"][0]["text"].as_str().unwrap().to_owned(),
            value: result["structuredContent"].clone(),
            is_error: result["isError"] == true,
        }
    }

    /// A command of the memory tool.
    #[track_caller]
    pub(crate) fn memory(&self, input: &Value) -> Called {
        self.call("memory", input)
    }

    /// A topic as a person writes it.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = format!("/v1/memories/private/{name}?project_dir={}", self.project());
        let request = Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
        self.daemon.client().must(&request).ok();
    }

    pub(crate) fn topic(&self, scope: &str, name: &str) -> Answer {
        let path = format!("/v1/memories/{scope}/{name}?project_dir={}", self.project());
        self.daemon.client().get(&path)
    }

    /// A session of the project.
    pub(crate) fn session(&self) -> String {
        let body = json!({ "project_dir": self.project(), "title": "the tide job" });
        let made = self.daemon.client().post("/v1/sessions", &body).ok();
        made["id"].as_str().unwrap().to_owned()
    }
}
