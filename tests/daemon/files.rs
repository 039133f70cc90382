//! Import and export of session files: nothing is lost, and damage is reported.

use std::path::{Path, PathBuf};

use bethink_harness::{Client, Daemon, Request, kill_loop, prompt, say, until, wait::PATIENCE};
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

const FIXTURES: [&str; 7] = [
    "plain.jsonl",
    "sidechain.jsonl",
    "boundary.jsonl",
    "damaged.jsonl",
    "crlf.jsonl",
    "no_newline.jsonl",
    "parallel.jsonl",
];

/// Waits for the end of the job.
#[track_caller]
fn finished(client: &mut Client, job: &Value) -> Value {
    let path = format!("/v1/jobs/{}", job["id"].as_str().expect("job id"));
    let end = until(PATIENCE, || {
        let job = client.get(&path).ok();
        matches!(job["state"].as_str(), Some("done" | "failed")).then_some(job)
    });
    end.expect("the job ends")
}

#[track_caller]
fn imported(client: &mut Client, path: &Path) -> Value {
    let job = client.post("/v1/import", &json!({"path": path})).ok();
    let job = finished(client, &job);
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(job["result"].as_array().map(Vec::len), Some(1), "{job}");
    job["result"][0].clone()
}

fn exported(client: &mut Client, file: &Value) -> Vec<u8> {
    let id = file["session_id"].as_str().expect("session_id");
    let answer = client.get(&format!("/v1/sessions/{id}/export"));
    assert_eq!(answer.status, 200, "{}", answer.brief());
    answer.body
}

#[test]
fn export_gives_back_the_bytes_of_every_fixture() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    for name in FIXTURES {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let file = imported(&mut client, &fixture(name));
        let back = exported(&mut client, &file);
        let at = bytes.iter().zip(&back).take_while(|(a, b)| a == b).count();
        assert!(
            back == bytes,
            "{name}: {} bytes, {} back, they part at {at}",
            bytes.len(),
            back.len()
        );
    }
}

#[test]
fn a_body_imports_like_a_file() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    for name in FIXTURES {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let request = Request::new("POST", "/v1/import").bytes("application/x-ndjson", &bytes);
        let job = client.must(&request).ok();
        let job = finished(&mut client, &job);
        assert_eq!(job["state"], "done", "{name}: {job}");
        assert!(exported(&mut client, &job["result"][0]) == bytes, "{name}");
    }
}

#[test]
fn the_same_file_is_imported_once() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let first = imported(&mut client, &fixture("plain.jsonl"));
    let again = imported(&mut client, &fixture("plain.jsonl"));
    assert_eq!(first["session_id"], again["session_id"]);
    assert_eq!(
        (&first["already_imported"], &again["already_imported"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(client.get("/v1/sessions").ok()["sessions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn messages_and_titles_are_those_of_the_file() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let file = imported(&mut client, &fixture("plain.jsonl"));
    assert_eq!(file["messages"], 9, "{file}");
    let id = file["session_id"].as_str().unwrap();
    let session = client.get(&format!("/v1/sessions/{id}")).ok();
    assert_eq!(session["title"], "Watering the tomatoes", "{session}");
    assert_eq!(session["project_dir"], "/proj/garden", "{session}");
    let page = client.get(&format!("/v1/sessions/{id}/messages")).ok();
    assert_eq!(page["messages"].as_array().map(Vec::len), Some(9));
    assert_eq!(
        page["messages"][0]["message"]["content"],
        "water.py waters twice a day. Make it once, Grüße 🌱"
    );
    assert_eq!(
        page["messages"][0]["created_at"].as_str().map(|t| &t[..19]),
        Some("2026-01-23T14:00:01")
    );
    assert_eq!(session["created_at"], page["messages"][0]["created_at"], "{session}");
    assert_eq!(session["updated_at"], "2026-01-23T14:00:10Z", "the last line of the file");
    let answer = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    // Thinking, text and call were three records of one message.
    let kinds: Vec<Value> =
        prompt::blocks(&answer["messages"][1]).iter().map(|b| b["type"].clone()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    let hits = client.get(&format!("/v1/sessions/{id}/search?q=schedule")).ok();
    assert!(!hits["hits"].as_array().unwrap().is_empty());
}

#[test]
fn a_sidechain_becomes_a_child() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let file = imported(&mut client, &fixture("sidechain.jsonl"));
    assert_eq!(file["messages"], 4, "{file}");
    let children = file["children"].as_array().unwrap();
    assert_eq!(children.len(), 1, "{file}");
    let child = children[0].as_str().unwrap();
    assert_eq!(kill_loop::stored(&mut client, child).len(), 5);
    let session = client.get(&format!("/v1/sessions/{child}")).ok();
    assert_eq!(session["parent"], file["session_id"]);
    let page = client.get(&format!("/v1/sessions/{child}/messages")).ok();
    assert_eq!(session["created_at"], page["messages"][0]["created_at"], "{session}");
    let id = file["session_id"].as_str().unwrap();
    let answer = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
    assert!(
        !prompt::readable(&answer).contains("I write Item first."),
        "a child's steps stay there"
    );
}

#[test]
fn a_recorded_boundary_is_a_compaction() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let file = imported(&mut client, &fixture("boundary.jsonl"));
    let id = file["session_id"].as_str().unwrap();
    let listed = client.get(&format!("/v1/sessions/{id}/compactions")).ok();
    assert_eq!(listed["compactions"][0]["level"], "recorded", "{listed}");
    let answer = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    let text = prompt::readable(&answer);
    assert!(text.contains("This session is being continued") && text.contains("All three pass."));
    assert!(!text.contains("Rename the well to cistern everywhere."), "{text}");
    let hits = client.get(&format!("/v1/sessions/{id}/search?q=everywhere")).ok();
    assert!(!hits["hits"].as_array().unwrap().is_empty(), "before the boundary too");
}

#[test]
fn damaged_lines_are_reported_and_the_rest_is_there() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let file = imported(&mut client, &fixture("damaged.jsonl"));
    let lines: Vec<u64> =
        file["skipped"].as_array().unwrap().iter().map(|s| s["line"].as_u64().unwrap()).collect();
    for damaged in [2, 5, 6, 7, 10, 11, 12, 14] {
        assert!(lines.contains(&damaged), "line {damaged}: {file}");
    }
    for whole in [1, 3, 8, 9, 13] {
        assert!(!lines.contains(&whole), "line {whole}: {file}");
    }
    assert!(
        file["skipped"].as_array().unwrap().iter().all(|s| s["reason"].as_str().unwrap().len() > 5)
    );
    assert_eq!(file["messages"], 5, "{file}");
    let id = file["session_id"].as_str().unwrap();
    let answer = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
}

#[test]
fn parallel_calls_recorded_piecemeal_become_one_message() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let file = imported(&mut client, &fixture("parallel.jsonl"));
    let id = file["session_id"].as_str().unwrap();
    let answer = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    assert_eq!(answer["messages"].as_array().map(Vec::len), Some(4), "{answer}");
    assert_eq!(prompt::blocks(&answer["messages"][1]).len(), 3);
}

#[test]
fn a_fork_of_a_recorded_session_reads_like_its_parent() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let file = imported(&mut client, &fixture("parallel.jsonl"));
    let parent = file["session_id"].as_str().unwrap();
    let fork = client.post(&format!("/v1/sessions/{parent}/fork"), &json!({})).ok();
    let mut shown = |id: &str| {
        let body = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
        body["messages"].clone()
    };
    assert_eq!(shown(fork["id"].as_str().unwrap()), shown(parent));
}

#[test]
fn what_was_added_stands_after_the_old_lines_and_metadata_at_the_end() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let bytes = std::fs::read(fixture("plain.jsonl")).unwrap();
    let file = imported(&mut client, &fixture("plain.jsonl"));
    let id = file["session_id"].as_str().unwrap().to_owned();
    client.patch(&format!("/v1/sessions/{id}"), &json!({"title": "Once a day"})).ok();
    let long = say::result("toolu_x", &"x".repeat(40_000));
    daemon.append(&id, &[say::call("toolu_x", "Read", &json!({})), long]);
    let back = exported(&mut client, &file);
    assert!(back.starts_with(&bytes));
    let added = std::str::from_utf8(&back[bytes.len()..]).unwrap();
    let lines: Vec<Value> = added.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let messages = lines.iter().filter(|l| l["message"].is_object()).count();
    assert_eq!(messages, 2);
    let tail = &added[added.len().saturating_sub(16 * 1024)..];
    assert!(tail.contains("Once a day"), "{tail}");

    // An exported file can be imported again, including all added members.
    let copy = daemon.home.scratch().join("copy.jsonl");
    std::fs::write(&copy, &back).unwrap();
    let again = imported(&mut client, &copy);
    assert_ne!(again["session_id"], json!(id));
    assert_eq!(again["messages"], 11, "{again}");
    let session =
        client.get(&format!("/v1/sessions/{}", again["session_id"].as_str().unwrap())).ok();
    assert_eq!(session["title"], "Once a day");
}

#[test]
fn a_session_born_here_exports_to_what_imports_as_the_same() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let session = daemon.session(48_000);
    for n in 0..3 {
        daemon.append(&session, &say::work(n, 200));
    }
    let of = |id: &str, what: &str| format!("/v1/sessions/{id}{what}");
    let todos = json!({ "todos": [
        { "id": "a", "content": "Dig", "status": "in_progress", "priority": "high" }
    ] });
    client.put(&of(&session, "/todos"), &todos).ok();
    let bytes = exported(&mut client, &json!({"session_id": session}));
    let place = daemon.home.scratch().join("own.jsonl");
    std::fs::write(&place, &bytes).unwrap();
    let file = imported(&mut client, &place);
    assert_eq!((&file["messages"], &file["skipped"]), (&json!(12), &json!([])), "{file}");
    assert!(exported(&mut client, &file) == bytes);
    let copy = file["session_id"].as_str().unwrap();
    for what in ["/todos", "/context/report"] {
        let (own, copied) =
            (client.get(&of(&session, what)).ok(), client.get(&of(copy, what)).ok());
        assert_eq!(copied["todos"], own["todos"], "{what}");
        assert_eq!(copied["thresholds"], own["thresholds"], "{what}");
    }
}

#[test]
fn a_file_that_can_not_be_read_is_a_typed_failure() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let empty = daemon.home.scratch().join("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    for path in [
        "/nowhere/at/all.jsonl",
        "/",
        "/dev/zero",
        "",
        "relative.jsonl",
        "\0",
        empty.to_str().unwrap(),
    ] {
        let answer = client.post("/v1/import", &json!({"path": path}));
        if answer.status < 300 {
            let job = finished(&mut client, &answer.json());
            let told = job["error"].as_str().is_some_and(|e| !e.is_empty())
                || job["result"][0]["messages"] == 0;
            assert!(told, "{path:?}: {job}");
        } else {
            answer.problem();
        }
    }
    daemon.is_well();
}

#[test]
fn an_import_that_was_killed_is_whole_in_the_end() {
    let mut daemon = Daemon::fresh();
    let big = daemon.home.scratch().join("big.jsonl");
    let mut text = String::new();
    for n in 0..4000 {
        let line = json!({"type": "user", "uuid": format!("u{n}"), "parentUuid": null, "cwd": "/w",
            "sessionId": "s", "timestamp": "2026-01-23T14:00:00.000Z",
            "message": {"role": "user", "content": format!("message {n} {}", "word ".repeat(200))}});
        text += &format!("{line}\n");
    }
    std::fs::write(&big, &text).unwrap();
    let job = daemon.client().post("/v1/import", &json!({"path": big})).ok();
    daemon.kill9();
    daemon.start();
    let job = finished(&mut daemon.client(), &job);
    assert_eq!(job["state"], "done", "{job}");
    let file = &job["result"][0];
    assert_eq!(file["messages"], 4000, "{file}");
    assert!(exported(&mut daemon.client(), file) == text.as_bytes());
    let sessions = daemon.client().get("/v1/sessions").ok();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1), "{sessions}");
}
