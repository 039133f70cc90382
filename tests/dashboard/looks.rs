//! How it looks: narrow and wide, light and dark, with thousands of rows.

use bethink_harness::say;
use serde_json::json;

use crate::browser::look;
use crate::world::{World, topic};

const SESSIONS: usize = 300;
const MESSAGES: usize = 4_000;

#[test]
fn every_view_fits_its_screen_and_can_be_read() {
    let mut world = World::new();
    for n in 0..SESSIONS {
        world.session(&format!(
            "Session number {n} about {}",
            "a fence that goes on and on ".repeat(n % 5)
        ));
    }
    let long = world.session(&"Unbroken".repeat(30));
    let messages: Vec<_> = (0..MESSAGES / 4).flat_map(|n| say::work(n, 80)).collect();
    for some in messages.chunks(500) {
        world.daemon.append(&long, some);
    }
    let compaction = world.compact(&long);
    let wide = format!(
        "{}\n\n```\n{}\n```\n\n| {} |\n|---|---|\n| x | y |",
        "word".repeat(80),
        "c".repeat(400),
        "a | b".repeat(30)
    );
    world.remember("private", "wide", &topic("wide", &"Long description ".repeat(20), &wide));
    world.remember(
        "private",
        "wide",
        &topic("wide", &"Long description ".repeat(20), &(wide.clone() + "\nmore")),
    );
    world.propose("wide", &topic("wide", "wide", &wide));
    let imported = format!("{}.md", "outside".repeat(20));
    world.write(
        "garden/AGENTS.md",
        &format!("{}\n@missing.md\n@../{imported}\n", "word".repeat(80)),
    );
    world.write(&imported, "Outside.");
    world.put_todos(&long, &json!([{"id": "1", "content": "Unbroken".repeat(40), "status": "in_progress", "priority": "high"}]));
    let given = json!({ "long": long, "compaction": compaction, "sessions": SESSIONS + 1, "messages": MESSAGES });
    look("looks", &world, &given);
}
