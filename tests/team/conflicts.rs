//! A conflict is visible to both until one of them resolves it.

use serde_json::{Value, json};

use crate::people::{Between, Person, topic};

/// Both changed `fog`, and synced until each has both versions.
fn divided() -> (Between, Person, Person) {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "how fog is drawn", "Fog is linear."));
    ada.sync();
    let mut bob = Person::sharing("bob", &between);
    ada.write("fog", &topic("fog", "how fog is drawn", "Fog is exponential, says Ada."));
    bob.write("fog", &topic("fog", "how fog is drawn", "Fog is squared, says Bob."));
    ada.sync();
    bob.sync();
    ada.sync();
    (between, ada, bob)
}

fn resolve(person: &mut Person, body: &Value) -> bethink_harness::Answer {
    let mut request = json!({ "project_dir": person.dir(), "name": "fog" });
    request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    person.http.post("/v1/team/resolve", &request)
}

fn versions(person: &mut Person) -> Vec<(String, bool)> {
    let status = person.status(false);
    let conflicts = status["conflicts"].as_array().cloned().unwrap_or_default();
    let all =
        conflicts.iter().flat_map(|conflict| conflict["versions"].as_array().unwrap().clone());
    all.map(|one| (one["by"].as_str().unwrap().to_owned(), one["mine"] == true)).collect()
}

#[test]
fn both_see_whose_version_is_whose_until_one_of_them_resolves_it() {
    let (_between, mut ada, mut bob) = divided();
    let named = |ada: bool| [("ada".to_owned(), ada), ("bob".to_owned(), !ada)];
    assert_eq!(versions(&mut ada), named(true));
    assert_eq!(versions(&mut bob), named(false));
    for person in [&mut ada, &mut bob] {
        let told = person.sync();
        assert!(told["notes"].to_string().contains("bethink team resolve fog"), "{told}");
        let dir = person.dir();
        let lint = person.http.get(&format!("/v1/memories/lint?project_dir={dir}&scope=team")).ok();
        assert!(lint.to_string().contains("\"rule\":\"conflict\""), "{lint}");
        let recall = json!({ "project_dir": dir, "query": "how is fog drawn" });
        let found = person.http.post("/v1/recall", &recall).ok();
        assert!(found["memories"][0]["versions"][0].is_string(), "{found}");
        assert!(person.reads("MEMORY.md").unwrap().contains("run `bethink team resolve fog`"));
    }
    assert_eq!(resolve(&mut bob, &json!({})).status, 422);
    assert_eq!(resolve(&mut bob, &json!({ "keep": "fog.conflict-00000000" })).status, 409);
    let done = resolve(&mut bob, &json!({ "keep": "mine" })).ok();
    assert_eq!(done["removed"].as_array().unwrap().len(), 1, "{done}");
    bob.sync();
    ada.sync();
    for person in [&mut ada, &mut bob] {
        assert!(person.reads("fog.md").unwrap().contains("says Bob"));
        assert_eq!(versions(person), []);
        assert!(!person.reads("MEMORY.md").unwrap().contains("conflict"));
    }
    assert_eq!(ada.files(), bob.files());
    assert_eq!(
        resolve(&mut bob, &json!({ "keep": "mine" })).status,
        404,
        "nothing is left to resolve"
    );
}

#[test]
fn theirs_or_a_merged_text_is_kept() {
    let (_between, mut ada, mut bob) = divided();
    resolve(&mut ada, &json!({ "keep": "theirs" })).ok();
    assert!(ada.reads("fog.md").unwrap().contains("says Bob"));
    resolve(&mut bob, &json!({ "text": topic("fog", "how fog is drawn", "Both agree.") })).ok();
    assert!(bob.reads("fog.md").unwrap().contains("Both agree"));
    // Both resolved it, each in another way: that is a conflict again, and nothing is lost.
    ada.sync();
    bob.sync();
    ada.sync();
    assert_eq!(ada.files(), bob.files());
    let all: String = ada.files().into_iter().map(|(_, text)| text).collect();
    assert!(all.contains("says Bob") && all.contains("Both agree"), "{all}");
    assert_eq!(versions(&mut ada).len(), 2);
}

#[test]
fn a_conflict_that_two_machines_resolve_by_halves_loses_nothing() {
    let (_between, mut ada, mut bob) = divided();
    let aside =
        bob.files().into_iter().map(|(name, _)| name).find(|name| name.contains(".conflict-"));
    let aside = aside.unwrap();
    let aside = aside.trim_end_matches(".md");
    // Ada removes the other version, while Bob goes on with it.
    ada.remove(aside);
    bob.write(aside, &topic("fog", "how fog is drawn", "Fog is cubed, says Bob."));
    ada.sync();
    bob.sync();
    ada.sync();
    assert_eq!(ada.files(), bob.files());
    let all: String = ada.files().into_iter().map(|(_, text)| text).collect();
    assert!(all.contains("says Ada") && all.contains("cubed, says Bob"), "{all}");
    // Both edit the other version: a version of a version is still one of the same topic.
    ada.write(aside, &topic("fog", "how fog is drawn", "Fog is flat, says Ada."));
    bob.write(aside, &topic("fog", "how fog is drawn", "Fog is round, says Bob."));
    ada.sync();
    bob.sync();
    ada.sync();
    assert_eq!(ada.files(), bob.files());
    assert_eq!(versions(&mut ada).len(), 3);
    assert_eq!(resolve(&mut ada, &json!({ "keep": "theirs" })).status, 409, "there are several");
    let done = resolve(&mut ada, &json!({ "keep": "fog" })).ok();
    assert_eq!(done["removed"].as_array().unwrap().len(), 2, "{done}");
    ada.sync();
    bob.sync();
    assert_eq!(ada.files(), bob.files());
    assert_eq!(versions(&mut bob), []);
}

#[test]
fn opposite_resolutions_are_a_conflict_again() {
    let (_between, mut ada, mut bob) = divided();
    for person in [&mut ada, &mut bob] {
        resolve(person, &json!({ "keep": "mine" })).ok();
    }
    ada.sync();
    let told = bob.sync();
    assert_eq!(told["conflicts"][0]["name"], "fog.md", "{told}");
    ada.sync();
    assert_eq!(ada.files(), bob.files());
    let all: String = ada.files().into_iter().map(|(_, text)| text).collect();
    assert!(all.contains("says Ada") && all.contains("says Bob"), "{all}");
}
