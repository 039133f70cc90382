//! A coding agent with a session of its own: it writes a transcript and runs a hook whenever something happens.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bethink_harness::daemon::binary;
use bethink_harness::{Client, Daemon, Home, until};
use serde_json::{Value, json};

/// Longest that anything is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a hook left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

/// The agent's side of one session.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) transcript: PathBuf,
    pub(crate) session: String,
}

impl Agent {
    /// Its transcript is not there yet, as before the first prompt.
    pub(crate) fn new(home: &Home, session: &str) -> Self {
        let project = home.scratch().join("project");
        std::fs::create_dir_all(&project).unwrap();
        let transcript = home.scratch().join(format!("{session}.jsonl"));
        Self { home: home.path().to_owned(), project, transcript, session: session.to_owned() }
    }

    /// Writes lines at the end of the transcript, as they are.
    pub(crate) fn write(&self, lines: impl AsRef<[u8]>) {
        let mut file: File =
            OpenOptions::new().create(true).append(true).open(&self.transcript).unwrap();
        file.write_all(lines.as_ref()).unwrap();
    }

    /// One message as the agent records it.
    pub(crate) fn say(&self, role: &str, id: &str, text: &str) {
        self.say_at("2026-01-02T03:04:05.678Z", role, id, text);
    }

    pub(crate) fn say_at(&self, time: &str, role: &str, id: &str, text: &str) {
        let line = json!({
            "type": role, "uuid": id, "sessionId": self.session, "cwd": self.project,
            "isSidechain": false, "timestamp": time,
            "message": { "role": role, "content": text },
        });
        self.write(format!("{line}\n"));
    }

    pub(crate) fn input(&self) -> Value {
        json!({ "session_id": self.session, "transcript_path": self.transcript, "cwd": self.project })
    }

    /// Runs the hook as its client does.
    pub(crate) fn hook(&self, event: &str) -> Ran {
        self.hook_with(&[event], &self.input().to_string())
    }

    pub(crate) fn hook_with(&self, words: &[&str], stdin: &str) -> Ran {
        self.run(words, stdin.as_bytes(), |_| {})
    }

    pub(crate) fn run(
        &self,
        words: &[&str],
        stdin: &[u8],
        change: impl FnOnce(&mut Command),
    ) -> Ran {
        self.run_command(&[&["hook"], words].concat(), stdin, change)
    }

    /// Runs another command, as a person does in the project.
    pub(crate) fn bethink(&self, words: &[&str]) -> Ran {
        self.run_command(words, b"", |_| {})
    }

    fn run_command(&self, words: &[&str], stdin: &[u8], change: impl FnOnce(&mut Command)) -> Ran {
        let mut command = Command::new(binary("bethink"));
        command
            .args(words)
            .env_clear()
            .env("HOME", self.project.parent().unwrap().join("person"))
            .env("BETHINK_HOME", &self.home)
            .env("BETHINK_DAEMON__LISTEN", "127.0.0.1:0")
            .env("BETHINK_CONFIG", self.home.join("none.toml"))
            .current_dir(&self.project)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        change(&mut command);
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        if let Some(mut pipe) = child.stdin.take() {
            // One that gave up reading is a case of its own.
            drop(pipe.write_all(stdin));
        }
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code(),
            took: begun.elapsed(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The client went on and was shown nothing.
    #[track_caller]
    pub(crate) fn is_silent(&self) {
        assert_eq!(
            (self.code, self.out.as_str(), self.err.as_str()),
            (Some(0), "", ""),
            "{self:?}"
        );
    }

    /// What the model was told.
    #[track_caller]
    pub(crate) fn context(&self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        let answer: Value = serde_json::from_str(&self.out).expect("JSON on stdout");
        let output = answer.get("hookSpecificOutput");
        let context = output.map(|output| output["additionalContext"].as_str().expect("context"));
        context.unwrap_or_default().to_owned()
    }
}

/// The sessions of the daemon, children included, newest first.
pub(crate) fn sessions(client: &mut Client) -> Vec<Value> {
    client.get("/v1/sessions").ok()["sessions"].as_array().unwrap().clone()
}

/// Ids of a session's messages, in order.
pub(crate) fn ids(client: &mut Client, session: &str) -> Vec<String> {
    let page = client.get(&format!("/v1/sessions/{session}/messages?limit=1000")).ok();
    let messages = page["messages"].as_array().unwrap();
    messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the only session without a parent, and the ids of its messages once it has this many.
#[track_caller]
pub(crate) fn followed(daemon: &Daemon, count: usize) -> (String, Vec<String>) {
    let mut client = daemon.client();
    let mut last = Vec::new();
    let found = until(PATIENCE, || {
        let all = sessions(&mut client);
        let own: Vec<_> = all.iter().filter(|session| session["parent"].is_null()).collect();
        let [own] = own.as_slice() else { return None };
        let id = own["id"].as_str().unwrap().to_owned();
        last = ids(&mut client, &id);
        (last.len() >= count).then(|| (id, last.clone()))
    });
    let (id, found) = found.unwrap_or_else(|| panic!("{count} messages were expected: {last:?}"));
    assert_eq!(found.len(), count, "{found:?}");
    (id, found)
}

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    std::fs::read(path).unwrap()
}

/// Files that wait in the spool.
pub(crate) fn waiting(home: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.join("spool/hooks")).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// What was slow to be taken is looked for again.
#[track_caller]
pub(crate) fn is_emptied(daemon: &Daemon) {
    let emptied = until(PATIENCE, || waiting(daemon.home.path()).is_empty().then_some(()));
    assert!(emptied.is_some(), "{:?}", waiting(daemon.home.path()));
}
