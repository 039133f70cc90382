//! `bethink install` and `uninstall`: adds our entries to an agent's settings, and removes them.

use std::path::{Path, PathBuf};

use bethink_api::GatewayAddresses;
use bethink_config::Home;
use bethink_install::{
    ClientPlaces, InstallAgent, InstallRequest, InstallState, Ours, SettingsEdit, SettingsFile,
    files, unified_diff,
};
use bethink_terminal::{StyledText, Tone};
use serde::Serialize;

use super::plugin;
use crate::app::{CliApp, dir_variable};
use crate::disk::{Configured, SettingsBackup};
use crate::failure::{CliFailure, Done};
use crate::installation::{keep, lasting};
use bethink_render::diff;

#[derive(Clone, Copy, Debug)]
pub(crate) struct InstallOptions {
    pub(crate) dry_run: bool,
    /// Also writes the gateway's address.
    pub(crate) gateway: bool,
    /// Installs bethink for all agents that were found, without asking.
    pub(crate) yes: bool,
}

#[derive(Debug, Serialize)]
struct InstallOutcome {
    path: String,
    what: &'static str,
    /// One of `written`, `unchanged`, `would change` and `removed`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_alone: Vec<String>,
    /// Whether other users could read the file before the gateway's secret was written to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    made_private: bool,
}

/// A settings file with its current and its new text.
struct Planned {
    file: SettingsFile,
    now: Configured,
    /// The new text of the file. `None` if the file is removed, because we created it.
    then: Option<String>,
    made: Vec<Vec<String>>,
    left_alone: Vec<String>,
}

pub(crate) async fn install(app: &mut CliApp, agent: &str, how: InstallOptions) -> Done {
    let agent = named_agent(agent)?;
    if add(app, agent, how).await? && !app.screen.json {
        let (title, name) = (agent.title(), agent.as_str());
        app.screen.note(format!("start a new {title} session to use bethink"))?;
        let project = match app.project_given {
            true => format!(" --project {}", bethink_install::quoted(&app.project_dir())),
            false => String::new(),
        };
        let undo = format!("`bethink uninstall {name}{project}` removes bethink from {title}");
        app.screen.hint(undo)?;
    }
    Ok(())
}

/// Adds our entries to an agent's files, and shows what was done. Returns whether a file was changed.
pub(super) async fn add(
    app: &mut CliApp,
    agent: InstallAgent,
    how: InstallOptions,
) -> Result<bool, CliFailure> {
    let InstallOptions { dry_run, gateway, .. } = how;
    let wanted = wanted(app, agent, gateway).await?;
    let places = places(app, app.project_given)?;
    let found = files(agent, &places, &wanted);
    if found.is_empty() {
        return Err(without_files(agent, &places));
    }
    if let Some(removal) = plugin::removal(app, agent) {
        return Err(CliFailure::hinted(
            format!(
                "{} already has bethink as a plugin; bethink's hooks would run twice",
                agent.title()
            ),
            format!("run `{removal}` first, or keep the plugin"),
        ));
    }
    let backup = SettingsBackup::of(app.places.home.path());
    let mut planned = Vec::new();
    for mut file in found {
        file.path = existing(file.path);
        let now = Configured::read(&file.path)?;
        let put = file.put_in(now.text()).map_err(|fault| not_edited(&file.path, &fault))?;
        let (then, made, left_alone) = (Some(put.text), put.made, put.left_alone);
        planned.push(Planned { file, now, then, made, left_alone });
    }
    if !dry_run {
        keep(&app.program, app.places.home.path())?;
    }
    let mut outcomes = Vec::new();
    for one in &planned {
        let is_secret = one.file.edits.iter().any(is_address);
        let text = one.then.as_deref().filter(|_| one.is_change() && !dry_run);
        if text.is_some() {
            backup.keep_before(&one.file.path, &one.now, &one.made)?;
        }
        // Before the secret is written.
        let mode = if is_secret && !dry_run { one.now.make_private()? } else { None };
        if let Some(mode) = mode {
            backup.keep_mode(&one.file.path, mode)?;
        }
        if let Some(text) = text {
            one.now.write(text, is_secret || places.project.is_none())?;
            backup.keep_after(&one.file.path, text)?;
        }
        let outcome = one.outcome(if dry_run { "would change" } else { "written" });
        outcomes.push(InstallOutcome { made_private: mode.is_some(), ..outcome });
    }
    show(app, agent, &outcomes, dry_run)?;
    let is_new = !dry_run && planned.iter().any(Planned::is_change);
    if let Some(note) = agent.note().filter(|_| is_new && !app.screen.json) {
        app.screen.note(StyledText::from(note))?;
    }
    match outcomes.iter().any(|outcome| !outcome.left_alone.is_empty()) {
        true => Err(CliFailure::Printed),
        false => Ok(is_new),
    }
}

/// Returns the error for an agent without a settings file to write.
fn without_files(agent: InstallAgent, places: &ClientPlaces) -> CliFailure {
    let (title, name) = (agent.title(), agent.as_str());
    match places.project {
        Some(_) => CliFailure::hinted(
            format!("{title} has no settings files for individual projects"),
            format!("run `bethink install {name}` without --project"),
        ),
        None => CliFailure::hinted(
            format!("{title} has no documented settings file that applies to all projects"),
            format!("run `bethink install {name} --project DIR` for each project"),
        ),
    }
}

pub(crate) fn uninstall(app: &mut CliApp, agent: &str, dry_run: bool) -> Done {
    let agent = named_agent(agent)?;
    let places = places(app, app.project_given)?;
    // Our addresses are recognized by their form, so the value does not matter.
    let wanted = InstallRequest {
        anthropic: Some(String::new()),
        openai: Some(String::new()),
        ..request(app)
    };
    let backup = SettingsBackup::of(app.places.home.path());
    let mut planned = Vec::new();
    for mut file in files(agent, &places, &wanted) {
        file.path = existing(file.path);
        let now = Configured::read(&file.path)?;
        let Some(text) = now.text().map(str::to_owned) else { continue };
        let record = backup.record(&file.path);
        let then = match backup.before(&file.path, &text) {
            Some(before) => before,
            None => {
                let left = file.take_out(&text, &record.made);
                let left = left.map_err(|fault| not_edited(&file.path, &fault))?;
                Some(left).filter(|left| !(record.was_absent && matches!(left.trim(), "" | "{}")))
            }
        };
        planned.push(Planned { file, now, then, made: Vec::new(), left_alone: Vec::new() });
    }
    let mut outcomes = Vec::new();
    for one in &planned {
        if one.is_change() && !dry_run {
            match &one.then {
                Some(text) => {
                    one.now.write(text, places.project.is_none())?;
                    if let Some(mode) = backup.record(&one.file.path).mode {
                        one.now.set_mode(mode)?;
                    }
                }
                None => one.now.remove()?,
            }
            backup.forget(&one.file.path)?;
        }
        let done = if one.then.is_some() { "written" } else { "removed" };
        outcomes.push(one.outcome(if dry_run { "would change" } else { done }));
    }
    show(app, agent, &outcomes, dry_run)
}

/// An agent, one of its files, and the state of our entries in it.
pub(super) type FileState = (InstallAgent, PathBuf, Result<InstallState, String>);

/// Returns the states of all agents' files: the user's own, or those of a project.
pub(super) fn states(app: &CliApp, project: bool) -> Vec<FileState> {
    states_of(app, &request(app), project, |_| true)
}

/// Returns only the states of the files that contain the gateway's addresses.
pub(super) fn address_states(app: &CliApp, addresses: GatewayAddresses) -> Vec<FileState> {
    let wanted = InstallRequest {
        anthropic: Some(addresses.anthropic),
        openai: Some(addresses.openai),
        ..request(app)
    };
    states_of(app, &wanted, false, is_address)
}

fn is_address(edit: &SettingsEdit) -> bool {
    matches!(edit, SettingsEdit::Member { ours: Ours::Address, .. })
}

fn states_of(
    app: &CliApp,
    wanted: &InstallRequest,
    project: bool,
    counts: impl Fn(&SettingsEdit) -> bool,
) -> Vec<FileState> {
    let Ok(places) = places(app, project) else { return Vec::new() };
    let mut states = Vec::new();
    for agent in InstallAgent::ALL {
        for mut file in files(agent, &places, wanted) {
            file.edits.retain(&counts);
            let path = existing(file.path.clone());
            let Ok(now) = Configured::read(&path) else { continue };
            let state = file.state(now.text()).map_err(|fault| fault.to_string());
            states.push((agent, path, state));
        }
    }
    states
}

/// Returns whether an agent is on this machine: its program is in `PATH`, or its settings directory exists.
pub(super) fn is_present(app: &CliApp, agent: InstallAgent) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_in_path = |program| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    dir_of(app, agent).is_some_and(|dir| dir.is_dir()) || agent.command().is_some_and(is_in_path)
}

/// Returns the directory in which the agent keeps the user's settings.
pub(super) fn dir_of(app: &CliApp, agent: InstallAgent) -> Option<PathBuf> {
    agent.dir(&places(app, false).ok()?)
}

/// Returns the next step for the user, once the daemon is running.
pub(super) fn next_step(app: &CliApp) -> String {
    let states = states(app, false);
    let is_ours = |agent| {
        states.iter().any(|(of, _, state)| {
            *of == agent && matches!(state, Ok(InstallState::Current | InstallState::Stale))
        })
    };
    let mut present = InstallAgent::ALL.into_iter().filter(|&agent| is_present(app, agent));
    if let Some(agent) = InstallAgent::ALL.into_iter().find(|&agent| is_ours(agent)) {
        return format!("start a new {} session; `bethink dashboard` shows it", agent.title());
    }
    let agent = present.next().unwrap_or(InstallAgent::ClaudeCode);
    format!("`bethink install {}` adds bethink to {}", agent.as_str(), agent.title())
}

impl Planned {
    fn is_change(&self) -> bool {
        self.now.text() != self.then.as_deref()
    }

    fn outcome(&self, changed: &'static str) -> InstallOutcome {
        let path = self.file.path.display().to_string();
        let shown = unified_diff(&path, self.now.text(), self.then.as_deref());
        InstallOutcome {
            what: self.file.what,
            outcome: if self.is_change() { changed } else { "unchanged" },
            diff: without_capability(&shown),
            left_alone: self.left_alone.clone(),
            made_private: false,
            path,
        }
    }
}

fn show(app: &mut CliApp, agent: InstallAgent, outcomes: &[InstallOutcome], dry_run: bool) -> Done {
    let told =
        serde_json::json!({ "agent": agent.as_str(), "dry_run": dry_run, "files": outcomes });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    for outcome in outcomes {
        if dry_run {
            screen.lines(diff(&outcome.diff))?;
        }
        if !dry_run || outcome.outcome == "unchanged" {
            let line = StyledText::new().strong(format!("{:<12}", outcome.outcome));
            screen.line(line.plain(outcome.path.clone()).dim(format!("  {}", outcome.what)))?;
        }
        if outcome.made_private {
            screen.note(format!(
                "{} is now readable only by you, because it contains the gateway's secret",
                outcome.path
            ))?;
        }
        for place in &outcome.left_alone {
            let told = format!(
                "{place} in {} was not written by bethink, so it was not changed",
                outcome.path
            );
            screen.complain(StyledText::new().put(Tone::Warn, told))?;
        }
    }
    if outcomes.is_empty() {
        screen.note(format!("{} has no settings file to change", agent.as_str()))?;
    }
    Ok(())
}

pub(super) fn named_agent(name: &str) -> Result<InstallAgent, CliFailure> {
    InstallAgent::named(name).ok_or_else(|| {
        let names: Vec<_> = InstallAgent::ALL.iter().map(|agent| agent.as_str()).collect();
        CliFailure::HintedUse {
            what: format!("unknown agent {name:?}"),
            hint: format!("use one of {}", names.join(", ")),
        }
    })
}

async fn wanted(
    app: &CliApp,
    agent: InstallAgent,
    gateway: bool,
) -> Result<InstallRequest, CliFailure> {
    let wanted = request(app);
    if !gateway {
        return Ok(wanted);
    }
    if !agent.takes_gateway() {
        return Err(CliFailure::hinted(
            format!("could not set the gateway's address for {}", agent.as_str()),
            "leave out --gateway; `bethink gateway` prints the addresses to set by hand",
        ));
    }
    let addresses = app.client().await?.gateway().await?;
    Ok(InstallRequest {
        anthropic: Some(addresses.anthropic),
        openai: Some(addresses.openai),
        ..wanted
    })
}

/// Returns what to write, except for the gateway's addresses. This includes bethink's home if a program would not find it
/// without bethink's and XDG's environment variables.
fn request(app: &CliApp) -> InstallRequest {
    let bare = |name: &str| std::env::var(name).ok().filter(|_| name == "HOME");
    let default = Home::find(&bare, None).ok();
    let own = app.places.home.path();
    let is_default = default.is_some_and(|home| home.path() == own);
    InstallRequest {
        program: program(app),
        home: (!is_default).then(|| own.display().to_string()),
        ..InstallRequest::default()
    }
}

fn places(app: &CliApp, project: bool) -> Result<ClientPlaces, CliFailure> {
    let person = dir_variable("HOME")
        .ok_or_else(|| CliFailure::hinted("could not find your home directory", "set HOME"))?;
    Ok(ClientPlaces {
        config: dir_variable("XDG_CONFIG_HOME").unwrap_or_else(|| person.join(".config")),
        claude: dir_variable("CLAUDE_CONFIG_DIR"),
        codex: dir_variable("CODEX_HOME"),
        copilot: dir_variable("COPILOT_HOME"),
        cline: dir_variable("CLINE_DIR"),
        qwen: dir_variable("QWEN_HOME"),
        is_mac: cfg!(target_os = "macos"),
        project: project.then(|| app.project.clone()),
        person,
    })
}

/// Returns this program's path in `PATH` if it is there, because an update replaces that file; else its own path. For a
/// program in a cache, returns the path of its copy.
fn program(app: &CliApp) -> String {
    let own = app.program.canonicalize().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut named = std::env::split_paths(&path).map(|dir| dir.join("bethink"));
    let found =
        named.find(|file| file.is_absolute() && file.canonicalize().ok() == own && own.is_some());
    let program = found.unwrap_or_else(|| app.program.clone());
    lasting(&program, app.places.home.path()).display().to_string()
}

/// Some agents also read `NAME.jsonc`. If only that file exists, it is used.
fn existing(path: PathBuf) -> PathBuf {
    let other = path.with_extension("jsonc");
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    if is_json && !path.exists() && other.exists() { other } else { path }
}

fn not_edited(path: &Path, fault: &bethink_install::NotEdited) -> CliFailure {
    CliFailure::hinted(
        format!("could not read {}: {fault}", path.display()),
        "nothing was changed; fix the file, then try again",
    )
}

/// Hides the secret in the gateway's address, because users may share a diff.
fn without_capability(diff: &str) -> String {
    let hidden = diff.lines().map(|line| match line.split_once("/k/") {
        Some((before, rest)) => {
            let end = rest.find(['"', '/', '\'']).unwrap_or(rest.len());
            format!("{before}/k/…{}\n", &rest[end..])
        }
        None => format!("{line}\n"),
    });
    hidden.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_not_shown() {
        let diff = "+  \"u\": \"http://127.0.0.1:1/anthropic/k/s3cret\",\n+  \"v\": \"http://127.0.0.1:1/openai/k/s3cret/v1\"\n x\n";
        let shown = without_capability(diff);
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.contains("/openai/k/…/v1\""), "{shown}");
    }
}
