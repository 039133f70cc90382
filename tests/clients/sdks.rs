//! Tests the official SDKs with the scripted model server, directly and through the gateway.

use std::path::Path;

use bethink_harness::{Daemon, Home};
use bethink_model_server::{Script, Server};
use bethink_test_clients::{Kit, Ran, Script as Run, kit};

/// A daemon with a gateway to a scripted server.
struct House {
    daemon: Daemon,
    server: Server,
}

impl House {
    fn new() -> Self {
        let server = Server::start(Script::default()).unwrap();
        let home = Home::new()
            .with("BETHINK_GATEWAY__ANTHROPIC_URL", &server.url())
            .with("BETHINK_GATEWAY__OPENAI_URL", &format!("{}/v1", server.url()))
            .with("BETHINK_GATEWAY__GEMINI_URL", &server.url())
            // The server's window, which the gateway would otherwise learn from a refusal.
            .with("BETHINK_CONTEXT__WINDOW", "200000");
        Self { daemon: home.start(), server }
    }

    /// Returns the base URL for a client, as `install --gateway` writes it.
    fn address(&self, wire: &str) -> String {
        let addresses = self.daemon.client().get("/v1/gateway").ok();
        addresses[wire].as_str().unwrap().trim_end_matches("/v1").to_owned()
    }

    fn run(&self, script: Run, wire: &str) -> Ran {
        let ran = script
            .env("UPSTREAM_URL", self.server.url())
            .env("GATEWAY_URL", self.address(wire))
            // Hides warnings about old models.
            .env("PYTHONWARNINGS", "ignore")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .dir(self.daemon.home.scratch())
            .run();
        print!("{}", ran.stdout);
        ran.good()
    }

    /// Checks that the requests were stored as sessions with their messages.
    fn kept(&self) -> u64 {
        let sessions = self.daemon.client().get("/v1/sessions?limit=1000").ok();
        let sessions = sessions["sessions"].as_array().unwrap();
        sessions.iter().map(|session| session["messages"].as_u64().unwrap()).sum()
    }
}

fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(name)
}

#[test]
fn anthropic_for_python() {
    let Some(python) = kit(Kit::Python) else { return };
    let house = House::new();
    house.run(python.script("python").arg(file("python/anthropic_sdk.py")), "anthropic");
    assert!(house.kept() > 80, "{}", house.kept());
}

#[test]
fn openai_for_python() {
    let Some(python) = kit(Kit::Python) else { return };
    let house = House::new();
    house.run(python.script("python").arg(file("python/openai_sdk.py")), "openai");
    assert!(house.kept() > 80, "{}", house.kept());
}

#[test]
fn responses_for_python() {
    let Some(python) = kit(Kit::Python) else { return };
    let house = House::new();
    house.run(python.script("python").arg(file("python/openai_responses.py")), "openai");
    assert!(house.kept() > 80, "{}", house.kept());
}

#[test]
fn responses_for_typescript() {
    let Some(node) = kit(Kit::Node) else { return };
    let house = House::new();
    let script =
        node.script("node").arg(file("node/openai-responses.mjs")).env("KIT", node.place());
    house.run(script, "openai");
    assert!(house.kept() > 10, "{}", house.kept());
}

#[test]
fn anthropic_for_typescript() {
    let Some(node) = kit(Kit::Node) else { return };
    let house = House::new();
    let script = node.script("node").arg(file("node/anthropic-sdk.mjs")).env("KIT", node.place());
    house.run(script, "anthropic");
    assert!(house.kept() > 10, "{}", house.kept());
}

#[test]
fn gemini_for_typescript() {
    let Some(node) = kit(Kit::Node) else { return };
    let house = House::new();
    let script = node.script("node").arg(file("node/google-genai.mjs")).env("KIT", node.place());
    house.run(script, "gemini");
    assert!(house.kept() > 10, "{}", house.kept());
}
