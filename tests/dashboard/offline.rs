//! A daemon that stops and restarts while somebody types.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use bethink_harness::Home;
use serde_json::json;

use crate::browser::look;
use crate::world::{World, topic};

#[test]
fn the_page_copes_with_a_daemon_that_is_gone() {
    let mut world = World::of(Home::new().on_its_own_port());
    let session = world.session("Mend the fence");
    world.remember("private", "fences", &topic("fences", "which paint", "Fences get red paint."));
    // The script stops the daemon and starts it again.
    let home = &world.daemon.home;
    let command = home.command();
    let text = |text: &OsStr| text.to_str().unwrap().to_owned();
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(text);
    let words: Vec<_> = words.collect();
    let env = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?))));
    let env: BTreeMap<_, _> = env.collect();
    let given = json!({
        "session": session, "pid": world.daemon.pid(), "home": home.path(), "command": words,
        "env": env,
    });
    look("offline", &world, &given);
}
