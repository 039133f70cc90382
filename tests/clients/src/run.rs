//! Runs another program with a time limit.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::Installed;

/// Time limit for a run, so that a hanging client does not block the tests.
const PATIENCE: Duration = Duration::from_secs(180);

/// A program of a kit, with its arguments and environment.
#[derive(Debug)]
pub struct Script {
    command: Command,
    patience: Duration,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Installed {
    /// Prepares a run of one of the kit's programs. Its `PATH` begins with the kit's folders, and its environment has no proxy
    /// and none of the keys in the environment of the tests.
    pub fn script(&self, program: &str) -> Script {
        let mut command = Command::new(self.program(program));
        let old = std::env::var_os("PATH").unwrap_or_default();
        let paths = self.paths().into_iter().chain(std::env::split_paths(&old));
        let path: OsString = std::env::join_paths(paths).expect("paths without colons");
        command.env("PATH", path).stdin(Stdio::null());
        for name in
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        {
            command.env_remove(name);
        }
        for name in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
        ] {
            command.env_remove(name);
        }
        Script { command, patience: PATIENCE }
    }
}

impl Script {
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    #[must_use]
    pub fn within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs the program to its end. If it takes too long, it is killed and the test fails.
    pub fn run(self) -> Ran {
        let Self { command, patience } = &self;
        let told = format!("{:?} took longer than {patience:?}", command.get_program());
        self.run_in_time().unwrap_or_else(|| panic!("{told}"))
    }

    /// Runs the program to its end. If it takes too long, it is killed, and `None` is returned.
    pub fn run_in_time(mut self) -> Option<Ran> {
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", self.command.get_program()));
        let stdout = reader(child.stdout.take().expect("a pipe"));
        let stderr = reader(child.stderr.take().expect("a pipe"));
        let (told, ended) = mpsc::channel();
        let pid = child.id();
        thread::spawn(move || told.send(wait(child)));
        let Ok(status) = ended.recv_timeout(self.patience) else {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            return None;
        };
        let text = |lines: thread::JoinHandle<String>| lines.join().expect("a reader");
        Some(Ran { status, stdout: text(stdout), stderr: text(stderr) })
    }
}

impl Ran {
    /// Fails the test with the whole output if the run failed.
    #[track_caller]
    pub fn good(self) -> Self {
        let Self { status, stdout, stderr } = &self;
        assert!(status.success(), "{status}\n{stdout}\n{stderr}");
        self
    }
}

fn wait(mut child: Child) -> ExitStatus {
    child.wait().expect("a child can be waited for")
}

fn reader(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
