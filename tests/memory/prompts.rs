//! What a prompt says of memory.

use serde_json::{Value, json};

use crate::memory::Desk;

fn project_part(body: &Value) -> String {
    let system = body["system"].as_array().unwrap();
    system.iter().map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn the_index_stands_in_the_project_part_and_news_of_it_at_the_tail() {
    let desk = Desk::new();
    desk.put("fog", "---\ndescription: How the fog is made\n---\nThick.\n", &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    let system = json!([
        { "part": "introduction", "text": "You are an agent." },
        { "part": "language", "text": "Speak English." },
    ]);
    let first = desk.context(&session, &json!({ "system": system }));
    let text = project_part(&first);
    assert!(text.contains("- [Fog](fog.md) — How the fog is made"), "{text}");
    let at = |words: &str| text.find(words).unwrap();
    assert!(
        at("You are an agent.") < at("# Memory") && at("# Memory") < at("Speak English."),
        "{text}"
    );
    assert!(first["report"]["parts"]["memory"].as_u64().unwrap() > 100);

    // A changed index does not change the prefix; its new line is told once, at the tail.
    desk.put("sky", "---\ndescription: Why the sky is blue\n---\nScattering.\n", &[]).ok();
    desk.say(&session, "assistant", "Hello.");
    desk.say(&session, "user", "And now?");
    let second = desk.context(&session, &json!({ "system": system }));
    assert_eq!(first["system"], second["system"]);
    let tail = second["messages"].to_string();
    assert!(tail.contains("sky.md") && tail.contains("Why the sky is blue"), "{tail}");
    let third = desk.context(&session, &json!({ "system": system }));
    assert_eq!(second["messages"], third["messages"], "told once");
    assert_eq!(third["report"]["first_changed"], Value::Null);

    // A compaction begins a new prefix, and with it the index as it is.
    desk.say(&session, "assistant", "Nothing.");
    for n in 0..30 {
        desk.say(&session, "user", &format!("Question {n}: {}", "why is it so? ".repeat(60)));
        desk.say(&session, "assistant", &format!("Answer {n}: {}", "because of this. ".repeat(60)));
    }
    desk.daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    desk.say(&session, "user", "Go on.");
    let after = project_part(&desk.context(&session, &json!({ "system": system })));
    assert!(after.contains("sky.md"), "{after}");
}

#[test]
fn who_wants_nothing_added_gets_nothing() {
    let desk = Desk::new();
    desk.put("fog", "Thick.\n", &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    for inject in ["off", "recall"] {
        let body = desk.context(&session, &json!({ "inject": inject }));
        assert_eq!(body["system"], json!([]), "{inject}");
    }
    let path = format!("/v1/sessions/{session}/context");
    let problem = desk.daemon.client().post(&path, &json!({ "inject": "some" })).problem();
    assert_eq!(problem["field"], "inject");
}
