//! Notes: updated in the background, edited by people, restored, never lost.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use bethink_harness::http::Request;
use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Daemon, Home, prompt, say};
use serde_json::json;

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/notes")
}

fn file(daemon: &Daemon, session: &str) -> PathBuf {
    daemon.home.path().join("session-memory").join(format!("{session}.md"))
}

fn show(daemon: &Daemon, session: &str) -> (String, String) {
    let answer = daemon.client().get(&path(session));
    assert_eq!(answer.status, 200, "{}", answer.brief());
    assert!(answer.header("content-type").unwrap().starts_with("text/markdown"));
    (answer.text(), answer.header("etag").unwrap().to_owned())
}

fn put(
    daemon: &Daemon,
    session: &str,
    text: &[u8],
    etag: Option<&str>,
) -> bethink_harness::http::Answer {
    let mut request = Request::new("PUT", &path(session)).bytes("text/markdown", text);
    if let Some(etag) = etag {
        request = request.header("If-Match", etag);
    }
    daemon.client().send(&request).unwrap()
}

fn update(daemon: &Daemon, session: &str) {
    daemon.client().post(&format!("{}/update", path(session)), &json!({})).ok();
}

/// Enough work that an update of the notes is due.
fn worked(daemon: &Daemon, session: &str, turns: std::ops::Range<usize>) {
    for n in turns {
        daemon.append(session, &say::work(n, 4000));
    }
}

#[test]
fn notes_come_by_themselves_are_told_and_survive_a_kill() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut events = daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
    assert!(!file(&daemon, &session).exists());
    let (bare, _) = show(&daemon, &session);
    assert!(bare.starts_with("# Session Title\n"), "{bare}");
    worked(&daemon, &session, 0..20);
    let told = events.next_of("notes").json();
    assert!(told["through_seq"].as_u64().unwrap() >= 1, "{told}");
    let (text, _) = show(&daemon, &session);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file(&daemon, &session)), 0o600);
    assert_eq!(mode(file(&daemon, &session).parent().unwrap()), 0o700);
    assert!(text.contains("src/module_19/handler_19.rs"), "{text}");
    assert!(text.contains("Please look at src/module_0/handler_0.rs and mend case 0."), "{text}");
    daemon.kill9();
    daemon.start();
    assert_eq!(show(&daemon, &session).0, text);
    let metrics = daemon.client().get("/metrics").text();
    worked(&daemon, &session, 20..40);
    let done = until(PATIENCE, || show(&daemon, &session).0.contains("handler_39").then_some(()));
    assert!(done.is_some(), "the second update did not come\n{metrics}");
}

#[test]
fn what_a_person_writes_is_kept_and_what_they_remove_stays_away() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    worked(&daemon, &session, 0..3);
    update(&daemon, &session);
    let (text, etag) = show(&daemon, &session);
    let removed = text.lines().find(|line| line.contains("handler_1.rs`:")).unwrap().to_owned();
    let edited = text
        .replace(&format!("{removed}\n"), "")
        .replace("# Learnings\n", "# Learnings\n- The shed key hangs by the door.\n");
    let answer = put(&daemon, &session, edited.as_bytes(), Some(&etag));
    assert_eq!(answer.status, 204, "{}", answer.brief());
    worked(&daemon, &session, 3..5);
    update(&daemon, &session);
    let (later, _) = show(&daemon, &session);
    assert!(later.contains("# Learnings\n- The shed key hangs by the door.\n"), "{later}");
    assert!(!later.contains("handler_1.rs`:"), "{later}");
    assert!(later.contains("handler_4.rs`:"), "{later}");
    // The same if the file itself is edited.
    std::fs::write(file(&daemon, &session), later.replace("# Workflow\n", "# Workflow\nby hand\n"))
        .unwrap();
    update(&daemon, &session);
    assert!(show(&daemon, &session).0.contains("# Workflow\nby hand\n"));
}

/// Notes can be used as the summary of what they cover; with a focus, a separate summary is written.
#[test]
fn a_compaction_can_be_made_of_the_notes() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    worked(&daemon, &session, 0..60);
    let compact = |body| daemon.client().post(&format!("/v1/sessions/{session}/compact"), &body);
    let focused = json!({"level": "session_memory", "instructions": "handler_7 above all"});
    let bare = daemon.session(200_000);
    daemon.append(&bare, &say::work(0, 40_000));
    daemon.append(&bare, &say::work(1, 40_000));
    let without = daemon
        .client()
        .post(&format!("/v1/sessions/{bare}/compact"), &json!({"level": "full"}))
        .problem();
    assert_eq!(without["status"], 409, "{without}");
    update(&daemon, &session);
    assert_eq!(compact(focused).problem()["status"], 409);
    let (notes, _) = show(&daemon, &session);
    let own = notes.replace("# Learnings\n", "# Learnings\n- The shed key hangs by the door.\n");
    assert_eq!(put(&daemon, &session, own.as_bytes(), None).status, 204);
    let made = compact(json!({"level": "session_memory"})).ok();
    assert_eq!(made["level"], "session_memory", "{made}");
    assert!(made["summary"].as_str().unwrap().contains("The shed key hangs by the door."));
    let answer = daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    let text = prompt::readable(&answer);
    assert!(text.contains("The shed key hangs by the door."), "{text}");
    assert_eq!(
        text.matches("The shed key hangs by the door.").count(),
        1,
        "once, not as an attachment too"
    );
}

#[test]
fn a_lost_race_is_told_and_changes_nothing() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    worked(&daemon, &session, 0..2);
    let (_, old) = show(&daemon, &session);
    update(&daemon, &session);
    let (text, etag) = show(&daemon, &session);
    assert_ne!(old, etag);
    let problem = put(&daemon, &session, b"mine", Some(&old)).problem();
    assert_eq!((&problem["status"], &problem["type"]), (&json!(412), &json!("stale")));
    let both = &problem["versions"];
    assert_eq!((&both["current"], &both["yours"]), (&json!(text), &json!("mine")));
    assert_eq!(show(&daemon, &session).0, text);
    assert_eq!(put(&daemon, &session, b"mine", Some(&etag)).status, 204);
    assert_eq!(put(&daemon, &session, b"mine too", None).status, 204);
    assert_eq!(show(&daemon, &session).0, "mine too");
}

#[test]
fn bad_notes_are_refused_or_lived_with() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    worked(&daemon, &session, 0..3);
    update(&daemon, &session);
    assert_eq!(put(&daemon, &session, b"\xff", None).problem()["status"], 400);
    let huge = vec![b'x'; (4 << 20) + 1];
    let problem = put(&daemon, &session, &huge, None).problem();
    assert_eq!((&problem["status"], &problem["limit"]), (&json!(413), &json!(4 << 20)));
    let json = Request::new("PUT", &path(&session)).json(&json!({}));
    assert_eq!(daemon.client().send(&json).unwrap().problem()["status"], 415);
    let gone = path("01a20000-0000-7000-8000-000000000000");
    assert_eq!(daemon.client().get(&gone).problem()["status"], 404);
    let megabyte = "a line by hand\n".repeat(70_000);
    let garbled = b"# Worklog\n\xff\xfe\0\x01```\n# # #\n".to_vec();
    for text in [Vec::new(), b"\r\n\r\n".to_vec(), garbled, megabyte.clone().into_bytes()] {
        std::fs::write(file(&daemon, &session), &text).unwrap();
        update(&daemon, &session);
        let (after, _) = show(&daemon, &session);
        assert!(after.contains("# Current State\n"), "{}", &after[..after.len().min(500)]);
        assert!(after.contains("handler_2"), "the newest state is there");
    }
    let kept = std::fs::read_to_string(file(&daemon, &session)).unwrap();
    assert_eq!(kept.matches("a line by hand").count(), 70_000, "a person's text is left alone");
    std::fs::write(file(&daemon, &session), vec![b'y'; 5 << 20]).unwrap();
    let refused = daemon.client().post(&format!("{}/update", path(&session)), &json!({})).problem();
    assert!(refused["detail"].as_str().unwrap().contains("bytes"), "{refused}");
    assert_eq!(file(&daemon, &session).metadata().unwrap().len(), 5 << 20, "left alone");
    let prompt = daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&prompt), [""; 0]);
    daemon.is_well();
}

#[test]
fn odd_sessions_have_notes_too() {
    let daemon = Daemon::fresh();
    let one = daemon.session(200_000);
    let refused = daemon.client().post(&format!("{}/update", path(&one)), &json!({})).problem();
    assert_eq!(refused["status"], 409, "{refused}");
    daemon.append(&one, &[say::user("Only this one message about the harbour lights")]);
    update(&daemon, &one);
    assert!(show(&daemon, &one).0.contains("Only this one message about the harbour lights"));
    let calls = daemon.session(200_000);
    for n in 0..30 {
        let id = format!("toolu_{n}");
        let call = say::call(&id, "Bash", &json!({"command": format!("make step{n}")}));
        daemon.append(&calls, &[call, say::result(&id, "ok")]);
    }
    update(&daemon, &calls);
    assert!(show(&daemon, &calls).0.contains("make step29"), "{}", show(&daemon, &calls).0);
    let chinese = daemon.session(200_000);
    daemon.append(
        &chinese,
        &[say::user("请修复登录页面的错误，然后添加测试"), say::assistant("已经修复了登录页面。")],
    );
    update(&daemon, &chinese);
    let text = show(&daemon, &chinese).0;
    assert!(text.contains("请修复登录页面的错误") && text.contains("已经修复了登录页面"), "{text}");
}

#[test]
fn fifty_thousand_messages_have_notes_and_hold_nobody_up() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut client = daemon.client();
    for batch in 0..10 {
        let messages: Vec<_> = (0..1250).flat_map(|n| say::work(batch * 1250 + n, 80)).collect();
        client
            .post(&format!("/v1/sessions/{session}/messages"), &json!({"messages": messages}))
            .ok();
    }
    update(&daemon, &session);
    let (text, _) = show(&daemon, &session);
    assert!(text.len() < 60_000, "{} bytes", text.len());
    assert!(text.contains("handler_12499"), "the newest is there");
    daemon.is_well();
}

#[test]
fn a_persons_own_template_is_used_and_a_broken_one_reported() {
    let home = Home::new();
    let config = home.path().join("session-memory/config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("template.md"), "# Status\n_now_\n\n# Bugs\n").unwrap();
    let mut daemon = home.start();
    let session = daemon.session(200_000);
    worked(&daemon, &session, 0..3);
    update(&daemon, &session);
    let (text, _) = show(&daemon, &session);
    let headings: Vec<_> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, ["# Status", "# Bugs"]);
    assert!(text.contains("mend case 2"), "{text}");
    std::fs::write(config.join("template.md"), "# Status\n# status\n").unwrap();
    std::fs::write(config.join("prompt.md"), "{{unknown}}").unwrap();
    let answer = daemon.client().get(&path(&session));
    let faults: Vec<_> =
        answer.headers.iter().filter(|(name, _)| name == "bethink-notes-fault").collect();
    assert_eq!(faults.len(), 2, "{faults:?}");
    daemon.terminate();
    daemon.start();
    let health = daemon.client().get("/health").ok();
    assert_eq!(health["status"], "ok");
    assert!(health["notices"][0].as_str().unwrap().contains("line 2 repeats"), "{health}");
    assert!(daemon.home.log().contains("template.md"), "{}", daemon.home.log());
}

/// The daemon is killed during updates, many times. A person's line stays, no line of the daemon is taken for a
/// person's, and lines that a person removed do not return.
#[test]
fn notes_outlive_kills_between_row_and_file() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    worked(&daemon, &session, 0..2);
    update(&daemon, &session);
    let (text, _) = show(&daemon, &session);
    let edited = text.replace("# Learnings\n", "# Learnings\n- by hand\n");
    put(&daemon, &session, edited.as_bytes(), None);
    for round in 0..8 {
        worked(&daemon, &session, 2 + round..3 + round);
        let mut client = daemon.client();
        let route = format!("{}/update", path(&session));
        std::thread::scope(|scope| {
            let asked = scope.spawn(move || drop(client.send(&Request::new("POST", &route))));
            let until_kill = std::time::Duration::from_micros(700 * round as u64);
            std::thread::park_timeout(until_kill);
            daemon.kill9();
            asked.join().unwrap();
        });
        daemon.start();
        let (text, _) = show(&daemon, &session);
        assert_eq!(text.matches("- by hand").count(), 1, "{text}");
    }
    update(&daemon, &session);
    let (text, _) = show(&daemon, &session);
    assert_eq!(text.matches("- by hand").count(), 1);
    let mut rows: Vec<_> = text.lines().filter(|line| line.contains(".rs`:")).collect();
    let all = rows.len();
    rows.sort_unstable();
    rows.dedup_by_key(|row| row.split(':').next().unwrap().to_owned());
    assert_eq!(rows.len(), all, "a file has one row: {text}");
    assert_eq!(all, 10, "{text}");
}
