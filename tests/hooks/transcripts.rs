//! Transcripts that grow, and what else may happen to them.

use bethink_harness::{Daemon, Home, until};
use serde_json::{Value, json};

use crate::agent::{Agent, PATIENCE, fixture, followed, ids, sessions};

/// What an import of the whole file makes of it: ids of the session, and of each child.
fn imported(daemon: &Daemon, text: &[u8]) -> Vec<Vec<String>> {
    let file = daemon.home.scratch().join("whole.jsonl");
    std::fs::write(&file, text).unwrap();
    let mut client = daemon.client();
    let job = client.post("/v1/import", &json!({ "path": file })).json();
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let done = until(PATIENCE, || {
        let job = client.get(&path).ok();
        (job["state"] == "done").then(|| job["result"][0].clone())
    });
    let done = done.expect("an import");
    let children = done["children"].as_array().unwrap().iter();
    let all = [&done["session_id"]].into_iter().chain(children);
    all.map(|id| ids(&mut client, id.as_str().unwrap())).collect()
}

/// Grows a transcript line by line with a hook after each.
fn grow(daemon: &Daemon, text: &[u8]) {
    let agent = Agent::new(&daemon.home, "growing");
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        agent.write(line);
        agent.hook("Stop").is_silent();
    }
}

/// What came of it, as above.
fn grown(daemon: &Daemon) -> Vec<Vec<String>> {
    let mut client = daemon.client();
    let all = sessions(&mut client);
    let (own, children): (Vec<_>, Vec<_>) = all.iter().partition(|one| one["parent"].is_null());
    let children = children.into_iter().rev();
    own.into_iter()
        .chain(children)
        .map(|one| ids(&mut client, one["id"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_handover_names_the_command_that_resumes_the_agent() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "5f2c-claude");
    agent.say("user", "a", "mend the tide job");
    agent.hook("Stop").is_silent();
    let (id, _) = followed(&daemon, 1);
    let session = daemon.client().get(&format!("/v1/sessions/{id}")).ok();
    assert_eq!(session["agent"], json!({ "name": "claude-code", "id": "5f2c-claude" }));
    let shown = agent.bethink(&["session", "handover", &id]);
    assert!(shown.err.contains("claude --resume 5f2c-claude"), "{shown:?}");
}

#[test]
fn a_transcript_that_grows_line_by_line_is_what_an_import_of_the_whole_is() {
    for name in
        ["plain.jsonl", "sidechain.jsonl", "boundary.jsonl", "parallel.jsonl", "damaged.jsonl"]
    {
        let text = fixture(name);
        let (daemon, imported) = (Daemon::fresh(), imported(&Daemon::fresh(), &text));
        grow(&daemon, &text);
        // A hook that was too slow has its event taken in later.
        until(PATIENCE, || (grown(&daemon) == imported).then_some(()));
        assert_eq!(grown(&daemon), imported, "{name}");
        assert!(!imported[0].is_empty(), "{name}");
    }
}

#[test]
fn a_line_that_is_half_written_waits_for_its_other_half() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "halves");
    agent.say("user", "u1", "first");
    agent.write(r#"{"type":"assistant","uuid":"a1","message":{"role":"assistant","con"#);
    agent.hook("Stop").is_silent();
    followed(&daemon, 1);
    agent.write("tent\":\"second\"}}\n");
    agent.hook("Stop").is_silent();
    assert_eq!(followed(&daemon, 2).1, ["u1", "a1"]);
}

#[test]
fn a_last_line_without_a_line_end_counts_once_the_session_has_ended() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "ended");
    agent.say("user", "u1", "first");
    let last = json!({ "type": "assistant", "uuid": "a1", "sessionId": "ended", "cwd": agent.project,
        "message": { "role": "assistant", "content": "second" } });
    agent.write(last.to_string());
    agent.hook("SessionEnd").is_silent();
    followed(&daemon, 2);
    // The session is resumed.
    agent.write("\n");
    agent.say("user", "u2", "third");
    agent.hook("SessionEnd").is_silent();
    assert_eq!(followed(&daemon, 3).1, ["u1", "a1", "u2"]);
}

#[test]
fn a_session_that_hooks_recorded_is_not_imported_again() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "known");
    agent.say("user", "u1", "first");
    agent.hook("Stop").is_silent();
    let (id, _) = followed(&daemon, 1);
    let file = agent.transcript.to_string_lossy().into_owned();
    let import = || {
        let told = agent.bethink(&["import", &file, "--json"]);
        serde_json::from_str::<Value>(&told.out).unwrap()
    };
    let told = import();
    assert_eq!((&told["session_id"], &told["already_imported"]), (&json!(id), &json!(true)));
    agent.write(
        json!({ "type": "assistant", "uuid": "a1", "sessionId": "known", "cwd": agent.project,
            "message": { "role": "assistant", "content": "second" } })
        .to_string(),
    );
    let told = import();
    assert_eq!((&told["messages"], &told["already_imported"]), (&json!(2), &json!(false)));
    assert_eq!(followed(&daemon, 2).1, ["u1", "a1"]);
}

#[test]
fn what_is_written_after_the_last_event_is_read() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "late");
    agent.say("user", "u1", "first");
    agent.hook("Stop").is_silent();
    followed(&daemon, 1);
    agent.say("assistant", "a1", "second");
    assert_eq!(followed(&daemon, 2).1, ["u1", "a1"]);
}

#[test]
fn a_daemon_that_was_killed_goes_on_where_it_was() {
    let mut daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "restart");
    for (n, id) in ["u1", "u2", "u3", "u4"].into_iter().enumerate() {
        agent.say("user", id, "something");
        agent.hook("Stop").is_silent();
        followed(&daemon, n + 1);
        daemon.kill9();
        daemon.start();
    }
    assert_eq!(followed(&daemon, 4).1, ["u1", "u2", "u3", "u4"]);
}

#[test]
fn a_file_that_was_rewritten_cut_or_taken_away_costs_nothing() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "rewritten");
    for id in ["u1", "u2", "u3"] {
        agent.say("user", id, "something");
    }
    agent.hook("Stop").is_silent();
    followed(&daemon, 3);
    // Cut, and grown again in another way.
    std::fs::write(&agent.transcript, "").unwrap();
    agent.say("user", "u1", "something");
    agent.say("user", "u4", "something else");
    agent.hook("Stop").is_silent();
    followed(&daemon, 4);
    // Another file of the same name, as long as the old one.
    let text = std::fs::read_to_string(&agent.transcript).unwrap();
    std::fs::remove_file(&agent.transcript).unwrap();
    agent.write(text.replace("u4", "u5"));
    agent.hook("Stop").is_silent();
    followed(&daemon, 5);
    // Gone.
    std::fs::remove_file(&agent.transcript).unwrap();
    agent.hook("Stop").is_silent();
    agent.say("user", "u6", "back again");
    agent.hook("Stop").is_silent();
    assert_eq!(followed(&daemon, 6).1, ["u1", "u2", "u3", "u4", "u5", "u6"]);
}

#[test]
fn a_sub_agents_own_file_is_a_child() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "parent");
    agent.say("user", "u1", "send somebody");
    agent.hook("PostToolUse").is_silent();
    let own = Agent {
        transcript: daemon.home.scratch().join("agent-a7.jsonl"),
        ..Agent::new(&daemon.home, "parent")
    };
    own.say("user", "s1", "look it up");
    own.say("assistant", "s2", "found");
    let mut input = agent.input();
    input["agent_transcript_path"] = json!(own.transcript);
    agent.hook_with(&["SubagentStop"], &input.to_string()).is_silent();
    let (parent, messages) = followed(&daemon, 1);
    assert_eq!(messages, ["u1"]);
    let mut client = daemon.client();
    let found = until(PATIENCE, || {
        let all = sessions(&mut client);
        let child = all.iter().find(|one| one["parent"] == parent.as_str())?;
        let ids = ids(&mut client, child["id"].as_str().unwrap());
        (ids.len() == 2).then_some(ids)
    });
    assert_eq!(found.expect("a child"), ["s1", "s2"]);
}

#[test]
fn a_session_that_somebody_else_feeds_is_left_to_them() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "shared");
    agent.say("user", "u1", "hello");
    agent.hook("Stop").is_silent();
    let (session, _) = followed(&daemon, 1);
    // What a gateway does.
    let said = json!({ "id": "g1", "role": "assistant", "content": "hello yourself" });
    daemon.append(&session, &[said]);
    agent.say("assistant", "a1", "hello yourself");
    agent.hook("Stop").is_silent();
    agent.say("user", "u2", "more");
    agent.hook("SessionEnd").is_silent();
    assert_eq!(followed(&daemon, 2).1, ["u1", "g1"]);
}

#[test]
fn the_session_is_called_as_the_client_calls_it_and_knows_its_model() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "named");
    agent.say("user", "u1", "please mend the tide job");
    agent.hook("Stop").is_silent();
    let (session, _) = followed(&daemon, 1);
    let path = format!("/v1/sessions/{session}");
    let is = |title: &str, model: &str| {
        let mut client = daemon.client();
        let is = until(PATIENCE, || {
            let told = client.get(&path).ok();
            (told["title"] == title && told["model"]["name"] == model).then_some(told)
        });
        is.unwrap_or_else(|| panic!("{title} {model}: {}", client.get(&path).ok()))
    };
    let told = is("please mend the tide job", "unknown");
    assert_eq!(told["project_dir"], agent.project.to_str().unwrap());
    agent.write("{\"type\":\"custom-title\",\"customTitle\":\"Tides\",\"sessionId\":\"named\"}\n");
    agent.write(
        "{\"type\":\"assistant\",\"uuid\":\"a1\",\"message\":{\"role\":\"assistant\",\"model\":\"claude-x\",\"id\":\"msg_1\",\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n",
    );
    agent.hook("Stop").is_silent();
    followed(&daemon, 2);
    is("Tides", "claude-x");
}

#[test]
fn what_a_transcript_teaches_is_learnt() {
    let daemon = Home::new().start();
    let agent = Agent::new(&daemon.home, "teaches");
    agent.say("user", "u1", "Always run the linter before you commit.");
    agent.say("assistant", "a1", "I will.");
    agent.hook("Stop").is_silent();
    followed(&daemon, 2);
    let path = format!("/v1/memories?project_dir={}", agent.project.display());
    let mut client = daemon.client();
    let learnt = until(PATIENCE, || {
        let memories = client.get(&path).ok();
        memories["memories"].as_array().filter(|all| !all.is_empty()).cloned()
    });
    assert!(learnt.is_some(), "nothing was learnt");
}
