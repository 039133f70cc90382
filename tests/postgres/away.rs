//! A daemon without its database: it starts, serves what it can, says so, and what waited is delivered once.

use std::process::Command;

use bethink_harness::daemon::binary;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Request, kill_loop, say, until};
use bethink_model_server::{Script, Server};
use serde_json::{Value, json};

use crate::agent::{Agent, is_emptied, waiting};
use crate::{World, health, stored};

fn ask(daemon: &Daemon, messages: &Value) -> Value {
    let body = json!({ "model": "scripted-1", "max_tokens": 1000, "messages": messages });
    let request = Request::new("POST", "/anthropic/v1/messages").json(&body);
    daemon.client().must(&request).ok()
}

fn histories(daemon: &Daemon) -> Vec<usize> {
    let listed = daemon.client().get("/v1/sessions").ok();
    let sessions = listed["sessions"].as_array().unwrap();
    sessions.iter().map(|session| stored(daemon, session["id"].as_str().unwrap())).collect()
}

#[test]
fn a_daemon_starts_without_the_database_and_loses_nothing() {
    let world = World::new();
    let database = world.database();
    let provider = Server::start(Script::good()).unwrap();
    let home = world
        .home(&database)
        .with("BETHINK_GATEWAY__ANTHROPIC_URL", &provider.url())
        .with("BETHINK_GATEWAY__ANTHROPIC_KEY_ENV", "GATEWAY_TEST_KEY")
        .with("GATEWAY_TEST_KEY", "sk-test");
    let mut daemon = home.start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("before")]);
    assert!(daemon.terminate().success());

    world.server.stop();
    daemon.start();
    let degraded = health(&daemon);
    assert_eq!(degraded["status"], "degraded", "{degraded}");
    assert!(degraded["detail"].as_str().unwrap().contains(&database), "{degraded}");
    let problem = daemon.client().get("/v1/sessions").problem();
    assert_eq!(problem["type"], "storage_failed", "{problem}");
    let answer = ask(&daemon, &json!([{ "role": "user", "content": "Why is the build red?" }]));
    let agent = Agent::new(&daemon.home, "away");
    for command in ["up", "status"] {
        let ran = agent.bethink(&[command]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            format!("{}{}", ran.out, ran.err).contains("could not use the PostgreSQL"),
            "{ran:?}"
        );
    }
    for n in 1..=3 {
        agent.say("user", &format!("u{n}"), "while the database is away");
        agent.hook("Stop").is_silent();
        assert_eq!(waiting(daemon.home.path()).len(), n);
    }

    world.server.resume();
    until(PATIENCE, || (health(&daemon)["status"] == "ok").then_some(()))
        .expect("it heals by itself");
    is_emptied(&daemon);
    let ids = || {
        let found = daemon.client().get("/v1/sessions?q=away").ok();
        let session = found["sessions"][0]["id"].as_str()?.to_owned();
        let ids = kill_loop::stored(&mut daemon.client(), &session).into_iter().map(|(_, id)| id);
        Some(ids.collect::<Vec<_>>()).filter(|ids| ids.len() >= 3)
    };
    assert_eq!(until(PATIENCE, ids).expect("the events are delivered"), ["u1", "u2", "u3"]);
    daemon.append(&session, &[say::assistant("after")]);
    assert_eq!(stored(&daemon, &session), 2);
    // The next request of the conversation brings what was not recorded.
    let next = json!([
        { "role": "user", "content": "Why is the build red?" },
        { "role": "assistant", "content": answer["content"] },
        { "role": "user", "content": "Mend it." },
    ]);
    ask(&daemon, &next);
    until(PATIENCE, || histories(&daemon).contains(&4).then_some(())).expect("it is recorded");
    daemon.is_well();
}

#[test]
fn status_and_doctor_report_a_database_that_does_not_answer() {
    let world = World::new();
    let database = world.database();
    let daemon = world.home(&database).start();
    daemon.session(200_000);
    let agent = Agent::new(&daemon.home, "away");
    world.server.pause();
    let status = agent.bethink(&["status", "--json"]);
    let doctor = agent.bethink(&["doctor"]);
    world.server.unpause();
    assert_eq!(status.code, Some(0), "{status:?}");
    let told: Value = serde_json::from_str(&status.out).unwrap();
    assert!(told["running"] == true && told["sessions"].is_null(), "{told}");
    assert!(told["database"].as_str().unwrap().contains(&database), "{told}");
    let detail = told["detail"].as_str().unwrap();
    assert!(detail.contains("did not answer in time (since 20"), "{told}");
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let found = doctor.out.lines().find(|line| line.contains("  database ")).unwrap();
    assert!(found.contains("fail") && found.contains("did not answer"), "{doctor:?}");
    until(PATIENCE, || (health(&daemon)["status"] == "ok").then_some(()))
        .expect("it heals by itself");
}

#[test]
fn doctor_says_why_the_daemon_did_not_start() {
    let world = World::shared();
    let dir = tempfile::tempdir().unwrap();
    let bethink = |words: &[&str]| {
        Command::new(binary("bethink"))
            .args(words)
            .env_clear()
            .env("HOME", dir.path())
            .env("BETHINK_HOME", dir.path().join("home"))
            .env("BETHINK_DAEMON__LISTEN", "127.0.0.1:0")
            .env("BETHINK_STORE__URL", world.server.url("bethink", "missing"))
            .output()
            .unwrap()
    };
    let doctor = || {
        let ran = bethink(&["doctor"]);
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    let (code, before) = doctor();
    assert_eq!(code, Some(0), "{before}");
    let found = before.lines().find(|line| line.contains("  database ")).unwrap();
    assert!(found.contains("warn") && found.contains("not checked"), "{before}");
    assert_eq!(bethink(&["up"]).status.code(), Some(3));
    let (code, after) = doctor();
    assert_eq!(code, Some(1), "{after}");
    let found = after.lines().find(|line| line.contains("  daemon ")).unwrap();
    let why = "database \"missing\" does not exist";
    assert!(found.contains("fail") && found.contains(why), "{after}");
}

#[test]
fn a_daemon_that_is_cut_off_serves_what_it_has_in_memory() {
    let world = World::new();
    let database = world.database();
    let daemon = world.home(&database).start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("before")]);
    let path = format!("/v1/sessions/{session}/context");
    let prompt = |daemon: &Daemon| {
        let mut prompt = daemon.client().post(&path, &json!({})).ok();
        prompt.as_object_mut().unwrap().remove("report");
        prompt
    };
    let before = prompt(&daemon);
    world.server.stop();
    assert_eq!(prompt(&daemon), before);
    assert_eq!(health(&daemon)["status"], "degraded");
    world.server.resume();
    until(PATIENCE, || (health(&daemon)["status"] == "ok").then_some(()))
        .expect("it heals by itself");
    assert_eq!(prompt(&daemon), before);
    daemon.is_well();
}
