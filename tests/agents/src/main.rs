//! Runs real coding agents with a daemon and the scripted model server, and prints what holds.
//!
//! `agents [--short] [--only AGENT,…]`. The agents are installed first; after that, this program runs itself again in a
//! network namespace with loopback alone, so that nothing reaches a provider.
//!
//! Reading order: `agent` (how each is run) → `checks` → `table`.

// This program prints to a terminal, and a failed operation ends it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod agent;
mod checks;
mod table;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use agent::Agent;
use bethink_test_clients::{Kit, kit};

/// Set in the namespace.
const INSIDE: &str = "BETHINK_AGENTS_INSIDE";
/// Brings up loopback, and runs the program itself.
const ISOLATED: &str = "ip link set lo up && exec \"$@\"";
/// Number of starts that are measured, with everything and without.
const STARTS: usize = 10;
const SHORT_STARTS: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let only = arguments.iter().position(|argument| argument == "--only");
    let only = only.and_then(|at| arguments.get(at + 1)).map(|names| names.split(',').collect());
    let only: Vec<&str> = only.unwrap_or_default();
    let agents =
        Agent::ALL.into_iter().filter(|agent| only.is_empty() || only.contains(&agent.name()));
    let Some(kit) = kit(Kit::Agents) else { return ExitCode::SUCCESS };
    if std::env::var_os(INSIDE).is_none() {
        return isolated(&arguments);
    }
    let starts = if is_short { SHORT_STARTS } else { STARTS };
    let rows: Vec<_> = agents.map(|agent| checks::run(agent, &kit, starts)).collect();
    table::print(&rows);
    match rows.iter().all(table::AgentRow::holds) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Runs this program in a namespace of its own.
fn isolated(arguments: &[String]) -> ExitCode {
    let own = std::env::current_exe().expect("the program's own path");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", ISOLATED, "sh"]).arg(own).args(arguments);
    let error = command.env(INSIDE, "1").exec();
    println!("skipped: could not run unshare: {error}");
    ExitCode::SUCCESS
}
