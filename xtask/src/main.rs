//! The tasks for developers: `cargo xtask TASK`.

mod docs;
mod house;
mod mutations;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
cargo xtask agents [OPTIONS]  install coding agents and run them with bethink; --short for few measurements, --only NAME,…
cargo xtask campaign [OPTIONS]
                             attack bethink, and count what broke; --hours N sets how long, for a thorough run
cargo xtask demo [OPTIONS]   build bethink and bethinkd, and run the demo
cargo xtask ci               run all checks that a change must pass
cargo xtask docs             run the shell blocks of README.md and docs/*.md
cargo xtask figures          build for release, and measure speed, size, recall and durability
cargo xtask house [OPTIONS]  count lines, import cycles and repeated names; --check fails on a missed goal,
                             --verbose lists what was counted
cargo xtask kill-loop [N]    kill the daemon N times at random moments, and count lost messages
cargo xtask man DIR          write the manual pages
cargo xtask mutations [NAME] remove each safeguard, and expect its test to fail
cargo xtask openapi          write openapi.json from the handlers
cargo xtask release [TARGET] build archives of static programs and packages of them, and test them";

/// Default number of kills.
const KILLS: &str = "50";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["agents", options @ ..] => agents(options),
        ["campaign", options @ ..] => campaign(options),
        ["demo", options @ ..] => demo(options),
        ["ci"] => run(&root().join(".ci/run"), &[] as &[&str]),
        ["docs"] => documents(),
        ["figures", options @ ..] => figures(options),
        ["house", options @ ..] => house::house(root(), options, &mut std::io::stdout().lock()),
        ["kill-loop"] => kill_loop(KILLS),
        ["kill-loop", cycles] => kill_loop(cycles),
        ["man", dir] => man(dir),
        ["mutations", names @ ..] => {
            mutations::mutations(root(), &target(), names, &mut std::io::stdout().lock())
        }
        ["openapi"] => openapi(),
        ["release", targets @ ..] => run(&root().join("deploy/release/release"), targets),
        _ => bail!("{USAGE}"),
    }
}

/// Runs the program in `tests/agents`.
fn agents(options: &[&str]) -> Result<()> {
    build()?;
    run(&target().join("debug/agents"), options)
}

/// Runs the program in `tests/campaign`. The short form uses the programs that the tests use; a long one is worth a release
/// build.
fn campaign(options: &[&str]) -> Result<()> {
    if !options.contains(&"--hours") {
        build()?;
        return run(&target().join("debug/campaign"), options);
    }
    build_release()?;
    let head = ["run", "--release", "-p", "bethink-campaign", "--"];
    let arguments: Vec<&str> = head.iter().chain(options).copied().collect();
    cargo(&arguments)
}

fn demo(options: &[&str]) -> Result<()> {
    build()?;
    let program = target().join("debug/bethink");
    let arguments: Vec<&str> = std::iter::once("demo").chain(options.iter().copied()).collect();
    run(&program, &arguments)
}

fn documents() -> Result<()> {
    build()?;
    docs::docs(root(), &std::path::absolute(target().join("debug"))?, &mut std::io::stdout().lock())
}

/// Runs the program in `tests/figures`, which uses the release binaries.
fn figures(options: &[&str]) -> Result<()> {
    build_release()?;
    let head = ["run", "--release", "-p", "bethink-figures", "--bin", "figures", "--"];
    let arguments: Vec<&str> = head.iter().chain(options).copied().collect();
    cargo(&arguments)
}

fn kill_loop(cycles: &str) -> Result<()> {
    figures(&["--only", "kills", "--kill-cycles", cycles])
}

fn man(dir: &str) -> Result<()> {
    let dir =
        std::path::absolute(dir).with_context(|| format!("could not resolve the path {dir}"))?;
    let dir = dir.to_str().context("the directory's name is not UTF-8")?;
    cargo(&["run", "--quiet", "-p", "bethink", "--example", "man", "--", dir])
}

/// Runs the test that compares the document; with `BETHINK_WRITE_OPENAPI` it writes the document instead.
fn openapi() -> Result<()> {
    let test = ["test", "--quiet", "--workspace", "--test", "daemon", "openapi::the_committed"];
    finish(Command::new(cargo_program()).args(test).env("BETHINK_WRITE_OPENAPI", "1"))
}

/// Builds with the same features as the tests, so that neither build repeats the other's work. Examples are included because
/// their dependencies determine features. A debug build is fast enough for a replay.
fn build() -> Result<()> {
    cargo(&["build", "--workspace", "--bins", "--examples"])
}

fn build_release() -> Result<()> {
    cargo(&["build", "--release", "-p", "bethink", "-p", "bethinkd"])
}

fn cargo(arguments: &[&str]) -> Result<()> {
    run(Path::new(&cargo_program()), arguments)
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn run(program: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<()> {
    finish(Command::new(program).args(arguments))
}

fn finish(command: &mut Command) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let status =
        command.current_dir(root()).status().with_context(|| format!("could not run {program}"))?;
    if !status.success() {
        bail!("{program} failed: {status}");
    }
    Ok(())
}

fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

fn target() -> PathBuf {
    let elsewhere = std::env::var_os("CARGO_TARGET_DIR");
    root().join(elsewhere.unwrap_or_else(|| "target".into()))
}
