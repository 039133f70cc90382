//! Measures imports of recorded sessions, and checks that exports are identical.

use std::path::PathBuf;
use std::time::Duration;

use bethink_harness::{Client, Daemon, until};
use serde_json::{Value, json};

use crate::table::{Goal, Row};
use crate::timed;

/// Time limit for a file.
const PATIENCE: Duration = Duration::from_secs(120);

/// Imports and exports every file, one after the other.
pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let (mut bytes, mut time, mut different) = (0, Duration::ZERO, Vec::new());
    for file in files {
        let content = std::fs::read(file).expect("a file");
        let path = std::fs::canonicalize(file).expect("a path");
        let (took, result) = timed(|| import(&mut client, &json!({"path": path})));
        bytes += content.len();
        time += took;
        let id = result[0]["session_id"].as_str().unwrap_or_default().to_owned();
        if client.get(&format!("/v1/sessions/{id}/export")).body != content {
            different.push(file.display().to_string());
        }
    }
    let rate = bytes as f64 / 1e6 / time.as_secs_f64();
    let detail = format!(
        "{} files, {:.1} MB in {:.2} s",
        files.len(),
        bytes as f64 / 1e6,
        time.as_secs_f64()
    );
    vec![
        Row::new("import", rate, "MB/s", Goal::AtLeast(40.0)).detail(detail),
        Row::new(
            "exports that differ from their file",
            different.len() as f64,
            "",
            Goal::AtMost(0.0),
        )
        .detail(different.join(" ")),
    ]
}

/// Waits for a job and returns it.
pub fn import(client: &mut Client, request: &Value) -> Value {
    let job = client.post("/v1/import", request).ok();
    let path = format!("/v1/jobs/{}", job["id"].as_str().expect("a job"));
    let end = until(PATIENCE, || {
        let job = client.get(&path).ok();
        matches!(job["state"].as_str(), Some("done" | "failed")).then_some(job)
    });
    let end = end.expect("the import ends");
    assert_eq!(end["state"], "done", "{end}");
    end["result"].clone()
}
