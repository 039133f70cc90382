//! A prompt does not depend on where history is stored.

use bethink_harness::history::{Shape, history};
use bethink_harness::{Daemon, Home, Rng};
use serde_json::{Value, json};

use crate::World;

/// Returns the next prompt as text, without what differs between any two sessions.
fn prompt(daemon: &Daemon, session: &str) -> String {
    let path = format!("/v1/sessions/{session}/context");
    let made = daemon.client().post(&path, &json!({ "inject": "off" })).ok();
    let prompt = json!([made["system"], made["messages"], made["tools"]]).to_string();
    prompt.replace(session, "SESSION").replace(daemon.home.path().to_str().unwrap(), "HOME")
}

#[test]
fn prompts_have_the_same_bytes_as_with_sqlite() {
    const WINDOW: u64 = 30_000;
    let world = World::shared();
    // Background work depends on the time, and prompts show what it makes.
    let start = |home: Home| {
        home.with("BETHINK_SESSION_MEMORY__ENABLED", "false")
            .with("BETHINK_MEMORY__EXTRACTION", "off")
            .start()
    };
    let daemons = [world.home(&world.database()), Home::new()].map(start);
    let (mut prompts, mut compactions) = (0, 0);
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let shape = Shape { steps: 60, broken: seed % 2 == 1, longest: 12_000 };
        let messages: Vec<Value> = history(&mut rng, shape);
        let sessions = daemons.each_ref().map(|daemon| daemon.session(WINDOW));
        let mut rest = messages.as_slice();
        while !rest.is_empty() {
            let (new, later) = rest.split_at(rest.len().min(1 + rng.below(6)));
            rest = later;
            let [there, here] = [0, 1].map(|at| {
                daemons[at].append(&sessions[at], new);
                prompt(&daemons[at], &sessions[at])
            });
            assert_eq!(there, here, "seed {seed}, {} messages before the end", rest.len());
            prompts += 1;
        }
        let path = format!("/v1/sessions/{}/compactions", sessions[0]);
        let made = daemons[0].client().get(&path).ok();
        compactions += made["compactions"].as_array().unwrap().len();
    }
    assert!(prompts > 100 && compactions > 5, "{prompts} prompts, {compactions} compactions");
}
