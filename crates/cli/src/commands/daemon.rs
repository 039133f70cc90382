//! `bethink up`, `down`, `status`, `logs`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use bethink_api::{DaemonFile, HealthStatus, Usage};
use bethink_client::stop::stop;
use bethink_client::{Client, ClientError, UsageQuery};
use bethink_terminal::words::{count, plural, span};
use bethink_terminal::{Screen, StyledText, Tone};
use serde_json::json;

use super::{install, recording};
use crate::app::{CliApp, starter};
use crate::failure::{CliFailure, Done};
use bethink_render::usage as render;

/// How often a followed log is checked for new lines.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Maximum number of ledger rows that `status` shows. The ledger rarely has more.
const PURPOSES: usize = 8;

pub(crate) async fn up(app: &mut CliApp) -> Done {
    let (client, started) = running(app).await?;
    let (database, health) = (database(app, &client), client.health().await?);
    let told = json!({
        "url": client.url(), "started": started, "database": database, "status": health.status,
        "detail": health.detail,
    });
    let next = install::next_step(app);
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.line(client.url())?;
    screen.hint(match started {
        true => "started the daemon; `bethink down` stops it",
        false => "the daemon was already running",
    })?;
    if let Some(database) = database {
        screen.hint(format!("history is in the {database}"))?;
    }
    if let Some(detail) = health.detail {
        screen.complain(detail)?;
    }
    Ok(screen.hint(format!("next: {next}"))?)
}

/// Returns the database in which the daemon stores history; `None` if it is a file in the home, or the daemon is not the
/// home's.
pub(super) fn database(app: &CliApp, client: &Client) -> Option<String> {
    own_file(app, client)?.database
}

/// Returns what this home's daemon has written about itself.
fn own_file(app: &CliApp, client: &Client) -> Option<DaemonFile> {
    app.places.daemon().filter(|file| file.url.trim_end_matches('/') == client.url())
}

/// Returns the daemon, and whether this call started it.
pub(super) async fn running(app: &CliApp) -> Result<(Client, bool), CliFailure> {
    match Client::find(&app.places).await {
        Ok(client) => Ok((client, false)),
        Err(error) if error.is_unreachable() && app.places.url.is_none() => {
            // `false` if another client started it first.
            let started = starter(&app.program)?.start(&app.places).await?.is_new;
            Ok((Client::find(&app.places).await?, started))
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn down(app: &mut CliApp) -> Done {
    let pid = stop(&app.places).await?;
    let told = json!({ "stopped": true, "pid": pid });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    Ok(screen.note(format!("stopped the daemon (process {pid})"))?)
}

pub(crate) async fn status(app: &mut CliApp) -> Done {
    let client = match Client::find(&app.places).await {
        Ok(client) => client,
        Err(error) if error.is_unreachable() => return not_running(app, error),
        Err(error) => return Err(error.into()),
    };
    let (project, all_usage) = (app.project_dir(), UsageQuery::default());
    // Together, because each of them waits for a database that does not answer.
    let (projects, usage, model, candidates) = tokio::join!(
        client.projects(),
        client.usage(&all_usage),
        client.model(),
        client.candidates(&project, false),
    );
    // Only now, because the daemon notices a database that does not answer when it has to use it.
    let health = client.health().await?;
    let (sessions, fault) = match projects {
        Ok(found) => {
            (Some(found.projects.iter().map(|project| project.sessions).sum::<u64>()), None)
        }
        // The rest is known without the database.
        Err(ClientError::Refused(problem)) if problem.status >= 500 => (None, Some(problem.detail)),
        Err(error) => return Err(error.into()),
    };
    let detail = health.detail.or(fault);
    let file = own_file(app, &client);
    // An older daemon has no ledger.
    let usage = usage.ok().filter(|usage| usage.totals.calls > 0);
    let model = model.ok();
    // A directory outside any project has no candidates.
    let candidates = candidates.map_or(0, |found| found.candidates.len() as u64);
    let uptime = file.as_ref().and_then(|_| age(&app.places.home.daemon_file()));
    let pid = file.as_ref().map(|file| file.pid);
    let database = file.and_then(|file| file.database);
    let told = json!({
        "running": true, "status": health.status, "detail": detail, "url": client.url(),
        "version": health.version, "pid": pid, "uptime_s": uptime, "sessions": sessions,
        "home": app.places.home.path(), "database": database, "pause": health.pause, "candidates": candidates, "model": model, "usage": usage,
    });
    let next = install::next_step(app);
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let ok = health.status == HealthStatus::Ok;
    let word = if ok { "running".to_owned() } else { health.status.to_string() };
    let tone = if ok { Tone::Good } else { Tone::Warn };
    let line =
        StyledText::new().put(tone, format!("● {word}")).plain(format!("  {}", client.url()));
    screen.line(line.dim(format!("  version {}", health.version)))?;
    if let Some(detail) = detail {
        screen.line(StyledText::from("  ").put(Tone::Warn, detail))?;
    }
    if let Some(pause) = &health.pause {
        let line = StyledText::from("  ").put(Tone::Warn, recording::paused(pause));
        screen.line(line.dim("; `bethink resume` ends the pause"))?;
    }
    if screen.quiet {
        return Ok(());
    }
    let room = screen.look.width.saturating_sub(12);
    let mut row = |name: &str, value: StyledText| {
        screen.line(StyledText::new().dim(format!("  {name:<10}")).then(value))
    };
    if let Some(pid) = pid {
        let up = uptime.map(|seconds| format!(", up {}", span(seconds)));
        row("process", format!("{pid}{}", up.unwrap_or_default()).into())?;
    }
    row("home", app.places.home.path().display().to_string().into())?;
    if let Some(database) = database {
        row("history", database.into())?;
    }
    if let Some(sessions) = sessions {
        row("sessions", count(sessions).into())?;
    }
    if candidates > 0 {
        let waiting = plural(candidates, "candidate is waiting", "candidates are waiting");
        let told = format!("{waiting} for your decision; see `bethink memory candidates`");
        row("memory", told.into())?;
    }
    let is_unused = sessions == Some(0);
    let lines = model.iter().flat_map(|model| render::model(model, room));
    for (at, line) in lines.enumerate() {
        row(if at == 0 { "model" } else { "" }, line)?;
    }
    if let Some(usage) = usage {
        ledger(screen, &usage)?;
    }
    match is_unused {
        true => Ok(screen.hint(format!("next: {next}"))?),
        false => Ok(()),
    }
}

fn ledger(screen: &mut Screen, usage: &Usage) -> io::Result<()> {
    screen.line(StyledText::new().dim("  today     ").then(render::today(&usage.today)))?;
    screen.line(StyledText::new().dim("  total     ").plain(render::total(&usage.totals)))?;
    screen.gap()?;
    let shown = usage.rows.get(..PURPOSES).unwrap_or(&usage.rows);
    screen.lines(render::by_purpose(shown, screen.look.width))?;
    let unpriced = render::unpriced(usage.totals.unpriced);
    for told in
        unpriced.into_iter().chain(["see `bethink usage` for the cost by session".to_owned()])
    {
        screen.hint(told)?;
    }
    Ok(())
}

fn not_running(app: &mut CliApp, error: ClientError) -> Done {
    let home = app.places.home.path();
    // The home of another user looks empty.
    if let Err(denied) = app.places.home.lock().metadata()
        && denied.kind() == io::ErrorKind::PermissionDenied
    {
        return Err(CliFailure::file("read", home, &denied));
    }
    if let Some(screen) = app.screen.unless_json(&json!({ "running": false, "home": home }))? {
        screen
            .line(StyledText::new().dim("○ not running").plain(format!("  {}", home.display())))?;
    }
    Err(error.into())
}

/// Returns how many seconds ago the file was written. The daemon writes this file when it starts.
pub(super) fn age(file: &Path) -> Option<u64> {
    let age = file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    Some(age.as_secs())
}

pub(crate) async fn logs(app: &mut CliApp, is_followed: bool, count: usize) -> Done {
    let path = app.places.home.log_file();
    let mut file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CliFailure::hinted(
            format!("{} does not exist", path.display()),
            "the daemon writes this file only if `bethink` started it; otherwise it logs to stderr",
        ),
        _ => CliFailure::file("read", &path, &error),
    })?;
    let failed = |error: io::Error| CliFailure::file("read", &path, &error);
    let lines = last_lines(&mut file, count).map_err(failed)?;
    if app.screen.json && !is_followed {
        return Ok(app.screen.value(&json!({ "file": path, "lines": lines }))?);
    }
    show(app, lines.iter().map(String::as_str))?;
    match is_followed {
        true => follow(app, &path, &mut file).await,
        false => Ok(()),
    }
}

async fn follow(app: &mut CliApp, path: &Path, file: &mut File) -> Done {
    let mut rest = Vec::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        file.read_to_end(&mut rest).map_err(|error| CliFailure::file("read", path, &error))?;
        let whole = rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = rest.drain(..whole).collect();
        show(app, String::from_utf8_lossy(&lines).lines())?;
    }
}

fn show<'a>(app: &mut CliApp, mut lines: impl Iterator<Item = &'a str>) -> Done {
    Ok(lines.try_for_each(|line| match app.screen.json {
        true => app.screen.record(&line),
        false => app.screen.line(line),
    })?)
}

/// Reads the last lines, and leaves the read position at the end of the file.
fn last_lines(file: &mut File, count: usize) -> io::Result<Vec<String>> {
    let mut last = VecDeque::new();
    let mut reader = BufReader::new(&mut *file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        last.push_back(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned());
        line.clear();
        if last.len() > count {
            last.pop_front();
        }
    }
    file.seek(SeekFrom::End(0))?;
    Ok(last.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, b"1\n2\n\xff3\n4").unwrap();
        let last = |n| last_lines(&mut File::open(&path).unwrap(), n).unwrap();
        assert_eq!(last(2), ["\u{fffd}3", "4"]);
        assert_eq!(last(0), Vec::<String>::new());
        assert_eq!(last(9).len(), 4);
    }
}
