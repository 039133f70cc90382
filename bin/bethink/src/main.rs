//! `bethink`: the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    bethink_cli::main()
}
