//! Context collapse: texts are prepared in the background and used when the window fills up; nothing is lost.

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, prompt, say, until};
use serde_json::{Value, json};

/// The effective window is 52,000: spans are committed from 46,800 on, written at once from 49,400 on, and
/// prompts are blocked from 49,637 on.
const WINDOW: u64 = 60_000;
const EFFECTIVE: u64 = 52_000;

fn daemon() -> Daemon {
    Home::new().with("BETHINK_CONTEXT__COLLAPSE", "true").start()
}

fn context(daemon: &Daemon, session: &str) -> Value {
    let answer = daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    let tokens = answer["report"]["tokens"].as_u64().unwrap();
    assert!(tokens < EFFECTIVE, "{tokens} tokens: {}", answer["report"]);
    answer
}

fn spans(daemon: &Daemon, session: &str) -> Vec<Value> {
    let listed = daemon.client().get(&format!("/v1/sessions/{session}/collapses")).ok();
    listed["collapses"].as_array().unwrap().clone()
}

fn in_state(spans: &[Value], state: &str) -> usize {
    spans.iter().filter(|span| span["state"] == state).count()
}

/// The report of the stage, if it changed this prompt.
fn collapsed(answer: &Value) -> Option<Value> {
    let stages = answer["report"]["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["stage"] == "collapse").cloned()
}

/// Adds turns until a prompt is collapsed; returns the last turn and that prompt.
fn until_collapsed(daemon: &Daemon, session: &str, from: usize) -> (usize, Value) {
    for n in from..from + 200 {
        daemon.append(session, &say::work(n, 3000));
        daemon.append(session, &[say::user("Go on.")]);
        let answer = context(daemon, session);
        if collapsed(&answer).is_some() {
            return (n, answer);
        }
    }
    panic!("no prompt was collapsed");
}

/// Adds turns until the window is nearly full, then waits until the old spans are staged.
fn staged(daemon: &Daemon, session: &str) -> usize {
    for n in 0..30 {
        daemon.append(session, &say::work(n, 3000));
        context(daemon, session);
    }
    let enough = || (in_state(&spans(daemon, session), "staged") >= 3).then_some(());
    until(PATIENCE, enough).expect("spans are staged");
    30
}

#[test]
fn spans_are_staged_beside_the_work_and_used_when_the_window_fills_up() {
    let daemon = daemon();
    let session = daemon.session(WINDOW);
    let mut events = daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
    let next = staged(&daemon, &session);
    let event = events.next_of("collapse").json();
    assert_eq!((&event["state"], &event["covers"]["first_seq"]), (&json!("staged"), &json!(1)));
    let before = context(&daemon, &session);
    assert!(prompt::readable(&before).contains("fn step_0("), "staging changes no prompt");
    let (n, after) = until_collapsed(&daemon, &session, next);
    let stage = collapsed(&after).unwrap();
    let report = &after["report"];
    assert!(stage["tokens_after"].as_u64() < stage["tokens_before"].as_u64(), "{stage}");
    assert!(stage["touched"][0].as_str().unwrap().starts_with("messages 1 to "), "{stage}");
    assert!(report["tokens"].as_u64().unwrap() < EFFECTIVE * 72 / 100, "{report}");
    assert_eq!(report["changed_by"], "collapse", "{report}");
    assert_eq!(report["first_edited"], 0, "{report}");
    assert_eq!(report.get("compacted"), None, "{report}");
    // The text quotes the user, but not the file that was read.
    let text = prompt::readable(&after);
    assert!(text.contains("[1] Please look at src/module_0/handler_0.rs and mend case 0."));
    assert!(text.contains("step_0 now answers Reply_0") && !text.contains("fn step_0("), "{text}");
    assert!(text.contains(&format!("fn step_{n}(")), "the newest stands whole");
    let all = spans(&daemon, &session);
    assert!(in_state(&all, "committed") >= 1, "{all:?}");
    assert_eq!(all[0]["state"], "committed", "oldest first");
    assert!(all.iter().all(|span| span["strategy"] == "embedded"));
    let committed = events.find(|e| e.kind == "collapse" && e.json()["state"] == "committed");
    assert_eq!(committed.unwrap().json()["id"], all[0]["id"]);
    // From now on the prefix stays the same.
    daemon.append(&session, &say::work(n + 1, 300));
    assert_eq!(context(&daemon, &session)["report"]["first_changed"], Value::Null);
    let compactions = daemon.client().get(&format!("/v1/sessions/{session}/compactions")).ok();
    assert_eq!(compactions["compactions"], json!([]));
}

#[test]
fn every_span_leads_to_its_messages() {
    let daemon = daemon();
    let session = daemon.session(WINDOW);
    staged(&daemon, &session);
    let mut client = daemon.client();
    for span in spans(&daemon, &session) {
        let path =
            format!("/v1/sessions/{session}/collapses/{}/expand", span["id"].as_str().unwrap());
        let page = client.get(&path).ok();
        let seqs: Vec<u64> = page["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["seq"].as_u64().unwrap())
            .collect();
        let covers = |end: &str| span["covers"][end].as_u64().unwrap();
        assert_eq!(seqs, (covers("first_seq")..=covers("last_seq")).collect::<Vec<u64>>());
        assert!(span["tokens"].as_u64() < span["tokens_before"].as_u64(), "{span}");
        let some = client.get(&format!("{path}?q=%5B{}%5D", covers("last_seq"))).ok();
        assert_eq!(some["messages"][0]["seq"].as_u64(), Some(covers("last_seq")));
        let none = client.get(&format!("{path}?q=%5B{}%5D", covers("last_seq") + 1)).ok();
        assert_eq!(none["messages"], json!([]));
    }
    let nobody = "01890a5d-ac96-774b-bcce-b302099a8057";
    let path = format!("/v1/sessions/{session}/collapses/{nobody}/expand");
    assert_eq!(client.get(&path).problem()["status"], 404);
}

/// If no span is staged in time, the prompt that needs it writes it.
#[test]
fn a_window_that_fills_up_at_once_is_collapsed_at_once() {
    let daemon = daemon();
    let session = daemon.session(WINDOW);
    let work: Vec<Value> = (0..46).flat_map(|n| say::work(n, 3000)).collect();
    daemon.append(&session, &work);
    daemon.append(&session, &[say::user("Go on.")]);
    let answer = context(&daemon, &session);
    assert!(collapsed(&answer).is_some(), "{}", answer["report"]);
    assert_eq!(answer["report"].get("compacted"), None, "{}", answer["report"]);
    assert!(answer["report"]["tokens"].as_u64().unwrap() < EFFECTIVE * 72 / 100);
    assert!(in_state(&spans(&daemon, &session), "committed") >= 1);
}

/// In the end the texts themselves fill the window; only then is it compacted.
#[test]
fn a_long_session_stays_within_its_window_and_is_compacted_last() {
    let daemon = daemon();
    let session = daemon.session(20_000);
    let (mut compacted, mut collapses) = (0, 0);
    for n in 0..150 {
        daemon.append(&session, &say::work(n, 1500));
        daemon.append(&session, &[say::user("Go on.")]);
        let answer = context(&daemon, &session);
        let report = &answer["report"];
        let blocking = report["thresholds"]["blocking"].as_u64().unwrap();
        assert!(report["tokens"].as_u64().unwrap() < blocking, "{report}");
        collapses += usize::from(collapsed(&answer).is_some());
        if report.get("compacted").is_some() {
            compacted += 1;
        }
        assert!(prompt::readable(&answer).contains(&format!("fn step_{n}(")), "turn {n}");
    }
    assert!(collapses > compacted, "{collapses} collapses, {compacted} compactions");
    assert_eq!(bethink_harness::kill_loop::stored(&mut daemon.client(), &session).len(), 750);
}

#[test]
fn a_kill_at_any_moment_changes_no_prompt_that_was_handed_out() {
    let mut daemon = daemon();
    let session = daemon.session(WINDOW);
    let mut before = Value::Null;
    for n in 0..60 {
        daemon.append(&session, &say::work(n, 3000));
        if n % 6 == 5 {
            // A span may just be being staged.
            daemon.kill9();
            daemon.start();
        }
        before = context(&daemon, &session);
        if collapsed(&before).is_some() {
            daemon.kill9();
            daemon.start();
            assert_eq!(context(&daemon, &session)["messages"], before["messages"], "turn {n}");
        }
    }
    let all = spans(&daemon, &session);
    assert!(in_state(&all, "committed") >= 1, "{all:?}");
    let ends = |span: &Value| {
        let covers = &span["covers"];
        (covers["first_seq"].as_u64().unwrap(), covers["last_seq"].as_u64().unwrap())
    };
    assert!(all.windows(2).all(|pair| ends(&pair[0]).1 < ends(&pair[1]).0), "{all:?}");
    let text = prompt::readable(&before);
    let shown = |span: &Value| text.contains(span["text"].as_str().unwrap());
    assert!(all.iter().all(|span| shown(span) == (span["state"] == "committed")));
}

#[test]
fn a_fork_shows_what_its_parent_showed_and_looks_behind_it_too() {
    let daemon = daemon();
    let session = daemon.session(WINDOW);
    until_collapsed(&daemon, &session, 0);
    let mut client = daemon.client();
    let fork = client.post(&format!("/v1/sessions/{session}/fork"), &json!({})).ok();
    let fork = fork["id"].as_str().unwrap();
    let shown = |answer: Value| answer["messages"].to_string().replace(fork, &session);
    assert_eq!(shown(context(&daemon, fork)), shown(context(&daemon, &session)));
    let own = spans(&daemon, fork);
    assert!(in_state(&own, "committed") >= 1);
    let path = format!("/v1/sessions/{fork}/collapses/{}/expand", own[0]["id"].as_str().unwrap());
    assert_eq!(client.get(&path).ok()["messages"][0]["seq"], 1);
}

#[test]
fn a_compaction_by_hand_and_its_undo_keep_spans_whole() {
    let daemon = daemon();
    let session = daemon.session(WINDOW);
    until_collapsed(&daemon, &session, 0);
    let before = context(&daemon, &session);
    let mut client = daemon.client();
    let made = client.post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let kept = made["kept_from_seq"].as_u64().unwrap();
    context(&daemon, &session);
    for span in spans(&daemon, &session).iter().filter(|span| span["state"] == "committed") {
        let covers = |end: &str| span["covers"][end].as_u64().unwrap();
        let cut = covers("first_seq") < kept && kept <= covers("last_seq");
        assert!(!cut, "the cut at {kept} goes through {}", span["covers"]);
    }
    let undo = format!("/v1/sessions/{session}/compactions/{}/undo", made["id"].as_str().unwrap());
    client.post(&undo, &json!({})).ok();
    assert_eq!(context(&daemon, &session)["messages"], before["messages"]);
}

#[test]
fn it_is_off_unless_it_is_set() {
    let daemon = Daemon::fresh();
    let session = daemon.session(WINDOW);
    let mut compacted = false;
    for n in 0..60 {
        daemon.append(&session, &say::work(n, 3000));
        let answer = context(&daemon, &session);
        assert_eq!(collapsed(&answer), None);
        compacted |= answer["report"].get("compacted").is_some();
    }
    assert!(compacted);
    assert_eq!(spans(&daemon, &session), Vec::<Value>::new());
}
