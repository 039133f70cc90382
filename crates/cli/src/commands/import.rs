//! `bethink import`: imports recorded sessions, file by file, with progress.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bethink_api::{ImportFile, ImportRequest, Job, JobState};
use bethink_client::{Client, ClientError};
use bethink_terminal::words::plural;
use bethink_terminal::{ProgressLine, Screen, StyledText, Tone};
use serde::de::DeserializeOwned;

use crate::app::CliApp;
use crate::failure::{CliFailure, Done};

/// Shortest and longest pause between two checks of a job: small files finish at once, large ones take longer.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const SLOWEST_LOOK: Duration = Duration::from_millis(200);
/// Maximum number of skipped lines that are shown per file.
const SKIPPED: usize = 3;

pub(crate) async fn import(app: &mut CliApp, paths: &[PathBuf]) -> Done {
    let files = files(paths)?;
    let client = app.client().await?;
    note_pause(app, &client).await?;
    let mut failed = false;
    for file in &files {
        match one(app, &client, file).await {
            Ok(imported) => imported.iter().try_for_each(|one| show(&mut app.screen, one))?,
            Err(failure) if failure.exit_code() != 1 => return Err(failure),
            Err(failure) => {
                failed = true;
                let named = CliFailure::new(format!("{}: {failure}", file.display()));
                named.report(&mut app.screen)?;
            }
        }
    }
    if failed { Err(CliFailure::Printed) } else { Ok(()) }
}

/// Says that an import is done although recording is paused, because a person asked for it.
pub(super) async fn note_pause(app: &mut CliApp, client: &Client) -> Done {
    if client.health().await?.pause.is_some() {
        app.screen.note("recording is paused: new sessions are imported in full, known ones without what was said during the pause")?;
    }
    Ok(())
}

/// Returns the files to import: for a directory, the JSONL files in it.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliFailure> {
    let mut files = Vec::new();
    for path in paths {
        let missing = |error| CliFailure::file("read", path, &error);
        let absolute = path.canonicalize().map_err(missing)?;
        if !absolute.is_dir() {
            files.push(absolute);
            continue;
        }
        let entries = absolute.read_dir().map_err(missing)?;
        let entries = entries.collect::<Result<Vec<_>, _>>().map_err(missing)?;
        let is_session =
            |path: &PathBuf| path.extension().is_some_and(|e| e == "jsonl") && path.is_file();
        let mut inside: Vec<_> =
            entries.iter().map(std::fs::DirEntry::path).filter(is_session).collect();
        if inside.is_empty() {
            return Err(CliFailure::new(format!(
                "{} contains no .jsonl files",
                absolute.display()
            )));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

async fn one(app: &CliApp, client: &Client, file: &Path) -> Result<Vec<ImportFile>, CliFailure> {
    let project_dir = app.project_given.then(|| app.project_dir());
    let path = file
        .to_str()
        .map(str::to_owned)
        .ok_or_else(|| CliFailure::new("the path is not valid UTF-8; rename the file"))?;
    let job = client
        .import_path(&ImportRequest { path, project_dir, ..ImportRequest::default() })
        .await?;
    let label = file.file_name().unwrap_or_default().to_string_lossy();
    result(finished(app, client, job, &label).await?, "import")
}

pub(super) fn result<T: DeserializeOwned>(job: Job, what: &str) -> Result<T, CliFailure> {
    if job.state == JobState::Failed {
        return Err(CliFailure::new(job.error.unwrap_or_else(|| format!("the {what} failed"))));
    }
    if let Some(why) = job.error {
        return Err(CliFailure::new(format!(
            "the {what} cannot go on: {why}; the daemon finishes it when this is fixed"
        )));
    }
    serde_json::from_value(job.result.unwrap_or_default()).map_err(|error| {
        CliFailure::new(format!("could not read the result of the {what}: {error}"))
    })
}

/// Shows the progress of a job until it ends or cannot go on.
pub(super) async fn finished(
    app: &CliApp,
    client: &Client,
    mut job: Job,
    label: &str,
) -> Result<Job, ClientError> {
    let progress = ProgressLine::new(&app.screen, label);
    let mut pause = FIRST_LOOK;
    while !matches!(job.state, JobState::Done | JobState::Failed) && job.error.is_none() {
        progress.at(job.progress.done, job.progress.total);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(SLOWEST_LOOK);
        job = client.job(job.id).await?;
    }
    Ok(job)
}

fn show(screen: &mut Screen, file: &ImportFile) -> io::Result<()> {
    if screen.json {
        return screen.record(file);
    }
    if screen.quiet {
        return screen.line(file.session_id.to_string());
    }
    let name = Path::new(&file.file).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut what = plural(file.messages, "message", "messages");
    if !file.children.is_empty() {
        let children =
            plural(file.children.len() as u64, "side conversation", "side conversations");
        what.push_str(&format!(", {children}"));
    }
    let again = if file.already_imported { "  already imported" } else { "" };
    let name = StyledText::new().strong(name.unwrap_or_else(|| file.file.clone()));
    screen.line(name.plain(format!("  {what}")).dim(again))?;
    screen.line(StyledText::new().dim(format!("    session {}", file.session_id)))?;
    for line in file.skipped.iter().take(SKIPPED) {
        let told = format!("    skipped line {}: {}", line.line, line.reason);
        screen.flowing(StyledText::new().put(Tone::Warn, told), 0)?;
    }
    if let Some(more) = file.skipped.len().checked_sub(SKIPPED).filter(|&more| more > 0) {
        let more = plural(more as u64, "more line", "more lines");
        screen.line(StyledText::new().put(Tone::Warn, format!("    and {more} skipped")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_means_its_session_files_in_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", "notes.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = files(&[dir.path().to_owned()]).unwrap();
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["a.jsonl", "b.jsonl"]);
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(files(&[empty.path().to_owned()]).unwrap_err().exit_code(), 1);
        assert!(files(&[dir.path().join("missing")]).unwrap_err().to_string().contains("missing"));
    }
}
