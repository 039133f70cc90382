//! Checks the memory, and rebuilds its index.

use bethink_api::{MemoryLint, RebuildMemory, ScopeQuery, Severity};
use bethink_client::Client;
use bethink_terminal::{StyledText, Tone};

use super::named::{named_scope, scope};
use super::warn::warn;
use crate::app::CliApp;
use crate::args::OfTeam;
use crate::failure::{CliFailure, Done};
use bethink_render::memory as render;

/// Lists the problems. Fails if a directory cannot be read or a finding is an error.
pub(super) async fn lint(app: &mut CliApp, client: &Client, of: &OfTeam) -> Done {
    let scope = named_scope(of.team, of.me);
    let query = ScopeQuery { project_dir: app.project_dir(), scope };
    let found = client.memory_lint(&query).await?;
    match app.screen.json {
        true => app.screen.value(&found)?,
        false => show(app, &found)?,
    }
    let findings = found.shelves.iter().flat_map(|shelf| &shelf.findings);
    let broken = found.shelves.iter().any(|shelf| shelf.fault.is_some());
    match broken || findings.into_iter().any(|finding| finding.severity == Severity::Error) {
        true => Err(CliFailure::Printed),
        false => Ok(()),
    }
}

fn show(app: &mut CliApp, found: &MemoryLint) -> Done {
    for shelf in &found.shelves {
        if let Some(fault) = &shelf.fault {
            let text = StyledText::new()
                .put(Tone::Bad, "error: ")
                .plain(format!("{}: {fault}", shelf.dir));
            app.screen.complain(text)?;
        }
        for finding in &shelf.findings {
            app.screen.lines(render::finding(finding, shelf.scope, app.screen.look.width))?;
        }
        app.screen.hint(render::sum(shelf))?;
    }
    Ok(())
}

pub(super) async fn rebuild(app: &mut CliApp, client: &Client, of: &OfTeam, dry_run: bool) -> Done {
    let scope = Some(scope(of));
    let request = RebuildMemory { project_dir: app.project_dir(), scope, dry_run };
    let done = client.rebuild_memory(&request).await?;
    let Some(screen) = app.screen.unless_json(&done)? else { return Ok(()) };
    for line in &done.dropped {
        screen.line(StyledText::new().put(Tone::Bad, format!("- {line}")))?;
    }
    for line in &done.added {
        screen.line(StyledText::new().put(Tone::Good, format!("+ {line}")))?;
    }
    let told = match (done.changed, done.dry_run) {
        (false, _) => format!("{} already lists every topic", done.path),
        (true, true) => {
            format!("nothing was written; without `--dry-run`, {} would change as shown", done.path)
        }
        (true, false) => format!("{} is up to date", done.path),
    };
    screen.hint(told)?;
    warn(screen, &done.warnings)
}
