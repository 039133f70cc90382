//! Agents that bethink is installed for, and what became of their hooks.

use bethink_install::{InstallAgent, InstallState};
use bethink_spool::{Faults, Spool};

use crate::app::CliApp;
use crate::commands::finding::{DoctorFinding, ok, warn};
use crate::commands::install::states;

pub(super) fn agents(app: &CliApp) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> =
        InstallAgent::ALL.into_iter().filter_map(|agent| one(app, agent)).collect();
    findings.extend(waiting(app));
    findings.extend(faults(app));
    findings
}

/// Nothing of an agent that knows nothing of us.
fn one(app: &CliApp, agent: InstallAgent) -> Option<DoctorFinding> {
    let name = agent.as_str();
    let states: Vec<_> = states(app).into_iter().filter(|(of, ..)| *of == agent).collect();
    let is = |wanted: InstallState| states.iter().any(|(_, _, state)| *state == Ok(wanted));
    if !is(InstallState::Current) && !is(InstallState::Stale) {
        return None;
    }
    let again = format!("bethink install {name}");
    for (_, path, state) in &states {
        let path = path.display();
        match state {
            Err(fault) => {
                let found = format!("{name}: {path} can't be read: {fault}");
                return Some(warn("agents", found, format!("mend it, then {again}")));
            }
            Ok(InstallState::Stale) => {
                let found = format!("{name}: {path} names another program, or an older form");
                return Some(warn("agents", found, again));
            }
            Ok(InstallState::Absent) => {
                let found = format!("{name}: {path} lacks what {again} puts there");
                return Some(warn("agents", found, again));
            }
            Ok(InstallState::Current) => {}
        }
    }
    Some(ok("agents", format!("{name}: installed")))
}

fn waiting(app: &CliApp) -> Option<DoctorFinding> {
    let waiting = Spool::at(app.places.home.hook_spool()).waiting().unwrap_or_default();
    (waiting.events > 0).then(|| {
        let found = format!("{} events of agents wait for the daemon", waiting.events);
        warn("hooks", found, "bethink up; they are taken in when it starts")
    })
}

fn faults(app: &CliApp) -> Option<DoctorFinding> {
    let place = app.places.home.hook_faults();
    let (count, last) = Faults::at(&place).read()?;
    let found = format!("{count} hooks did not go as they should; the last: {last}");
    Some(warn("hooks", found, format!("once it is mended: rm {}", place.display())))
}
