//! A home written by version 0.1 can be opened, and each session gets exactly the prompt of that version.
//!
//! `tests/fixtures/home-0.1` was written by that build; see `make.py` there. Its sessions have results that
//! were replaced and cleared, images left out, todos, collapsed spans, and compactions: automatic, manual,
//! undone, copied by a fork, and imported.

use std::path::{Path, PathBuf};

use bethink_harness::{Daemon, Home};
use serde_json::{Value, json};

/// So long that no session counts as idle, because the prompts were made right after the last message.
const NEVER_IDLE: (&str, &str) = ("BETHINK_CONTEXT__MICROCOMPACT_IDLE_MINUTES", "1000000");

fn fixture() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    tests.join("tests/fixtures/home-0.1")
}

fn opened() -> Daemon {
    let (name, value) = NEVER_IDLE;
    let home = Home::new().with(name, value);
    std::fs::create_dir_all(home.path()).unwrap();
    for file in ["bethink.db", "bethink.db.clean"] {
        std::fs::copy(fixture().join("home").join(file), home.path().join(file)).unwrap();
    }
    home.start()
}

fn sessions() -> Vec<(String, String)> {
    let list = std::fs::read(fixture().join("sessions.json")).unwrap();
    let list: Vec<Value> = serde_json::from_slice(&list).unwrap();
    let text = |session: &Value, key: &str| session[key].as_str().unwrap().to_owned();
    list.iter().map(|session| (text(session, "name"), text(session, "session"))).collect()
}

/// System, messages and tools of the next prompt, as bytes. The report is left out, because it depends on the
/// day.
fn prompt(daemon: &Daemon, session: &str) -> String {
    let asked = json!({ "inject": "off", "compact": "never" });
    let answer = daemon.client().post(&format!("/v1/sessions/{session}/context"), &asked);
    let text = answer.text();
    let end = text.find(r#","report":"#).unwrap_or_else(|| panic!("{}", answer.brief()));
    format!("{}}}", &text[..end])
}

#[test]
fn each_session_gets_the_prompt_that_it_would_have_got() {
    let daemon = opened();
    let sessions = sessions();
    assert_eq!(sessions.len(), 12);
    for (name, session) in sessions {
        let expected = std::fs::read_to_string(fixture().join(format!("{name}.json"))).unwrap();
        let made = prompt(&daemon, &session);
        let same = made.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
        let near =
            |text: &str| text.chars().skip(same.saturating_sub(80)).take(200).collect::<String>();
        assert!(
            made == expected,
            "{name}: differs from byte {same} on\nwas {}\nis  {}",
            near(&expected),
            near(&made)
        );
    }
}

#[test]
fn what_was_kept_as_json_is_kept_in_tables() {
    let daemon = opened();
    let proposals = daemon.client().get("/v1/proposals").ok();
    assert_eq!(proposals["proposals"][0]["name"], "tides", "{proposals}");
    assert_eq!(proposals["proposals"][0]["state"], "open", "{proposals}");
}

/// The log has an entry for each compaction of the home, and undone ones stay undone.
#[test]
fn compactions_are_listed_undone_and_redone_as_before() {
    let daemon = opened();
    let (_, session) = sessions().into_iter().find(|(name, _)| name == "undone").unwrap();
    let path = format!("/v1/sessions/{session}/compactions");
    let listed = daemon.client().get(&path).ok();
    assert!(listed["compactions"][0]["undone_at"].is_string(), "{listed}");
    let made = daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let id = made["id"].as_str().unwrap();
    let compacted = prompt(&daemon, &session);
    daemon.client().post(&format!("{path}/{id}/undo"), &json!({})).ok();
    let whole = prompt(&daemon, &session);
    assert!(whole.len() > compacted.len(), "the messages are in view again");
}
