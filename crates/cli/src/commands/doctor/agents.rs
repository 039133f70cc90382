//! Agents that bethink is installed for, and what became of their hooks.

use bethink_install::{Agent, State};
use bethink_spool::{Faults, Spool};

use super::super::install::states;
use super::Finding;
use crate::app::App;

pub(super) fn agents(app: &App) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        Agent::ALL.into_iter().filter_map(|agent| one(app, agent)).collect();
    findings.extend(waiting(app));
    findings.extend(faults(app));
    findings
}

/// Nothing of an agent that knows nothing of us.
fn one(app: &App, agent: Agent) -> Option<Finding> {
    let name = agent.as_str();
    let states: Vec<_> = states(app).into_iter().filter(|(of, ..)| *of == agent).collect();
    let is = |wanted: State| states.iter().any(|(_, _, state)| *state == Ok(wanted));
    if !is(State::Current) && !is(State::Stale) {
        return None;
    }
    let again = format!("bethink install {name}");
    for (_, path, state) in &states {
        let path = path.display();
        match state {
            Err(fault) => {
                let found = format!("{name}: {path} can't be read: {fault}");
                return Some(Finding::warn("agents", found, format!("mend it, then {again}")));
            }
            Ok(State::Stale) => {
                let found = format!("{name}: {path} names another program, or an older form");
                return Some(Finding::warn("agents", found, again));
            }
            Ok(State::Absent) => {
                let found = format!("{name}: {path} lacks what {again} puts there");
                return Some(Finding::warn("agents", found, again));
            }
            Ok(State::Current) => {}
        }
    }
    Some(Finding::ok("agents", format!("{name}: installed")))
}

fn waiting(app: &App) -> Option<Finding> {
    let waiting = Spool::at(app.places.hook_spool()).waiting().unwrap_or_default();
    (waiting.events > 0).then(|| {
        let found = format!("{} events of agents wait for the daemon", waiting.events);
        Finding::warn("hooks", found, "bethink up; they are taken in when it starts")
    })
}

fn faults(app: &App) -> Option<Finding> {
    let place = app.places.hook_faults();
    let (count, last) = Faults::at(&place).read()?;
    let found = format!("{count} hooks did not go as they should; the last: {last}");
    Some(Finding::warn("hooks", found, format!("once it is mended: rm {}", place.display())))
}
