//! `bethink instructions`: which files tell an agent what to do here, and why others don't.

use bethink_api::{ApproveImport, ImportApproval};
use bethink_client::Client;

use super::Done;
use super::doctor::Finding;
use crate::app::App;
use crate::args::{Instructions, InstructionsCommand};
use crate::draw::instructions as draw;
use crate::failure::Failure;
use crate::screen::Text;

pub(crate) async fn run(app: &mut App, asked: &Instructions) -> Done {
    match &asked.command {
        None => list(app, &asked.touch).await,
        Some(InstructionsCommand::Approve { path }) => {
            let client = app.client().await?;
            let done = client.approve_import(&named(app, path)).await?;
            tell(app, &done, "may be loaded in this project")
        }
        Some(InstructionsCommand::Revoke { path }) => {
            let client = app.client().await?;
            let done = client.revoke_import(&named(app, path)).await?;
            tell(app, &done, "is not loaded any more")
        }
    }
}

async fn list(app: &mut App, touched: &[String]) -> Done {
    let client = app.client().await?;
    let project = app.project.display().to_string();
    let chain = client.instructions(&project, None, touched).await?;
    if app.screen.json {
        return Ok(app.screen.value(&chain)?);
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let places = draw::Places { root: &chain.root, home: &home };
    app.screen.lines(draw::files(&chain, &places, app.screen.look.width))?;
    app.screen.lines(draw::skipped(&chain, &places, app.screen.look.width))?;
    for hint in draw::hints(&chain) {
        app.screen.note(Text::new().dim(hint))?;
    }
    Ok(())
}

/// Each file of the project at hand, for `doctor`.
pub(super) async fn findings(app: &App, client: &Client) -> Vec<Finding> {
    let project = app.project.display().to_string();
    // A daemon of an older version knows of no instructions.
    let Ok(chain) = client.instructions(&project, None, &[]).await else { return Vec::new() };
    let home = std::env::var("HOME").unwrap_or_default();
    let places = draw::Places { root: &chain.root, home: &home };
    let mut findings = vec![Finding::ok(CHECK, draw::summary(&chain))];
    for file in &chain.files {
        let loaded = draw::loaded(file, &places);
        findings.push(Finding::ok(CHECK, loaded));
        let path = places.short(&file.path);
        findings.extend(file.warnings.iter().map(|said| {
            Finding::warn(CHECK, format!("{path}: {said}"), "shorten it, or move parts into rules")
        }));
    }
    findings.extend(chain.skipped.iter().map(|skipped| {
        let found =
            format!("{} is not loaded: {}", places.short(&skipped.path), places.said(&skipped.why));
        match (skipped.harmless, skipped.approve) {
            (true, _) => Finding::ok(CHECK, found),
            (false, true) => {
                let todo = format!("bethink instructions approve {}", skipped.path);
                Finding::warn(CHECK, found, todo)
            }
            (false, false) => Finding::warn(CHECK, found, "mend the file, or what names it"),
        }
    }));
    findings
}

const CHECK: &str = "instructions";

fn named(app: &App, path: &str) -> ApproveImport {
    let project_dir = app.project.display().to_string();
    let home = std::env::var("HOME").ok();
    let path = match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => format!("{home}/{below}"),
        _ => path.to_owned(),
    };
    ApproveImport { project_dir, path }
}

fn tell(app: &mut App, done: &ImportApproval, what: &str) -> Result<(), Failure> {
    if app.screen.json {
        return Ok(app.screen.value(done)?);
    }
    Ok(app.screen.line(Text::new().strong(done.path.clone()).plain(format!(" {what}")))?)
}
