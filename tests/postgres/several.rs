//! Several daemons, each with a home of its own, with their history in one database.

use std::time::{Duration, Instant};

use bethink_harness::{Daemon, say};
use serde_json::{Value, json};

use crate::{World, exit, stored};

/// Tool results in which a small window does not fit, so that prompts depend on decisions.
fn work(daemon: &Daemon, session: &str, from: usize) {
    for n in from..from + 8 {
        daemon.append(session, &say::work(n, 6_000));
        daemon.append(session, &[say::assistant(&format!("step {n} is done")), say::user("go on")]);
    }
}

fn prompt(daemon: &Daemon, session: &str) -> Value {
    let body = json!({ "inject": "off" });
    let mut prompt = daemon.client().post(&format!("/v1/sessions/{session}/context"), &body).ok();
    prompt.as_object_mut().unwrap().remove("report");
    prompt
}

fn begin(prompt: &Value) -> &[Value] {
    let messages = prompt["messages"].as_array().unwrap();
    &messages[..messages.len() - 1]
}

#[test]
fn a_session_goes_on_at_another_daemon_with_the_same_prompt() {
    let world = World::shared();
    let database = world.database();
    let [ant, bee] = [(); 2].map(|()| world.home(&database).start());
    let session = ant.session(60_000);
    work(&ant, &session, 0);
    prompt(&ant, &session);
    work(&ant, &session, 8);
    let at_ant = prompt(&ant, &session);
    let compactions = ant.client().get(&format!("/v1/sessions/{session}/compactions")).ok();
    assert!(!compactions["compactions"].as_array().unwrap().is_empty(), "{compactions}");
    assert_eq!(prompt(&bee, &session), at_ant);
    bee.append(&session, &[say::assistant("at the bee"), say::user("on at the bee")]);
    let at_bee = prompt(&bee, &session);
    assert!(at_bee["messages"].as_array().unwrap().starts_with(begin(&at_ant)));
    ant.append(&session, &[say::assistant("at the ant"), say::user("on at the ant")]);
    let back = prompt(&ant, &session);
    assert!(back["messages"].as_array().unwrap().starts_with(begin(&at_bee)));
    assert_eq!(prompt(&bee, &session), back);
    let listed = bee.client().get("/v1/sessions").ok();
    assert_eq!(listed["sessions"][0]["id"], session.as_str(), "{listed}");
    let found = bee.client().get(&format!("/v1/sessions/{session}/search?q=ant")).ok();
    assert_eq!(found["complete"], true, "{found}");
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found}");
    ant.is_well();
    bee.is_well();
}

#[test]
fn a_killed_daemon_does_not_keep_its_sessions() {
    let world = World::shared();
    let database = world.database();
    let [mut ant, bee] = [(); 2].map(|()| world.home(&database).start());
    let session = ant.session(60_000);
    work(&ant, &session, 0);
    let at_ant = prompt(&ant, &session);
    ant.kill9();
    let began = Instant::now();
    assert_eq!(prompt(&bee, &session), at_ant);
    bee.append(&session, &[say::user("on at the bee")]);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    ant.start();
    ant.append(&session, &[say::user("back at the ant")]);
    let [at_ant, at_bee] = [&ant, &bee].map(|daemon| stored(daemon, &session));
    assert_eq!(at_ant, at_bee);
    let title = json!({ "title": "renamed at the bee" });
    let path = format!("/v1/sessions/{session}");
    bee.client().patch(&path, &title).ok();
    assert_eq!(ant.client().get(&path).ok()["title"], "renamed at the bee");
    ant.client().delete(&path).ok();
    assert_eq!(bee.client().get(&path).status, 404);
    ant.is_well();
}

#[test]
fn events_of_one_daemon_arrive_at_the_others() {
    let world = World::shared();
    let database = world.database();
    let [ant, bee] = [(); 2].map(|()| world.home(&database).start());
    let session = ant.session(60_000);
    let mut events = bee.client().events(&format!("/v1/sessions/{session}/events"), None);
    let mut all = bee.client().events("/v1/events", None);
    ant.append(&session, &[say::user("do you hear me?"), say::assistant("yes")]);
    for (seq, role) in [(1, "user"), (2, "assistant")] {
        let event = events.next_of("message").json();
        assert_eq!((&event["seq"], &event["role"]), (&json!(seq), &json!(role)));
        let event = all.next_of("message").json();
        assert_eq!((&event["seq"], &event["session_id"]), (&json!(seq), &json!(session)));
    }
}

#[test]
fn a_copy_of_a_home_is_refused_with_what_to_do() {
    let world = World::shared();
    let database = world.database();
    let ant = world.home(&database).start();
    let copy = world.home(&database);
    std::fs::create_dir_all(copy.path()).unwrap();
    std::fs::copy(ant.home.path().join("database-id"), copy.path().join("database-id")).unwrap();
    let refused = exit(copy).stderr;
    let holder = format!("(process {} on", ant.pid().unwrap());
    assert!(refused.contains(&holder) && refused.contains(&database), "{refused}");
    assert!(refused.contains("delete its file database-id"), "{refused}");
    ant.is_well();
}
