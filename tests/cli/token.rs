//! A token that is replaced, and who has to be told.

use std::fs;

use crate::terminal::{Terminal, done};

#[test]
fn doctor_names_the_agents_whose_gateway_address_is_outdated() {
    let terminal = Terminal::new();
    done(terminal.run(&["install", "claude-code", "--gateway"]));
    let settings = terminal.path().join(".claude/settings.json");
    let before = fs::read_to_string(&settings).unwrap();
    let outdated = |terminal: &Terminal| {
        let doctor = terminal.run(&["doctor"]);
        doctor.out.contains("the gateway's address in") && doctor.out.contains("--gateway`")
    };
    assert!(!outdated(&terminal));
    let rotated = terminal.run(&["token", "rotate"]);
    assert!(rotated.code == 0 && rotated.err.contains("new token"), "{rotated:?}");
    assert!(outdated(&terminal));
    done(terminal.run(&["install", "claude-code", "--gateway"]));
    assert_ne!(fs::read_to_string(&settings).unwrap(), before);
    assert!(!outdated(&terminal));
}
