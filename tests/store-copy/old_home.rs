//! A home of version 0.1 that moves to PostgreSQL without ever being opened by a newer daemon.

use std::path::{Path, PathBuf};

use bethink_harness::Home;
use serde_json::{Value, json};

use crate::world::{CopyServer, copied};

fn fixture() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    tests.join("tests/fixtures/home-0.1")
}

#[test]
fn each_session_keeps_its_prompt() {
    let url = CopyServer::shared().database();
    // So long that no session counts as idle, because the prompts were made right after the last message.
    let home = Home::new()
        .with("BETHINK_CONTEXT__MICROCOMPACT_IDLE_MINUTES", "1000000")
        .with("BETHINK_STORE__URL", &url);
    std::fs::create_dir_all(home.path()).unwrap();
    for file in ["bethink.db", "bethink.db.clean"] {
        std::fs::copy(fixture().join("home").join(file), home.path().join(file)).unwrap();
    }
    copied(home.path(), home.path().to_str().unwrap(), &url);
    let daemon = home.start();
    let list = std::fs::read(fixture().join("sessions.json")).unwrap();
    let list: Vec<Value> = serde_json::from_slice(&list).unwrap();
    assert_eq!(list.len(), 12);
    for session in list {
        let (name, id) = (session["name"].as_str().unwrap(), session["session"].as_str().unwrap());
        let asked = json!({ "inject": "off", "compact": "never" });
        let answer = daemon.client().post(&format!("/v1/sessions/{id}/context"), &asked);
        let text = answer.text();
        let end = text.find(r#","report":"#).unwrap_or_else(|| panic!("{}", answer.brief()));
        let expected = std::fs::read_to_string(fixture().join(format!("{name}.json"))).unwrap();
        assert!(format!("{}}}", &text[..end]) == expected, "{name}");
    }
    let proposals = daemon.client().get("/v1/proposals").ok();
    assert_eq!(proposals["proposals"][0]["name"], "tides", "{proposals}");
}
