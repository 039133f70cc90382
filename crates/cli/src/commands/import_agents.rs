//! `bethink import` without a path: finds the sessions of the agents on this machine, and imports them.

use std::io;
use std::path::{Path, PathBuf};

use bethink_agent_transcript::{StorageForm, TranscriptAgent};
use bethink_api::{AgentTranscripts, ImportRequest};
use bethink_client::Client;
use bethink_terminal::words::{ago, count, plural};
use bethink_terminal::{StyledText, TextTable, Tone};

use super::import::{finished, note_pause, result};
use crate::app::{CliApp, dir_variable};
use crate::failure::{CliFailure, Done};
use crate::picker;

/// Maximum number of files that could not be read, and of skipped lines, that are shown for each agent.
const SHOWN: usize = 3;

/// What to import, and whether to ask first.
pub(crate) struct AgentImport<'a> {
    pub(crate) agent: Option<&'a str>,
    /// The directory or database with the agent's sessions.
    pub(crate) paths: &'a [PathBuf],
    pub(crate) dry_run: bool,
    pub(crate) yes: bool,
}

pub(crate) async fn import(app: &mut CliApp, wanted: &AgentImport<'_>) -> Done {
    let places = places(wanted)?;
    let client = app.client().await?;
    let mut found = Vec::new();
    for (agent, place) in places {
        let counted = run(app, &client, agent, &place, true).await?;
        if counted.sessions > 0 || !counted.unread.is_empty() || wanted.agent.is_some() {
            found.push((agent, place, counted));
        }
    }
    if found.is_empty() {
        return Err(CliFailure::hinted(
            "could not find any agent's sessions",
            "to import a file, run `bethink import FILE`; to import an agent's directory, run `bethink import --agent AGENT DIR`",
        ));
    }
    let is_list = wanted.dry_run || !wanted.yes && wanted.paths.is_empty();
    if is_list || !(app.screen.json || app.screen.quiet) {
        show_found(app, &found)?;
    }
    if wanted.dry_run {
        return Ok(());
    }
    if is_list {
        confirm(app, &found)?;
    }
    note_pause(app, &client).await?;
    let mut failed = false;
    let followed: Vec<&str> =
        found.iter().filter(|one| is_followed(one.0, &one.1)).map(|one| one.0.title()).collect();
    for (agent, place, _) in found {
        let imported = run(app, &client, agent, &place, false).await?;
        failed |= !imported.unread.is_empty();
        show_imported(app, agent, &imported)?;
    }
    if !(app.screen.json || followed.is_empty()) {
        let told =
            format!("from now on, bethink also reads new messages from {}", followed.join(", "));
        app.screen.note(told)?;
    }
    if failed { Err(CliFailure::Printed) } else { Ok(()) }
}

/// Returns the agents to import from, and where their sessions are. Agents without sessions on this machine are left out.
fn places(wanted: &AgentImport<'_>) -> Result<Vec<(TranscriptAgent, PathBuf)>, CliFailure> {
    let agent = wanted.agent.map(named).transpose()?;
    match (agent, wanted.paths) {
        (_, []) => {}
        (Some(agent), [path]) => {
            let path =
                path.canonicalize().map_err(|error| CliFailure::file("read", path, &error))?;
            return Ok(vec![(agent, path)]);
        }
        (Some(_), _) => return Err(CliFailure::Use("--agent takes at most one PATH".into())),
        (None, _) => return Err(CliFailure::Use("--dry-run with a PATH needs --agent".into())),
    }
    let person = dir_variable("HOME")
        .ok_or_else(|| CliFailure::hinted("could not find your home directory", "set HOME"))?;
    let place = |agent: TranscriptAgent| (agent, agent.place(&person, dir_variable));
    let Some(agent) = agent else {
        let all = TranscriptAgent::ALL.map(place).into_iter();
        return Ok(all.filter(|(_, place)| place.exists()).collect());
    };
    let (agent, place) = place(agent);
    if !place.exists() {
        let name = agent.as_str();
        return Err(CliFailure::hinted(
            format!("could not find any {} sessions in {}", agent.title(), place.display()),
            format!("if they are in another directory, run `bethink import --agent {name} DIR`"),
        ));
    }
    Ok(vec![(agent, place)])
}

/// Returns whether the daemon keeps reading what the agent writes after the import. Claude Code's transcripts are read when
/// its hooks run, so they need not be followed.
fn is_followed(agent: TranscriptAgent, place: &Path) -> bool {
    let is_place = agent.storage() == StorageForm::Database || place.is_dir();
    is_place && agent != TranscriptAgent::ClaudeCode
}

fn named(name: &str) -> Result<TranscriptAgent, CliFailure> {
    TranscriptAgent::named(name).ok_or_else(|| {
        let known = TranscriptAgent::ALL.map(TranscriptAgent::as_str).join(", ");
        CliFailure::Use(format!("--agent {name}: must be one of {known}"))
    })
}

async fn run(
    app: &CliApp,
    client: &Client,
    agent: TranscriptAgent,
    place: &Path,
    dry_run: bool,
) -> Result<AgentTranscripts, CliFailure> {
    let request = ImportRequest {
        path: place
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| CliFailure::new("the path is not valid UTF-8; rename the directory"))?,
        project_dir: app.project_given.then(|| app.project_dir()),
        agent: Some(agent.as_str().to_owned()),
        dry_run,
    };
    let job = client.import_path(&request).await?;
    let label =
        if dry_run { format!("looking for {}", agent.title()) } else { agent.title().to_owned() };
    result(finished(app, client, job, &label).await?, "import")
}

fn show_found(
    app: &mut CliApp,
    found: &[(TranscriptAgent, PathBuf, AgentTranscripts)],
) -> io::Result<()> {
    if app.screen.json {
        return found.iter().try_for_each(|(_, _, found)| app.screen.record(found));
    }
    let mut table = TextTable::new(&["agent", ">sessions", ">messages", "newest", "place"]);
    for (agent, place, found) in found {
        let newest = found.newest.as_deref().map(|newest| ago(newest, app.now));
        table.row(vec![
            StyledText::new().strong(agent.title()),
            count(found.sessions).into(),
            count(found.messages).into(),
            StyledText::new().dim(newest.unwrap_or_default()),
            StyledText::new().dim(place.display().to_string()),
        ]);
    }
    app.screen.lines(table.lines(app.screen.look.width))?;
    found.iter().try_for_each(|(_, _, found)| show_unread(app, found))
}

fn show_unread(app: &mut CliApp, found: &AgentTranscripts) -> io::Result<()> {
    for unread in found.unread.iter().take(SHOWN) {
        app.screen.complain(StyledText::new().put(Tone::Warn, unread.reason.clone()))?;
    }
    if let Some(more) = found.unread.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        let more = format!("and {} more could not be read", plural(more as u64, "file", "files"));
        app.screen.complain(StyledText::new().put(Tone::Warn, more))?;
    }
    Ok(())
}

/// Asks before importing. Without a terminal, `--yes` is required.
fn confirm(app: &mut CliApp, found: &[(TranscriptAgent, PathBuf, AgentTranscripts)]) -> Done {
    picker::check_can_ask(app, "nothing was imported; add --yes to import without asking")?;
    let sessions = found.iter().map(|(_, _, found)| found.sessions).sum();
    let question = format!("Import {}?", plural(sessions, "session", "sessions"));
    picker::confirm(app, &question, "nothing was imported")
}

fn show_imported(
    app: &mut CliApp,
    agent: TranscriptAgent,
    imported: &AgentTranscripts,
) -> io::Result<()> {
    if app.screen.json {
        imported.files.iter().try_for_each(|file| app.screen.record(file))?;
        return show_unread(app, imported);
    }
    if app.screen.quiet {
        let ids = imported.files.iter().map(|file| file.session_id.to_string());
        return ids.into_iter().try_for_each(|id| app.screen.line(id));
    }
    let known = imported.files.iter().filter(|file| file.already_imported).count() as u64;
    let new = imported.files.len() as u64 - known;
    let mut told = format!("  imported {}", plural(new, "session", "sessions"));
    if known > 0 {
        told.push_str(&format!("; {} already imported", count(known)));
    }
    app.screen.line(StyledText::new().strong(agent.title()).plain(told))?;
    let skipped =
        imported.files.iter().flat_map(|file| file.skipped.iter().map(move |one| (file, one)));
    for (file, line) in skipped.take(SHOWN) {
        let told = format!("    skipped line {} of {}: {}", line.line, file.file, line.reason);
        app.screen.flowing(StyledText::new().put(Tone::Warn, told), 0)?;
    }
    show_unread(app, imported)
}
