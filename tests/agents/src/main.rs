//! Runs real coding agents with a daemon and the scripted model server, and prints which checks pass.
//!
//! `agents [--short] [--only AGENT,…]`. The agents are installed first. After that, this program runs itself again in a
//! network namespace that has only loopback, so that nothing reaches a provider.
//!
//! Reading order: `agent` → `list` (how each is run) → `stage` → `checks` → `table`.

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
mod list;
mod stage;
mod table;
mod tap;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use agent::Agent;
use bethink_test_clients::kit;
use list::AGENTS;
use table::AgentRow;

/// Set in the namespace.
const INSIDE: &str = "BETHINK_AGENTS_INSIDE";
/// Options of `unshare` for a namespace without any network.
const ALONE: [&str; 2] = ["--map-root-user", "--net"];
/// Brings up loopback, and runs the program itself.
const ISOLATED: &str = "ip link set lo up && exec \"$@\"";
/// Number of starts that are measured, with everything and without.
const STARTS: usize = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let only = arguments.iter().position(|argument| argument == "--only");
    let only = only.and_then(|at| arguments.get(at + 1)).map(|names| names.split(',').collect());
    let only: Vec<&str> = only.unwrap_or_default();
    let is_wanted = |agent: &&Agent| only.is_empty() || only.contains(&agent.name);
    let kits: Vec<_> = AGENTS
        .iter()
        .filter(is_wanted)
        .filter_map(|agent| kit(agent.kit).map(|kit| (agent, kit)))
        .collect();
    if std::env::var_os(INSIDE).is_none() {
        return isolated(&arguments);
    }
    let rows: Vec<AgentRow> = kits
        .iter()
        .map(|(agent, kit)| {
            let row = checks::run(agent, kit, if is_short { 0 } else { STARTS });
            row.print();
            row
        })
        .collect();
    let passed = rows.iter().filter(|row| row.holds()).count();
    println!("{passed} passed, {} failed", rows.len() - passed);
    if passed == rows.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs this program in a network namespace of its own.
fn isolated(arguments: &[String]) -> ExitCode {
    let can = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let command = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !can("unshare", &[ALONE.as_slice(), &["ip", "link", "set", "lo", "up"]].concat()) {
        println!("skipped: this system does not permit a network namespace with loopback alone");
        return ExitCode::SUCCESS;
    }
    let own = std::env::current_exe().expect("the program's own path");
    let mut command = Command::new("unshare");
    command.args(ALONE).args(["sh", "-c", ISOLATED, "sh"]).arg(own).args(arguments);
    let error = command.env(INSIDE, "1").exec();
    panic!("could not run unshare: {error}");
}
