//! The command line of bethink: words in, requests to the daemon, words out.
//!
//! Owns the arguments, the drawing and the exit codes. Leaves finding and asking the daemon to
//! `bethink-client`, and every judgement to the daemon. Knows no engine and no store.
//!
//! Reading order: `args` → `app` → `commands` → `draw` → `failure`; `service` is what service managers want; and
//! `hook`, which stands for itself.

mod app;
mod args;
mod commands;
mod disk;
mod draw;
mod failure;
mod hook;
mod service;

use std::ffi::OsString;
use std::process::ExitCode;

use bethink_client::{DaemonPlaces, start};
use clap::Parser;
use clap::error::ErrorKind;

use app::CliApp;
use args::Cli;
use bethink_terminal::{Screen, TerminalLook};
use failure::CliFailure;

/// The command line as a description, for what is made of it: manual pages.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let [_, command, daemon, rest @ ..] = arguments.as_slice()
        && command == start::LAUNCH
    {
        return launch(daemon, rest);
    }
    let env = |name: &str| std::env::var(name).ok();
    if let [_, command, words @ ..] = arguments.as_slice()
        && command == hook::HOOK
    {
        return hook::main(words, env);
    }
    let look = TerminalLook::of_terminal(env);
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return told(&error, look),
    };
    let mut screen = Screen::new(look, cli.global.json, cli.global.quiet);
    match run(cli, look, env) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ended(&failure, &mut screen),
    }
}

fn ended(failure: &CliFailure, screen: &mut Screen) -> ExitCode {
    // where stderr is closed too, the code is all that can be said
    let _unsaid = failure.tell(screen);
    ExitCode::from(failure.exit_code())
}

fn run(
    cli: Cli,
    look: TerminalLook,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(), CliFailure> {
    let Cli { global, command } = cli;
    let screen = Screen::new(look, global.json, global.quiet);
    let places = DaemonPlaces::from_env(env)?;
    let program = std::env::current_exe()?;
    let mut app = CliApp::new(screen, places, program, global)?;
    // one thread: a client waits, it does not compute
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(Box::pin(commands::run(&mut app, command)))
}

/// The second half of starting a daemon: this process becomes it.
fn launch(daemon: &OsString, arguments: &[OsString]) -> ExitCode {
    let error = start::detach(daemon, arguments);
    let look = TerminalLook { colour: false, width: 80, live: false, progress: false };
    let failure = CliFailure::file("run", daemon.as_ref(), &error);
    ended(&failure, &mut Screen::new(look, false, false))
}

/// Help and version as clap prints them; what was wrong without colour, because it quotes the
/// arguments.
fn told(error: &clap::Error, look: TerminalLook) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _unsaid = error.print();
        return ExitCode::SUCCESS;
    }
    let mut screen = Screen::new(look, false, false);
    let _unsaid = screen.complain(error.render().to_string().trim_end());
    ExitCode::from(CliFailure::Use(String::new()).exit_code())
}
