//! `bethink install` and `uninstall`: adds our entries to an agent's settings, and removes them.

use std::path::Path;

use bethink_api::GatewayAddresses;
use bethink_install::{
    AgentFile, AgentSearch, ClientPlaces, FoundAgent, InstallAgent, InstallRequest, InstallState,
    Ours, SettingsEdit, SettingsFile, existing, files, unified_diff,
};
use bethink_terminal::{StyledText, Tone};
use serde::Serialize;

use crate::app::CliApp;
use crate::disk::{Configured, SettingsBackup};
use crate::failure::{CliFailure, Done};
use crate::program_copies::keep;
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
    /// Why the entries in `left_alone` were not changed, for people.
    #[serde(skip)]
    warnings: Vec<String>,
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
    let search = search(app, app.project_given)?;
    let wanted = with_addresses(search.wanted.clone(), app, agent, gateway).await?;
    let places = &search.places;
    let found = files(agent, places, &wanted);
    if found.is_empty() {
        return Err(without_files(agent, places));
    }
    if let Some(removal) = search.plugin(agent) {
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
        let is_secret = one.has_secret();
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
    if outcomes.iter().any(|outcome| !outcome.left_alone.is_empty()) {
        return Err(CliFailure::Printed);
    }
    let is_new = !dry_run && planned.iter().any(Planned::is_change);
    if let Some(note) = agent.note().filter(|_| is_new && !app.screen.json) {
        app.screen.note(StyledText::from(note))?;
    }
    Ok(is_new)
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
    let AgentSearch { places, wanted, .. } = search(app, app.project_given)?;
    // Our addresses are recognized by their form, so the value does not matter.
    let wanted =
        InstallRequest { anthropic: Some(String::new()), openai: Some(String::new()), ..wanted };
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
                None => {
                    one.now.remove()?;
                    let top = places.project.as_ref().unwrap_or(&places.person);
                    remove_empty_dirs(&one.file.path, top);
                }
            }
            backup.forget(&one.file.path)?;
        }
        let done = if one.then.is_some() { "written" } else { "removed" };
        outcomes.push(one.outcome(if dry_run { "would change" } else { done }));
    }
    show(app, agent, &outcomes, dry_run)
}

/// Removes the directories above a removed file that are empty now. `top` and what is outside it stay.
fn remove_empty_dirs(file: &Path, top: &Path) {
    let mut dirs = file.ancestors().skip(1).take_while(|dir| dir.starts_with(top) && *dir != top);
    // A directory with other files cannot be removed, and ends the search.
    while dirs.next().is_some_and(|dir| std::fs::remove_dir(dir).is_ok()) {}
}

/// Returns the files that contain the gateway's addresses, with their states.
pub(super) fn address_files(
    app: &CliApp,
    addresses: GatewayAddresses,
) -> Vec<(InstallAgent, AgentFile)> {
    let Ok(mut search) = search(app, false) else { return Vec::new() };
    search.wanted.anthropic = Some(addresses.anthropic);
    search.wanted.openai = Some(addresses.openai);
    let of = |agent| search.files(agent, is_address).into_iter().map(move |file| (agent, file));
    InstallAgent::ALL.into_iter().flat_map(of).collect()
}

fn is_address(edit: &SettingsEdit) -> bool {
    matches!(edit, SettingsEdit::Member { ours: Ours::Address, .. })
}

/// Returns all agents with the states of their files: the user's own files, or those of the project.
pub(super) fn agents(app: &CliApp, project: bool) -> Vec<FoundAgent> {
    search(app, project).map_or_else(|_| Vec::new(), |search| search.agents())
}

/// Returns the next step for the user, once the daemon is running.
pub(super) fn next_step(app: &CliApp) -> String {
    let agents = agents(app, false);
    let is_ours =
        |file: &AgentFile| matches!(file.state, Ok(InstallState::Current | InstallState::Stale));
    if let Some(FoundAgent { agent, .. }) = agents.iter().find(|one| one.files.iter().any(is_ours))
    {
        return format!("start a new {} session; `bethink dashboard` shows it", agent.title());
    }
    let mut present = agents.iter().filter(|one| one.is_present).map(|one| one.agent);
    match present.next() {
        Some(agent) => {
            format!("`bethink install {}` adds bethink to {}", agent.as_str(), agent.title())
        }
        None => "no coding agent was found; install one, then run `bethink install`".to_owned(),
    }
}

impl Planned {
    fn is_change(&self) -> bool {
        self.now.text() != self.then.as_deref()
    }

    /// Whether the new text contains the gateway's address, which contains a secret.
    fn has_secret(&self) -> bool {
        let text = self.then.as_deref().unwrap_or_default();
        self.file.edits.iter().any(|edit| match edit {
            SettingsEdit::Member { value, ours: Ours::Address, .. } => {
                value.as_str().is_some_and(|address| text.contains(address))
            }
            _ => false,
        })
    }

    fn warning(&self, place: &str, path: &str) -> String {
        let mut addresses = self.file.edits.iter().filter(|edit| is_address(edit));
        match addresses.any(|edit| edit.path().join(".") == place) {
            true => format!(
                "the gateway was not set up in {path}, because {place} is already set to another address; to use the gateway, remove that entry and run install again"
            ),
            false => {
                format!("{place} in {path} was not changed, because bethink did not write it")
            }
        }
    }

    fn outcome(&self, changed: &'static str) -> InstallOutcome {
        let path = self.file.path.display().to_string();
        let warnings = self.left_alone.iter().map(|place| self.warning(place, &path)).collect();
        let shown = unified_diff(&path, self.now.text(), self.then.as_deref());
        InstallOutcome {
            what: self.file.what,
            outcome: if self.is_change() { changed } else { "unchanged" },
            diff: without_capability(&shown),
            left_alone: self.left_alone.clone(),
            warnings,
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
        for warning in &outcome.warnings {
            screen.complain(StyledText::new().put(Tone::Warn, warning.clone()))?;
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

async fn with_addresses(
    wanted: InstallRequest,
    app: &CliApp,
    agent: InstallAgent,
    gateway: bool,
) -> Result<InstallRequest, CliFailure> {
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

/// Returns where the user's agents are, and what to write except for the gateway's addresses.
fn search(app: &CliApp, project: bool) -> Result<AgentSearch, CliFailure> {
    let env = |name: &str| std::env::var_os(name);
    let search = AgentSearch::new(&env, &app.program, app.places.home.path());
    let mut search = search
        .ok_or_else(|| CliFailure::hinted("could not find your home directory", "set HOME"))?;
    search.places.project = project.then(|| app.project.clone());
    Ok(search)
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
