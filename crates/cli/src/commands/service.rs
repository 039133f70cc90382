//! `bethink up --install` and `bethink down --uninstall`: the daemon as a service of its user.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bethink_client::stop::stop;
use bethink_client::{Client, StopError};
use bethink_terminal::{Screen, StyledText, Tone};
use serde::Serialize;
use serde_json::json;

use super::daemon;
use crate::app::{CliApp, starter};
use crate::disk::Configured;
use crate::failure::{CliFailure, Done};
use crate::service::{Manager, Service, is_ours};

/// How long a service manager may take until the daemon serves, and between two looks.
const SERVES_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);

enum UnitFile {
    Nothing,
    Same,
    Older,
}

/// What was done, or would be.
#[derive(Serialize)]
struct Installed<'a> {
    manager: &'static str,
    file: &'a Path,
    outcome: &'static str,
    /// The manager was told; absent where nothing was to be done.
    enabled: Option<bool>,
    /// Commands that are left to the person.
    run: Vec<String>,
    text: Option<&'a str>,
    url: Option<String>,
}

/// Writes the service and has the manager start it; where no manager answers, says what to run, and starts
/// the daemon the usual way.
pub(crate) async fn install(app: &mut CliApp, dry_run: bool) -> Done {
    ours(app)?;
    let service = service(&starter(&app.program)?.daemon)?;
    let now = Configured::read(&service.file)?;
    let found = found(&service, &now)?;
    let mut done = Installed {
        manager: service.manager.name(),
        file: &service.file,
        outcome: match found {
            UnitFile::Same => "same",
            UnitFile::Nothing | UnitFile::Older if dry_run => "would be written",
            UnitFile::Nothing | UnitFile::Older => "written",
        },
        enabled: None,
        run: service.enable.iter().map(|words| words.join(" ")).collect(),
        text: dry_run.then_some(&service.text),
        url: None,
    };
    if !dry_run {
        if !matches!(found, UnitFile::Same) {
            now.write(&service.text, true)?;
        }
        if succeeds(&service.probe) {
            hand_over(app, &service, &found).await?;
            done.run.clear();
        }
        done.enabled = Some(done.run.is_empty());
        done.url = Some(daemon::running(app).await?.0.url().to_owned());
    }
    let Some(screen) = app.screen.unless_json(&done)? else { return Ok(()) };
    Ok(show(screen, &done)?)
}

fn show(screen: &mut Screen, done: &Installed<'_>) -> io::Result<()> {
    if let Some(text) = done.text {
        screen.block(text.trim_end())?;
        screen.gap()?;
    }
    if let Some(url) = &done.url {
        screen.line(url.as_str())?;
    }
    screen.note(format!("{}: {}", done.file.display(), done.outcome))?;
    match done.enabled {
        Some(true) => screen.note(format!("{} starts the daemon at each login", done.manager))?,
        Some(false) => {
            let why = "does not answer here; in a session of your own, run:";
            screen.note(StyledText::new().put(Tone::Warn, format!("{} {why}", done.manager)))?;
        }
        None => screen.hint("then these are run:")?,
    }
    done.run.iter().try_for_each(|line| screen.note(format!("  {line}")))
}

/// Stops the service, removes its file, and stops the daemon whoever started it.
pub(crate) async fn uninstall(app: &mut CliApp, dry_run: bool) -> Done {
    ours(app)?;
    // the program may be gone already, and is not what is looked for
    let service = service(Path::new("bethinkd"))?;
    let now = Configured::read(&service.file)?;
    let there = !matches!(found(&service, &now)?, UnitFile::Nothing);
    let outcome = match (there, dry_run) {
        (false, _) => "not there",
        (true, true) => "would be removed",
        (true, false) => "removed",
    };
    let managed = !dry_run && there && succeeds(&service.probe);
    if managed {
        unload(&service);
        run_all(&service.disable)?;
    }
    if there && !dry_run {
        fs::remove_file(&service.file)
            .map_err(|error| CliFailure::file("remove", &service.file, &error))?;
    }
    if managed {
        run_all(&service.forget)?;
    }
    let stopped = match dry_run {
        true => None,
        false => match stop(&app.places, None).await {
            Ok(pid) => Some(pid),
            // the service manager has stopped it
            Err(StopError::NotRunning { .. }) => None,
            Err(error) => return Err(error.into()),
        },
    };
    if app.screen.json {
        let file = &service.file;
        let done = json!({ "file": file, "outcome": outcome, "stopped": stopped });
        return Ok(app.screen.value(&done)?);
    }
    app.screen.note(format!("{}: {outcome}", service.file.display()))?;
    match stopped {
        Some(pid) => Ok(app.screen.note(format!("stopped (process {pid})"))?),
        None => Ok(()),
    }
}

/// `BETHINK_URL` names a daemon that is not this user's to start at logins.
fn ours(app: &CliApp) -> Done {
    match &app.places.url {
        None => Ok(()),
        Some(url) => Err(CliFailure::hinted(
            format!("BETHINK_URL is set, and the daemon at {url} is looked after by somebody else"),
            "unset it to have a service of your own",
        )),
    }
}

fn service(daemon: &Path) -> Result<Service, CliFailure> {
    let daemon = std::path::absolute(daemon).unwrap_or_else(|_| daemon.to_owned());
    let env = |name: &str| std::env::var(name).ok();
    Manager::of_this_system()
        .service(&daemon, rustix::process::getuid().as_raw(), &env)
        .map_err(|error| CliFailure::new(error.to_string()))
}

/// A file that somebody wrote by hand is left alone.
fn found(service: &Service, now: &Configured) -> Result<UnitFile, CliFailure> {
    match now.text() {
        None => Ok(UnitFile::Nothing),
        Some(text) if text == service.text => Ok(UnitFile::Same),
        Some(text) if is_ours(text) => Ok(UnitFile::Older),
        Some(_) => Err(CliFailure::hinted(
            format!("{} is not ours, so it is left alone", service.file.display()),
            "move it away, then try again",
        )),
    }
}

/// A daemon that somebody started holds the home, so that the service's could not start: it goes first.
async fn hand_over(app: &CliApp, service: &Service, found: &UnitFile) -> Done {
    let runs = Client::find(&app.places).await.is_ok();
    if runs && matches!(found, UnitFile::Same) && succeeds(&service.managed) {
        return Ok(());
    }
    if runs && app.places.url.is_none() {
        stop(&app.places, None).await?;
    }
    unload(service);
    run_all(&service.enable)?;
    let until = tokio::time::Instant::now() + SERVES_WITHIN;
    while Client::find(&app.places).await.is_err() {
        if tokio::time::Instant::now() > until {
            let hint = "journalctl --user -u bethinkd says why, where there is a journal";
            let what = format!("{} has not started the daemon", service.manager.name());
            return Err(CliFailure::hinted(what, hint));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn unload(service: &Service) {
    for command in &service.unload {
        // failing means that nothing was loaded
        let _loaded = succeeds(command);
    }
}

fn run_all(commands: &[Vec<String>]) -> Done {
    commands.iter().try_for_each(|command| run(command))
}

fn run(command: &[String]) -> Done {
    let line = command.join(" ");
    let ran =
        output(command).map_err(|error| CliFailure::new(format!("{line} did not run: {error}")))?;
    match ran.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
            Err(CliFailure::new(format!("{line} failed ({}): {said}", ran.status)))
        }
    }
}

fn succeeds(command: &[String]) -> bool {
    output(command).is_ok_and(|ran| ran.status.success())
}

/// Nothing of it reaches the terminal.
fn output(command: &[String]) -> io::Result<Output> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program).args(arguments).stdin(Stdio::null()).output()
}
