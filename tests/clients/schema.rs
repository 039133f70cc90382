//! Runs schemathesis with `/openapi.json`: no request causes an internal error, and every response has the status, type
//! and form in the document.

use std::fs;

use bethink_harness::{Daemon, say};
use bethink_test_clients::{Kit, kit};
use serde_json::json;

/// Number of requests per operation, enough for every field. `BETHINK_SCHEMA_EXAMPLES` sets another number.
const EXAMPLES: &str = "5";

/// Endless streams, and the route after which the token of this run would be refused.
const NOT_CALLED: &str = "events$|token/rotate$";

/// Checks that are left out: that all requests that a schema allows are accepted (paths must be absolute, lists not empty),
/// that numbers over 2^63 are rejected (they mean "the last"), and responses to wrong tokens (429 after twenty; the guard's
/// own tests check them).
const NOT_ASKED: &str =
    "positive_data_acceptance,negative_data_rejection,missing_required_header,ignored_auth";

#[test]
fn every_operation_keeps_to_its_schema() {
    let Some(python) = kit(Kit::Python) else { return };
    let daemon = Daemon::fresh();
    let session = with_everything(&daemon);
    let settings = daemon.home.scratch().join("schemathesis.toml");
    let project = daemon.home.scratch().display().to_string();
    let given = format!(
        "[parameters]\n\"path.id\" = \"{session}\"\n\"path.scope\" = \"private\"\n\"path.kind\" = \"plan\"\n\
         \"query.project_dir\" = \"{project}\"\n\"body.project_dir\" = \"{project}\"\n"
    );
    fs::write(&settings, given).unwrap();
    let examples = std::env::var("BETHINK_SCHEMA_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    let ran = python
        .script("schemathesis")
        .arg("--config-file")
        .arg(&settings)
        .arg("run")
        .arg(format!("http://{}/openapi.json", daemon.addr()))
        .arg("--header")
        .arg(format!("Authorization: Bearer {}", daemon.token()))
        .args(["--exclude-path-regex", NOT_CALLED, "--exclude-checks", NOT_ASKED])
        .args(["--max-examples", &examples, "--phases", "examples,coverage,fuzzing"])
        .args(["--request-timeout", "20", "--no-color"])
        .dir(daemon.home.scratch())
        .run();
    let summary = ran.stdout.split("SUMMARY").nth(1).unwrap_or_default();
    assert!(ran.status.success(), "{}\n{}", ran.stdout, ran.stderr);
    for line in
        summary.lines().filter(|line| line.contains("Selected") || line.contains("generated"))
    {
        println!("schemathesis {}", line.trim());
    }
    daemon.is_well();
}

/// Makes a session with history, a compaction, notes and todos, and a memory.
fn with_everything(daemon: &Daemon) -> String {
    let session = daemon.session(60_000);
    for n in 0..12 {
        daemon.append(&session, &say::work(n, 4_000));
    }
    let mut client = daemon.client();
    client.post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    client.put(&format!("/v1/sessions/{session}/todos"), &json!({"todos": [{"content": "a"}]}));
    let memory = json!({"project_dir": daemon.home.scratch(), "text": "Never push on Fridays"});
    assert!(client.post("/v1/memories", &memory).status < 300);
    session
}
