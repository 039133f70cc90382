//! Tests that compactions and notes of the real daemon succeed with one of the strategies while its model fails.

use std::time::{Duration, Instant};

use bethink_harness::{Answer, Daemon, Home, Request, prompt, say};
use bethink_model_server::{Fault, Kind, Script, Server};
use serde_json::{Value, json};

use crate::table::Cell;

/// Time limit for one errand, with all its retries.
const DEADLINE: Duration = Duration::from_millis(4000);
/// Additional time for a busy machine.
const MARGIN: Duration = Duration::from_secs(8);
const IDLE_MS: &str = "1000";
const DRIP_MS: u64 = 100;
pub(crate) const KEY: &str = "sk-canary-0815";
const KEY_VARIABLE: &str = "MODEL_TEST_KEY";
/// Number of turns: enough for a compaction, and too few for automatic notes.
const TURNS: usize = 30;
const RESULT_BYTES: usize = 4000;
/// The edit tool of the session's client.
const TOOLS: &str = r#"[{"name":"Edit","description":"Edits a file.","input_schema":{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}}}}]"#;

/// Requests a full compaction.
pub(crate) fn compaction(fault: Fault) -> Cell {
    let world = World::new(Script { drip_ms: DRIP_MS, ..Script::always(fault) }, "summary");
    let start = Instant::now();
    let path = format!("/v1/sessions/{}/compact", world.session);
    let answer = world.post(&path, &json!({"level": "full"}));
    let took = start.elapsed();
    let mut wrong = world.wrong(took);
    let made = if answer.status == 200 { answer.json() } else { Value::Null };
    let level = made["level"].as_str().unwrap_or("none").to_owned();
    let expected = if summarises(fault) { "full" } else { "embedded" };
    if level != expected && !(fault == Fault::LargerThanInput && level == "full") {
        wrong.push(format!("level {level}, not {expected}: {} {}", answer.status, answer.brief()));
    }
    if level == "embedded" && made["attempts"].as_array().is_none_or(Vec::is_empty) {
        wrong.push("nobody is told why the model's summary was not taken".to_owned());
    }
    if made["tokens_after"].as_u64() >= made["tokens_before"].as_u64() {
        wrong.push(format!("not smaller: {} {}", made["tokens_before"], made["tokens_after"]));
    }
    if !made["summary"].as_str().is_some_and(is_plain) {
        wrong.push("control characters in the summary".to_owned());
    }
    if answer.text().contains(KEY) {
        wrong.push("the key stands in the compaction".to_owned());
    }
    world.cell("compaction", level, took, wrong)
}

/// Requests an update of the notes.
pub(crate) fn notes(fault: Fault) -> Cell {
    let world = World::new(Script { drip_ms: DRIP_MS, ..Script::always(fault) }, "notes");
    let start = Instant::now();
    let path = format!("/v1/sessions/{}/notes", world.session);
    let answer = world.post(&format!("{path}/update"), &json!({}));
    let took = start.elapsed();
    let mut wrong = world.wrong(took);
    let strategy = match answer.status {
        200 => answer.json()["strategy"].as_str().unwrap_or("none").to_owned(),
        _ => "none".to_owned(),
    };
    let expected = if edits(fault) { "model" } else { "embedded" };
    if strategy != expected {
        wrong.push(format!("strategy {strategy}, not {expected}: {}", answer.brief()));
    }
    let text = world.daemon.client().get(&path).text();
    if !text.contains("# Current State") || !is_plain(&text) || text.contains(KEY) {
        wrong.push(format!("the notes: {text:?}"));
    }
    if !text.contains(&format!("handler_{}", TURNS - 1)) {
        wrong.push("the notes know nothing of the newest work".to_owned());
    }
    world.cell("notes", strategy, took, wrong)
}

/// Whether the model's summary is used in spite of the fault.
fn summarises(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::LengthTooLong
            | Fault::TerminalEscapes
            | Fault::NegativeUsage
            | Fault::AbsurdUsage
            | Fault::MissingUsage
    ) || fault.kind() == Kind::Odd
}

/// Whether the model's edits are used in spite of the fault. Faults of summaries do not affect them.
fn edits(fault: Fault) -> bool {
    summarises(fault)
}

fn is_plain(text: &str) -> bool {
    let harmless = |c: char| c == '\n' || c == '\t' || !(c.is_control() || c == '\u{202e}');
    text.chars().all(harmless)
}

/// A daemon with a session and a model server.
struct World {
    server: Server,
    daemon: Daemon,
    session: String,
    stored: Vec<Value>,
}

impl World {
    fn new(script: Script, purpose: &str) -> Self {
        let server = Server::start(script).unwrap();
        let daemon = asking(&server.url(), purpose);
        let session = daemon.session(200_000);
        let turns = if purpose == "notes" { 2 * TURNS / 3..TURNS } else { 0..TURNS };
        let bytes = if purpose == "notes" { RESULT_BYTES / 10 } else { RESULT_BYTES };
        let mut messages: Vec<Value> = turns.flat_map(|n| say::work(n, bytes)).collect();
        messages.pop();
        let (last, before) = messages.split_last().unwrap();
        daemon.append(&session, before);
        daemon.append(&session, std::slice::from_ref(last));
        daemon.append(&session, &[say::assistant(&format!("Case {} is mended.", TURNS - 1))]);
        let tools: Value = serde_json::from_str(TOOLS).unwrap();
        let system = json!([{"part": "introduction", "text": "You help with code."}]);
        let path = format!("/v1/sessions/{session}/context");
        let answer = daemon.client().post(&path, &json!({"system": system, "tools": tools})).ok();
        assert_eq!(prompt::faults_of(&answer), [""; 0]);
        let stored = stored(&daemon, &session);
        Self { server, daemon, session, stored }
    }

    /// Returns the daemon's answer. If there is none, the status is 0 and the body is the reason.
    fn post(&self, path: &str, body: &Value) -> Answer {
        let sent = self.daemon.client().send(&Request::new("POST", path).json(body));
        sent.unwrap_or_else(|error| Answer {
            status: 0,
            headers: Vec::new(),
            body: error.to_string().into_bytes(),
        })
    }

    /// Returns the errors that must not occur with any fault.
    fn wrong(&self, took: Duration) -> Vec<String> {
        let counts = self.server.counts();
        let mut wrong = Vec::new();
        let mut never =
            |is: bool, what: &str| wrong.extend(is.then(|| format!("{what}: {counts:?}")));
        never(took > DEADLINE + MARGIN, "past its deadline");
        never(counts.invalid_prompts > 0, "invalid prompts");
        never(counts.invalid_envelopes > 0, "invalid envelopes");
        never(counts.repeated > 0, "a refused request was sent again unchanged");
        never(counts.elsewhere > 0, "a redirect was followed");
        never(counts.requests == 0, "no request");
        never(stored(&self.daemon, &self.session) != self.stored, "history changed");
        never(self.daemon.home.log().contains(KEY), "the key stands in the log");
        let answer = self
            .daemon
            .client()
            .post(&format!("/v1/sessions/{}/context", self.session), &json!({}));
        let faults = prompt::faults_of(&answer.ok());
        never(!faults.is_empty(), "the next prompt is invalid");
        wrong.extend(crate::call::growing(&self.server));
        wrong
    }

    fn cell(self, column: &'static str, came: String, took: Duration, wrong: Vec<String>) -> Cell {
        Cell { column, came, requests: self.server.counts().requests, took, wrong }
    }
}

/// Starts a daemon that uses the model only for `purpose`.
fn asking(url: &str, purpose: &str) -> Daemon {
    let by_model = |one: &str| if one == purpose { "model" } else { "embedded" };
    Home::new()
        .with("BETHINK_MODEL__PROVIDER", "anthropic")
        .with("BETHINK_MODEL__BASE_URL", url)
        .with("BETHINK_MODEL__API_KEY_ENV", KEY_VARIABLE)
        .with(KEY_VARIABLE, KEY)
        .with("BETHINK_MODEL__CONNECT_TIMEOUT_MS", IDLE_MS)
        .with("BETHINK_MODEL__IDLE_TIMEOUT_MS", IDLE_MS)
        .with("BETHINK_MODEL__DEADLINE_MS", &DEADLINE.as_millis().to_string())
        .with("BETHINK_MODEL__SUMMARY", by_model("summary"))
        .with("BETHINK_MODEL__NOTES", by_model("notes"))
        .start()
}

/// A compaction without a reachable model succeeds, and reports why the model was not used.
pub(crate) fn compacts_without(url: &str) {
    let daemon = asking(url, "summary");
    let session = daemon.session(200_000);
    let messages: Vec<Value> = (0..TURNS).flat_map(|n| say::work(n, RESULT_BYTES)).collect();
    daemon.append(&session, &messages);
    let start = Instant::now();
    let path = format!("/v1/sessions/{session}/compact");
    let made = daemon.client().post(&path, &json!({"level": "full"})).ok();
    assert!(start.elapsed() < DEADLINE + MARGIN, "{:?}", start.elapsed());
    assert_eq!(made["level"], "embedded");
    let told = made["attempts"].to_string();
    assert!(told.contains("unreachable") || told.contains("timed_out"), "{told}");
}

/// Returns the whole stored history.
fn stored(daemon: &Daemon, session: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(0, |m| m["seq"].as_u64().unwrap());
        let path = format!("/v1/sessions/{session}/messages?after_seq={after}");
        let page = daemon.client().get(&path).ok();
        match page["messages"].as_array() {
            Some(messages) if !messages.is_empty() => all.extend(messages.iter().cloned()),
            _ => return all,
        }
    }
}
