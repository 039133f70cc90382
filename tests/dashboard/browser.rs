//! One run of a script that opens the page.

use std::path::{Path, PathBuf};

use bethink_test_clients::{Kit, Ran, Script, kit};
use serde_json::{Value, json};

use crate::world::World;

/// Runs `NAME.mjs` with these arguments; returns `false` if there is no browser.
#[track_caller]
pub(crate) fn look(name: &str, world: &World, more: &Value) -> bool {
    let Some(script) = script(name) else { return false };
    let mut given = json!({
        "url": format!("http://{}", world.daemon.addr()),
        "token": world.daemon.token(),
        "project": world.project(),
    });
    given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let Ran { stdout, .. } = script.env("BETHINK_GIVEN", given.to_string()).run().good();
    print!("{stdout}");
    true
}

fn script(name: &str) -> Option<Script> {
    let (node, chromium) = (kit(Kit::Node)?, kit(Kit::Chromium)?);
    let script = node
        .script("node")
        .arg(here().join(format!("{name}.mjs")))
        .env("BETHINK_KIT", node.place())
        .env("BETHINK_CHROMIUM", chromium.program("chromium"));
    Some(script)
}

pub(crate) fn here() -> PathBuf {
    root().join("tests/dashboard")
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
