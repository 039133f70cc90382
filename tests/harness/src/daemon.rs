//! The real `bethinkd`, with its own home.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::Client;
use crate::wait::{PATIENCE, until};

/// A daemon's state directory, and how it is started. Deleted when dropped.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
    home: PathBuf,
    program: Option<PathBuf>,
    /// The `--listen` argument.
    listen: Option<&'static str>,
    /// A program that starts the daemon, with its arguments.
    wrapper: Vec<String>,
    env: Vec<(String, String)>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// A home that does not exist yet.
    pub fn new() -> Self {
        let root = TempDir::with_prefix("bethink-").expect("a temporary directory");
        let home = root.path().join("home");
        Self {
            root,
            home,
            program: None,
            listen: Some("127.0.0.1:0"),
            wrapper: Vec::new(),
            env: Vec::new(),
        }
    }

    /// A home at this path, for example on a full disk.
    pub fn at(home: &Path) -> Self {
        Self { home: home.to_path_buf(), ..Self::new() }
    }

    /// Sets a setting, by the name of its variable: `BETHINK_<SECTION>__<KEY>`.
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.env.push((setting.to_owned(), value.to_owned()));
        self
    }

    /// Runs this build of the daemon instead of the one built with the tests.
    pub fn running(mut self, program: &Path) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    /// Starts the daemon without an address, so that it uses the one of its settings or its home.
    pub fn on_its_own_port(mut self) -> Self {
        self.listen = None;
        self
    }

    /// Starts the daemon by another program, which keeps its own process id for it.
    pub fn through(mut self, wrapper: &[&str]) -> Self {
        self.wrapper = wrapper.iter().map(|&word| word.to_owned()).collect();
        self
    }

    pub fn path(&self) -> &Path {
        &self.home
    }

    /// A directory beside the home, for working trees and files.
    pub fn scratch(&self) -> &Path {
        self.root.path()
    }

    /// Everything that the daemon has written to stderr.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.root.path().join("bethinkd.log")
    }

    /// A command that starts the daemon with this home, on a free port, without the user's settings.
    pub fn command(&self) -> Command {
        let wrapper: Vec<&str> = self.wrapper.iter().map(String::as_str).collect();
        self.command_through(&wrapper)
    }

    /// The same, started by another program, which takes a command as its last arguments.
    pub fn command_through(&self, wrapper: &[&str]) -> Command {
        let daemon = self.program.clone().unwrap_or_else(|| binary("bethinkd"));
        let mut command = match wrapper.split_first() {
            None => Command::new(daemon),
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(daemon);
                command
            }
        };
        let own = std::env::vars_os().filter(|(k, _)| k.to_string_lossy().starts_with("BETHINK_"));
        own.for_each(|(key, _)| {
            command.env_remove(key);
        });
        command.args(self.listen.iter().flat_map(|listen| ["--listen", listen]));
        command
            // A person without files of other agents.
            .env("HOME", self.root.path().join("person"))
            .env("BETHINK_HOME", &self.home)
            .env("BETHINK_CONFIG", self.root.path().join("config.toml"))
            // As `bethink up` and the login service set it.
            .env("MALLOC_MMAP_THRESHOLD_", "1048576")
            .env("MALLOC_ARENA_MAX", "2")
            // A test's model must get only the requests that the test is about.
            .env("BETHINK_MEMORY__EXTRACTION", "embedded")
            .envs(self.env.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log_file());
        command
    }

    fn log_file(&self) -> File {
        OpenOptions::new().create(true).append(true).open(self.log_path()).expect("log file")
    }

    /// Starts the daemon and waits until it serves.
    #[track_caller]
    pub fn start(self) -> Daemon {
        match self.try_start() {
            Ok(daemon) => daemon,
            Err(exit) => panic!("bethinkd did not start: {exit:?}"),
        }
    }

    /// Starts the daemon, or returns how it ended.
    pub fn try_start(self) -> Result<Daemon, Exit> {
        let addr = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut daemon = Daemon { home: self, child: None, addr, token: String::new() };
        daemon.try_start()?;
        Ok(daemon)
    }
}

/// How a daemon ended that did not start.
#[derive(Debug)]
pub struct Exit {
    /// `None` if it was neither ready nor ended in time.
    pub status: Option<ExitStatus>,
    pub stderr: String,
}

/// A running daemon; killed when dropped.
#[derive(Debug)]
pub struct Daemon {
    pub home: Home,
    child: Option<Child>,
    addr: SocketAddr,
    token: String,
}

impl Daemon {
    /// In a new home, with defaults.
    #[track_caller]
    pub fn fresh() -> Self {
        Home::new().start()
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn client(&self) -> Client {
        Client::new(self.addr, &self.token)
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Starts again on the same home, after [`Daemon::kill9`] or [`Daemon::terminate`].
    #[track_caller]
    pub fn start(&mut self) {
        if let Err(exit) = self.try_start() {
            panic!("bethinkd did not start again: {exit:?}");
        }
    }

    fn try_start(&mut self) -> Result<(), Exit> {
        let log = self.home.log().len();
        let child = self.home.command().spawn().expect("spawn bethinkd");
        let pid = child.id();
        self.child = Some(child);
        let place = self.home.path().join("daemon.json");
        let mut ended = None;
        let served = until(PATIENCE, || {
            let served = serves_at(&place, pid).or_else(|| said_it_serves(&self.home.log()[log..]));
            if let Some(served) = served {
                return Some(Some(served));
            }
            ended = self.child.as_mut().and_then(|c| c.try_wait().ok().flatten());
            ended.map(|_| None)
        });
        match served.flatten() {
            Some(addr) => {
                self.addr = addr;
                let token = std::fs::read_to_string(self.home.path().join("token"));
                self.token = token.unwrap_or_default().trim().to_owned();
                Ok(())
            }
            None => {
                self.kill9();
                Err(Exit { status: ended, stderr: self.home.log() })
            }
        }
    }

    /// Kills it without a warning.
    pub fn kill9(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Asks it to stop, and waits until it has ended.
    #[track_caller]
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal_term();
        self.wait()
    }

    /// Asks it to stop.
    pub fn signal_term(&self) {
        let pid = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        kill_process(pid.expect("a running daemon"), Signal::TERM).expect("SIGTERM");
    }

    /// Waits until it has ended.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("a running daemon");
        match until(PATIENCE, || child.try_wait().ok().flatten()) {
            Some(status) => status,
            None => {
                drop(child.kill());
                panic!("bethinkd did not end:\n{}", self.home.log());
            }
        }
    }

    /// Creates a session for a model with this window; returns its id.
    #[track_caller]
    pub fn session(&self, window: u64) -> String {
        let body = json!({
            "project_dir": self.home.scratch(),
            "model": {"name": "claude-sonnet-4-5", "context_window": window, "max_output_tokens": 8000}});
        let answer = self.client().post("/v1/sessions", &body);
        assert_eq!(answer.status, 201, "{}", answer.brief());
        answer.json()["id"].as_str().expect("id").to_owned()
    }

    /// Appends the messages; returns the daemon's answer.
    #[track_caller]
    pub fn append(&self, session: &str, messages: &[Value]) -> Value {
        let body = json!({"messages": messages});
        self.client().post(&format!("/v1/sessions/{session}/messages"), &body).ok()
    }

    /// Checks that the daemon still works. Every test of bad input ends with this.
    #[track_caller]
    pub fn is_well(&self) {
        let health = self.client().get("/health").ok();
        assert_eq!(health["status"], "ok", "{health}");
        let session = self.session(200_000);
        let appended = self.append(&session, &[crate::say::user("still there?")]);
        assert_eq!(appended["appended"], 1, "{appended}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill9();
        if std::thread::panicking() {
            let log = self.home.log();
            let from = log.char_indices().rev().nth(4000).map_or(0, |(at, _)| at);
            drop(io::Write::write_all(&mut io::stderr(), &log.as_bytes()[from..]));
        }
    }
}

/// The address that this process wrote. A file left by a killed daemon has another process id.
fn serves_at(place: &Path, pid: u32) -> Option<SocketAddr> {
    let file: Value = serde_json::from_slice(&std::fs::read(place).ok()?).ok()?;
    if file["pid"] != pid {
        return None;
    }
    file["url"].as_str()?.strip_prefix("http://")?.trim_end_matches('/').parse().ok()
}

/// The address in the log, where a daemon that cannot write `daemon.json` says it.
fn said_it_serves(log: &str) -> Option<SocketAddr> {
    let (_, said) = log.split_once("serving url=http://")?;
    said.split_once(' ')?.0.parse().ok()
}

/// The program from the build directory of this test: `target/<profile>/NAME`.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("own path");
    let mut place = test.parent().expect("a directory").to_path_buf();
    if place.ends_with("deps") {
        place.pop();
    }
    let program = place.join(name);
    assert!(
        program.exists(),
        "{} is not built: run `cargo build -p {name}` with this profile first",
        program.display()
    );
    program
}

/// How long a stop may take, including the time for open requests.
pub const STOP: Duration = Duration::from_secs(15);
