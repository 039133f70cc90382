//! A person and their agent, who run the real `bethink` for a home.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bethink_harness::Home;
use bethink_harness::daemon::binary;
use bethink_harness::until;
use bethink_harness::wait::PATIENCE;
use serde_json::{Value, json};

/// What the person says to their agent, and to nobody else.
pub(crate) const PROMPT: &str = "my secret question";

#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) home: PathBuf,
    desk: PathBuf,
    env: Vec<(String, String)>,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Person {
    pub(crate) fn of(home: &Home) -> Self {
        let desk = home.scratch().join("desk");
        std::fs::create_dir_all(&desk).unwrap();
        Self { home: home.path().to_owned(), desk, env: Vec::new() }
    }

    /// Sets a variable for the commands.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        self.run_with(words, "")
    }

    /// The hook that an agent runs when the person has said something.
    pub(crate) fn prompts(&self) -> Ran {
        let input = json!({ "session_id": "s", "prompt": PROMPT, "cwd": self.desk });
        self.run_with(&["hook", "UserPromptSubmit"], &input.to_string())
    }

    /// One request to `bethink mcp`, and its answer.
    pub(crate) fn calls(&self) -> Value {
        let arguments = json!({ "text": PROMPT });
        let params = json!({ "name": "remember", "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let ran = self.run_with(&["mcp"], &format!("{call}\n"));
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
    }

    fn run_with(&self, words: &[&str], stdin: &str) -> Ran {
        let mut child = Command::new(binary("bethink"))
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.desk)
            .env("BETHINK_HOME", &self.home)
            .env("BETHINK_DAEMON__LISTEN", "127.0.0.1:0")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.desk)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input closes it.
        drop(child.stdin.take().unwrap().write_all(stdin.as_bytes()));
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// Number of events that wait in the spool.
    pub(crate) fn waiting(&self) -> usize {
        std::fs::read_dir(self.home.join("spool/hooks")).into_iter().flatten().count()
    }

    /// Waits until no event waits in the spool. The daemon handles most events before it answers, and the rest soon after.
    #[track_caller]
    pub(crate) fn has_delivered(&self) {
        let emptied = until(PATIENCE, || (self.waiting() == 0).then_some(()));
        assert!(emptied.is_some(), "the events were delivered");
    }
}

impl Ran {
    /// The agent went on and was shown nothing.
    #[track_caller]
    pub(crate) fn is_silent(&self) {
        let shown = (self.code, self.out.as_str(), self.err.as_str());
        assert_eq!(shown, (Some(0), "", ""), "{self:?}");
    }
}

pub(crate) fn token(home: &Path) -> String {
    std::fs::read_to_string(home.join("token")).unwrap().trim().to_owned()
}
