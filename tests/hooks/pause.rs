//! A pause of recording, with the real hook, command line and daemon.

use bethink_harness::{Daemon, Home, until};
use serde_json::{Value, json};

use crate::agent::{Agent, PATIENCE, followed, is_emptied, sessions};

#[test]
fn what_is_said_during_a_pause_is_skipped_also_later() {
    let mut daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "paused");
    agent.say("user", "u1", "Before the pause.");
    agent.say("assistant", "a1", "Yes.");
    agent.hook("Stop").is_silent();
    followed(&daemon, 2);
    let paused = agent.bethink(&["pause", "--for", "2h", "--json"]);
    let paused: Value = serde_json::from_str(&paused.out).unwrap();
    let since = paused["pause"]["since"].as_str().unwrap();
    assert!(paused["pause"]["until"].is_string(), "{paused}");
    agent.say_at(since, "user", "u2", "The vault code is in the drawer.");
    agent.say_at(since, "assistant", "a2", "I see.");
    agent.hook("Stop").is_silent();
    let start = agent.hook_with(&["SessionStart"], &agent.input().to_string());
    assert!(start.context().contains("bethink is paused until"), "{start:?}");
    let status = agent.bethink(&["status"]);
    assert!(status.out.contains("nothing is recorded or learned"), "{status:?}");
    // It survives a restart.
    daemon.terminate();
    daemon.start();
    assert!(daemon.client().get("/health").ok()["pause"].is_object());
    let resumed = agent.bethink(&["resume"]);
    assert!(resumed.out.contains("bethink records and learns again"), "{resumed:?}");
    let again = agent.bethink(&["resume"]);
    assert!(again.err.contains("bethink was not paused"), "{again:?}");
    agent.say("user", "u3", "After the pause.");
    agent.say("assistant", "a3", "Good.");
    agent.hook("Stop").is_silent();
    let (_, ids) = followed(&daemon, 4);
    assert_eq!(ids, ["u1", "a1", "u3", "a3"]);
    let found = daemon.client().get("/v1/search?q=vault").ok();
    assert_eq!(found["hits"], json!([]), "{found}");
}

#[test]
fn no_session_begins_during_a_pause() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "new-in-a-pause");
    agent.bethink(&["pause"]);
    agent.say("user", "u1", "Before the pause.");
    agent.say("assistant", "a1", "Yes.");
    for event in ["UserPromptSubmit", "Stop", "SessionEnd"] {
        assert_eq!(agent.hook(event).code, Some(0));
    }
    is_emptied(&daemon);
    assert_eq!(sessions(&mut daemon.client()), [] as [Value; 0]);
    agent.bethink(&["resume"]);
    agent.hook("Stop").is_silent();
    assert_eq!(followed(&daemon, 2).1, ["u1", "a1"]);
}

/// Its title and the summary of a compaction by the agent are made from the whole conversation.
#[test]
fn a_conversation_that_began_in_a_pause_brings_nothing_of_it_later() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "begun-in-a-pause");
    let paused: Value = serde_json::from_str(&agent.bethink(&["pause", "--json"]).out).unwrap();
    let since = paused["pause"]["since"].as_str().unwrap();
    agent.say_at(since, "user", "u1", "The vault code is in the drawer.");
    agent.say_at(since, "assistant", "a1", "I see.");
    agent.hook("Stop").is_silent();
    let resumed: Value = serde_json::from_str(&agent.bethink(&["resume", "--json"]).out).unwrap();
    assert!(resumed["pause"].is_null(), "{resumed}");
    let now = "2999-01-01T00:00:00Z";
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "uuid": "c1", "timestamp": now,
        "sessionId": agent.session, "compactMetadata": { "trigger": "auto", "preTokens": 9 } });
    let summary = json!({ "type": "user", "uuid": "s1", "parentUuid": "c1", "timestamp": now, "cwd": agent.project,
        "sessionId": agent.session, "isCompactSummary": true,
        "message": { "role": "user", "content": "They spoke about a vault." } });
    agent.write(format!("{boundary}\n{summary}\n"));
    agent.say_at(now, "user", "u2", "Good morning.");
    agent.say_at(now, "assistant", "a2", "Good morning.");
    agent.hook("Stop").is_silent();
    let (session, ids) = followed(&daemon, 2);
    assert_eq!(ids, ["u2", "a2"]);
    let session = daemon.client().get(&format!("/v1/sessions/{session}")).ok();
    assert!(!session.to_string().contains("vault"), "{session}");
    let found = daemon.client().get("/v1/search?q=vault").ok();
    assert_eq!(found["hits"], json!([]), "{found}");
}

#[test]
fn an_excluded_project_is_not_followed() {
    let home = Home::new();
    let excluded = format!("{}/**", home.scratch().join("project").display());
    let daemon = home.with("BETHINK_CAPTURE__EXCLUDE", &excluded).start();
    let agent = Agent::new(&daemon.home, "excluded");
    agent.say("user", "u1", "The vault code is in the drawer.");
    agent.say("assistant", "a1", "I see.");
    agent.hook("Stop").is_silent();
    let other =
        Agent { project: daemon.home.scratch().to_owned(), ..Agent::new(&daemon.home, "other") };
    other.say("user", "u2", "Good morning.");
    other.say("assistant", "a2", "Good morning.");
    other.hook("Stop").is_silent();
    until(PATIENCE, || (!sessions(&mut daemon.client()).is_empty()).then_some(()))
        .expect("a session");
    let all = sessions(&mut daemon.client());
    assert_eq!(all.len(), 1, "{all:?}");
    assert_ne!(all[0]["project_dir"], json!(agent.project));
}
