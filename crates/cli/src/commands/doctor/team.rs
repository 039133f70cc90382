//! The checks of the team's memory.

use bethink_api::{TeamBlocked, TeamMemoryKind, TeamStatus};
use bethink_client::Client;
use bethink_terminal::words::plural;

use crate::app::CliApp;
use crate::commands::finding::{DoctorFinding, fail, ok, warn};

const CHECK: &str = "team";

/// Contacts the remote, so that an expired key is found here and not at the next sync.
pub(super) async fn team(app: &CliApp, client: &Client) -> Vec<DoctorFinding> {
    match client.team(&app.project_dir(), true).await {
        Ok(status) if status.kind == TeamMemoryKind::None => Vec::new(),
        Ok(status) => findings(&status),
        // An older daemon has no team memory.
        Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => Vec::new(),
        Err(error) => vec![fail(CHECK, error.to_string(), "run `bethink logs` for details")],
    }
}

fn findings(status: &TeamStatus) -> Vec<DoctorFinding> {
    let mut out = vec![ok(CHECK, shared(status))];
    let problems = status.problems.iter();
    out.extend(problems.map(|problem| {
        fail(CHECK, problem.clone(), "fix this; until then nothing is pulled or pushed")
    }));
    out.extend(status.blocked.iter().map(|one| blocked(one, status.kind)));
    out.extend(status.conflicts.iter().map(|conflict| {
        let found = format!("{} has {} versions", conflict.name, conflict.versions.len());
        warn(CHECK, found, format!("run `bethink team resolve {}`", conflict.name))
    }));
    if !status.unsynced.is_empty() {
        let changed = plural(status.unsynced.len() as u64, "file has", "files have");
        let found = format!("{changed} changed since the last sync");
        out.push(warn(CHECK, found, "run `bethink team sync`"));
    }
    if status.proposals > 0 {
        let waits = plural(status.proposals, "proposal is waiting", "proposals are waiting");
        out.push(warn(CHECK, waits, "run `bethink team proposals`"));
    }
    out
}

fn shared(status: &TeamStatus) -> String {
    let topics = plural(status.topics, "topic", "topics");
    match (&status.remote, status.kind) {
        (Some(remote), _) => format!("{topics}, shared with {remote}"),
        (None, TeamMemoryKind::Folder) => format!("{topics}, in the folder {}", status.dir),
        (None, _) => format!("{topics}, in a repository without a remote"),
    }
}

fn blocked(one: &TeamBlocked, kind: TeamMemoryKind) -> DoctorFinding {
    let reasons = one.reasons.join("; ");
    let todo = match kind {
        TeamMemoryKind::Folder => {
            "fix the file soon: the program that syncs the folder will share it"
        }
        _ => "fix the file; until then it is not shared",
    };
    warn(CHECK, format!("{}: {reasons}", one.file), todo)
}
