//! The committed OpenAPI document matches the handlers, and the daemon serves it without a token.

use std::path::Path;

use bethink_harness::{Daemon, Request};
use serde_json::Value;

#[test]
fn the_committed_document_describes_the_handlers() {
    let made = bethink_server::openapi(&[
        ("gateway", bethink_gateway::ROUTES),
        ("mcp", bethink_mcp::ROUTES),
        ("dashboard", bethink_dashboard::ROUTES),
    ]);
    let made = made.unwrap() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
    if std::env::var_os("BETHINK_WRITE_OPENAPI").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap();
    assert!(committed == made, "openapi.json is out of date: `cargo xtask openapi` writes it");
}

#[test]
fn it_is_served_without_the_token() {
    let daemon = Daemon::fresh();
    let request = Request::new("GET", "/openapi.json").anonymous();
    let served = daemon.client().must(&request).ok();
    let committed: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    assert!(served == committed);
}
