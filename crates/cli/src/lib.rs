//! The command line of bethink: it turns arguments into requests to the daemon, and the answers into text.
//!
//! This crate contains the arguments and the exit codes, and decides what is printed when. `client` finds the daemon and sends
//! the requests, `render` turns answers into text, and the daemon makes all decisions. It uses no engine and no store.
//!
//! Reading order: `args` → `help` → `app` → `commands` → `failure`; `service` writes the files of service
//! managers; `hook` runs without the rest.

mod app;
mod args;
mod commands;
mod disk;
mod failure;
mod help;
mod hook;
mod picker;
mod program_copies;
mod service;
mod template;

use std::ffi::OsString;
use std::process::ExitCode;

use bethink_client::{DaemonPlaces, start};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use tokio::signal::unix::{SignalKind, signal};

use app::CliApp;
use args::Cli;
use bethink_terminal::{Screen, TerminalLook};
use failure::CliFailure;

pub use help::command;

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
    let parsed = command().try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let json = arguments.iter().take_while(|one| *one != "--").any(|one| one == "--json");
            return print_clap_error(&error, &mut Screen::new(look, json, false));
        }
    };
    let look = cli.global.color.of(look);
    let mut screen = Screen::new(look, cli.global.json, cli.global.quiet);
    match run(cli, look, env) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure, &mut screen),
    }
}

fn fail(failure: &CliFailure, screen: &mut Screen) -> ExitCode {
    // If stderr is closed, the exit code still reports the failure.
    let _unreported = failure.report(screen);
    ExitCode::from(failure.exit_code())
}

fn run(
    cli: Cli,
    look: TerminalLook,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(), CliFailure> {
    let Cli { global, command } = cli;
    let is_paged = !global.no_pager && commands::is_paged(&command);
    let mut screen = Screen::new(look, global.json, global.quiet);
    if is_paged {
        screen.hold();
    }
    let places = DaemonPlaces::from_env(&env)?;
    let program = std::env::current_exe()?;
    let mut app = CliApp::new(screen, places, program, global)?;
    // A client mostly waits, so one thread is enough.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(Box::pin(commands::run(&mut app, command)));
    // In a pager, Ctrl-C is for the pager: once a handler is registered, it no longer ends this program.
    let _entered = runtime.enter();
    let _handler = is_paged.then(|| signal(SignalKind::interrupt()));
    app.screen.release(env)?;
    done
}

/// Starts a daemon that outlives the program that requested it, and prints its process id for that program.
fn launch(daemon: &OsString, arguments: &[OsString]) -> ExitCode {
    let mut screen = Screen::new(TerminalLook::plain(80), false, false);
    match start::detach(daemon, arguments) {
        // A program that does not wait for the daemon does not read it.
        Ok(pid) => drop(screen.line(pid.to_string())),
        Err(error) => return fail(&CliFailure::file("run", daemon.as_ref(), &error), &mut screen),
    }
    ExitCode::SUCCESS
}

/// Prints help and version through clap, and errors without color, because they quote the arguments.
fn print_clap_error(error: &clap::Error, screen: &mut Screen) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _unprinted = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    if screen.json {
        let failure = match error.kind() {
            // clap's text is the whole help.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => CliFailure::HintedUse {
                what: "the command is incomplete".into(),
                hint: "`--help` lists its subcommands and arguments".into(),
            },
            _ => CliFailure::arguments(&text),
        };
        return fail(&failure, screen);
    }
    let _unprinted = screen.complain(text.trim_end());
    ExitCode::from(CliFailure::Use(text).exit_code())
}
