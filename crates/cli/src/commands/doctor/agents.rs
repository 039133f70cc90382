//! The agents on this machine, whether bethink is installed for them, and problems with their hooks.

use std::path::Path;

use bethink_client::Client;
use bethink_install::{AgentFile, FoundAgent, InstallAgent, InstallState};
use bethink_spool::{Faults, Spool};
use bethink_terminal::words::plural;

use crate::app::CliApp;
use crate::commands::finding::{DoctorFinding, ok, tip, warn};
use crate::commands::install;

pub(super) fn agents(app: &CliApp) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> =
        install::agents(app, false).iter().filter_map(one).collect();
    if findings.is_empty() {
        let names: Vec<_> = InstallAgent::ALL.iter().map(|agent| agent.as_str()).collect();
        let todo = format!("install one of {}, then run `bethink install`", names.join(", "));
        findings.push(tip("agents", "no coding agent was found on this machine", todo));
    }
    findings.extend(waiting(app));
    findings.extend(faults(app));
    findings
}

/// Checks one agent. Returns `None` if it is not on this machine.
fn one(found: &FoundAgent) -> Option<DoctorFinding> {
    let FoundAgent { agent, is_present, plugin, files } = found;
    let name = agent.as_str();
    let is = |wanted: InstallState| files.iter().any(|file| file.is(wanted));
    let is_installed = is(InstallState::Current) || is(InstallState::Stale);
    match plugin {
        Some(removal) if is_installed => {
            let found = format!(
                "{name}: installed both in its settings and as a plugin, so bethink's hooks run twice"
            );
            let todo = format!("run `bethink uninstall {name}` or `{removal}`");
            return Some(warn("agents", found, todo));
        }
        Some(_) => return Some(ok("agents", format!("{name}: installed as a plugin"))),
        None => {}
    }
    let is_read = files.iter().all(|file| file.state.is_ok());
    if is_read && !is_installed {
        return is_present.then(|| {
            let found = format!("{}: found, but bethink is not installed for it", agent.title());
            tip("agents", found, format!("run `bethink install {name}`"))
        });
    }
    let again = format!("run `bethink install {name}`");
    for AgentFile { path, state } in files {
        let path = path.display();
        match state {
            Err(fault) => {
                let found = format!("{name}: could not read {path}: {fault}");
                return Some(warn("agents", found, format!("fix the file, then {again}")));
            }
            Ok(InstallState::Stale) => {
                let found = format!("{name}: bethink's entry in {path} is outdated");
                return Some(warn("agents", found, again));
            }
            Ok(InstallState::Absent) => {
                let found = format!("{name}: bethink's entries are missing from {path}");
                return Some(warn("agents", found, again));
            }
            Ok(InstallState::Current) => {}
        }
    }
    if *agent == InstallAgent::Codex && !files.iter().any(|file| trusts_hooks(&file.path)) {
        let found = format!("{name}: installed, but its hooks do not run until you trust them");
        return Some(tip("agents", found, "start `codex` once and choose to trust the hooks"));
    }
    Some(ok("agents", format!("{name}: installed")))
}

/// Returns whether Codex's configuration records that the user decided whether to trust hooks. Codex adds this record itself.
fn trusts_hooks(config: &Path) -> bool {
    std::fs::read_to_string(config).is_ok_and(|text| text.contains("[hooks.state"))
}

/// Reports agents that send their model calls to an address that the gateway no longer has.
pub(super) async fn gateway(app: &CliApp, client: &Client) -> Vec<DoctorFinding> {
    let Ok(addresses) = client.gateway().await else { return Vec::new() };
    let files = install::address_files(app, addresses).into_iter();
    let stale = files.filter(|(_, file)| file.is(InstallState::Stale));
    let findings = stale.map(|(agent, AgentFile { path, .. })| {
        let name = agent.as_str();
        let found = format!("{name}: the gateway's address in {} is outdated", path.display());
        warn("agents", found, format!("run `bethink install {name} --gateway`"))
    });
    findings.collect()
}

fn waiting(app: &CliApp) -> Option<DoctorFinding> {
    let waiting = Spool::at(app.places.home.hook_spool()).names().unwrap_or_default().len();
    (waiting > 0).then(|| {
        let events = plural(waiting as u64, "hook event is", "hook events are");
        let found = format!("{events} waiting for the daemon");
        warn(
            "hooks",
            found,
            "the daemon will read them soon; if no daemon is running, run `bethink up`",
        )
    })
}

fn faults(app: &CliApp) -> Option<DoctorFinding> {
    let place = app.places.home.hook_faults();
    let (count, last) = Faults::at(&place).read()?;
    let hooks = plural(count as u64, "hook failure", "hook failures");
    let found = format!("{hooks}; the last one: {last}");
    Some(warn("hooks", found, format!("fix the cause, then delete {}", place.display())))
}
