//! What people do with it: come in, watch, decide, undo, by mouse and by keyboard.

use serde_json::json;

use crate::browser::look;
use crate::world::{World, topic};

#[test]
fn a_login_is_good_once_and_ends_calmly() {
    let mut world = World::new();
    let session = world.session("Mend the fence");
    look("login", &world, &json!({ "session": session }));
}

#[test]
fn the_first_run_names_the_agents_that_were_found() {
    let world = World::new();
    world.write("person/.codex/config.toml", "");
    look("first", &world, &json!({}));
}

#[test]
fn the_window_moves_and_decisions_are_made() {
    let mut world = World::new();
    let session = world.session("Mend the fence");
    world.work(&session, 0..8);
    let compaction = world.compact(&session);
    world.remember(
        "private",
        "fences",
        &topic("fences", "which paint fences get", "Fences get red paint.\n\nSee [[gates]]."),
    );
    world.remember(
        "private",
        "fences",
        &topic("fences", "which paint fences get", "Fences get green paint.\n\nSee [[gates]]."),
    );
    world.remember(
        "team",
        "gates",
        &topic("gates", "how gates close", "Gates close by themselves."),
    );
    let proposal =
        world.propose("gates", &topic("gates", "how gates close", "Gates close by hand."));
    let new_topic = world.propose("hinges", &topic("hinges", "oil", "Hinges get oil in May."));
    world
        .put_todos(&session, &json!([{"id": "1", "content": "Paint it", "status": "in_progress"}]));
    world.write("garden/CLAUDE.md", "Oil the hinges.\n@../house.md\n");
    world.write("house.md", "Close the doors.\n");
    world.write("person/.codex/config.toml", "");
    world.write("person/.gemini/settings.json", "{ broken");
    let given = json!({
        "session": session, "compaction": compaction, "proposal": proposal, "new_topic": new_topic,
    });
    if !look("use", &world, &given) {
        return;
    }
    let path = format!("/v1/memories/team/gates?project_dir={}", world.project());
    assert!(
        world.http.get(&path).text().contains("by hand"),
        "the proposal was approved in the page"
    );
    let all = world.http.get(&format!("/v1/sessions/{session}/compactions")).ok();
    assert!(all["compactions"][0]["undone_at"].is_string(), "and the compaction undone: {all}");
    let path = format!("/v1/memories/private/fences?project_dir={}", world.project());
    assert!(world.http.get(&path).text().contains("red paint"), "and the old version restored");
}
