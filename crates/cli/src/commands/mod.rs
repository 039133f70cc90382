//! The commands: one file per noun and one function per command. A function finds the session or topic, sends the
//! request and shows the answer.

mod compaction;
mod config;
mod context;
mod continuation;
mod daemon;
mod dashboard;
mod demo;
mod doctor;
mod dream;
mod editor;
mod export;
mod finding;
mod gateway;
mod history;
mod import;
mod import_agents;
mod install;
mod install_all;
mod instructions;
mod mcp;
mod memory;
mod notes;
mod played;
mod recall;
mod recording;
mod replay;
mod search;
mod service;
mod session;
mod store;
mod team;
mod team_history;
mod todo;
mod token;
mod upgrade;
mod usage;

use clap_complete::Shell;

use self::import_agents::AgentImport;
use crate::app::CliApp;
use crate::args::{CliCommand, HistoryArgs, MemoryCommand, NotesCommand, SessionCommand};
use crate::failure::Done;

/// Returns whether the output may be longer than the screen. Commands that ask, edit or keep printing are not paged.
pub(crate) fn is_paged(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::History(HistoryArgs { follow: false, .. })
            | CliCommand::Logs { follow: false, .. }
            | CliCommand::Session(SessionCommand::Ls(_) | SessionCommand::Handover { .. })
            | CliCommand::Memory(
                MemoryCommand::Ls { .. }
                    | MemoryCommand::Show { .. }
                    | MemoryCommand::Index(_)
                    | MemoryCommand::History(_)
                    | MemoryCommand::Lint(_)
            )
            | CliCommand::Notes(NotesCommand::Show)
            | CliCommand::Config(_)
            | CliCommand::Context { .. }
            | CliCommand::Compactions
            | CliCommand::Collapses
            | CliCommand::Expand(_)
            | CliCommand::Search(_)
            | CliCommand::Recall(_)
            | CliCommand::Todo
            | CliCommand::Instructions(_)
            | CliCommand::Usage { .. }
    )
}

pub(crate) async fn run(app: &mut CliApp, command: CliCommand) -> Done {
    match command {
        CliCommand::Demo(how) => Box::pin(demo::demo(app, &how)).await,
        CliCommand::Up { install: true, dry_run } => Box::pin(service::install(app, dry_run)).await,
        CliCommand::Up { .. } => daemon::up(app).await,
        CliCommand::Down { uninstall: true, dry_run } => {
            Box::pin(service::uninstall(app, dry_run)).await
        }
        CliCommand::Down { .. } => daemon::down(app).await,
        CliCommand::Pause { span } => recording::pause(app, span.as_deref()).await,
        CliCommand::Resume => recording::resume(app).await,
        CliCommand::Status => daemon::status(app).await,
        CliCommand::Doctor => doctor::doctor(app).await,
        CliCommand::Dashboard { print } => dashboard::open(app, print).await,
        CliCommand::Config(command) => config::run(app, command),
        CliCommand::Gateway => gateway::gateway(app).await,
        CliCommand::Token(command) => token::run(app, command).await,
        CliCommand::Logs { follow, lines } => daemon::logs(app, follow, lines).await,
        CliCommand::Session(command) => Box::pin(session::run(app, command)).await,
        CliCommand::Continue { agent, print } => {
            continuation::continue_in(app, &agent, print).await
        }
        CliCommand::Context { count } => context::context(app, count).await,
        CliCommand::Compact(how) => compaction::compact(app, how).await,
        CliCommand::Compactions => compaction::list(app).await,
        CliCommand::Collapses => compaction::collapses(app).await,
        CliCommand::Undo { compaction } => compaction::undo(app, compaction.as_deref()).await,
        CliCommand::Expand(how) => compaction::expand(app, &how).await,
        CliCommand::History(how) => Box::pin(history::history(app, &how)).await,
        CliCommand::Search(how) => search::search(app, &how).await,
        CliCommand::Notes(command) => Box::pin(notes::run(app, command)).await,
        CliCommand::Recall(how) => recall::recall(app, &how).await,
        CliCommand::Remember(what) => Box::pin(memory::remember(app, what)).await,
        CliCommand::Dream { dry_run, undo, me } => dream::dream(app, dry_run, undo, me).await,
        CliCommand::Memory(command) => Box::pin(memory::run(app, command)).await,
        CliCommand::Todo => todo::todo(app).await,
        CliCommand::Team(command) => Box::pin(team::run(app, command)).await,
        CliCommand::Instructions(asked) => instructions::run(app, &asked).await,
        CliCommand::Usage { since } => usage::usage(app, since.as_deref()).await,
        CliCommand::Import { paths, agent: None, dry_run: false, .. } if !paths.is_empty() => {
            Box::pin(import::import(app, &paths)).await
        }
        CliCommand::Import { paths, agent, dry_run, yes } => {
            let wanted = AgentImport { agent: agent.as_deref(), paths: &paths, dry_run, yes };
            Box::pin(import_agents::import(app, &wanted)).await
        }
        CliCommand::Export { which, output } => {
            export::export(app, which.as_deref(), output.as_deref()).await
        }
        CliCommand::Replay(how) => Box::pin(replay::replay(app, &how)).await,
        CliCommand::Install { agent, yes, dry_run, gateway } => {
            let how = install::InstallOptions { dry_run, gateway, yes };
            match agent {
                Some(agent) => Box::pin(install::install(app, &agent, how)).await,
                None => Box::pin(install_all::install_all(app, how)).await,
            }
        }
        CliCommand::Uninstall { agent, dry_run } => install::uninstall(app, &agent, dry_run),
        // `main` handles `bethink hook` itself, unless global options come first, as in `bethink --quiet hook stop`.
        CliCommand::Hook { words } => {
            crate::hook::main(&words, |name| std::env::var(name).ok());
            Ok(())
        }
        CliCommand::Store(command) => store::run(app, command),
        CliCommand::Mcp => Box::pin(mcp::mcp(app)).await,
        CliCommand::Upgrade => upgrade::upgrade(app),
        CliCommand::Completions { shell } => completions(app, shell),
    }
}

fn completions(app: &mut CliApp, shell: Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::help::command(), "bethink", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match app.screen.json {
        true => {
            app.screen.value(&serde_json::json!({ "shell": shell.to_string(), "script": script }))
        }
        false => app.screen.block(script.trim_end()),
    }?;
    Ok(())
}
