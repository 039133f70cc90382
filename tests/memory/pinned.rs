//! Memories that a person pinned or suppressed.

use serde_json::{Value, json};

use crate::memory::Desk;

const SUPPRESSED: &str = "---\ndescription: How far one sees in the fog\ntype: project\nrecall: never\n---\nThe fog ends at 800 metres.\n";
const WATER: &str = "---\ndescription: The surface of the lakes\n---\nThe water lies flat.\n";
const QUESTION: &str = "How far can one see in the fog?";

fn pinned(words: &str, day: usize) -> String {
    format!(
        "---\ndescription: {words}\nmodified: 2026-05-{day:02}\nrecall: always\n---\nMark of {words}.\n"
    )
}

fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

fn fill(desk: &Desk, session: &str) {
    for n in 0..60 {
        desk.say(session, "user", &format!("Question {n}: {}", "why is it so? ".repeat(90)));
        desk.say(session, "assistant", &format!("Answer {n}: {}", "because of this. ".repeat(90)));
    }
    desk.daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
}

#[test]
fn a_suppressed_memory_is_in_no_prompt_and_is_still_found() {
    let desk = Desk::new();
    desk.put("fog", SUPPRESSED, &[]).ok();
    desk.put("water", WATER, &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", QUESTION);
    let told = desk.context(&session, &json!({ "inject": "full" })).to_string();
    assert!(!told.contains("800 metres") && !told.contains("fog.md"), "{told}");
    assert!(told.contains("water.md"), "{told}");
    let file = std::fs::read_to_string(desk.dir().join("MEMORY.md")).unwrap();
    assert!(file.contains("fog.md"), "{file}");
    let mut client = desk.daemon.client();
    let index = client.get(&desk.path("/index")).ok();
    assert_eq!(index["lines"], file.lines().count());
    assert!(!index["content"].to_string().contains("fog.md"), "{index}");

    let ask = |manner: &str| {
        let body = json!({ "project_dir": desk.project(), "query": QUESTION, "manner": manner });
        desk.daemon.client().post("/v1/recall", &body).ok()["memories"].clone()
    };
    assert_eq!(ask("asked")[0]["name"], "fog");
    assert_eq!(ask("injected"), json!([]));
    assert!(client.get(&desk.path("/search?q=metres")).text().contains("fog"));
    assert!(desk.get("fog").text().contains("800 metres"));
    let listed = client.get(&desk.path("")).ok();
    assert_eq!(listed["memories"][0]["recall"], "never");
    assert_eq!(listed["memories"][1].get("recall"), None);

    // Without the key, it is added again.
    desk.put("fog", &SUPPRESSED.replace("recall: never\n", ""), &[]).ok();
    let told = desk.turn(&desk.session(), QUESTION);
    assert!(told.contains("800 metres"), "{told}");
}

#[test]
fn a_pinned_memory_is_in_each_session_once_and_again_after_a_compaction() {
    let desk = Desk::new();
    desk.put("style", &pinned("sober style", 1), &[]).ok();
    desk.put("water", WATER, &[]).ok();
    for _ in 0..2 {
        let session = desk.session();
        let mut events =
            desk.daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
        let first = desk.turn(&session, "Which surface have the lakes?");
        assert!(first.contains("This memory is pinned"), "{first}");
        assert!(first.contains("Mark of sober style") && first.contains("lies flat"), "{first}");
        let told = events.next_of("recall").json();
        assert_eq!(told["memories"][0]["why"]["pinned"], true, "{told}");
        assert_eq!(told["memories"][1]["why"].get("pinned"), None, "{told}");
        let second = desk.turn(&session, "Go on with the tax office.");
        assert_eq!(times(&second, "Mark of sober style"), 1, "{second}");
        fill(&desk, &session);
        let after = desk.turn(&session, "And the letter to the tax office?");
        assert_eq!(times(&after, "Mark of sober style"), 1, "{after}");
    }
    let off = desk.session();
    desk.say(&off, "user", "Hello.");
    let told = desk.context(&off, &json!({ "inject": "off" })).to_string();
    assert!(!told.contains("Mark of"), "{told}");
    desk.put("style", &pinned("sober style", 1).replace("always", "sometimes"), &[]).ok();
    assert!(
        !desk.turn(&desk.session(), "Hello.").contains("Mark of"),
        "an unknown value is ignored"
    );
}

#[test]
fn the_five_newest_pinned_memories_count() {
    let desk = Desk::new();
    for (day, word) in ["one", "two", "three", "four", "five", "six", "seven"].iter().enumerate() {
        desk.put(word, &pinned(word, 1 + day), &[]).ok();
    }
    let session = desk.session();
    desk.turn(&session, "Good morning.");
    let told = desk.turn(&session, "Go on with the tax office.");
    for (word, expect) in [("one", 0), ("two", 0), ("three", 1), ("four", 1), ("seven", 1)] {
        assert_eq!(times(&told, &format!("Mark of {word}.")), expect, "{word}: {told}");
    }
}

fn names(answer: &Value) -> Vec<&str> {
    let memories = answer["memories"].as_array().unwrap().iter();
    memories.map(|memory| memory["name"].as_str().unwrap()).collect()
}

#[test]
fn a_change_is_tried_and_nothing_is_stored() {
    let desk = Desk::new();
    desk.put("water", WATER, &[]).ok();
    let fog = WATER.replace("surface of the lakes", "fog").replace("The water", "The fog");
    desk.put("fog", &fog, &[]).ok();
    let ask = |changes: Value| {
        let body = json!({
            "project_dir": desk.project(), "query": "surface of the lakes", "changes": changes,
        });
        desk.daemon.client().post("/v1/recall", &body).ok()
    };
    let change =
        |name: &str, text: Value| json!({ "scope": "private", "name": name, "text": text });
    assert_eq!(names(&ask(json!([]))), ["water"]);
    let deleted = ask(json!([change("water", Value::Null)]));
    assert_eq!((names(&deleted), &deleted["searched"]), (vec![], &json!(1)));
    let written = ask(json!([change("lakes", json!("The surface of the lakes is ice.\n"))]));
    assert_eq!(written["searched"], 3);
    let lakes = written["memories"].as_array().unwrap().iter().find(|one| one["name"] == "lakes");
    assert!(lakes.unwrap()["content"].to_string().contains("is ice"), "{written}");
    let other =
        ask(json!([change("water", json!("Nothing here.\n")), change("fog", json!(WATER))]));
    assert_eq!(names(&other), ["fog"]);
    assert!(other["memories"][0]["content"].to_string().contains("The water lies flat"));
    let secret = format!("The surface of the lakes: ghp_{}\n", "Ab1".repeat(12));
    assert_eq!(names(&ask(json!([change("water", json!(secret))]))), [""; 0]);
    // A private topic overrides one about the person, so the tried deletion brings that one back.
    desk.put("person", "x\n", &[]).ok();
    let own = desk.path("/person/water");
    let own = bethink_harness::http::Request::new("PUT", &own)
        .bytes("text/markdown", b"The surface of the lakes is mine.\n");
    desk.daemon.client().send(&own).unwrap().ok();
    let back = ask(json!([change("water", Value::Null)]));
    assert_eq!((&back["memories"][0]["scope"], names(&back)), (&json!("person"), vec!["water"]));

    assert_eq!(names(&ask(json!([]))), ["water"], "nothing has changed");
    assert_eq!(desk.get("water").text(), WATER);
    assert_eq!(desk.names(), ["fog", "person", "water", "water"]);
}

#[test]
fn changes_that_cannot_be_tried_are_refused_with_the_field() {
    let desk = Desk::new();
    let refused = |changes: Value| {
        let body = json!({ "project_dir": desk.project(), "query": "fog", "changes": changes });
        let problem = desk.daemon.client().post("/v1/recall", &body).problem();
        assert!([json!(400), json!(422)].contains(&problem["status"]), "{problem}");
        (problem["field"].as_str().unwrap_or_default().to_owned(), problem.to_string())
    };
    let change = |name: &str, text: &str| json!({ "scope": "private", "name": name, "text": text });
    let many: Vec<Value> = (0..21).map(|n| change(&format!("t{n}"), "x")).collect();
    let (field, words) = refused(json!(many));
    assert!(field == "changes" && words.contains("at most 20"), "{words}");
    let (field, words) = refused(json!([change("fog", &"x".repeat(1_048_577))]));
    assert!(field == "changes" && words.contains("1048576"), "{words}");
    assert_eq!(refused(json!([change("fog", "x"), change("../up", "x")])).0, "changes[1].name");
    let (field, words) = refused(json!([change("fog", "x"), change("fog", "y")]));
    assert!(field == "changes[1].name" && words.contains("twice"), "{words}");
    let (_, words) = refused(json!([{ "scope": "private", "name": "fog" }]));
    assert!(words.contains("text"), "{words}");
}
