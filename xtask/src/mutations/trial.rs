//! One trial: removes a safeguard, runs its test, and puts the safeguard back.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, Result};

use super::list::Mutation;
use super::tree_copy::TreeCopy;

/// A test without its safeguard may run forever. The slowest one takes a minute on a busy machine.
const LONGEST_TEST: Duration = Duration::from_secs(300);

/// Without these, each package that is tested alone compiles most dependencies again, with its own features. The setting is
/// not stable in Cargo 1.95; the first variable makes Cargo accept it, and does not affect the compiler.
const FEATURES_OF_THE_WORKSPACE: [(&str, &str); 2] = [
    ("__CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS", "nightly"),
    ("CARGO_RESOLVER_FEATURE_UNIFICATION", "workspace"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrialResult {
    /// The test failed, as it should.
    Killed,
    Survived,
    DoesNotCompile,
    FailsUnchanged,
}

impl TrialResult {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Survived => "survived",
            Self::DoesNotCompile => "does not compile",
            Self::FailsUnchanged => "fails unchanged",
        }
    }
}

pub(super) struct Trial<'a> {
    pub(super) copy: &'a TreeCopy,
}

/// How a run of tests ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestRun {
    Passed,
    Failed,
    /// Nothing ran: the code does not compile, or the names select no test.
    NothingRan,
}

impl Trial<'_> {
    pub(super) fn run(&self, mutation: &Mutation) -> Result<TrialResult> {
        let path = self.copy.tree.join(&mutation.file);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, mutation.applied(&text)?)?;
        let Mutation { package, target, test, .. } = mutation;
        let ran = self.test(package, target, &[test]);
        fs::write(&path, text).with_context(|| format!("could not restore {}", path.display()))?;
        Ok(match ran? {
            TestRun::Failed => TrialResult::Killed,
            TestRun::Passed => TrialResult::Survived,
            TestRun::NothingRan => TrialResult::DoesNotCompile,
        })
    }

    /// Runs tests of the unchanged tree.
    pub(super) fn passes(&self, package: &str, target: &str, tests: &[&str]) -> Result<bool> {
        Ok(self.test(package, target, tests)? == TestRun::Passed)
    }

    fn test(&self, package: &str, target: &str, tests: &[&str]) -> Result<TestRun> {
        let log = self.copy.build.with_extension("log");
        let mut command = self.cargo(package, target);
        // An empty name selects all tests.
        if tests.iter().all(|test| !test.is_empty()) {
            command.arg("--").args(tests);
        }
        command.stdout(fs::File::create(&log)?).stderr(Stdio::null()).process_group(0);
        let passed = ended(command.spawn()?)?;
        let output = fs::read_to_string(&log)?;
        let ran = output.lines().any(|l| l.starts_with("running ") && l != "running 0 tests");
        Ok(match (ran, passed) {
            (false, _) => TestRun::NothingRan,
            (true, true) => TestRun::Passed,
            (true, false) => TestRun::Failed,
        })
    }

    fn cargo(&self, package: &str, target: &str) -> Command {
        let mut command = Command::new(crate::cargo_program());
        command.args(["-Zfeature-unification", "test", "-p", package]);
        match target {
            "lib" => command.arg("--lib"),
            name => command.args(["--test", name]),
        };
        command
            .current_dir(&self.copy.tree)
            .envs(FEATURES_OF_THE_WORKSPACE)
            .env("CARGO_TARGET_DIR", &self.copy.build)
            .stdin(Stdio::null());
        // `cargo run` sets these for this program. Build scripts that see them differ run again.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }
}

/// Waits, and ends a test that takes too long, with everything that it started. Returns whether it passed.
fn ended(mut child: Child) -> Result<bool> {
    let group = format!("-{}", child.id());
    let (send, ended) = channel();
    let waiter = std::thread::spawn(move || drop(send.send(child.wait())));
    let status = match ended.recv_timeout(LONGEST_TEST) {
        Ok(status) => status?.success(),
        Err(_) => {
            Command::new("kill").args(["-KILL", "--", &group]).status()?;
            false
        }
    };
    drop(waiter.join());
    Ok(status)
}
