//! Compactions: created, listed, expanded, undone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bethink_harness::{Daemon, prompt, say};
use serde_json::{Value, json};

struct Compacted {
    daemon: Daemon,
    session: String,
    before: Value,
    made: Value,
}

impl Compacted {
    /// A session of 100 turns, compacted manually: more than twice what a compaction keeps.
    fn new(body: &Value) -> Self {
        let daemon = Daemon::fresh();
        let session = daemon.session(200_000);
        for n in 0..100 {
            daemon.append(&session, &say::work(n, 3000));
        }
        daemon.append(&session, &[say::user("Go on with case 100.")]);
        let before = context(&daemon, &session);
        let path = format!("/v1/sessions/{session}/compact");
        let made = daemon.client().post(&path, body).ok();
        Self { daemon, session, before, made }
    }

    fn path(&self, what: &str) -> String {
        let id = self.made["id"].as_str().unwrap();
        format!("/v1/sessions/{}/compactions/{id}/{what}", self.session)
    }
}

fn context(daemon: &Daemon, session: &str) -> Value {
    let answer = daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    answer
}

#[test]
fn a_compaction_makes_the_prompt_smaller_and_tells_what_it_covers() {
    let c = Compacted::new(&json!({}));
    let after = context(&c.daemon, &c.session);
    assert!(prompt::tokens(&after) < prompt::tokens(&c.before) * 7 / 10);
    let made = &c.made;
    assert_eq!((&made["trigger"], &made["level"]), (&json!("manual"), &json!("embedded")));
    assert_eq!(made["covers"]["first_seq"], 1);
    let kept = made["kept_from_seq"].as_u64().unwrap();
    assert_eq!(made["covers"]["last_seq"].as_u64(), Some(kept - 1));
    assert!(kept > 1 && kept <= 401, "{kept}");
    assert!(made["tokens_after"].as_u64() < made["tokens_before"].as_u64());
    assert!((0.0..=1.0).contains(&made["fidelity"].as_f64().unwrap()), "{made}");
    let summary = made["summary"].as_str().unwrap();
    for section in [
        "Primary Request",
        "Files and Code",
        "Errors and Fixes",
        "All User Messages",
        "Pending Tasks",
        "Current Work",
    ] {
        assert!(summary.contains(section), "{section} in {summary}");
    }
    assert!(summary.contains("Please look at src/module_3/handler_3.rs and mend case 3."));
    let text = prompt::readable(&after);
    assert!(text.contains("Go on with case 100.") && text.contains("handler_99"));
    assert_eq!(after["report"]["last_compaction"]["id"], made["id"]);
    let listed = c.daemon.client().get(&format!("/v1/sessions/{}/compactions", c.session)).ok();
    assert_eq!(listed["compactions"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["compactions"][0]["id"], made["id"]);
}

/// The next prompt of an old session clears results; a manual compaction starts from that prompt.
#[test]
fn what_is_compacted_is_what_the_report_shows() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    for n in 0..60 {
        let mut messages = say::work(n, 3000);
        messages.iter_mut().for_each(|m| m["created_at"] = json!("2026-01-01T00:00:00Z"));
        daemon.append(&session, &messages);
    }
    let path = format!("/v1/sessions/{session}");
    let report = daemon.client().get(&format!("{path}/context/report")).ok();
    assert_eq!(report["stages"][0]["stage"], "microcompact", "{report}");
    let compact = |body| daemon.client().post(&format!("{path}/compact"), &body).ok();
    let tried = compact(json!({"dry_run": true}));
    assert_eq!(tried["tokens_before"], report["tokens"], "a trial, too");
    let made = compact(json!({}));
    assert_eq!(made["tokens_before"], report["tokens"]);
    let after = daemon.client().get(&format!("{path}/context/report")).ok();
    assert!(after["tokens"].as_u64() < report["tokens"].as_u64(), "{after}");
}

#[test]
fn nothing_of_history_is_lost_by_it() {
    let c = Compacted::new(&json!({}));
    let mut client = c.daemon.client();
    assert_eq!(bethink_harness::kill_loop::stored(&mut client, &c.session).len(), 401);
    let hits = client.get(&format!("/v1/sessions/{}/search?q=handler_2", c.session)).ok();
    assert!(
        hits["hits"].as_array().unwrap().iter().any(|h| h["seq"].as_u64() < Some(13)),
        "{hits}"
    );
}

#[test]
fn expand_leads_to_the_messages_behind_the_summary() {
    let c = Compacted::new(&json!({}));
    let mut client = c.daemon.client();
    let mut seqs = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("{}?limit=30{cursor}", c.path("expand"))).ok();
        let messages = page["messages"].as_array().unwrap();
        seqs.extend(messages.iter().map(|m| m["seq"].as_u64().unwrap()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let last = c.made["covers"]["last_seq"].as_u64().unwrap();
    assert_eq!(seqs, (1..=last).collect::<Vec<u64>>());
    // The search for a line of the summary finds its messages first: turn 17 is messages 69 to 72.
    let some = client.get(&format!("{}?q=handler_17", c.path("expand"))).ok();
    let first = some["messages"].as_array().unwrap().iter().take(3);
    let first: Vec<u64> = first.map(|m| m["seq"].as_u64().unwrap()).collect();
    assert!(first.len() == 3 && first.iter().all(|seq| (69..=72).contains(seq)), "{first:?}");
}

#[test]
fn undo_gives_the_old_prompt_back_for_good() {
    let mut c = Compacted::new(&json!({}));
    let undone = c.daemon.client().post(&c.path("undo"), &json!({})).ok();
    assert!(undone["undone_at"].is_string(), "{undone}");
    assert_eq!(context(&c.daemon, &c.session)["messages"], c.before["messages"]);
    let again = c.daemon.client().post(&c.path("undo"), &json!({})).ok();
    assert_eq!(again["undone_at"], undone["undone_at"]);
    c.daemon.kill9();
    c.daemon.start();
    assert_eq!(context(&c.daemon, &c.session)["messages"], c.before["messages"]);
    let listed = c.daemon.client().get(&format!("/v1/sessions/{}/compactions", c.session)).ok();
    assert!(listed["compactions"][0]["undone_at"].is_string(), "undone ones stay listed");
}

#[test]
fn an_undone_compaction_is_made_again_with_the_same_summary() {
    let mut c = Compacted::new(&json!({}));
    let after = context(&c.daemon, &c.session);
    assert_eq!(c.daemon.client().post(&c.path("redo"), &json!({})).status, 409);
    c.daemon.client().post(&c.path("undo"), &json!({})).ok();
    let again = c.daemon.client().post(&c.path("redo"), &json!({})).ok();
    assert_eq!(again["summary"], c.made["summary"]);
    assert_ne!(again["id"], c.made["id"]);
    assert!(again["undone_at"].is_null(), "{again}");
    let first = |answer: &Value| prompt::blocks(&answer["messages"][0])[0].clone();
    assert_eq!(first(&context(&c.daemon, &c.session)), first(&after));
    c.daemon.kill9();
    c.daemon.start();
    assert_eq!(first(&context(&c.daemon, &c.session)), first(&after));
    // Only the newest one can be made again.
    assert_eq!(c.daemon.client().post(&c.path("redo"), &json!({})).status, 409);
}

#[test]
fn a_dry_run_measures_a_compaction_and_changes_nothing() {
    let c = Compacted::new(&json!({}));
    c.daemon.client().post(&c.path("undo"), &json!({})).ok();
    let path = format!("/v1/sessions/{}/compact", c.session);
    let tried = |tokens: u64| {
        let body = json!({"dry_run": true, "level": "embedded", "summary_tokens": tokens});
        c.daemon.client().post(&path, &body).ok()
    };
    let (small, large) = (tried(400), tried(4_000));
    assert!(small["summary_tokens"].as_u64() < large["summary_tokens"].as_u64());
    assert!(small["tokens_after"].as_u64() < small["tokens_before"].as_u64());
    assert_eq!(context(&c.daemon, &c.session)["messages"], c.before["messages"]);
    let listed = c.daemon.client().get(&format!("/v1/sessions/{}/compactions", c.session)).ok();
    assert_eq!(listed["compactions"].as_array().unwrap().len(), 1, "none was stored");
}

#[test]
fn a_compaction_survives_a_kill_byte_for_byte() {
    let mut c = Compacted::new(&json!({}));
    let after = context(&c.daemon, &c.session);
    c.daemon.kill9();
    c.daemon.start();
    assert_eq!(context(&c.daemon, &c.session)["messages"], after["messages"]);
}

#[test]
fn the_next_prompts_keep_the_summary_where_it_is() {
    let c = Compacted::new(&json!({}));
    let mut before = context(&c.daemon, &c.session);
    for n in 101..110 {
        c.daemon.append(&c.session, &say::work(n, 1000)[1..]);
        c.daemon.append(&c.session, &say::work(n, 1000)[..1]);
        let now = context(&c.daemon, &c.session);
        let head = |answer: &Value| {
            let first = &prompt::blocks(&answer["messages"][0])[0];
            first["text"].as_str().unwrap().to_owned()
        };
        assert_eq!(head(&before), head(&now));
        assert_eq!(now["report"]["first_changed"], Value::Null);
        before = now;
    }
}

#[test]
fn compacting_again_covers_what_came_since() {
    let c = Compacted::new(&json!({}));
    for n in 101..140 {
        c.daemon.append(&c.session, &say::work(n, 3000));
    }
    c.daemon.append(&c.session, &[say::user("And now case 140.")]);
    let path = format!("/v1/sessions/{}/compact", c.session);
    let second = c.daemon.client().post(&path, &json!({})).ok();
    assert!(second["kept_from_seq"].as_u64() > c.made["kept_from_seq"].as_u64());
    context(&c.daemon, &c.session);
    // After undoing the newest one, the one before it is in force.
    let undo =
        format!("/v1/sessions/{}/compactions/{}/undo", c.session, second["id"].as_str().unwrap());
    c.daemon.client().post(&undo, &json!({})).ok();
    assert_eq!(context(&c.daemon, &c.session)["report"]["last_compaction"]["id"], c.made["id"]);
}

#[test]
fn the_summary_keeps_to_its_budget_and_its_focus() {
    let c = Compacted::new(
        &json!({"summary_tokens": 1500, "instructions": "Look at handler_7 above all"}),
    );
    let summary = c.made["summary"].as_str().unwrap();
    assert!(summary.len() <= 1500 * 4, "{} bytes", summary.len());
    assert!(summary.contains("handler_7"), "{summary}");
}

#[test]
fn what_can_not_be_compacted_is_refused_and_nothing_changes() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let path = format!("/v1/sessions/{session}/compact");
    daemon.client().post(&path, &json!({})).problem();
    daemon.append(&session, &[say::user("hello")]);
    daemon.client().post(&path, &json!({})).problem();
    let before = context(&daemon, &session);
    let unknown = daemon.client().post(&path, &json!({"level": "magic"})).problem();
    assert_eq!(unknown["field"], "level", "{unknown}");
    assert_eq!(context(&daemon, &session)["messages"], before["messages"]);
    let listed = daemon.client().get(&format!("/v1/sessions/{session}/compactions")).ok();
    assert_eq!(listed["compactions"], json!([]));
}

/// When the request was sent, and when it was answered.
type Took = (Instant, Instant);

fn timed<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let begin = Instant::now();
    let done = work();
    (done, (begin, Instant::now()))
}

#[test]
fn appends_during_a_compaction_neither_wait_nor_get_lost() {
    let daemon = Daemon::fresh();
    let session = daemon.session(60_000);
    for n in 0..60 {
        daemon.append(&session, &say::work(n, 3000));
    }
    let is_over = AtomicBool::new(false);
    let mut compactions: Vec<Took> = Vec::new();
    let appends: Vec<Took> = std::thread::scope(|scope| {
        let (daemon, session, is_over) = (&daemon, &session, &is_over);
        let appending = scope.spawn(move || {
            let rounds = (60..).take_while(|_| !is_over.load(Ordering::Relaxed));
            let append = |n| timed(|| daemon.append(session, &say::work(n, 300))).1;
            rounds.map(append).collect()
        });
        let path = format!("/v1/sessions/{session}/compact");
        // Refused until there are enough new messages to compact again.
        for _ in 0..200 {
            let (answer, took) = timed(|| daemon.client().post(&path, &json!({})));
            assert!(answer.status == 200 || answer.status == 409, "{}", answer.brief());
            compactions.extend((answer.status == 200).then_some(took));
            if compactions.len() == 3 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        appending.join().unwrap()
    });
    assert_eq!(compactions.len(), 3, "of 200 tries");
    let during = |append: &&Took| compactions.iter().any(|c| c.0 <= append.0 && append.1 <= c.1);
    assert!(appends.iter().filter(during).count() >= 3, "begun and answered while one was made");
    let last = 59 + appends.len();
    daemon.append(&session, &[say::user("the end")]);
    let text = prompt::readable(&context(&daemon, &session));
    assert!(text.contains(&format!("handler_{last}")) && text.contains("the end"));
    let stored = bethink_harness::kill_loop::stored(&mut daemon.client(), &session).len();
    assert_eq!(stored, 4 * (last + 1) + 1);
}

/// One round with 60 names; half of them are also in the next.
fn crowd(from: usize) -> Vec<Value> {
    let names: String = (from..from + 60).map(|n| format!("tide_station_{n} ")).collect();
    vec![say::user(&format!("look at {names}")), say::assistant(&format!("done: {names}"))]
}

#[test]
fn a_cut_is_judged_by_what_came_after_it() {
    let c = Compacted::new(&json!({}));
    let mut client = c.daemon.client();
    let path = format!("/v1/sessions/{}/compactions", c.session);
    let first = client.get(&path).ok();
    assert_eq!(first["compactions"][0]["fidelity_detail"].get("hindsight"), None, "{first}");
    let again: String = (80..95).map(|n| format!("src/module_{n}/handler_{n}.rs ")).collect();
    c.daemon.append(&c.session, &[say::assistant(&format!("Again: {again}"))]);
    let later = client.get(&path).ok();
    let hindsight = &later["compactions"][0]["fidelity_detail"]["hindsight"];
    assert_eq!(hindsight["names"], 15, "{hindsight}");
    assert_eq!(hindsight["kept"], hindsight["names"], "{hindsight}");
    // The next compaction keeps the measurement of the previous one.
    for n in 100..160 {
        c.daemon.append(&c.session, &say::work(n, 3000));
    }
    client.post(&format!("/v1/sessions/{}/compact", c.session), &json!({})).ok();
    let all = client.get(&path).ok();
    let kept = &all["compactions"][0]["fidelity_detail"]["hindsight"];
    assert!(kept["names"].as_u64() >= Some(15), "{all}");
}

#[test]
fn what_a_summary_has_no_room_for_is_a_warning_with_its_reason() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    for n in 0..100 {
        daemon.append(&session, &crowd(n * 30));
    }
    for n in 0..60 {
        daemon.append(&session, &say::work(n, 3000));
    }
    daemon.append(&session, &[say::user("Go on.")]);
    let mut client = daemon.client();
    let body = json!({ "level": "embedded", "summary_tokens": 200 });
    let made = client.post(&format!("/v1/sessions/{session}/compact"), &body).ok();
    let warning = made["warning"].as_str().unwrap_or_default();
    assert!(warning.contains("fidelity is 0."), "{} {warning}", made["fidelity"]);
    assert!(
        warning.contains("does not contain all names in use; no longer in the prompt: "),
        "{warning}"
    );
    let report = client.get(&format!("/v1/sessions/{session}/context/report")).ok();
    assert_eq!(report["last_compaction"]["warning"], made["warning"], "{report}");
}
