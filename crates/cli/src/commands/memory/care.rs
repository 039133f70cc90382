//! What is wrong with the memory, and an index made anew.

use bethink_api::{MemoryLint, RebuildMemory};
use bethink_client::Client;

use super::{TEAM, project, scope};
use crate::app::App;
use crate::args::{self, OfTeam};
use crate::commands::Done;
use crate::draw::memory as draw;
use crate::failure::Failure;
use crate::screen::{Text, Tone};

/// Fails when something that was written down is not found, or is not what it seems.
pub(super) async fn lint(app: &mut App, client: &Client, of: &OfTeam) -> Done {
    let found = client.memory_lint(&project(app), of.team.then_some(TEAM)).await?;
    match app.screen.json {
        true => app.screen.value(&found)?,
        false => show(app, &found)?,
    }
    let findings = found.shelves.iter().flat_map(|shelf| &shelf.findings);
    let broken = found.shelves.iter().any(|shelf| shelf.fault.is_some());
    match broken || findings.into_iter().any(|finding| finding.severity == "error") {
        true => Err(Failure::Said),
        false => Ok(()),
    }
}

fn show(app: &mut App, found: &MemoryLint) -> Done {
    for shelf in &found.shelves {
        if let Some(fault) = &shelf.fault {
            let text =
                Text::new().put(Tone::Bad, "error: ").plain(format!("{}: {fault}", shelf.dir));
            app.screen.complain(text)?;
        }
        for finding in &shelf.findings {
            app.screen.lines(draw::finding(finding, &shelf.scope, app.screen.look.width))?;
        }
        app.screen.note(Text::new().dim(draw::sum(shelf)))?;
    }
    Ok(())
}

pub(super) async fn rebuild(app: &mut App, client: &Client, how: &args::RebuildMemory) -> Done {
    let request = RebuildMemory {
        project_dir: project(app),
        scope: Some(scope(&how.of).to_owned()),
        dry_run: how.dry_run,
    };
    let done = client.rebuild_memory(&request).await?;
    if app.screen.json {
        return Ok(app.screen.value(&done)?);
    }
    for line in &done.dropped {
        app.screen.line(Text::new().put(Tone::Bad, format!("- {line}")))?;
    }
    for line in &done.added {
        app.screen.line(Text::new().put(Tone::Good, format!("+ {line}")))?;
    }
    let told = match (done.changed, done.dry_run) {
        (false, _) => format!("{} names every topic already", done.path),
        (true, true) => {
            format!("nothing was written; without --dry-run this is made of {}", done.path)
        }
        (true, false) => format!("{} is up to date", done.path),
    };
    app.screen.note(Text::new().dim(told))?;
    draw::warnings(&mut app.screen, &done.warnings)
}
