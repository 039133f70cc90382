//! `bethink install` without an agent: lists the agents on this machine, asks, and installs for all of them.

use std::io;

use bethink_install::{InstallAgent, InstallState};
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, TextTable, Tone};
use serde::Serialize;

use super::install::{FileState, InstallOptions, add, is_present, states};
use super::plugin;
use crate::app::CliApp;
use crate::failure::{CliFailure, Done};
use crate::picker;

/// An agent on this machine, and whether its settings have our entries.
#[derive(Debug, Serialize)]
struct FoundAgent {
    agent: &'static str,
    state: FoundState,
    files: Vec<String>,
    #[serde(skip)]
    known: InstallAgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FoundState {
    Installed,
    /// The agent has bethink as a plugin.
    Plugin,
    /// An entry is missing, or another version wrote it.
    Outdated,
    NotInstalled,
    /// A settings file could not be read.
    Unreadable,
}

pub(crate) async fn install_all(app: &mut CliApp, how: InstallOptions) -> Done {
    let states = states(app, app.project_given);
    let found = InstallAgent::ALL.into_iter().filter(|&agent| is_present(app, agent));
    let found: Vec<_> = found.filter_map(|agent| FoundAgent::of(app, agent, &states)).collect();
    if found.is_empty() {
        let names = InstallAgent::ALL.map(InstallAgent::as_str).join(", ");
        return Err(CliFailure::hinted(
            "could not find a coding agent on this machine",
            format!("run `bethink install AGENT`; AGENT is one of {names}"),
        ));
    }
    // With the gateway, an agent may be installed and still lack the address.
    let is_wanted = |one: &&FoundAgent| match one.state {
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
            first.agent
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
        let gateway = how.gateway && one.known.takes_gateway();
        match Box::pin(add(app, one.known, InstallOptions { gateway, ..how })).await {
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

impl FoundAgent {
    /// Returns `None` if the agent has no settings file here.
    fn of(app: &CliApp, agent: InstallAgent, states: &[FileState]) -> Option<Self> {
        let own: Vec<_> = states.iter().filter(|(of, ..)| *of == agent).collect();
        let all = |wanted: InstallState| own.iter().all(|(.., state)| *state == Ok(wanted));
        let state = match () {
            () if plugin::removal(app, agent).is_some() => FoundState::Plugin,
            () if own.iter().any(|(.., state)| state.is_err()) => FoundState::Unreadable,
            () if all(InstallState::Current) => FoundState::Installed,
            () if all(InstallState::Absent) => FoundState::NotInstalled,
            () => FoundState::Outdated,
        };
        let files: Vec<_> = own.iter().map(|(_, path, _)| path.display().to_string()).collect();
        (!files.is_empty()).then(|| Self { agent: agent.as_str(), state, files, known: agent })
    }
}

impl FoundState {
    fn styled(self) -> StyledText {
        match self {
            Self::Installed => StyledText::new().put(Tone::Good, "installed"),
            Self::Plugin => StyledText::new().put(Tone::Good, "plugin"),
            Self::Outdated => StyledText::new().put(Tone::Warn, "outdated"),
            Self::NotInstalled => StyledText::from("not installed"),
            Self::Unreadable => StyledText::new().put(Tone::Warn, "unreadable"),
        }
    }
}

fn show(app: &mut CliApp, found: &[FoundAgent]) -> io::Result<()> {
    if app.screen.json {
        return found.iter().try_for_each(|one| app.screen.record(one));
    }
    let mut table = TextTable::new(&["agent", "bethink", "settings"]);
    for one in found {
        for (at, file) in one.files.iter().enumerate() {
            let is_first = at == 0;
            let title = if is_first { one.known.title() } else { "" };
            let state = if is_first { one.state.styled() } else { StyledText::new() };
            table.row(vec![
                StyledText::new().strong(title),
                state,
                StyledText::new().dim(file.clone()),
            ]);
        }
    }
    app.screen.lines(table.lines(app.screen.look.width))
}
