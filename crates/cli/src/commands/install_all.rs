//! `bethink install` without an agent: lists the agents on this machine, asks, and installs for all of them.

use std::io;

use bethink_install::{FoundAgent, FoundState, InstallAgent};
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, TextTable, Tone};
use serde::Serialize;

use super::install::{InstallOptions, add, agents};
use crate::app::CliApp;
use crate::failure::{CliFailure, Done};
use crate::picker;

/// An agent on this machine, and whether its settings have our entries.
#[derive(Debug, Serialize)]
struct AgentRecord {
    agent: &'static str,
    state: &'static str,
    files: Vec<String>,
}

pub(crate) async fn install_all(app: &mut CliApp, how: InstallOptions) -> Done {
    let found = agents(app, app.project_given).into_iter();
    // Some agents have no settings file for the user, or none for a project.
    let found: Vec<_> = found.filter(|one| one.is_present && !one.files.is_empty()).collect();
    if found.is_empty() {
        let names = InstallAgent::ALL.map(InstallAgent::as_str).join(", ");
        return Err(CliFailure::hinted(
            "could not find a coding agent on this machine",
            format!("run `bethink install AGENT`; AGENT is one of {names}"),
        ));
    }
    // With the gateway, an agent may be installed and still lack the address.
    let is_wanted = |one: &&FoundAgent| match one.state() {
        FoundState::Installed => how.gateway,
        FoundState::Plugin => false,
        _ => true,
    };
    let wanted: Vec<_> = found.iter().filter(is_wanted).collect();
    let asks = !how.yes && !how.dry_run;
    if asks || wanted.is_empty() || !app.screen.json {
        show(app, &found)?;
    }
    let Some(first) = wanted.first() else {
        return Ok(app.screen.note("bethink is already installed for all these agents")?);
    };
    let agents = plural(wanted.len() as u64, "agent", "agents");
    if asks {
        let hint = format!(
            "nothing was changed; add --yes to install bethink for all these agents, or name one of them: `bethink install {}`",
            first.agent.as_str()
        );
        picker::check_can_ask(app, hint)?;
        let question = format!("Install bethink for {agents}?");
        picker::confirm(
            app,
            &question,
            "nothing was changed; `bethink install AGENT` installs bethink for one agent",
        )?;
    }
    let (mut is_new, mut failed) = (false, false);
    for one in &wanted {
        let gateway = how.gateway && one.agent.takes_gateway();
        match Box::pin(add(app, one.agent, InstallOptions { gateway, ..how })).await {
            Ok(changed) => is_new |= changed,
            Err(failure) => {
                failed = true;
                failure.report(&mut app.screen)?;
            }
        }
    }
    if is_new && !app.screen.json {
        app.screen.note("start a new session of an agent to use bethink")?;
        app.screen.hint("`bethink uninstall AGENT` removes bethink from an agent")?;
    }
    if failed { Err(CliFailure::Printed) } else { Ok(()) }
}

fn styled(state: FoundState) -> StyledText {
    match state {
        FoundState::NotInstalled => StyledText::from("not installed"),
        FoundState::Installed | FoundState::Plugin => {
            StyledText::new().put(Tone::Good, state.as_str())
        }
        FoundState::Outdated | FoundState::Unreadable => {
            StyledText::new().put(Tone::Warn, state.as_str())
        }
    }
}

fn show(app: &mut CliApp, found: &[FoundAgent]) -> io::Result<()> {
    if app.screen.json {
        return found.iter().try_for_each(|one| {
            let files = one.files.iter().map(|file| file.path.display().to_string()).collect();
            let (agent, state) = (one.agent.as_str(), one.state().as_str());
            app.screen.record(&AgentRecord { agent, state, files })
        });
    }
    let mut table = TextTable::new(&["agent", "bethink", "settings"]);
    for one in found {
        for (at, file) in one.files.iter().enumerate() {
            let is_first = at == 0;
            let title = if is_first { one.agent.title() } else { "" };
            let state = if is_first { styled(one.state()) } else { StyledText::new() };
            table.row(vec![
                StyledText::new().strong(title),
                state,
                StyledText::new().dim(file.path.display().to_string()),
            ]);
        }
    }
    app.screen.lines(table.lines(app.screen.look.width))
}
