//! `bethink up --install` and `bethink down --uninstall`: the daemon as a user service.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bethink_client::stop::stop;
use bethink_client::{Client, StopError};
use bethink_install::lasting;
use bethink_terminal::{Screen, StyledText, Tone};
use serde::Serialize;
use serde_json::json;

use super::daemon;
use crate::app::{CliApp, starter};
use crate::disk::Configured;
use crate::failure::{CliFailure, Done};
use crate::program_copies::keep;
use crate::service::{Manager, Service, is_ours};

/// How long a service manager may take to start the daemon, and how often to check.
const SERVES_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);

enum UnitFile {
    Nothing,
    Same,
    Older,
}

/// The result of an installation or a dry run.
#[derive(Serialize)]
struct Installed<'a> {
    manager: &'static str,
    file: &'a Path,
    outcome: &'static str,
    /// Whether the service manager enabled the service; `None` for a dry run.
    enabled: Option<bool>,
    /// Commands that the user must run.
    run: Vec<String>,
    text: Option<&'a str>,
    url: Option<String>,
}

/// Writes the service file and has the service manager start the daemon. If no service manager answers, prints the
/// commands to run and starts the daemon directly.
pub(crate) async fn install(app: &mut CliApp, dry_run: bool) -> Done {
    check_is_ours(app)?;
    let home = app.places.home.path();
    let program = lasting(&app.program, home);
    if !dry_run {
        keep(&app.program, home)?;
    }
    // The copies exist only after the installation.
    let daemon = match program == app.program {
        true => starter(&program)?.daemon,
        false => program.with_file_name("bethinkd"),
    };
    let service = service(&daemon)?;
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
        Some(true) => screen.note(format!("{} will start the daemon at login", done.manager))?,
        Some(false) => {
            let why = "could not be reached; run these commands in a login session:";
            screen.note(StyledText::new().put(Tone::Warn, format!("{} {why}", done.manager)))?;
        }
        None => screen.hint("these commands would be run:")?,
    }
    done.run.iter().try_for_each(|line| screen.note(format!("  {line}")))
}

/// Stops the service, removes its file, and stops the daemon even if something else started it.
pub(crate) async fn uninstall(app: &mut CliApp, dry_run: bool) -> Done {
    check_is_ours(app)?;
    // The program may no longer exist, and its path does not matter here.
    let service = service(Path::new("bethinkd"))?;
    let now = Configured::read(&service.file)?;
    let there = !matches!(found(&service, &now)?, UnitFile::Nothing);
    let outcome = match (there, dry_run) {
        (false, _) => "not installed",
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
        false => match stop(&app.places).await {
            Ok(pid) => Some(pid),
            // The service manager has already stopped it.
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
        Some(pid) => Ok(app.screen.note(format!("stopped the daemon (process {pid})"))?),
        None => Ok(()),
    }
}

/// Fails if `BETHINK_URL` is set: the daemon at that URL is managed elsewhere, so it is not installed as a service.
fn check_is_ours(app: &CliApp) -> Done {
    match &app.places.url {
        None => Ok(()),
        Some(url) => Err(CliFailure::hinted(
            format!("BETHINK_URL is set, so the daemon at {url} is managed elsewhere"),
            "to install your own service, unset BETHINK_URL",
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

/// Compares the service file with the one to write. Fails if bethink did not write it.
fn found(service: &Service, now: &Configured) -> Result<UnitFile, CliFailure> {
    match now.text() {
        None => Ok(UnitFile::Nothing),
        Some(text) if text == service.text => Ok(UnitFile::Same),
        Some(text) if is_ours(text) => Ok(UnitFile::Older),
        Some(_) => Err(CliFailure::hinted(
            format!("{} was not written by bethink, so it was not changed", service.file.display()),
            "move the file away, then try again",
        )),
    }
}

/// Stops a running daemon first: it holds the lock of the home, so the service could not start.
async fn hand_over(app: &CliApp, service: &Service, found: &UnitFile) -> Done {
    let runs = Client::find(&app.places).await.is_ok();
    if runs && matches!(found, UnitFile::Same) && succeeds(&service.managed) {
        return Ok(());
    }
    if runs && app.places.url.is_none() {
        stop(&app.places).await?;
    }
    unload(service);
    run_all(&service.enable)?;
    let until = tokio::time::Instant::now() + SERVES_WITHIN;
    while Client::find(&app.places).await.is_err() {
        if tokio::time::Instant::now() > until {
            let hint = match service.manager {
                Manager::Systemd => "run `journalctl --user -u bethinkd` to see why",
                Manager::Launchd => "run `bethinkd` in a terminal to see why",
            };
            let what = format!("{} did not start the daemon", service.manager.name());
            return Err(CliFailure::hinted(what, hint));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn unload(service: &Service) {
    for command in &service.unload {
        // This fails if no service was loaded.
        let _loaded = succeeds(command);
    }
}

fn run_all(commands: &[Vec<String>]) -> Done {
    commands.iter().try_for_each(|command| run(command))
}

fn run(command: &[String]) -> Done {
    let line = command.join(" ");
    let ran = output(command)
        .map_err(|error| CliFailure::new(format!("could not run `{line}`: {error}")))?;
    match ran.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
            Err(CliFailure::new(format!("`{line}` failed ({}): {said}", ran.status)))
        }
    }
}

fn succeeds(command: &[String]) -> bool {
    output(command).is_ok_and(|ran| ran.status.success())
}

/// Runs a command without showing its output.
fn output(command: &[String]) -> io::Result<Output> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program).args(arguments).stdin(Stdio::null()).output()
}
