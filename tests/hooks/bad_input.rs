//! Whatever a client hands in, it goes on; why nothing came of it can be looked up.

use std::process::{Command, Stdio};

use bethink_harness::daemon::binary;
use bethink_harness::{Daemon, Home};
use serde_json::json;

use crate::agent::{Agent, followed, is_emptied, sessions};

fn faults(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("hooks.log")).unwrap_or_default()
}

#[test]
fn a_client_goes_on_and_doctor_knows_why_nothing_came_of_it() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "bad");
    let huge = format!(r#"{{"x":"{}"}}"#, "y".repeat(33 << 20));
    for (words, stdin, why) in [
        (&["Stop"][..], "{\"session_id\":", "not a JSON object"),
        (&["Stop"], "", "the input is empty"),
        (&["Stop"], "[1]", "does not begin with `{`"),
        (&["Stop"], "{\"cwd\":\"here\"}", "`cwd` must be an absolute path"),
        (&["Stop"], &huge, "is longer than"),
        (&["PreToolUse"], "{}", "unknown event"),
        (&[], "{}", "the name of the event is missing"),
        (&["Stop", "--client", "emacs"], "{}", "use one of claude-code"),
        (&["Stop", "--hard"], "{}", "unexpected argument"),
    ] {
        agent.hook_with(words, stdin).is_silent();
        let noted = faults(&daemon.home);
        assert!(noted.lines().last().unwrap().contains(why), "{words:?}: {noted}");
        let strict: Vec<&str> = words.iter().copied().chain(["--strict"]).collect();
        let ran = agent.hook_with(&strict, stdin);
        assert_eq!((ran.code, ran.err.contains(why)), (Some(1), true), "{ran:?}");
    }
    is_emptied(&daemon);
    daemon.is_well();
}

#[test]
fn a_transcript_that_is_none_is_never_read() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "devices");
    let fifo = daemon.home.scratch().join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in ["/dev/zero", "/dev/stdin", fifo.to_str().unwrap(), "/", "/proc/self/mem"] {
        let mut input = agent.input();
        input["transcript_path"] = json!(path);
        agent.hook_with(&["Stop"], &input.to_string()).is_silent();
    }
    assert!(sessions(&mut daemon.client()).is_empty());
    // What can never be done does not wait for ever.
    is_emptied(&daemon);
    daemon.is_well();
}

#[test]
fn a_working_directory_that_is_gone_stops_nobody() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "vanished");
    agent.say("user", "u1", "rm -rf this");
    std::fs::remove_dir_all(&agent.project).unwrap();
    let input = agent.input().to_string();
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let ran = agent.run(&[event], input.as_bytes(), |command| {
            command.current_dir("/");
        });
        ran.is_silent();
    }
    followed(&daemon, 1);
}

#[test]
fn no_stdin_at_all_is_no_hang() {
    let home = Home::new();
    let agent = Agent::new(&home, "closed");
    agent
        .run(&["Stop"], b"", |command| {
            command.stdin(Stdio::null());
        })
        .is_silent();
    // A client that forgets to close the pipe.
    let mut child = Command::new(binary("bethink"))
        .args(["hook", "Stop"])
        .env_clear()
        .env("BETHINK_HOME", home.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(pipe);
    assert_eq!(faults(&home).matches("the input is empty").count(), 2);
}

#[test]
fn the_route_names_what_is_wrong() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let status = |client: &mut bethink_harness::Client, path: &str, body: serde_json::Value| {
        client.post(path, &body).problem()["status"].as_u64().unwrap()
    };
    assert_eq!(status(&mut client, "/v1/hooks/PreToolUse", json!({})), 404);
    assert_eq!(status(&mut client, "/v1/hooks/stop?client=emacs", json!({})), 422);
    assert_eq!(status(&mut client, "/v1/hooks/stop?id=7", json!({})), 422);
    assert_eq!(status(&mut client, "/v1/hooks/stop", json!({ "cwd": "here" })), 422);
    assert_eq!(status(&mut client, "/v1/hooks/stop", json!([])), 422);
    assert_eq!(client.post("/v1/hooks/stop", &json!({})).ok(), json!({}));
    daemon.is_well();
}
