//! The checks of what is shared with the team: memory and history.

use bethink_api::{SharedDirectory, TeamBlocked, TeamMemoryKind, TeamStatus};
use bethink_client::Client;
use bethink_terminal::words::plural;

use crate::app::CliApp;
use crate::commands::finding::{DoctorFinding, fail, ok, warn};

const CHECK: &str = "team";
const HISTORY: &str = "team history";

pub(super) async fn team(app: &CliApp, client: &Client) -> Vec<DoctorFinding> {
    let (mut findings, history) = tokio::join!(memory(app, client), history(client));
    findings.extend(history);
    findings
}

/// Contacts the remote, so that an expired key is found here and not at the next sync.
async fn memory(app: &CliApp, client: &Client) -> Vec<DoctorFinding> {
    match client.team(&app.project_dir(), true).await {
        Ok(status) if status.kind == TeamMemoryKind::None => not_shared(&status),
        Ok(status) => findings(&status),
        // An older daemon has no team memory.
        Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => Vec::new(),
        Err(error) => vec![fail(CHECK, error.to_string(), "run `bethink logs` for details")],
    }
}

/// Sessions that cannot be shared. If nothing can be asked, other checks say why.
async fn history(client: &Client) -> Vec<DoctorFinding> {
    let history = client.team_history().await.unwrap_or_default();
    history.shared.iter().filter_map(not_copied).collect()
}

fn not_copied(shared: &SharedDirectory) -> Option<DoctorFinding> {
    let problem = shared.problem.as_ref().filter(|_| shared.waiting > 0)?;
    let waiting = plural(shared.waiting, "session is", "sessions are");
    let found = format!("{waiting} not shared yet: {problem}");
    let todo = format!(
        "fix this, or run `bethink team history off` in {}; `bethink team history status` shows what you share",
        shared.project_dir
    );
    Some(warn(HISTORY, found, todo))
}

/// Topics for a team that the project does not have.
fn not_shared(status: &TeamStatus) -> Vec<DoctorFinding> {
    if status.topics == 0 {
        return Vec::new();
    }
    let topics = plural(status.topics, "team topic", "team topics");
    let found = format!("{topics} in {} will not be shared", status.dir);
    vec![warn(
        CHECK,
        found,
        "run `bethink team init --remote URL` or `bethink team init --dir DIR`",
    )]
}

fn findings(status: &TeamStatus) -> Vec<DoctorFinding> {
    let problems = status.problems.iter().map(|problem| {
        fail(CHECK, problem.clone(), "fix this; until then nothing is pulled or pushed")
    });
    let mut out: Vec<DoctorFinding> = problems.collect();
    if out.is_empty() {
        out.push(ok(CHECK, shared(status)));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::finding::Verdict;

    #[test]
    fn history_that_cannot_be_shared_is_a_warning() {
        let shared = |waiting, problem: Option<&str>| SharedDirectory {
            project_dir: "/mill".into(),
            project: "mill".into(),
            since: None,
            waiting,
            problem: problem.map(str::to_owned),
        };
        let found = not_copied(&shared(1, Some("permission denied"))).unwrap();
        assert_eq!((found.check, found.verdict), (HISTORY, Verdict::Warn));
        assert!(found.found.contains("1 session is not shared yet: permission denied"));
        // Those that wait are copied some seconds later.
        assert_eq!(not_copied(&shared(1, None)).map(|found| found.found), None);
        assert_eq!(not_copied(&shared(0, Some("excluded"))).map(|found| found.found), None);
    }
}
