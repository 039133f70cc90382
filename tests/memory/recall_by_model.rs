//! Memories that a model chooses, and prompts that do not wait for it.

use std::time::{Duration, Instant};

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Home, say, until};
use bethink_model_server::{Fault, Plan, Script, Server};
use serde_json::{Value, json};

use crate::memory::Desk;

/// No word of it is in what is asked below.
const HAZE: &str =
    "---\ndescription: Visibility outdoors in November\n---\nHaze begins at 300 metres.\n";
const ASKED: &str = "November is near, prepare the lamps";

fn desk(server: &Server) -> Desk {
    let home = Home::new()
        .with("BETHINK_MODEL__PROVIDER", "anthropic")
        .with("BETHINK_MODEL__BASE_URL", &server.url())
        .with("BETHINK_MODEL__SMALL_NAME", "claude-haiku-4-5")
        .with("BETHINK_MEMORY__EXTRACTION", "off")
        .with("BETHINK_SESSION_MEMORY__ENABLED", "false");
    let desk = Desk::with(home);
    desk.put("haze", HAZE, &[]).ok();
    desk.put("rope", "---\ndescription: Knots\n---\nA bowline holds.\n", &[]).ok();
    desk
}

fn recalls(server: &Server) -> Vec<Value> {
    let asked = server.requests().into_iter().map(|seen| seen.json);
    asked.filter(|json| json.to_string().contains("<user_said>")).collect()
}

/// Until a prompt says it, as the work goes on.
fn told_later(desk: &Desk, session: &str, words: &str) -> bool {
    let mut round = 0;
    let told = || {
        round += 1;
        let id = format!("t{round}");
        desk.daemon.append(session, &[say::call(&id, "Read", &json!({"path": "a"}))]);
        desk.daemon.append(session, &[say::result(&id, "one")]);
        desk.prompt(session).to_string().contains(words).then_some(())
    };
    until(PATIENCE, told).is_some()
}

#[test]
fn a_choice_comes_with_a_prompt_of_the_same_work() {
    let server = Server::start(Script::good()).unwrap();
    let desk = desk(&server);
    let session = desk.session();
    let mut events = desk.daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
    desk.say(&session, "user", ASKED);
    assert!(told_later(&desk, &session, "Haze begins"));
    let told = events.next_of("recall").json();
    assert_eq!(told["memories"].as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(told["memories"][0]["name"], "haze");

    let asked = recalls(&server);
    assert_eq!(asked.len(), 1, "once for one thing said");
    let request = &asked[0];
    assert_eq!(request["model"], "claude-haiku-4-5");
    let text = request["messages"].to_string();
    assert!(text.contains("haze (untyped, today): Visibility outdoors") && text.contains(ASKED));
    assert!(!text.contains("Haze begins"), "descriptions are shown, no bodies");
    let usage = desk.daemon.client().get("/v1/usage").ok();
    assert!(usage.to_string().contains("recall"), "{usage}");
}

#[test]
fn a_prompt_never_waits_for_a_model() {
    let server = Server::start(Script::good()).unwrap();
    let desk = desk(&server);
    server.hold();
    let session = desk.session();
    desk.say(&session, "user", "Which knots hold a rope?");
    let begun = Instant::now();
    let told = desk.prompt(&session).to_string();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(told.contains("A bowline holds"), "what the words find is there: {told}");
    until(PATIENCE, || (server.counts().requests > 0).then_some(())).expect("it was asked");
    server.release();
}

#[test]
fn what_can_not_be_used_is_refused_and_the_words_go_on() {
    let script = Script {
        recall: Plan { always: Some(Fault::NoFormat), ..Plan::default() },
        ..Script::good()
    };
    let server = Server::start(script).unwrap();
    let desk = desk(&server);
    let session = desk.session();
    let query =
        json!({ "project_dir": desk.project(), "query": "knots of a rope", "session_id": session });
    let answer = desk.daemon.client().post("/v1/recall", &query).ok();
    assert_eq!(
        (&answer["strategy"], &answer["memories"][0]["name"]),
        (&json!("embedded"), &json!("rope"))
    );
    assert!(answer["model_failure"].is_string(), "{answer}");
    assert_eq!(recalls(&server).len(), 1);
}

#[test]
fn a_suppressed_memory_is_not_offered_for_a_prompt_and_no_model_judges_a_change() {
    let server = Server::start(Script::good()).unwrap();
    let desk = desk(&server);
    desk.put("haze", &HAZE.replace("---\nHaze", "recall: never\n---\nHaze"), &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", ASKED);
    desk.prompt(&session);
    let asked = until(PATIENCE, || recalls(&server).pop()).expect("it was asked").to_string();
    assert!(asked.contains("Knots") && !asked.contains("Visibility outdoors"), "{asked}");
    let change = json!({ "scope": "private", "name": "rope", "text": null });
    let query = json!({ "project_dir": desk.project(), "query": ASKED, "changes": [change] });
    let answer = desk.daemon.client().post("/v1/recall", &query).ok();
    assert_eq!(answer["strategy"], "embedded", "{answer}");
    assert_eq!(recalls(&server).len(), 1);
}

#[test]
fn a_person_who_asks_waits_for_the_model() {
    let server = Server::start(Script::good()).unwrap();
    let desk = desk(&server);
    let query = json!({ "project_dir": desk.project(), "query": ASKED });
    let answer = desk.daemon.client().post("/v1/recall", &query).ok();
    // Outside of a session only the settings name a model.
    assert_eq!(answer["strategy"], "model", "{answer}");
    let memory = &answer["memories"][0];
    assert_eq!((&memory["name"], &memory["why"]["place"]), (&json!("haze"), &json!(1)));
    assert_eq!(
        answer["memories"].as_array().map(Vec::len),
        Some(1),
        "names of no list are left out"
    );
}
