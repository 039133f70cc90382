//! The TypeScript client in `deploy/clients/typescript`: its types are those of `openapi.json`, its own tests pass, and its
//! example works with a daemon and a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, say, until};
use bethink_model_server::{Fault, Script, Server};
use bethink_test_clients::{Installed, Kit, Ran, kit};

use crate::openapi::{OWN, file, scratch};

/// Set to write the types instead of comparing them.
const WRITE: &str = "BETHINK_WRITE_CLIENT_TYPES";

fn package() -> PathBuf {
    file("deploy/clients/typescript")
}

#[test]
fn its_types_are_generated_from_the_document() {
    let Some(node) = kit(Kit::Node) else { return };
    let fresh = scratch("typescript-client").join("api.ts");
    let generate = node.script(&format!("{OWN}/openapi-typescript")).arg(file("openapi.json"));
    let generate = generate.args(["--root-types", "--root-types-no-schema-prefix"]);
    let generate = generate.args(["--root-types-keep-casing", "--empty-objects-unknown"]);
    generate.arg("-o").arg(&fresh).run().good();
    let committed = package().join("src/api.ts");
    if std::env::var_os(WRITE).is_some() {
        fs::copy(&fresh, &committed).unwrap();
    }
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert!(
        read(&fresh) == read(&committed),
        "{} is not what openapi.json generates: run `{WRITE}=1 cargo test --workspace --test clients typescript`",
        committed.display()
    );
}

#[test]
fn it_compiles_and_its_tests_pass() {
    let Some(node) = kit(Kit::Node) else { return };
    let types = node.place().join("node_modules/@types");
    let tsc = |project: &str| {
        let tsc = node.script("tsc").arg("-p").arg(package().join(project));
        tsc.arg("--typeRoots").arg(&types)
    };
    tsc("tsconfig.json").run().good();
    let mut tests: Vec<_> =
        fs::read_dir(package().join("test")).unwrap().map(|file| file.unwrap().path()).collect();
    tests.sort();
    let run =
        tests.iter().fold(node.script("node").arg("--test"), bethink_test_clients::Script::arg);
    run.run().good();

    // What is published are modules that any Node can import.
    let dist = scratch("typescript-client-dist");
    tsc("tsconfig.build.json").arg("--outDir").arg(&dist).run().good();
    fs::write(dist.join("package.json"), r#"{"type":"module"}"#).unwrap();
    let import =
        "const { connect, ApiError } = await import('./node.js'); connect(); new ApiError({});";
    node.script("node").args(["--input-type=module", "-e", import]).dir(&dist).run().good();
}

#[test]
fn it_has_the_version_of_the_workspace_and_the_tools_of_the_tests() {
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(file(path)).unwrap()).unwrap()
    };
    let own = read("deploy/clients/typescript/package.json");
    let kit = read("tests/clients/package.json");
    assert_eq!(own["version"], env!("CARGO_PKG_VERSION"));
    assert!(own["dependencies"].is_null());
    for (name, version) in own["devDependencies"].as_object().unwrap() {
        assert_eq!(kit["dependencies"][name], *version, "{name}");
    }
}

#[test]
fn its_events_continue_after_a_crash_of_the_daemon() {
    let Some(node) = kit(Kit::Node) else { return };
    let mut daemon = Daemon::fresh();
    let session = daemon.session(60_000);
    let seen = daemon.home.scratch().join("seen");
    let follow = node.script("node").arg(file("tests/clients/node/follow.mjs"));
    let follow = follow.env("CLIENT", package().join("src/node.ts"));
    let follow = follow.env("BETHINK_HOME", daemon.home.path());
    let follow = follow.env("SESSION", &session).env("SEEN", &seen);
    let follow = thread::spawn(move || follow.run().good());
    let saw = |expect: &str| {
        let read = || fs::read_to_string(&seen).ok().filter(|seen| seen == expect);
        until(PATIENCE, read).unwrap_or_else(|| panic!("no {expect:?} in {}", seen.display()));
    };
    saw("");
    for n in 1..=3 {
        daemon.append(&session, &[say::user(&format!("message {n}"))]);
    }
    saw("1 2 3");
    daemon.kill9();
    daemon.start();
    for n in 4..=6 {
        daemon.append(&session, &[say::user(&format!("message {n}"))]);
    }
    saw("1 2 3 4 5 6");
    follow.join().unwrap();
}

/// A daemon, and a model for the example.
struct Agent {
    node: Installed,
    daemon: Daemon,
    model: Server,
}

impl Agent {
    /// The model's first answers have these faults.
    fn new(node: Installed, faults: &[Fault]) -> Self {
        let model = Server::start(Script::first(faults)).unwrap();
        Self { node, daemon: Home::new().start(), model }
    }

    fn run(&self, session: Option<&str>) -> Ran {
        let example = self.node.script("node").arg(package().join("examples/agent.ts"));
        let example = example
            .arg("What is in this directory?")
            .env("BETHINK_HOME", self.daemon.home.path())
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "sk-test")
            .dir(self.daemon.home.scratch());
        let example = match session {
            Some(session) => example.env("BETHINK_SESSION", session),
            None => example,
        };
        let ran = example.run().good();
        assert_eq!(self.model.counts().invalid_prompts, 0);
        ran
    }

    /// The last messages of a session.
    fn history(&self, session: &str) -> Vec<serde_json::Value> {
        let path = format!("/v1/sessions/{session}/messages?limit=1000");
        let page = self.daemon.client().get(&path).ok();
        let messages = page["messages"].as_array().unwrap().iter();
        messages.map(|stored| stored["message"].clone()).collect()
    }
}

#[test]
fn the_example_runs_a_tool_and_answers() {
    let Some(node) = kit(Kit::Node) else { return };
    let agent = Agent::new(node, &[Fault::ToolLoop]);
    let ran = agent.run(None);
    assert!(ran.stdout.contains("I have read 3 messages"), "{}", ran.stdout);
    let sessions = agent.daemon.client().get("/v1/sessions").ok();
    let history = agent.history(sessions["sessions"][0]["id"].as_str().unwrap());
    let roles: Vec<_> = history.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(history[1]["content"][0]["name"], "list_files");
    let result = &history[2]["content"][0];
    assert_eq!(result["tool_use_id"], history[1]["content"][0]["id"]);
    assert!(result["content"].as_str().unwrap().contains("home"), "{result}");
}

#[test]
fn the_example_recovers_from_a_prompt_that_is_too_long() {
    let Some(node) = kit(Kit::Node) else { return };
    let agent = Agent::new(node, &[Fault::Overflow]);
    let session = agent.daemon.session(60_000);
    for n in 0..12 {
        agent.daemon.append(&session, &say::work(n, 4_000));
    }
    let ran = agent.run(Some(&session));
    assert!(ran.stderr.contains("status 400"), "{}", ran.stderr);
    assert!(ran.stdout.contains("I have read"), "{}", ran.stdout);
    let counts = agent.model.counts();
    assert_eq!((counts.requests, counts.repeated), (2, 0), "{counts:?}");
    let prompts = agent.model.requests();
    assert!(prompts[1].tokens < prompts[0].tokens, "{} {}", prompts[0].tokens, prompts[1].tokens);
    assert_eq!(agent.history(&session).last().unwrap()["role"], "assistant");
}
