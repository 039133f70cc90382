//! What an agent proposes waits for a person.

use serde_json::{Value, json};

use crate::people::{Person, key, topic};

fn propose(person: &mut Person, name: &str, text: &str) -> bethink_harness::Answer {
    let body = json!({
        "project_dir": person.dir(), "name": name, "text": text,
        "source": { "session": "s-1", "messages": ["3"], "strategy": "model", "time": "2026-11-22T08:00:00Z" },
    });
    person.http.post("/v1/proposals", &body)
}

fn waiting(person: &mut Person) -> Vec<Value> {
    let dir = person.dir();
    let found = person.http.get(&format!("/v1/proposals?project_dir={dir}")).ok();
    found["proposals"].as_array().unwrap().clone()
}

fn decide(person: &mut Person, id: &Value, how: &str, body: &Value) -> bethink_harness::Answer {
    person.http.post(&format!("/v1/proposals/{}/{how}", id.as_str().unwrap()), body)
}

#[test]
fn nothing_enters_before_a_person_says_so() {
    let mut ada = Person::new("ada");
    let text = topic("fog", "weather", "Fog is linear.");
    let made = propose(&mut ada, "fog", &text).ok();
    assert_eq!(made["proposal"]["state"], "open", "{made}");
    assert_eq!(ada.reads("fog.md"), None);
    assert_eq!(ada.status(false)["proposals"], 1);
    let again = propose(&mut ada, "fog", &text);
    assert_eq!(again.status, 409, "it waits already");
    let id = made["proposal"]["id"].clone();
    decide(&mut ada, &id, "approve", &json!({})).ok();
    assert_eq!(ada.reads("fog.md").unwrap(), text);
    assert!(ada.reads("MEMORY.md").unwrap().contains("fog.md"));
    assert_eq!(waiting(&mut ada).len(), 0);
    assert_eq!(decide(&mut ada, &id, "reject", &json!({})).status, 409, "decided once");
}

#[test]
fn what_was_rejected_is_not_proposed_again_also_after_a_start() {
    let mut ada = Person::new("ada");
    let text = topic("fog", "weather", "Fog is linear.");
    let id = propose(&mut ada, "fog", &text).ok()["proposal"]["id"].clone();
    decide(&mut ada, &id, "reject", &json!({})).ok();
    ada.daemon.terminate();
    ada.daemon.start();
    ada.http = ada.daemon.client();
    let again = propose(&mut ada, "fog", &topic("fog", "weather", "Fog  is LINEAR."));
    assert_eq!(again.status, 409, "{}", again.text());
    assert_eq!(waiting(&mut ada).len(), 0);
    propose(&mut ada, "fog", &topic("fog", "weather", "Something else.")).ok();
}

#[test]
fn a_topic_that_changed_meanwhile_is_not_overwritten() {
    let mut ada = Person::new("ada");
    ada.write("fog", &topic("fog", "weather", "First."));
    let id = propose(&mut ada, "fog", &topic("fog", "weather", "Proposed.")).ok()["proposal"]["id"]
        .clone();
    ada.write("fog", &topic("fog", "weather", "Edited meanwhile."));
    let refused = decide(&mut ada, &id, "approve", &json!({}));
    assert_eq!(refused.status, 409);
    assert!(ada.reads("fog.md").unwrap().contains("Edited meanwhile"));
    assert_eq!(waiting(&mut ada).len(), 1, "it still waits");
    decide(&mut ada, &id, "approve", &json!({ "replace": true })).ok();
    assert!(ada.reads("fog.md").unwrap().contains("Proposed"));
}

#[test]
fn a_secret_does_not_even_wait() {
    let mut ada = Person::new("ada");
    let refused = propose(&mut ada, "ci", &topic("ci", "deploys", &format!("use {}", key())));
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("github-token") && !refused.text().contains(&key()));
    assert_eq!(waiting(&mut ada).len(), 0);
}
