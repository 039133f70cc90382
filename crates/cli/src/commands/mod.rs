//! One file a noun; each function is one command: resolve, ask, show.

mod collapse;
mod compaction;
mod context;
mod daemon;
mod dashboard;
mod demo;
mod doctor;
mod dream;
mod editor;
mod export;
mod gateway;
mod history;
mod import;
mod install;
mod instructions;
mod mcp;
mod memory;
mod notes;
mod played;
mod recall;
mod remember;
mod replay;
mod search;
mod service;
mod session;
mod team;
mod todo;
mod usage;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::app::App;
use crate::args::{Cli, Command};
use crate::failure::Failure;

type Done = Result<(), Failure>;

pub(crate) async fn run(app: &mut App, command: Command) -> Done {
    match command {
        Command::Demo(how) => Box::pin(demo::demo(app, &how)).await,
        Command::Up(how) if how.install => Box::pin(service::install(app, how.dry_run)).await,
        Command::Up(_) => daemon::up(app).await,
        Command::Down(how) if how.uninstall => Box::pin(service::uninstall(app, how.dry_run)).await,
        Command::Down(_) => daemon::down(app).await,
        Command::Status => daemon::status(app).await,
        Command::Doctor => doctor::doctor(app).await,
        Command::Dashboard { print } => dashboard::open(app, print).await,
        Command::Gateway => gateway::gateway(app).await,
        Command::Logs(how) => daemon::logs(app, &how).await,
        Command::Session(command) => Box::pin(session::run(app, command)).await,
        Command::Context { count } => context::context(app, count).await,
        Command::Compact(how) => compaction::compact(app, how).await,
        Command::Compactions => compaction::list(app).await,
        Command::Collapses => collapse::list(app).await,
        Command::Undo(which) => compaction::undo(app, &which).await,
        Command::Expand(how) => compaction::expand(app, &how).await,
        Command::History(how) => Box::pin(history::history(app, &how)).await,
        Command::Search(how) => search::search(app, &how).await,
        Command::Notes(command) => Box::pin(notes::run(app, command)).await,
        Command::Recall(how) => recall::recall(app, &how).await,
        Command::Remember(what) => Box::pin(remember::remember(app, &what)).await,
        Command::Dream(how) => dream::dream(app, &how).await,
        Command::Memory(command) => Box::pin(memory::run(app, command)).await,
        Command::Todo => todo::todo(app).await,
        Command::Team(command) => Box::pin(team::run(app, command)).await,
        Command::Instructions(asked) => instructions::run(app, &asked).await,
        Command::Usage(how) => usage::usage(app, &how).await,
        Command::Import(what) => Box::pin(import::import(app, &what)).await,
        Command::Export(what) => export::export(app, &what).await,
        Command::Replay(how) => Box::pin(replay::replay(app, &how)).await,
        Command::Install(how) => Box::pin(install::install(app, &how)).await,
        Command::Uninstall(how) => install::uninstall(app, &how),
        // Only behind global options, such as in `bethink --quiet hook stop`.
        Command::Hook { words } => {
            crate::hook::main(&words, |name| std::env::var(name).ok());
            Ok(())
        }
        Command::Mcp => Box::pin(mcp::mcp(app)).await,
        Command::Completions { shell } => completions(app, shell),
    }
}

fn completions(app: &mut App, shell: Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bethink", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match app.screen.json {
        true => {
            app.screen.value(&serde_json::json!({ "shell": shell.to_string(), "script": script }))
        }
        false => app.screen.block(script.trim_end()),
    }?;
    Ok(())
}
