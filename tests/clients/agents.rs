//! The client for Python, and its example, an agent: against a real daemon and the scripted model server.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bethink_harness::{Daemon, Home, say, until};
use bethink_model_server::{Fault, Plan, Script, Server};
use bethink_test_clients::{Installed, Kit, Ran, Script as Run, kit};

/// How long the client may take to say that it follows the events.
const PATIENCE: Duration = Duration::from_secs(60);

fn client_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/clients/python")
}

/// A run of the kit's Python that can import the client.
fn python(kit: &Installed, daemon: &Daemon) -> Run {
    kit.script("python")
        .env("PYTHONPATH", client_dir().join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("BETHINK_HOME", daemon.home.path())
        .env("SCRATCH", daemon.home.scratch())
        .dir(daemon.home.scratch())
}

fn client_test(kit: &Installed, daemon: &Daemon) -> Run {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/python");
    python(kit, daemon).arg(file.join("bethink_client.py"))
}

#[test]
fn types_for_python_are_those_of_the_document() {
    let Some(kit) = kit(Kit::Python) else { return };
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bethink-types.py");
    kit.script("python").arg(client_dir().join("generate.py")).arg(&fresh).run().good();
    let committed = fs::read_to_string(client_dir().join("src/bethink/types.py")).unwrap();
    assert!(
        committed == fs::read_to_string(fresh).unwrap(),
        "src/bethink/types.py is out of date: run `python deploy/clients/python/generate.py`"
    );
}

#[test]
fn the_python_client_has_the_version_of_the_daemon() {
    let package = fs::read_to_string(client_dir().join("pyproject.toml")).unwrap();
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(package.lines().any(|line| line == version), "{version} in pyproject.toml");
}

#[test]
fn the_python_client_and_its_example_are_typed() {
    let Some(kit) = kit(Kit::Python) else { return };
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mypy");
    let mypy = |what: &[&str]| {
        let run = kit.script("mypy").args(["--config-file", "pyproject.toml", "--cache-dir"]);
        let run = what.iter().fold(run.arg(&cache), Run::arg);
        run.env("MYPYPATH", "src").dir(client_dir()).run().good();
    };
    mypy(&["--package", "bethink"]);
    mypy(&["examples/agent.py"]);
}

#[test]
fn the_python_client_keeps_its_promises() {
    let Some(kit) = kit(Kit::Python) else { return };
    let daemon = Daemon::fresh();
    let tests = [
        "a_daemon_is_found_by_its_socket_or_by_its_address",
        "a_token_is_sent_only_to_this_computer",
        "a_daemon_proves_itself_before_it_gets_the_token",
        "tcp_is_used_only_without_a_socket_and_localhost_is_127_0_0_1",
        "what_cannot_prove_itself_gets_nothing",
        "a_peer_that_never_answers_is_left",
        "a_connection_that_ends_after_its_proof_is_not_replaced",
        "a_busy_daemon_is_asked_again_after_the_time_it_names",
        "a_refusal_has_its_fields",
        "text_is_read_and_written_with_its_etag",
        "a_lost_answer_is_fetched_again_and_nothing_happens_twice",
        "unknown_events_pass_and_silence_ends_a_connection",
    ];
    client_test(&kit, &daemon).args(tests).run().good();
}

#[test]
fn the_python_client_follows_events_across_a_restart() {
    let Some(kit) = kit(Kit::Python) else { return };
    let mut daemon = Daemon::fresh();
    let run = client_test(&kit, &daemon).arg("events_are_resumed_after_the_daemon_restarts");
    let run = thread::spawn(|| run.run());
    let ready = daemon.home.scratch().join("ready");
    let session = until(PATIENCE, || fs::read_to_string(&ready).ok().filter(|id| !id.is_empty()));
    daemon.terminate();
    daemon.start();
    daemon.append(&session.expect("the client follows the events"), &[say::user("meanwhile")]);
    run.join().unwrap().good();
}

/// An agent's run, and the server that answers it.
fn agent(daemon: &Daemon, server: &Server, arguments: &[&str]) -> Option<Ran> {
    let kit = kit(Kit::Python)?;
    let run = python(&kit, daemon).arg(client_dir().join("examples/agent.py"));
    let run = arguments.iter().fold(run, Run::arg);
    Some(run.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key").run().good())
}

fn server(faults: &[Fault]) -> Server {
    let other = Plan { first: faults.iter().copied().collect(), always: None };
    Server::start(Script { other, ..Script::default() }).unwrap()
}

/// Roles of a session's messages, and the whole of it as text.
fn history(daemon: &Daemon, session: &str) -> (Vec<String>, String) {
    let page = daemon.client().get(&format!("/v1/sessions/{session}/messages?limit=1000")).ok();
    let roles = page["messages"].as_array().unwrap().iter();
    let roles = roles.map(|message| message["role"].as_str().unwrap().to_owned()).collect();
    (roles, page.to_string())
}

#[test]
fn an_agent_in_python_uses_a_tool_and_answers() {
    let (daemon, server) = (Daemon::fresh(), server(&[Fault::ToolLoop]));
    fs::write(daemon.home.scratch().join("again"), "the lighthouse is red").unwrap();
    let Some(ran) = agent(&daemon, &server, &["What is the lighthouse like?"]) else { return };
    let session = ran.stdout.lines().last().unwrap().strip_prefix("session ").unwrap();
    let (roles, text) = history(&daemon, session);
    assert_eq!(roles, ["user", "assistant", "user", "assistant"], "{}", ran.stdout);
    assert!(text.contains("the lighthouse is red"), "{text}");
    let counts = server.counts();
    assert_eq!((counts.requests, counts.answered_well), (2, 1), "{counts:?}");
    assert_eq!((counts.invalid_prompts, counts.invalid_envelopes), (0, 0), "{counts:?}");
}

#[test]
fn an_agent_in_python_recovers_when_its_prompt_is_too_long() {
    let (daemon, server) = (Home::new().start(), server(&[Fault::Overflow]));
    let session = daemon.session(200_000);
    for n in 0..12 {
        daemon.append(&session, &say::work(n, 4_000));
    }
    let asked = ["--session", &session, "What did we mend?"];
    let Some(ran) = agent(&daemon, &server, &asked) else { return };
    assert!(ran.stdout.contains("the model refused the prompt: "), "{}", ran.stdout);
    let sizes: Vec<u64> = server.requests().iter().map(|request| request.tokens).collect();
    assert!(sizes.len() == 2 && sizes[1] < sizes[0], "{sizes:?}: {}", ran.stdout);
    assert_eq!(server.counts().invalid_prompts, 0);
    let (roles, _) = history(&daemon, &session);
    assert_eq!(roles.len(), 12 * 4 + 2);
}
