//! A long session and many memories, scrolled and filtered. Prints how long the browser was busy at a time.
//!
//! The size is the number of messages, and of ten times the memories: `BETHINK_LONG=100000` for the figures.

use std::fs;
use std::path::Path;

use bethink_harness::say;
use serde_json::json;

use crate::browser::look;
use crate::world::{World, topic};

const MESSAGES: usize = 4_000;

#[test]
fn a_long_session_and_many_memories_do_not_stutter() {
    let size = std::env::var("BETHINK_LONG").ok().and_then(|size| size.parse().ok());
    let messages = size.unwrap_or(MESSAGES);
    let topics = messages / 10;
    let mut world = World::new();
    let long = world.session("Long");
    let work: Vec<_> = (0..messages / 4).flat_map(|n| say::work(n, 400)).collect();
    for some in work.chunks(500) {
        world.daemon.append(&long, some);
    }
    let first =
        world.remember("private", "topic-0", &topic("topic-0", "What holds for 0", "It holds."));
    let directory = Path::new(&first).parent().unwrap();
    for n in 1..topics {
        let what = format!("What holds for {n} and {}", n % 97);
        let text = topic(&format!("topic-{n}"), &what, "It holds.");
        fs::write(directory.join(format!("topic-{n}.md")), text).unwrap();
    }
    look("long", &world, &json!({ "long": long, "messages": messages, "topics": topics }));
}
