//! What a session teaches, another one knows; and what a person takes out stays out.

use bethink_harness::daemon::binary;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Home, say, until};
use serde_json::{Value, json};

use crate::memory::Desk;

const TAUGHT: &str = "From now on, use pnpm for installs.";
const NAME: &str = "use-pnpm-installs";

impl Desk {
    /// A turn: the user says something, and the agent has its last word.
    pub(crate) fn teach(&self, session: &str, text: &str) {
        self.daemon.append(session, &[say::user(text), say::assistant("Noted.")]);
    }

    /// Waits until a topic is there, and the index names it.
    #[track_caller]
    fn learns(&self, name: &str) -> String {
        let index = || self.daemon.client().get(&self.path("/index")).ok()["content"].to_string();
        let named = || index().contains(name).then_some(());
        until(PATIENCE, named).expect("it is learnt");
        self.get(name).text()
    }

    fn extract(&self, session: &str) -> Value {
        let path = format!("/v1/sessions/{session}/extract");
        self.daemon.client().post(&path, &json!({})).ok()
    }

    fn forget(&self, session: &str, dry_run: bool) -> Value {
        let body =
            json!({ "project_dir": self.project(), "session_id": session, "dry_run": dry_run });
        self.daemon.client().post("/v1/memories/forget", &body).ok()
    }
}

#[test]
fn a_session_teaches_and_the_next_one_is_reminded() {
    let desk = Desk::new();
    let first = desk.session();
    desk.teach(&first, TAUGHT);
    let text = desk.learns(NAME);
    assert!(text.contains(&format!("> {TAUGHT}")) && text.contains(&first), "{text}");
    let next = desk.session();
    desk.say(&next, "user", "Good morning.");
    let body = desk.context(&next, &json!({}));
    assert!(body["system"].to_string().contains(NAME), "the index names it: {}", body["system"]);
    desk.say(&next, "assistant", "Good morning.");
    let told = desk.turn(&next, "How are the installs of packages done here, pnpm or npm?");
    assert!(told.contains("use pnpm for installs"), "{told}");
    // Being reminded teaches nothing.
    assert_eq!(desk.extract(&next)["memories"], json!([]));
    assert_eq!(desk.names(), [NAME]);
}

#[test]
fn a_replay_teaches_nothing_unless_asked() {
    let desk = Desk::new();
    let body = json!({ "project_dir": desk.project(), "tags": ["replay"] });
    let created = desk.daemon.client().post("/v1/sessions", &body).ok();
    let replay = created["id"].as_str().unwrap();
    desk.teach(replay, TAUGHT);
    let other = desk.session();
    desk.teach(&other, "From now on, use tabs for indentation.");
    // The other session's turn ended later.
    desk.learns("use-tabs-indentation");
    assert_eq!(desk.names(), ["use-tabs-indentation"]);
    assert_eq!(desk.extract(replay)["memories"][0]["name"], NAME);
}

#[test]
fn an_imported_session_teaches_with_the_date_on_which_it_was_said() {
    let desk = Desk::new();
    let line = |role: &str, uuid: &str, content: Value| {
        json!({
            "type": role,
            "uuid": uuid,
            "cwd": desk.project(),
            "sessionId": "5b6a0f0e-0000-4000-8000-000000000001",
            "timestamp": "2026-03-02T10:00:00.123456Z",
            "message": { "role": role, "content": content },
        })
        .to_string()
    };
    let refusal = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n\
        never push to main without asking me";
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "git push" } }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": refusal }]);
    let queued = json!({
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": "2026-03-02T10:05:00Z",
        "content": "From now on, use tabs for indentation.",
    });
    let lines = [
        line("user", "u1", json!(TAUGHT)),
        line("assistant", "a1", call),
        queued.to_string(),
        line("user", "u2", result),
    ];
    let file = desk.daemon.home.path().join("recorded.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    desk.daemon.client().post("/v1/import", &json!({ "path": file })).ok();
    let text = desk.learns(NAME);
    assert!(text.contains("said so on 2026-03-02") && text.contains("10:00:00.123456Z"), "{text}");
    // The recording ends in the turn in which the person refused a call.
    assert!(desk.learns("never-push-main-without-asking").contains("never push to main"));
    // Typed while the agent worked, so it is not a message.
    let text = desk.learns("use-tabs-indentation");
    assert!(text.contains("2026-03-02T10:05:00"), "{text}");
}

#[test]
fn what_is_deleted_is_not_learnt_again_and_what_is_forgotten_can_be_restored() {
    let desk = Desk::new();
    let (first, second) = (desk.session(), desk.session());
    desk.teach(&first, TAUGHT);
    desk.learns(NAME);
    desk.daemon.client().delete(&desk.path(&format!("/private/{NAME}"))).ok();
    desk.teach(&second, "Please always use pnpm for installs.");
    let dropped = desk.extract(&second);
    // Whether the end of the turn or we were first, nothing came of it.
    assert_eq!(dropped["memories"], json!([]), "{dropped}");
    assert_eq!(desk.names(), [""; 0]);

    desk.teach(&second, "Never push to main without asking.");
    let name = "never-push-main-without-asking";
    desk.learns(name);
    let shown = desk.forget(&second, true);
    assert_eq!(
        (&shown["files"][0]["name"], &shown["files"][0]["outcome"]),
        (&json!(name), &json!("removed"))
    );
    assert_eq!(desk.names(), [name], "a dry run does nothing");
    desk.forget(&second, false);
    assert_eq!(desk.names(), [""; 0]);
    assert_eq!(desk.forget(&second, false)["files"], json!([]));
    let back = desk.path(&format!("/private/{name}/restore"));
    desk.daemon.client().post(&back, &json!({})).ok();
    assert_eq!(desk.names(), [name]);
}

/// Killed at whatever moment, twenty times: each lesson is there in the end, and once.
#[test]
fn a_killed_daemon_learns_each_thing_once() {
    let mut desk = Desk::new();
    let session = desk.session();
    let things = [
        "tabs",
        "spaces",
        "braces",
        "quotes",
        "semicolons",
        "imports",
        "headers",
        "footers",
        "macros",
        "traits",
    ];
    for (round, thing) in things.iter().cycle().take(20).enumerate() {
        // The second time says nothing new.
        desk.teach(&session, &format!("From now on, keep {thing} as they are in generated files."));
        let spins = round * 7_919 % 40;
        let limit = std::time::Duration::from_millis(spins as u64 * 10);
        let learnt = || desk.names().iter().any(|name| name.contains(thing)).then_some(());
        // Killed before, while or after it is learnt.
        until(limit, learnt).unwrap_or_default();
        desk.daemon.kill9();
        desk.daemon.start();
    }
    desk.teach(&session, "Thanks.");
    desk.extract(&session);
    let names = desk.names();
    for thing in things {
        let count = names.iter().filter(|name| name.contains(thing)).count();
        assert_eq!(count, 1, "{thing} in {names:?}");
    }
}

#[test]
fn it_can_be_turned_off_and_asked_for_all_the_same() {
    let desk = Desk::with(Home::new().with("BETHINK_MEMORY__EXTRACTION", "off"));
    let session = desk.session();
    desk.teach(&session, TAUGHT);
    let path = format!("/v1/sessions/{session}/extract");
    let dry = desk.daemon.client().post(&path, &json!({ "dry_run": true })).ok();
    assert_eq!((&dry["memories"][0]["name"], &dry["dry_run"]), (&json!(NAME), &json!(true)));
    assert_eq!(desk.names(), [""; 0]);
    let done = desk.extract(&session);
    assert_eq!(done["memories"][0]["statement"], TAUGHT);
    assert_eq!(done["memories"][0]["seq"], 1);
    assert_eq!(desk.names(), [NAME]);
}

#[test]
fn at_a_terminal_it_is_shown_before_it_is_done() {
    let desk = Desk::with(Home::new().with("BETHINK_MEMORY__EXTRACTION", "off"));
    let session = desk.session();
    desk.teach(&session, &format!("{TAUGHT} Forget what I said about yarn."));
    let run = |arguments: &[&str]| {
        let done = std::process::Command::new(binary("bethink"))
            .args(arguments)
            .args(["--session", &session, "--project", desk.project()])
            .env("BETHINK_HOME", desk.daemon.home.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout) + &text(&done.stderr)
    };
    let told = run(&["memory", "extract", "--dry-run"]);
    assert!(told.contains(&format!("created {NAME} [feedback]: {TAUGHT}")), "{told}");
    assert!(told.contains("nothing was written"), "{told}");
    assert_eq!(desk.names(), [""; 0]);
    let told = run(&["memory", "extract"]);
    assert!(told.contains("asked to forget: Forget what I said about yarn."), "{told}");
    let told = run(&["memory", "forget", &session, "--dry-run"]);
    assert!(told.contains(NAME) && told.contains(&format!("- > {TAUGHT}")), "{told}");
    assert_eq!(desk.names(), [NAME]);
    run(&["memory", "forget", &session]);
    assert_eq!(desk.names(), [""; 0]);
}
