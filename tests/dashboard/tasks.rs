//! What a person wants to get done on the page, each with at most four actions, and what goes wrong meanwhile.

use serde_json::{Value, json};

use crate::browser::look;
use crate::world::{World, topic};

#[test]
fn tasks_take_few_actions_and_typed_text_is_never_lost() {
    let mut world = World::new();
    let session = world.session("Mend the fence");
    world.say(
        &session,
        &[
            "Which paint do fences get?",
            "Keep the hinges that squeak, otherwise nobody hears the gate.",
        ],
    );
    world.remember(
        "private",
        "fences",
        &topic("fences", "which paint fences get", "Fences get red paint.\n\nPaint them in May."),
    );
    world.remember("team", "gates", &topic("gates", "how gates close", "Gates close alone."));
    let proposal =
        world.propose("gates", &topic("gates", "how gates close", "Gates close by hand."));
    let given = json!({ "session": session, "proposal": proposal });
    if !look("tasks", &world, &given) {
        return;
    }
    let project = world.project();
    let mut text = |scope: &str, name: &str| {
        world.http.get(&format!("/v1/memories/{scope}/{name}?project_dir={project}")).text()
    };
    assert!(text("team", "gates").contains("by hand"), "the proposal was approved");
    let fences = text("private", "fences");
    for kept in ["green paint", "Paint them in June."] {
        assert!(fences.contains(kept), "both changes are in the memory: {fences}");
    }
    let all: Value = world.http.get(&format!("/v1/memories?project_dir={project}")).ok();
    let names: Vec<_> = all["memories"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert!(names.iter().any(|name| *name == "hinges"), "the memory was added: {names:?}");
}
