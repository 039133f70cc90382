//! What an agent proposes waits for a person.

use bethink_harness::Request;
use serde_json::{Value, json};

use crate::people::{Between, Person, key, topic};

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

const ERRORS: &str = "API errors use problem+json.";

#[test]
fn a_rejection_holds_for_the_meaning_and_for_the_team() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    let mut bob = Person::sharing("bob", &between);
    let text = topic("errors", ERRORS, ERRORS);
    let id = propose(&mut ada, "errors", &text).ok()["proposal"]["id"].clone();
    let secret = json!({ "reason": format!("see {}", key()) });
    assert_eq!(decide(&mut ada, &id, "reject", &secret).status, 422);
    decide(&mut ada, &id, "reject", &json!({ "reason": "obvious from the code" })).ok();
    let list = ada.reads("REJECTED-PROPOSALS.md").unwrap();
    assert!(
        list.contains(": API errors use problem+json. (reason: obvious from the code)\n"),
        "{list}"
    );
    ada.sync();
    bob.sync();
    for person in [&mut ada, &mut bob] {
        let other = "All of our API errors use problem+json.";
        let again = propose(person, "api-errors", &topic("api-errors", other, other));
        assert_eq!(again.status, 409, "{}", again.text());
        assert!(again.text().contains("obvious from the code"), "{}", again.text());
        assert_eq!(waiting(person).len(), 0);
    }
    assert_eq!(bob.status(false)["topics"], 0, "the list is not a topic");
    let denied = "API errors never use problem+json.";
    propose(&mut bob, "denied", &topic("denied", denied, denied)).ok();
    // Two people reject something else at once, and a line that is removed allows the proposal again.
    for (person, said) in
        [(&mut ada, "Deploys need two approvals."), (&mut bob, "Logs are kept for ninety days.")]
    {
        let id = propose(person, "more", &topic("more", said, said)).ok()["proposal"]["id"].clone();
        decide(person, &id, "reject", &json!({})).ok();
    }
    let team = ada.team();
    let lines = std::fs::read_to_string(team.join("REJECTED-PROPOSALS.md")).unwrap();
    let without: Vec<&str> = lines.lines().filter(|line| !line.contains("problem+json")).collect();
    std::fs::write(team.join("REJECTED-PROPOSALS.md"), without.join("\n")).unwrap();
    ada.sync();
    assert_eq!(bob.sync()["conflicts"], json!([]));
    ada.sync();
    let list = bob.reads("REJECTED-PROPOSALS.md").unwrap();
    assert!(list.contains("two approvals") && list.contains("ninety days"), "{list}");
    assert!(!list.contains("problem+json"), "{list}");
    assert_eq!(ada.files(), bob.files());
    propose(&mut bob, "errors", &text).ok();
}

#[test]
fn a_private_topic_is_shared_and_not_kept_twice() {
    let mut ada = Person::new("ada");
    let dir = ada.dir();
    let put = |ada: &mut Person, name: &str, text: &str| {
        let allowed = if name == "keys" { "allow_secret=github-token" } else { "" };
        let path = format!("/v1/memories/private/{name}?project_dir={dir}&{allowed}");
        ada.http
            .send(&Request::new("PUT", &path).bytes("text/markdown", text.as_bytes()))
            .unwrap()
            .ok()
    };
    let share = |ada: &mut Person, name: &str| {
        ada.http.post("/v1/memories/share", &json!({ "project_dir": dir, "name": name }))
    };
    let private = |ada: &mut Person, name: &str| {
        ada.http.get(&format!("/v1/memories/private/{name}?project_dir={dir}")).status
    };
    put(&mut ada, "fog", &topic("fog", "how fog is drawn", "Fog is linear."));
    put(&mut ada, "sky", &topic("sky", "what the sky is like", "Blue."));
    put(&mut ada, "keys", &topic("keys", "where keys are", &format!("use {}", key())));
    assert_eq!(share(&mut ada, "keys").status, 422);
    assert_eq!(share(&mut ada, "gone").status, 404);
    let id = share(&mut ada, "fog").ok()["proposal"]["id"].clone();
    assert_eq!(waiting(&mut ada)[0]["by"], "person");
    assert_eq!(private(&mut ada, "fog"), 200, "nothing moves before it is approved");
    decide(&mut ada, &id, "approve", &json!({})).ok();
    assert_eq!(private(&mut ada, "fog"), 404);
    assert!(ada.reads("fog.md").unwrap().contains("linear"));
    let id = share(&mut ada, "sky").ok()["proposal"]["id"].clone();
    decide(&mut ada, &id, "approve", &json!({ "keep_private": true })).ok();
    assert_eq!(private(&mut ada, "sky"), 200);
}
