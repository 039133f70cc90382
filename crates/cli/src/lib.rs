//! The command line of bethink: words in, requests to the daemon, words out.
//!
//! Owns the arguments, the drawing and the exit codes. Leaves finding and asking the daemon to
//! `bethink-client`, and every judgement to the daemon. Knows no engine and no store.
//!
//! Reading order: `args` → `app` → `commands` → `drive` (plays recordings), `question` → `draw` → `screen` (the
//! one way to the terminal) → `failure`; `service` is what service managers want; and `hook`, which stands for
//! itself.

mod app;
mod args;
mod commands;
mod disk;
mod draw;
mod drive;
mod failure;
mod hook;
mod question;
mod recording;
mod screen;
mod service;
mod structure;

use std::ffi::OsString;
use std::process::ExitCode;

use bethink_client::{Places, start};
use clap::Parser;
use clap::error::ErrorKind;

use app::App;
use args::Cli;
use failure::Failure;
use screen::{Look, Screen};

/// The command line as a description, for what is made of it: manual pages.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Runs the command line of this process.
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
    let look = Look::of_terminal(env);
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return told(&error, look),
    };
    let mut screen = Screen::new(look, cli.global.json, cli.global.quiet);
    let outcome = run(cli, look, env);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // where stderr is closed too, the code is all that can be said
            let _unsaid = failure.tell(&mut screen);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli, look: Look, env: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    let Cli { global, command } = cli;
    let screen = Screen::new(look, global.json, global.quiet);
    let places = Places::from_env(env)?;
    let program = std::env::current_exe()?;
    let mut app = App::new(screen, places, program, global)?;
    // one thread: a client waits, it does not compute
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(Box::pin(commands::run(&mut app, command)))
}

/// The second half of starting a daemon: this process becomes it.
fn launch(daemon: &OsString, arguments: &[OsString]) -> ExitCode {
    let error = start::detach(daemon, arguments);
    let look = Look { colour: false, width: 80, live: false, progress: false };
    let mut screen = Screen::new(look, false, false);
    let failure = Failure::file("run", daemon.as_ref(), &error);
    let _unsaid = failure.tell(&mut screen);
    ExitCode::from(failure.exit_code())
}

/// Help and version as clap prints them; what was wrong without colour, because it quotes the
/// arguments.
fn told(error: &clap::Error, look: Look) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _unsaid = error.print();
        return ExitCode::SUCCESS;
    }
    let mut screen = Screen::new(look, false, false);
    let _unsaid = screen.complain(error.render().to_string().trim_end());
    ExitCode::from(Failure::Use(String::new()).exit_code())
}
