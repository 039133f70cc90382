//! Clients that make every kind of write, remember what the daemon acknowledged, and look for it later.
//!
//! Used where a daemon is killed, loses power, or has a failing disk. Each writer has its own session and project, so it alone
//! knows what must be there.
//!
//! A write without an answer may or may not have happened: both are right. Everything else must be exactly as it was
//! acknowledged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::http::{Answer, Client, Request};
use crate::marks::{Mark, Register, mark_in};
use crate::rng::Rng;
use crate::say;
use crate::wait::{PATIENCE, until};

/// One write in this many is not an append.
const OTHER_THAN_APPENDS: usize = 3;
/// Number of topics of a writer.
const TOPICS: usize = 3;
/// Number of messages of a recorded session that is imported.
const IMPORTED: usize = 5;

/// What happened to one request.
#[derive(Debug)]
pub enum Sent {
    Acknowledged(Answer),
    /// An answer that says no.
    Refused(Answer),
    /// The connection ended first.
    Unanswered,
}

/// The time of answers. Where a disk loses power, it counts the disk's writes; elsewhere it stands still.
pub type WriteClock = Arc<AtomicU64>;

/// A time after all answers.
pub const EVERYTHING: u64 = u64::MAX;

/// What a writer knows about its messages.
#[derive(Clone, Debug, Default)]
struct KnownMessages {
    made: usize,
    /// A batch that was sent without an answer. It is sent again with the same ids.
    pending: Option<Vec<String>>,
    acknowledged: Vec<(u64, Vec<String>)>,
}

/// Something that was created, and must stay until it is deleted.
#[derive(Clone, Debug)]
struct KnownThing {
    path: String,
    /// What the answer must contain.
    what: String,
    created: u64,
    delete_sent: Option<u64>,
    deleted: Option<u64>,
}

impl KnownThing {
    fn new(path: String, what: String, created: u64) -> Self {
        Self { path, what, created, delete_sent: None, deleted: None }
    }

    fn is_due(&self, at: u64) -> bool {
        self.created <= at && self.delete_sent.is_none_or(|sent| sent > at)
    }

    fn is_gone(&self, at: u64) -> bool {
        self.deleted.is_some_and(|deleted| deleted <= at)
    }
}

#[derive(Clone, Debug)]
pub struct Writer {
    name: String,
    session: String,
    project: PathBuf,
    rng: Rng,
    clock: WriteClock,
    count: usize,
    registers: Vec<(Register, Mark)>,
    messages: KnownMessages,
    things: Vec<KnownThing>,
    /// Jobs of imports that were accepted.
    imports: Vec<(u64, String)>,
    /// How many writes were acknowledged.
    pub acknowledged: u64,
    /// Answers that say no.
    pub refused: Vec<Answer>,
}

/// What a check of a writer's knowledge found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    pub checks: u64,
    pub wrong: Vec<String>,
}

impl Audit {
    pub fn add(&mut self, other: Self) {
        self.checks += other.checks;
        self.wrong.extend(other.wrong);
    }

    fn check(&mut self, right: bool, wrong: impl FnOnce() -> String) {
        self.checks += 1;
        if !right {
            self.wrong.push(wrong());
        }
    }
}

impl Writer {
    /// Creates the writer's session. `dir` is where its project is.
    #[track_caller]
    pub fn new(name: &str, dir: &Path, client: &mut Client, seed: u64, clock: &WriteClock) -> Self {
        let project = dir.join(name);
        std::fs::create_dir_all(&project).expect("a project");
        let body = json!({
            "project_dir": project,
            "model": {"name": "claude-sonnet-4-5", "context_window": 200_000, "max_output_tokens": 8000}});
        let session = client.post("/v1/sessions", &body).ok();
        let session = session["id"].as_str().expect("id").to_owned();
        let topics = (0..TOPICS).map(Register::Topic);
        let all = [Register::Todos, Register::Plan, Register::Notes, Register::Title];
        Self {
            name: name.to_owned(),
            session,
            project,
            rng: Rng::new(seed),
            clock: Arc::clone(clock),
            count: 0,
            registers: all.into_iter().chain(topics).map(|r| (r, Mark::default())).collect(),
            messages: KnownMessages::default(),
            things: Vec::new(),
            imports: Vec::new(),
            acknowledged: 0,
            refused: Vec::new(),
        }
    }

    /// Makes one write; `false` if it was not answered.
    pub fn step(&mut self, client: &mut Client) -> bool {
        let sent = match self.rng.below(OTHER_THAN_APPENDS * 8) {
            0..=3 => self.set_register(client),
            4 => self.fork(client),
            5 => self.delete_fork(client),
            6 => self.compact(client),
            7 => self.import(client),
            _ => self.append(client),
        };
        match sent {
            Sent::Acknowledged(_) => self.acknowledged += 1,
            Sent::Refused(answer) => self.refused.push(answer),
            Sent::Unanswered => return false,
        }
        true
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Looks for everything that was acknowledged until `at`.
    pub fn audit(&mut self, client: &mut Client, at: u64) -> Audit {
        let mut audit = self.audit_values(client, at);
        self.audit_messages(client, at, &mut audit);
        self.audit_things(client, at, &mut audit);
        audit
    }

    /// Looks only for the values that a later write replaces, and with them a loss. What was unsure is settled by what is
    /// found.
    pub fn audit_values(&mut self, client: &mut Client, at: u64) -> Audit {
        let mut audit = Audit::default();
        for (register, mark) in &mut self.registers {
            let found = client.send(&register.read(&self.session, &self.project));
            let found = found.map_err(|error| error.to_string()).and_then(|a| mark_in(&a));
            audit.check(found.as_ref().is_ok_and(|found| mark.allows(found, at)), || {
                format!("{}: {register:?} is {found:?}, expected {mark:?}", self.name)
            });
            if let Ok(found) = found {
                mark.settle(found, at);
            }
        }
        audit
    }

    fn append(&mut self, client: &mut Client) -> Sent {
        let batch = self.messages.pending.take().unwrap_or_else(|| self.batch());
        let messages: Vec<Value> =
            batch.iter().map(|id| say::with_id(id, say::user(&text_of(id)))).collect();
        let path = format!("/v1/sessions/{}/messages", self.session);
        let sent = send(client, &Request::new("POST", &path).json(&json!({"messages": messages})));
        match sent {
            Sent::Acknowledged(_) => self.messages.acknowledged.push((self.now(), batch)),
            _ => self.messages.pending = Some(batch),
        }
        sent
    }

    /// Mostly one message, sometimes three that belong together.
    fn batch(&mut self) -> Vec<String> {
        let count = if self.rng.one_in(4) { 3 } else { 1 };
        (0..count)
            .map(|_| {
                self.messages.made += 1;
                format!("{}-{}", self.name, self.messages.made)
            })
            .collect()
    }

    fn set_register(&mut self, client: &mut Client) -> Sent {
        let place = self.rng.below(self.registers.len());
        self.count += 1;
        let (register, mark) = &mut self.registers[place];
        let removed = register.is_removable() && mark.is_set() && self.rng.one_in(4);
        let value = (!removed).then(|| format!("mark-{}-{}-", self.name, self.count));
        mark.sent(value.clone());
        let request = register.write(&self.session, &self.project, value.as_deref());
        let sent = send(client, &request);
        match &sent {
            Sent::Acknowledged(_) => mark.acknowledged(self.clock.load(Ordering::SeqCst)),
            // A failure on the way may come after the write.
            Sent::Refused(answer) if answer.status < 500 => mark.refused(),
            Sent::Refused(_) | Sent::Unanswered => {}
        }
        sent
    }

    fn fork(&mut self, client: &mut Client) -> Sent {
        self.count += 1;
        let title = format!("fork-{}-{}-", self.name, self.count);
        let path = format!("/v1/sessions/{}/fork", self.session);
        let sent = send(client, &Request::new("POST", &path).json(&json!({"title": title})));
        if let Sent::Acknowledged(answer) = &sent
            && let Some(id) = answer.json()["id"].as_str()
        {
            let path = format!("/v1/sessions/{id}");
            self.things.push(KnownThing::new(path, title, self.now()));
        }
        sent
    }

    fn delete_fork(&mut self, client: &mut Client) -> Sent {
        let is_fork = |t: &KnownThing| t.what.starts_with("fork-") && t.delete_sent.is_none();
        let Some(place) = self.things.iter().position(is_fork) else { return self.append(client) };
        let now = self.now();
        let path = self.things[place].path.clone();
        self.things[place].delete_sent = Some(now);
        let sent = send(client, &Request::new("DELETE", &path));
        if matches!(sent, Sent::Acknowledged(_)) {
            self.things[place].deleted = Some(self.now());
        }
        sent
    }

    fn compact(&mut self, client: &mut Client) -> Sent {
        let path = format!("/v1/sessions/{}/compact", self.session);
        let sent = send(client, &Request::new("POST", &path).json(&json!({})));
        let list = format!("/v1/sessions/{}/compactions", self.session);
        if let Sent::Acknowledged(answer) = &sent
            && let Some(id) = answer.json()["id"].as_str()
        {
            self.things.push(KnownThing::new(list, id.to_owned(), self.now()));
        }
        match sent {
            // A session that is too short is not compacted, which is not a failure.
            Sent::Refused(answer) if matches!(answer.status, 409 | 422) => {
                Sent::Acknowledged(answer)
            }
            other => other,
        }
    }

    fn import(&mut self, client: &mut Client) -> Sent {
        self.count += 1;
        let lines = recorded(&self.name, self.count, &self.project);
        let request = Request::new("POST", "/v1/import");
        let sent = send(client, &request.bytes("application/x-ndjson", lines.as_bytes()));
        if let Sent::Acknowledged(answer) = &sent
            && let Some(id) = answer.json()["id"].as_str()
        {
            self.imports.push((self.now(), id.to_owned()));
        }
        sent
    }

    fn audit_messages(&self, client: &mut Client, at: u64, audit: &mut Audit) {
        let stored = match crate::kill_loop::stored_messages(client, &self.session) {
            Ok(stored) => stored,
            Err(why) => return audit.check(false, || format!("{}: messages: {why}", self.name)),
        };
        let in_order = stored.iter().zip(1..).all(|(message, seq)| message["seq"] == seq);
        audit.check(in_order, || format!("{}: the seqs have gaps", self.name));
        let ids = stored.iter().filter_map(|message| message["id"].as_str());
        let ids: BTreeSet<&str> = ids.collect();
        audit.check(ids.len() == stored.len(), || format!("{}: a message twice", self.name));
        for message in &stored {
            let id = message["id"].as_str().unwrap_or_default();
            let is_as_sent = message["message"]["content"] == text_of(id);
            audit.check(is_as_sent, || format!("{}: altered: {message}", self.name));
        }
        let batches = self.messages.acknowledged.iter().map(|(when, batch)| (*when <= at, batch));
        let pending = self.messages.pending.iter().map(|batch| (false, batch));
        for (is_due, batch) in batches.chain(pending) {
            let there = batch.iter().filter(|id| ids.contains(id.as_str())).count();
            let is_right = there == batch.len() || (there == 0 && !is_due);
            audit.check(is_right, || format!("{there} messages are there of {batch:?}"));
        }
    }

    fn audit_things(&mut self, client: &mut Client, at: u64, audit: &mut Audit) {
        for thing in self.things.iter().filter(|thing| thing.is_due(at) || thing.is_gone(at)) {
            let KnownThing { path, what, .. } = thing;
            let found = client.send(&Request::new("GET", path));
            let is_right = found.as_ref().is_ok_and(|answer| match thing.is_gone(at) {
                true => answer.status == 404,
                false => answer.status == 200 && answer.text().contains(what.as_str()),
            });
            audit.check(is_right, || format!("{thing:?}: {:?}", found.map(|a| a.brief())));
        }
        for (_, job) in self.imports.iter().filter(|(accepted, _)| *accepted <= at) {
            let ended = imported(client, job);
            audit.check(ended.is_ok(), || format!("import {job}: {ended:?}"));
        }
    }
}

/// Sends a request.
pub fn send(client: &mut Client, request: &Request) -> Sent {
    match client.send(request) {
        Ok(answer) if (200..300).contains(&answer.status) => Sent::Acknowledged(answer),
        Ok(answer) => Sent::Refused(answer),
        Err(_) => Sent::Unanswered,
    }
}

/// Waits for the job, and counts the messages of its session.
fn imported(client: &mut Client, job: &str) -> Result<(), String> {
    let path = Request::new("GET", &format!("/v1/jobs/{job}"));
    let ended = until(PATIENCE, || {
        let job = client.send(&path).ok()?;
        (job.status != 200 || matches!(job.json()["state"].as_str(), Some("done" | "failed")))
            .then_some(job)
    });
    let job = ended.ok_or("no end")?;
    let session = job.json()["result"][0]["session_id"].as_str().map(str::to_owned);
    let session = session.ok_or_else(|| job.brief())?;
    let stored = crate::kill_loop::stored_messages(client, &session)?;
    match stored.len() {
        IMPORTED => Ok(()),
        other => Err(format!("{other} messages of {IMPORTED}")),
    }
}

/// The text of a message.
fn text_of(id: &str) -> String {
    format!("note {id}")
}

/// A session as Claude Code records it.
fn recorded(writer: &str, number: usize, project: &Path) -> String {
    let id = |n: usize| {
        let seed = format!("{writer} {number} {n}");
        let hex = blake3::hash(seed.as_bytes()).to_hex();
        format!(
            "{}-{}-4{}-8{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..15],
            &hex[15..18],
            &hex[18..30]
        )
    };
    let session = id(usize::MAX);
    (0..IMPORTED)
        .map(|n| {
            let line = json!({
                "type": "user", "uuid": id(n), "parentUuid": (n > 0).then(|| id(n - 1)),
                "sessionId": session, "cwd": project, "version": "2.0.0",
                "timestamp": "2026-01-05T10:00:00.000Z",
                "message": {"role": "user", "content": format!("line {n} of {writer} {number}")}});
            format!("{line}\n")
        })
        .collect()
}
