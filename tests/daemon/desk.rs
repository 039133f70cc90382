//! Limits of model calls: budgets, the circuit breaker, and sessions that change or end during a call.

use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use bethink_harness::kill_loop::stored;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Answer, Daemon, Home, Request, prompt, say, until};
use bethink_model_server::{Fault, Script, Server};
use serde_json::{Value, json};

const TURNS: usize = 30;
/// How long a stop waits for open requests by default.
const DRAIN: Duration = Duration::from_secs(5);

/// A daemon with a model, and a session that is long enough for a summary.
pub(crate) struct Desk {
    pub(crate) server: Server,
    pub(crate) daemon: Daemon,
    pub(crate) session: String,
}

impl Desk {
    fn new(script: Script) -> Self {
        Self::with(script, &[])
    }

    pub(crate) fn with(script: Script, settings: &[(&str, &str)]) -> Self {
        let server = Server::start(script).unwrap();
        let mut home = Home::new()
            .with("BETHINK_MODEL__PROVIDER", "anthropic")
            .with("BETHINK_MODEL__BASE_URL", &server.url())
            .with("BETHINK_SESSION_MEMORY__ENABLED", "false");
        for (name, value) in settings {
            home = home.with(name, value);
        }
        let daemon = home.start();
        let session = daemon.session(200_000);
        let desk = Self { server, daemon, session };
        desk.work(0..TURNS);
        desk
    }

    /// Appends turns in one request, which ends with an answer, so that an update of the notes may be due.
    pub(crate) fn work(&self, turns: std::ops::Range<usize>) {
        let messages: Vec<Value> = turns.flat_map(|n| say::work(n, 3000)).collect();
        self.daemon.append(&self.session, &messages);
    }

    pub(crate) fn path(&self, what: &str) -> String {
        format!("/v1/sessions/{}/{what}", self.session)
    }

    pub(crate) fn prompt(&self) -> Value {
        let answer = self.daemon.client().post(&self.path("context"), &json!({})).ok();
        assert_eq!(prompt::faults_of(&answer), [""; 0]);
        answer
    }

    pub(crate) fn compact(&self) -> Value {
        self.daemon.client().post(&self.path("compact"), &json!({"level": "full"})).ok()
    }

    /// Requests a summary in a separate thread; returns when the model was called.
    fn compacting<'s>(&'s self, scope: &'s Scope<'s, '_>) -> ScopedJoinHandle<'s, Option<Answer>> {
        let (mut client, path) = (self.daemon.client(), self.path("compact"));
        let before = self.server.counts().requests;
        let asked = scope.spawn(move || {
            client.send(&Request::new("POST", &path).json(&json!({"level": "full"}))).ok()
        });
        self.until_asked(before + 1);
        asked
    }

    fn until_asked(&self, requests: u64) {
        let asked = || (self.server.counts().requests >= requests).then_some(());
        until(PATIENCE, asked).expect("the model is asked");
    }

    fn listed(&self) -> Vec<Value> {
        let listed = self.daemon.client().get(&self.path("compactions")).ok();
        listed["compactions"].as_array().unwrap().clone()
    }

    fn model(&self) -> Value {
        self.daemon.client().get("/v1/model").ok()
    }

    fn attempts(made: &Value) -> String {
        made["attempts"].to_string()
    }
}

/// Checks that every turn is stored once.
#[track_caller]
fn is_whole(desk: &Desk, messages: usize) {
    let stored = stored(&mut desk.daemon.client(), &desk.session);
    let seqs: Vec<u64> = stored.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, (1..=messages as u64).collect::<Vec<_>>());
}

#[test]
fn a_days_budget_ends_the_calls_and_nothing_else() {
    // One summary fits into the budget, and a second one does not.
    let desk = Desk::with(Script::good(), &[("BETHINK_MODEL__DAILY_TOKENS", "60000")]);
    assert_eq!(desk.compact()["level"], "full", "nothing was spent yet");
    let calls = desk.server.counts().requests;
    desk.work(TURNS..2 * TURNS);
    let made = desk.compact();
    assert_eq!(made["level"], "embedded", "{made}");
    assert!(Desk::attempts(&made).contains("model.daily_tokens"), "{made}");
    assert_eq!(desk.server.counts().requests, calls, "nobody is asked");
    // A restart does not reset the budget.
    let Desk { server, mut daemon, session } = desk;
    daemon.terminate();
    daemon.start();
    let desk = Desk { server, daemon, session };
    desk.work(2 * TURNS..3 * TURNS);
    let told = Desk::attempts(&desk.compact());
    assert!(told.contains("60000 tokens") && told.contains("midnight UTC"), "{told}");
    assert_eq!(desk.server.counts().requests, calls);
}

#[test]
fn nobody_is_asked_while_the_breaker_is_open() {
    let desk = Desk::new(Script::always(Fault::WrongKey));
    let made = desk.compact();
    assert_eq!((&made["level"], desk.server.counts().requests), (&json!("embedded"), 1), "{made}");
    assert!(Desk::attempts(&made).contains("auth"), "{made}");
    assert_eq!(desk.model()["state"], "resting", "{}", desk.model());
    for round in 1..4 {
        desk.work(TURNS * round..TURNS * (round + 1));
        let made = desk.compact();
        assert_eq!(made["level"], "embedded", "{made}");
        assert!(Desk::attempts(&made).contains("paused for"), "{made}");
        desk.daemon.client().post(&desk.path("notes/update"), &json!({})).ok();
        desk.prompt();
    }
    assert_eq!(desk.server.counts().requests, 1);
    let health = desk.daemon.client().get("/health").ok();
    assert!(health["notices"].to_string().contains("paused for"), "{health}");
}

#[test]
fn a_kill_while_a_summary_is_written_leaves_the_session_as_it_was() {
    let mut desk = Desk::new(Script::good());
    let before = desk.prompt();
    desk.server.hold();
    let (mut client, path) = (desk.daemon.client(), desk.path("compact"));
    let asked = std::thread::spawn(move || {
        client.send(&Request::new("POST", &path).json(&json!({"level": "full"}))).is_ok()
    });
    desk.until_asked(1);
    desk.daemon.kill9();
    assert!(!asked.join().unwrap(), "nobody promised it");
    desk.server.release();
    desk.daemon.start();
    assert_eq!(desk.listed(), Vec::<Value>::new());
    assert_eq!(desk.prompt()["messages"], before["messages"]);
    is_whole(&desk, 4 * TURNS);
    assert_eq!(desk.compact()["level"], "full");
}

/// Whether the kill comes before, during or after the commit: the old or the new state is there, complete.
#[test]
fn a_kill_at_any_moment_leaves_it_before_or_after() {
    const KILLS: u32 = 8;
    /// Few turns between two compactions, so that the window never fills up by itself.
    const MORE: usize = 10;
    const STEP: Duration = Duration::from_millis(15);
    let mut desk = Desk::new(Script::good());
    let mut made = 0;
    for kill in 0..KILLS {
        let (before, answered) = (desk.prompt(), desk.server.counts().answered_well);
        let (mut client, path) = (desk.daemon.client(), desk.path("compact"));
        let asked = std::thread::spawn(move || {
            client.send(&Request::new("POST", &path).json(&json!({"level": "full"}))).ok()
        });
        let written = || (desk.server.counts().answered_well > answered).then_some(());
        until(PATIENCE, written).expect("the model answers");
        let start = Instant::now();
        while start.elapsed() < STEP * kill && !asked.is_finished() {
            std::hint::spin_loop();
        }
        desk.daemon.kill9();
        let promised = asked.join().unwrap().is_some_and(|answer| answer.status == 200);
        desk.daemon.start();
        let listed = desk.listed().len();
        assert!(listed == made || listed == made + 1, "{listed} of {made}");
        assert!(listed > made || !promised, "a compaction that was answered is kept");
        let after = desk.prompt();
        let same = after["messages"] == before["messages"];
        assert_eq!(same, listed == made, "{kill} {listed} {made} {promised} {}", after["report"]);
        made = listed;
        let from = TURNS + MORE * kill as usize;
        desk.work(from..from + MORE);
    }
    is_whole(&desk, 4 * (TURNS + MORE * KILLS as usize));
}

const WITH_NOTES: [(&str, &str); 1] = [("BETHINK_SESSION_MEMORY__ENABLED", "true")];

fn notes(desk: &Desk) -> Value {
    let answer = desk.daemon.client().get(&desk.path("notes"));
    assert_eq!(answer.status, 200, "{}", answer.brief());
    json!(answer.text())
}

/// Waits until the notes are up to date with the last turn.
fn noted(desk: &Desk) {
    let newest = format!("handler_{}", TURNS - 1);
    let told = || notes(desk).as_str().is_some_and(|text| text.contains(&newest)).then_some(());
    until(PATIENCE, told).expect("notes are written");
}

#[test]
fn notes_that_a_kill_broke_off_are_written_by_the_next_start() {
    let server_is_held = |desk: &Desk| desk.server.counts().by_purpose.get("notes").copied();
    let mut desk = Desk::with(Script::good(), &WITH_NOTES);
    // The first update comes at once; the next ones are delayed.
    noted(&desk);
    let bare = notes(&desk);
    desk.server.hold();
    let calls = server_is_held(&desk).unwrap_or(0);
    desk.work(TURNS..2 * TURNS);
    desk.prompt();
    let asked = || (server_is_held(&desk).unwrap_or(0) > calls).then_some(());
    until(PATIENCE, asked).expect("the model is asked for notes");
    desk.daemon.kill9();
    desk.daemon.start();
    assert_eq!(notes(&desk), bare, "as they were");
    desk.server.release();
    let newest = format!("handler_{}", 2 * TURNS - 1);
    let told = || notes(&desk).as_str().unwrap().contains(&newest).then_some(());
    until(PATIENCE, told).expect("the next start writes them");
    is_whole(&desk, 8 * TURNS);
}

#[test]
fn a_stop_does_not_wait_for_a_model() {
    let mut desk = Desk::with(Script::good(), &WITH_NOTES);
    noted(&desk);
    desk.server.hold();
    let (mut client, path) = (desk.daemon.client(), desk.path("compact"));
    let calls = desk.server.counts().requests;
    let asked = std::thread::spawn(move || {
        client.send(&Request::new("POST", &path).json(&json!({"level": "full"}))).ok()
    });
    desk.until_asked(calls + 1);
    let start = Instant::now();
    let status = desk.daemon.terminate();
    assert!(status.success() && start.elapsed() < DRAIN, "{status:?} {:?}", start.elapsed());
    let made = asked.join().unwrap().expect("whoever waits gets an answer").ok();
    assert_eq!(made["level"], "embedded", "{made}");
    assert!(Desk::attempts(&made).contains("stopping"), "{made}");
    desk.server.release();
    desk.daemon.start();
    assert_eq!(desk.listed()[0]["id"], made["id"], "what was answered is kept");
    desk.prompt();
    is_whole(&desk, 4 * TURNS);
}

#[test]
fn what_is_said_while_a_summary_is_written_stands_after_it() {
    let desk = Desk::new(Script::good());
    desk.server.hold();
    let made = std::thread::scope(|scope| {
        let asked = desk.compacting(scope);
        for n in 0..5 {
            desk.daemon.append(
                &desk.session,
                &[
                    say::user(&format!("Bell {n} rang")),
                    say::assistant(&format!("I heard bell {n}")),
                ],
            );
            let text = prompt::readable(&desk.prompt());
            assert!(text.contains(&format!("I heard bell {n}")), "a prompt does not wait");
        }
        desk.server.release();
        asked.join().unwrap().unwrap().ok()
    });
    assert_eq!(made["level"], "full", "{made}");
    assert!(made["covers"]["last_seq"].as_u64() <= Some(4 * TURNS as u64), "{made}");
    let after = desk.prompt();
    let text = prompt::readable(&after);
    for n in 0..5 {
        assert!(text.contains(&format!("Bell {n} rang")) && text.contains(&format!("bell {n}")));
    }
    assert_eq!(after["report"]["last_compaction"]["id"], made["id"]);
    assert_eq!(desk.server.counts().requests, 1);
    is_whole(&desk, 4 * TURNS + 10);
}

#[test]
fn an_undo_while_a_summary_is_written_leaves_both_records_true() {
    let desk = Desk::new(Script::good());
    let body = json!({"level": "embedded"});
    let first = desk.daemon.client().post(&desk.path("compact"), &body).ok();
    desk.work(TURNS..2 * TURNS);
    desk.server.hold();
    let answer = std::thread::scope(|scope| {
        let asked = desk.compacting(scope);
        let undo = desk.path(&format!("compactions/{}/undo", first["id"].as_str().unwrap()));
        desk.daemon.client().post(&undo, &json!({})).ok();
        let text = prompt::readable(&desk.prompt());
        assert!(text.contains("fn step_0("), "the old prompt is back at once");
        desk.server.release();
        asked.join().unwrap().unwrap()
    });
    let made = answer.ok();
    let listed = desk.listed();
    assert!(listed[0]["undone_at"].is_string() && listed[1]["undone_at"].is_null(), "{listed:?}");
    // It covers the messages of the undone compaction, which are visible again.
    assert_eq!(made["covers"]["first_seq"], 1, "{made}");
    assert!(prompt::readable(&desk.prompt()).contains(&format!("fn step_{}(", 2 * TURNS - 1)));
    let undo = desk.path(&format!("compactions/{}/undo", made["id"].as_str().unwrap()));
    desk.daemon.client().post(&undo, &json!({})).ok();
    assert!(prompt::readable(&desk.prompt()).contains("fn step_0("), "and back once more");
    is_whole(&desk, 8 * TURNS);
}

#[test]
fn two_compactions_at_once_are_made_one_after_the_other() {
    let desk = Desk::new(Script::good());
    desk.server.hold();
    let answers = std::thread::scope(|scope| {
        let first = desk.compacting(scope);
        let (mut client, path) = (desk.daemon.client(), desk.path("compact"));
        let second = scope.spawn(move || client.post(&path, &json!({"level": "full"})));
        desk.prompt();
        assert_eq!(desk.server.counts().requests, 1, "one at a time");
        desk.server.release();
        [first.join().unwrap().unwrap(), second.join().unwrap()]
    });
    assert_eq!(answers[0].ok()["level"], "full");
    // The second may find too little left; then it must give the reason.
    if answers[1].status == 200 {
        assert_eq!(desk.listed().len(), 2);
    } else {
        answers[1].problem();
        assert_eq!(desk.listed().len(), 1);
    }
    assert!(desk.server.counts().requests <= 2, "{:?}", desk.server.counts());
    let asked: Vec<u64> = desk.server.requests().iter().map(|request| request.tokens).collect();
    assert!(asked.windows(2).all(|pair| pair[1] < pair[0]), "over what the first left: {asked:?}");
    assert_eq!(desk.server.counts().invalid_prompts, 0);
    desk.prompt();
    is_whole(&desk, 4 * TURNS);
}

#[test]
fn a_session_that_is_deleted_while_a_summary_is_written_stays_deleted() {
    let desk = Desk::new(Script::good());
    desk.server.hold();
    let answer = std::thread::scope(|scope| {
        let asked = desk.compacting(scope);
        let gone = desk.daemon.client().delete(&format!("/v1/sessions/{}", desk.session));
        assert!(gone.status < 300, "{}", gone.brief());
        desk.server.release();
        asked.join().unwrap().unwrap()
    });
    assert_eq!(answer.problem()["status"], 404, "{}", answer.brief());
    for what in ["messages", "compactions", "notes"] {
        assert_eq!(desk.daemon.client().get(&desk.path(what)).status, 404, "{what}");
    }
    // The cost of the calls stays recorded.
    let usage = desk.daemon.client().get("/v1/usage").ok();
    assert_eq!(usage["totals"]["calls"], 1, "{usage}");
    desk.daemon.is_well();
}
