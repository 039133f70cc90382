//! What the project shares, as doctor tells it.

use bethink_api::{TeamBlocked, TeamStatus};
use bethink_client::Client;

use super::Finding;
use crate::app::App;
use crate::screen::words::plural;

const CHECK: &str = "team";

/// The remote is asked, so that a key that ran out is found here and not at the next sync.
pub(super) async fn team(app: &App, client: &Client) -> Vec<Finding> {
    match client.team(&app.project.display().to_string(), true).await {
        Ok(status) if status.kind == "none" => Vec::new(),
        Ok(status) => findings(&status),
        // A daemon of an older version shares nothing.
        Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => Vec::new(),
        Err(error) => vec![Finding::fail(CHECK, error.to_string(), "bethink logs tells more")],
    }
}

fn findings(status: &TeamStatus) -> Vec<Finding> {
    let mut out = vec![Finding::ok(CHECK, shared(status))];
    let problems = status.problems.iter();
    out.extend(problems.map(|problem| {
        Finding::fail(CHECK, problem.clone(), "until then nothing is pulled or pushed")
    }));
    out.extend(status.blocked.iter().map(blocked));
    if !status.unsynced.is_empty() {
        let changed = plural(status.unsynced.len() as u64, "file", "files");
        let found = format!("{changed} changed since the last sync");
        out.push(Finding::warn(CHECK, found, "bethink team sync"));
    }
    if status.proposals > 0 {
        let waits = plural(status.proposals, "proposal waits", "proposals wait");
        out.push(Finding::warn(CHECK, waits, "bethink team proposals"));
    }
    out
}

fn shared(status: &TeamStatus) -> String {
    let topics = plural(status.topics, "topic", "topics");
    match (&status.remote, status.kind.as_str()) {
        (Some(remote), _) => format!("{topics}, shared with {remote}"),
        (None, "folder") => format!("{topics}, in the folder {}", status.dir),
        (None, _) => format!("{topics}, in a repository without a remote"),
    }
}

fn blocked(one: &TeamBlocked) -> Finding {
    let reasons = one.reasons.join("; ");
    let todo = "mend the file; until then it is not shared";
    Finding::warn(CHECK, format!("{}: {reasons}", one.file), todo)
}
