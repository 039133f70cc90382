//! The short form of `cargo xtask agents`: two agents, few runs.

// A failed operation ends the test.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bethink_test_clients::{Kit, kit};

#[test]
fn agents_work_directly_through_the_gateway_and_with_bethink_installed() {
    if kit(Kit::Agents).is_none() {
        return;
    }
    let mut agents = Command::new(env!("CARGO_BIN_EXE_agents"));
    let status = agents.args(["--short", "--only", "claude-code,codex"]).status().unwrap();
    assert!(status.success(), "{status}: run `cargo xtask agents --short` to see why");
}
