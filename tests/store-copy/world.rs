//! A server, the command line, and what a client sees of a daemon's history.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bethink_harness::daemon::binary;
use bethink_harness::http::Request;
use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Daemon, Home, say};
use bethink_postgres_server::TestServer;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Recorded sessions, which are imported.
const FIXTURES: [&str; 4] = ["plain", "crlf", "damaged", "sidechain"];

/// A server, and the runtime that talks to it.
pub(crate) struct CopyServer {
    pub(crate) server: TestServer,
    runtime: Runtime,
}

impl CopyServer {
    /// The server of all tests.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<CopyServer> = OnceLock::new();
        SHARED.get_or_init(|| {
            let runtime = Runtime::new().unwrap();
            Self { server: runtime.block_on(TestServer::start()), runtime }
        })
    }

    /// Creates an empty database, and returns its URL.
    pub(crate) fn database(&self) -> String {
        let database = self.runtime.block_on(self.server.bare_database());
        self.server.url("bethink", &database)
    }

    /// Runs one of PostgreSQL's programs.
    #[track_caller]
    pub(crate) fn program(&self, name: &str, arguments: &[&str]) {
        let mut command = Command::new(self.server.program(name));
        command.args(arguments);
        let ended = run(command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    pub(crate) fn admin(&self, statement: &str) {
        self.runtime.block_on(self.server.admin(statement));
    }
}

#[derive(Debug)]
pub(crate) struct EndedProgram {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Returns `bethink store` with these arguments, for a person without settings.
pub(crate) fn store(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary("bethink"));
    command.arg("store").args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home.join("nobody")).env("BETHINK_HOME", home).stdin(Stdio::null());
    command
}

pub(crate) fn run(mut command: Command) -> EndedProgram {
    let output = command.output().unwrap();
    EndedProgram {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Copies, and returns what was printed as JSON.
#[track_caller]
pub(crate) fn copied(home: &Path, from: &str, to: &str) -> Value {
    let ended = run(store(home, &["copy", from, to, "--json"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

#[track_caller]
pub(crate) fn refused(home: &Path, from: &str, to: &str) -> String {
    let ended = run(store(home, &["copy", from, to]));
    assert!(ended.code.is_some_and(|code| code == 1 || code == 2), "{ended:?}");
    assert_eq!(ended.out, "", "{ended:?}");
    ended.err
}

/// A home with sessions of all kinds, whose daemon has stopped.
pub(crate) fn lived_in() -> (Daemon, ReadHistory) {
    let mut daemon = Home::new().start();
    let worked = daemon.session(60_000);
    for n in 0..30 {
        daemon.append(&worked, &say::work(n, 3000));
    }
    let mut client = daemon.client();
    client.post(&format!("/v1/sessions/{worked}/notes/update"), &json!({})).ok();
    client.post(&format!("/v1/sessions/{worked}/compact"), &json!({})).ok();
    daemon.append(&worked, &[say::user("Go on.")]);
    let odd = daemon.session(200_000);
    daemon.append(&odd, &[say::user("a zero \0, a mark \u{1a} and \u{1a}0, and 😀 ü")]);
    for name in FIXTURES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        let path = path.join(format!("{name}.jsonl"));
        let job = client.post("/v1/import", &json!({ "path": path })).ok();
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
        let ended = || {
            let job = client.get(&path).ok();
            matches!(job["state"].as_str(), Some("done" | "failed")).then_some(job)
        };
        let job = until(PATIENCE, ended).expect("the job ends");
        assert_eq!(job["state"], "done", "{job}");
    }
    let project = daemon.home.scratch();
    let memory =
        json!({ "project_dir": project, "text": "Never deploy on Fridays.", "type": "feedback" });
    client.post("/v1/memories", &memory).ok();
    // Otherwise, the daemon would do it in the background, at any time.
    client.post(&format!("/v1/sessions/{worked}/notes/update"), &json!({})).ok();
    // A prompt makes decisions, which are stored.
    ReadHistory::of(&daemon);
    let history = ReadHistory::of(&daemon);
    assert!(history.sessions.len() >= 6, "{:?}", history.sessions.keys());
    assert!(daemon.terminate().success());
    (daemon, history)
}

/// All that clients can read: the same bytes mean the same history.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReadHistory {
    sessions: BTreeMap<String, SessionBytes>,
    memories: String,
}

#[derive(PartialEq, Eq)]
struct SessionBytes {
    title: Value,
    messages: String,
    prompt: String,
    export: Vec<u8>,
    notes: String,
    compactions: String,
}

impl std::fmt::Debug for SessionBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { title, messages, prompt, export, notes, compactions } = self;
        let lengths = [messages.len(), prompt.len(), export.len(), notes.len(), compactions.len()];
        write!(f, "{title} {lengths:?}")
    }
}

impl ReadHistory {
    #[track_caller]
    pub(crate) fn of(daemon: &Daemon) -> Self {
        let mut client = daemon.client();
        let page = client.get("/v1/sessions?limit=100").ok();
        let mut sessions = BTreeMap::new();
        for session in page["sessions"].as_array().unwrap() {
            let id = session["id"].as_str().unwrap();
            let mut get = |rest: &str| {
                let answer = client.get(&format!("/v1/sessions/{id}/{rest}"));
                assert_eq!(answer.status, 200, "{rest}: {}", answer.brief());
                answer
            };
            let messages = get("messages?after_seq=0&limit=500").text();
            let export = get("export").body;
            let notes = get("notes").text();
            let compactions = get("compactions").text();
            let prompt = client.must(
                &Request::new("POST", &format!("/v1/sessions/{id}/context")).json(&json!({})),
            );
            assert_eq!(prompt.status, 200, "{}", prompt.brief());
            let parts: BTreeMap<String, Box<RawValue>> =
                serde_json::from_slice(&prompt.body).unwrap();
            let prompt =
                ["system", "messages"].map(|part| parts.get(part).map(|it| it.get().to_owned()));
            let prompt = format!("{prompt:?}");
            assert!(prompt.len() > 50, "{prompt}");
            let title = session["title"].clone();
            let bytes = SessionBytes { title, messages, prompt, export, notes, compactions };
            sessions.insert(id.to_owned(), bytes);
        }
        let project = daemon.home.scratch().display();
        let memories = client.get(&format!("/v1/memories?project_dir={project}"));
        Self { sessions, memories: memories.text() }
    }

    /// Names the first difference, because all the bytes would be too long to read.
    #[track_caller]
    pub(crate) fn check(&self, other: &Self) {
        let (here, there) = (self.sessions.keys(), other.sessions.keys());
        assert!(here.clone().eq(there.clone()), "{here:?} {there:?}");
        for (id, one) in &self.sessions {
            let two = &other.sessions[id];
            for (what, one, two) in [
                ("messages", &one.messages, &two.messages),
                ("prompt", &one.prompt, &two.prompt),
                ("notes", &one.notes, &two.notes),
                ("compactions", &one.compactions, &two.compactions),
            ] {
                let at = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
                let from = at.saturating_sub(100);
                let near = |text: &str| {
                    String::from_utf8_lossy(&text.as_bytes()[from..text.len().min(at + 100)])
                        .into_owned()
                };
                assert!(one == two, "{what} of {id} at {at}:\n{}\n{}", near(one), near(two));
            }
            assert!(one == two, "{id}: {one:?} {two:?}");
        }
    }
}

/// Starts a daemon on the home of another one, with its history in this database.
pub(crate) fn start_on(url: &str, daemon: &Daemon) -> Daemon {
    Home::at(daemon.home.path()).with("BETHINK_STORE__URL", url).start()
}
