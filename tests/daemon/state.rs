//! State that survives a compaction: todos, plan, skills, agents, tools, files.

use bethink_harness::{Daemon, prompt, say};
use serde_json::{Value, json};

fn context(daemon: &Daemon, session: &str) -> Value {
    let answer = daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    answer
}

fn worked(daemon: &Daemon, session: &str) {
    for n in 0..100 {
        daemon.append(session, &say::work(n, 3000));
    }
    daemon.append(session, &say::work(100, 300)[..3]);
}

#[test]
fn todos_are_replaced_whole_and_stand_at_the_tail() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let path = format!("/v1/sessions/{session}/todos");
    let mut client = daemon.client();
    assert_eq!(client.get(&path).ok(), json!({"todos": []}));
    let todos = json!({"todos": [
        {"id": "1", "content": "prune the rose_bush", "status": "in_progress", "priority": "high"},
        {"id": "2", "content": "mow the lawn_mowed", "status": "pending", "priority": "low"}]});
    client.put(&path, &todos).ok();
    assert_eq!(client.get(&path).ok(), todos);
    worked(&daemon, &session);
    let text =
        context(&daemon, &session)["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(text.contains("rose_bush") && text.contains("lawn_mowed"), "{text}");
    client.post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    assert!(prompt::readable(&context(&daemon, &session)).contains("lawn_mowed"));
    // An entry without an ID gets one that no other entry has.
    let more = json!({"todos": [
        {"id": "2", "content": "mow", "status": "pending"}, {"content": "rake", "status": "pending"},
        {"content": "dig", "status": "pending"}]});
    let stored = client.put(&path, &more).ok();
    let ids = stored["todos"].as_array().unwrap().iter().map(|todo| &todo["id"]);
    assert_eq!(ids.collect::<Vec<_>>(), ["2", "1", "3"]);
    client.put(&path, &json!({"todos": []})).ok();
    assert_eq!(client.get(&path).ok(), json!({"todos": []}));
}

#[test]
fn todos_are_rebuilt_from_the_last_todo_call() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let call = say::call(
        "t1",
        "TodoWrite",
        &json!({"todos": [
        {"content": "water the ferns", "status": "pending", "activeForm": "Watering"},
        {"content": "buy soil", "status": "completed", "activeForm": "Buying"}]}),
    );
    daemon.append(&session, &[say::user("plan it"), call, say::result("t1", "Todos updated")]);
    let path = format!("/v1/sessions/{session}/todos");
    let check = |todos: Value| {
        let todos = todos["todos"].as_array().unwrap().clone();
        assert_eq!(todos.len(), 2, "{todos:?}");
        assert_eq!(todos[0]["content"], "water the ferns");
        assert_eq!(todos[1]["status"], "completed");
    };
    check(daemon.client().get(&path).ok());
    daemon.kill9();
    daemon.start();
    check(daemon.client().get(&path).ok());
}

/// An answer means stored: the list is there after a kill, and after a fork that shares the messages before it.
#[test]
fn a_list_that_a_client_set_survives_a_kill_and_gives_way_to_a_later_call() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let write = |id: &str, what: &str| {
        let todos = json!({"todos": [{"content": what, "status": "pending", "activeForm": what}]});
        [say::call(id, "TodoWrite", &todos), say::result(id, "Todos updated")]
    };
    let path = format!("/v1/sessions/{session}/todos");
    let names = |daemon: &Daemon, path: &str| -> Vec<String> {
        let todos = daemon.client().get(path).ok();
        let todos = todos["todos"].as_array().unwrap().clone();
        todos.iter().map(|todo| todo["content"].as_str().unwrap().to_owned()).collect()
    };
    daemon.append(&session, &[say::user("plan it")]);
    daemon.append(&session, &write("t1", "water the ferns"));
    let todos = json!({"todos": [{"content": "mow the lawn", "status": "pending"}]});
    daemon.client().put(&path, &todos).ok();
    daemon.kill9();
    daemon.start();
    assert_eq!(names(&daemon, &path), ["mow the lawn"]);
    worked(&daemon, &session);
    daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    daemon.client().put(&path, &json!({"todos": []})).ok();
    daemon.kill9();
    daemon.start();
    assert_eq!(names(&daemon, &path), [""; 0], "an empty list is a list, too");
    daemon.append(&session, &[say::user("go on")]);
    daemon.append(&session, &write("t2", "buy soil"));
    daemon.kill9();
    daemon.start();
    assert_eq!(names(&daemon, &path), ["buy soil"]);
    let fork = format!("/v1/sessions/{session}/fork");
    let fork = daemon.client().post(&fork, &json!({"at_seq": 2})).ok();
    let fork = format!("/v1/sessions/{}/todos", fork["id"].as_str().unwrap());
    assert_eq!(
        names(&daemon, &fork),
        ["water the ferns"],
        "set after the message that it forks at"
    );
}

#[test]
fn what_the_kept_tail_does_not_show_is_restored_after_a_compaction() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let file = daemon.home.scratch().join("notes_on_disk.md");
    std::fs::write(&file, "the valve_key hangs behind the shed_door").unwrap();
    let path = |kind: &str| format!("/v1/sessions/{session}/state/{kind}");
    let mut client = daemon.client();
    client
        .put(&path("plan"), &json!({"content": "first dig, then sow: plan_marker", "active": true}))
        .ok();
    client
        .put(
            &path("skills"),
            &json!({"skills": [{"name": "grafting", "content": "cut at skill_marker"}]}),
        )
        .ok();
    client
        .put(
            &path("agents"),
            &json!({"agents": [{"id": "a1", "name": "scout", "status": "finished",
        "result": "found agent_marker", "read": false}]}),
        )
        .ok();
    client
        .put(&path("tools"), &json!({"tools": [{"name": "tool_marker", "input_schema": {}}]}))
        .ok();
    client.put(&path("files"), &json!({"files": [{"path": file}]})).ok();
    worked(&daemon, &session);
    let made = client.post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let markers = ["plan_marker", "skill_marker", "agent_marker", "tool_marker", "valve_key"];
    let text = prompt::readable(&context(&daemon, &session));
    for marker in markers {
        assert!(text.contains(marker), "{marker} is not restored: {}", made["restored"]);
    }
    daemon.kill9();
    daemon.start();
    // A restored text is frozen: the file may change, the prompt may not.
    std::fs::write(&file, "changed meanwhile").unwrap();
    let text = prompt::readable(&context(&daemon, &session));
    for marker in markers {
        assert!(text.contains(marker), "{marker} is gone after a restart");
    }
}

#[test]
fn a_file_that_is_gone_or_huge_is_only_named() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let huge = daemon.home.scratch().join("huge_file.txt");
    std::fs::write(&huge, "word ".repeat(200_000)).unwrap();
    let files = json!({"files": [{"path": "/nowhere/gone_file.txt"}, {"path": huge}, {"path": "/dev/zero"}, {"path": "/"}]});
    daemon.client().put(&format!("/v1/sessions/{session}/state/files"), &files).ok();
    worked(&daemon, &session);
    daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let answer = context(&daemon, &session);
    assert!(prompt::tokens(&answer) < 60_000, "{}", prompt::tokens(&answer));
    assert!(prompt::readable(&answer).contains("huge_file.txt"));
    daemon.is_well();
}

#[test]
fn state_keeps_to_its_kinds_and_bounds() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let path = |kind: &str| format!("/v1/sessions/{session}/state/{kind}");
    let mut client = daemon.client();
    let unknown = client.put(&path("wishes"), &json!({})).problem();
    assert!(unknown["status"] == 404 || unknown["status"] == 400, "{unknown}");
    for (kind, body, field) in [
        ("skills", json!({"skills": "x"}), "skills"),
        ("agents", json!({"agents": [{"id": 7}]}), "agents"),
        ("files", json!({"files": [{}]}), "files"),
        ("plan", json!({"content": 7}), "content"),
        ("plan", json!({"text": "dig, then sow"}), "body"),
    ] {
        let problem = client.put(&path(kind), &body).problem();
        assert!(problem["field"].as_str().is_some_and(|f| f.contains(field)), "{kind}: {problem}");
    }
    let todos = json!({"todos": [{"content": "x", "status": "someday"}]});
    let problem = client.put(&format!("/v1/sessions/{session}/todos"), &todos).problem();
    assert!(problem["field"].as_str().is_some_and(|f| f.contains("status")), "{problem}");
    daemon.is_well();
}
