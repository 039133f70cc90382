//! `bethink instructions`: which instruction files are loaded here, and why others are not.

use bethink_api::{ApproveImport, ImportApproval, InstructionFile};
use bethink_client::Client;
use bethink_terminal::StyledText;

use super::finding::{DoctorFinding, ok, warn};
use crate::app::CliApp;
use crate::args::{InstructionsArgs, InstructionsCommand};
use crate::failure::{CliFailure, Done};
use bethink_render::instructions as render;

pub(crate) async fn run(app: &mut CliApp, asked: &InstructionsArgs) -> Done {
    match &asked.command {
        None => list(app, &asked.touch).await,
        Some(InstructionsCommand::Approve { path }) => {
            let client = app.client().await?;
            let done = client.approve_import(&named(app, path)).await?;
            tell(app, &done, "is now approved for this project")
        }
        Some(InstructionsCommand::Revoke { path }) => {
            let client = app.client().await?;
            let done = client.revoke_import(&named(app, path)).await?;
            tell(app, &done, "is no longer approved for this project")
        }
    }
}

async fn list(app: &mut CliApp, touched: &[String]) -> Done {
    let client = app.client().await?;
    let project = app.project_dir();
    let chain = client.instructions(&project, None, touched).await?;
    let Some(screen) = app.screen.unless_json(&chain)? else { return Ok(()) };
    let home = std::env::var("HOME").unwrap_or_default();
    let places = render::ShortPaths { root: &chain.root, home: &home };
    screen.lines(render::files(&chain, &places, screen.look.width))?;
    screen.lines(render::skipped(&chain, &places, screen.look.width))?;
    screen.lines(render::approved(&chain, &places))?;
    for hint in render::hints(&chain) {
        screen.hint(hint)?;
    }
    Ok(())
}

/// Returns `doctor`'s findings about the project's instruction files.
pub(super) async fn findings(app: &CliApp, client: &Client) -> Vec<DoctorFinding> {
    let project = app.project_dir();
    // An older daemon does not report instruction files.
    let Ok(chain) = client.instructions(&project, None, &[]).await else { return Vec::new() };
    let home = std::env::var("HOME").unwrap_or_default();
    let places = render::ShortPaths { root: &chain.root, home: &home };
    let mut findings = vec![ok(CHECK, render::summary(&chain))];
    for file in &chain.files {
        let loaded = render::loaded(file, &places);
        findings.push(ok(CHECK, loaded));
        let path = places.short(&file.path);
        findings.extend(
            file.warnings
                .iter()
                .map(|said| warn(CHECK, format!("{path}: {said}"), hint_of(file, said))),
        );
    }
    findings.extend(chain.skipped.iter().map(|skipped| {
        let (path, why) = (places.short(&skipped.path), places.in_text(&skipped.why));
        // A loaded file is also listed here if some of its imports were skipped.
        let found = match chain.files.iter().any(|file| file.path == skipped.path) {
            true => format!("{path}: {why}"),
            false => format!("skipped {path}: {why}"),
        };
        match (skipped.harmless, skipped.approve) {
            (true, _) => ok(CHECK, found),
            (false, true) => {
                let todo = format!("run `bethink instructions approve {}`", skipped.path);
                warn(CHECK, found, todo)
            }
            (false, false) => warn(CHECK, found, "change the file, or the import that names it"),
        }
    }));
    findings
}

/// Returns what to do about a warning. Warnings about a file's length begin with that length.
fn hint_of(file: &InstructionFile, warning: &str) -> &'static str {
    let InstructionFile { chars, lines, .. } = file;
    let sizes = [format!("{chars} characters:"), format!("{lines} lines:")];
    match sizes.iter().any(|size| warning.starts_with(size)) {
        true => "shorten the file, or move parts of it into files in `.claude/rules`",
        false => "fix this in the file",
    }
}

const CHECK: &str = "instructions";

fn named(app: &CliApp, path: &str) -> ApproveImport {
    let project_dir = app.project_dir();
    let home = std::env::var("HOME").ok();
    let path = match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => format!("{home}/{below}"),
        _ => path.to_owned(),
    };
    ApproveImport { project_dir, path }
}

fn tell(app: &mut CliApp, done: &ImportApproval, what: &str) -> Result<(), CliFailure> {
    let Some(screen) = app.screen.unless_json(done)? else { return Ok(()) };
    Ok(screen.line(StyledText::new().strong(done.path.clone()).plain(format!(" {what}")))?)
}
