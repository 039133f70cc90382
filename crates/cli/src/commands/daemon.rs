//! `bethink up`, `down`, `status`, `logs`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use bethink_api::Usage;
use bethink_client::stop::stop;
use bethink_client::{Client, ClientError, UsageQuery};
use serde_json::json;

use super::Done;
use crate::app::App;
use crate::args::Logs;
use crate::draw::usage as draw;
use crate::failure::Failure;
use crate::screen::words::{count, span};
use crate::screen::{Text, Tone};

/// Between two looks at a log that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Purposes and models of the ledger that `status` shows; there are rarely more.
const PURPOSES: usize = 8;

pub(crate) async fn up(app: &mut App) -> Done {
    let (client, started) = running(app).await?;
    match app.screen.json {
        true => app.screen.value(&json!({ "url": client.url(), "started": started }))?,
        false => {
            app.screen.line(client.url())?;
            app.screen.note(Text::new().dim(match started {
                true => "started; bethink down stops it",
                false => "it was running already",
            }))?;
        }
    }
    Ok(())
}

/// The daemon, and whether it was started for this.
pub(super) async fn running(app: &App) -> Result<(Client, bool), Failure> {
    match Client::find(&app.places).await {
        Ok(client) => Ok((client, false)),
        Err(error) if error.is_unreachable() && app.places.url.is_none() => {
            // false when another client was quicker
            let started = app.starter()?.start(&app.places).await?.child.is_some();
            Ok((Client::find(&app.places).await?, started))
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn down(app: &mut App) -> Done {
    let pid = stop(&app.places, None).await?;
    match app.screen.json {
        true => app.screen.value(&json!({ "stopped": true, "pid": pid }))?,
        false => app.screen.note(format!("stopped (process {pid})"))?,
    }
    Ok(())
}

pub(crate) async fn status(app: &mut App) -> Done {
    let found = Client::find(&app.places).await;
    let client = match found {
        Ok(client) => client,
        Err(error) if error.is_unreachable() => return not_running(app, error),
        Err(error) => return Err(error.into()),
    };
    let health = client.health().await?;
    let file = app.places.daemon().filter(|file| file.url.trim_end_matches('/') == client.url());
    let sessions: u64 = client.projects().await?.projects.iter().map(|p| p.sessions).sum();
    // A daemon of an older version keeps no ledger.
    let usage = client.usage(&UsageQuery::default()).await.ok();
    let usage = usage.filter(|usage| usage.totals.calls > 0);
    let model = client.model().await.ok();
    let uptime = file.as_ref().and_then(|_| age(&app.places.daemon_file()));
    let pid = file.as_ref().map(|file| file.pid);
    if app.screen.json {
        return Ok(app.screen.value(&json!({
            "running": true, "status": health.status, "detail": health.detail, "url": client.url(),
            "version": health.version, "pid": pid, "uptime_s": uptime, "sessions": sessions,
            "home": app.places.home, "model": model, "usage": usage,
        }))?);
    }
    let ok = health.status == "ok";
    let word = if ok { "running" } else { health.status.as_str() };
    let tone = if ok { Tone::Good } else { Tone::Warn };
    let mut line = Text::new().put(tone, format!("● {word}")).plain(format!("  {}", client.url()));
    line = line.dim(format!("  version {}", health.version));
    app.screen.line(line)?;
    if let Some(detail) = health.detail {
        app.screen.line(Text::from("  ").put(Tone::Warn, detail))?;
    }
    if app.screen.quiet {
        return Ok(());
    }
    let mut row = |name: &str, value: String| {
        app.screen.line(Text::new().dim(format!("  {name:<10}")).plain(value))
    };
    if let Some(pid) = pid {
        let up = uptime.map(|seconds| format!(", up {}", span(seconds)));
        row("process", format!("{pid}{}", up.unwrap_or_default()))?;
    }
    row("home", app.places.home.display().to_string())?;
    row("sessions", count(sessions))?;
    let room = app.screen.look.width.saturating_sub(12);
    let lines = model.iter().flat_map(|model| draw::model(model, room));
    for (at, line) in lines.enumerate() {
        let name = if at == 0 { "model" } else { "" };
        app.screen.line(Text::new().dim(format!("  {name:<10}")).then(line))?;
    }
    usage.map_or(Ok(()), |usage| ledger(app, &usage))
}

/// What models were asked: today, in all, and the newest purposes.
fn ledger(app: &mut App, usage: &Usage) -> Done {
    app.screen.line(Text::new().dim("  today     ").then(draw::today(&usage.today)))?;
    app.screen.line(Text::new().dim("  in all    ").plain(draw::total(&usage.totals)))?;
    app.screen.gap()?;
    let shown = usage.rows.get(..PURPOSES).unwrap_or(&usage.rows);
    let lines = draw::by_purpose(shown, app.screen.look.width);
    app.screen.lines(lines)?;
    let unpriced = draw::unpriced(usage.totals.unpriced);
    for told in unpriced.into_iter().chain(["bethink usage tells it by session".to_owned()]) {
        app.screen.note(Text::new().dim(told))?;
    }
    Ok(())
}

fn not_running(app: &mut App, error: ClientError) -> Done {
    if app.screen.json {
        app.screen.value(&json!({ "running": false, "home": app.places.home }))?;
    } else {
        app.screen.line(
            Text::new().dim("○ not running").plain(format!("  {}", app.places.home.display())),
        )?;
    }
    Err(error.into())
}

/// Seconds since the daemon wrote the file, which it does when it begins to serve.
pub(super) fn age(file: &Path) -> Option<u64> {
    let age = file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    Some(age.as_secs())
}

pub(crate) async fn logs(app: &mut App, how: &Logs) -> Done {
    let path = app.places.log_file();
    let mut file = File::open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::hinted(
            format!("there is no log at {}", path.display()),
            "a daemon that bethink did not start itself logs to its own stderr",
        ),
        _ => Failure::file("read", &path, &error),
    })?;
    let failed = |error: std::io::Error| Failure::file("read", &path, &error);
    let lines = last_lines(&mut file, how.lines).map_err(failed)?;
    if app.screen.json && !how.follow {
        return Ok(app.screen.value(&json!({ "file": path, "lines": lines }))?);
    }
    show(app, &lines)?;
    match how.follow {
        true => follow(app, &path, &mut file).await,
        false => Ok(()),
    }
}

/// Whole lines as they are written. Ends with the program.
async fn follow(app: &mut App, path: &Path, file: &mut File) -> Done {
    let mut rest = Vec::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        file.read_to_end(&mut rest).map_err(|error| Failure::file("read", path, &error))?;
        let whole = rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = rest.drain(..whole).collect();
        let lines: Vec<String> =
            String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect();
        show(app, &lines)?;
    }
}

fn show(app: &mut App, lines: &[String]) -> Done {
    for line in lines {
        match app.screen.json {
            true => app.screen.record(line)?,
            false => app.screen.line(line.as_str())?,
        }
    }
    Ok(())
}

/// The last lines; the file stands at its end afterwards.
fn last_lines(file: &mut File, count: usize) -> std::io::Result<Vec<String>> {
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
