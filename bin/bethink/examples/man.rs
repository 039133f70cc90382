//! Writes the manual pages of both programs: `cargo xtask man DIR`. It is an example, so that it is not part of either
//! program.

#![allow(clippy::print_stderr, reason = "a tool for developers, which prints to their terminal")]

#[path = "../../bethinkd/src/arguments.rs"]
#[allow(dead_code, reason = "only its description is read")]
mod arguments;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::CommandFactory;
use clap_mangen::Man;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("man DIR: the directory to write to");
        return ExitCode::from(2);
    };
    match write(&dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("could not write manual pages to {}: {error}", dir.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes `bethink.1`, `bethink-session.1`, … and `bethinkd.1`.
fn write(dir: &PathBuf) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(bethink_cli::command(), dir)?;
    // Without this, the synopsis has a placeholder for the hidden subcommand.
    let daemon = arguments::Arguments::command().override_usage("bethinkd [OPTIONS]");
    Man::new(daemon).generate_to(dir)?;
    Ok(())
}
