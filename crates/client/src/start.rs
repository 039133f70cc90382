//! Starts the daemon from a client. Only one daemon is started even if many clients try, and it keeps running after
//! their terminals are closed.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bethink_api::DaemonFile;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

use crate::client::Client;
use crate::error::{SERVES_WITHIN, StartError};
use crate::places::DaemonPlaces;

/// Interval between checks whether the daemon has started. A healthy daemon starts within a few tens of milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Number of bytes of the log that are shown if a daemon exits while starting.
const LOG_GLIMPSE: u64 = 2_000;
/// The hidden command of the launcher; see [`detach`].
pub const LAUNCH: &str = "launch-daemon";

/// Makes glibc return freed memory to the system. The first variable makes it return each allocation of 1 MiB or more at once;
/// by default, glibc raises this limit when a larger allocation is freed. The second one limits the number of heaps, because
/// each heap keeps some of the memory that was freed in it.
const ALLOCATOR: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_ARENA_MAX", "2")];

/// The environment of a started daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    Inherited,
    /// No `BETHINK_…` variables and no config file: a daemon with default settings.
    Isolated,
}

/// How to start a daemon.
#[derive(Clone, Debug)]
pub struct Starter {
    /// A program that answers the command [`LAUNCH`] by calling [`detach`] and printing the process id.
    pub launcher: PathBuf,
    pub daemon: PathBuf,
    /// The address that is passed on as `--listen`.
    pub listen: Option<String>,
    pub environment: Environment,
}

/// A running daemon.
#[derive(Debug)]
pub struct Started {
    pub file: DaemonFile,
    /// `false` if a daemon was already running.
    pub is_new: bool,
}

impl Starter {
    /// Uses the `bethinkd` next to the running program, else the first in `PATH`.
    pub fn beside(program: PathBuf, path: Option<&OsStr>) -> Result<Self, StartError> {
        let own = program.parent().map(Path::to_owned);
        let looked: Vec<PathBuf> =
            own.into_iter().chain(path.into_iter().flat_map(std::env::split_paths)).collect();
        let found = looked.iter().map(|dir| dir.join("bethinkd")).find(|file| file.is_file());
        let Some(daemon) = found else { return Err(StartError::NotFound { looked }) };
        Ok(Self { launcher: program, daemon, listen: None, environment: Environment::Inherited })
    }

    /// Starts a daemon for this home unless one is running, and waits until it serves.
    pub async fn start(&self, places: &DaemonPlaces) -> Result<Started, StartError> {
        make_home(places.home.path())?;
        let until = Instant::now() + SERVES_WITHIN;
        let lock = lock(places, until).await?;
        if let Some(file) = serving(places).await {
            return Ok(Started { file, is_new: false });
        }
        // What is already in the log is about earlier daemons.
        let logged = std::fs::metadata(places.home.log_file()).map_or(0, |log| log.len());
        let launcher = self.spawn(places, Stdio::piped())?;
        let started = wait(places, launcher, logged, until).await;
        drop(lock);
        started
    }

    /// Starts a daemon without waiting. If two daemons are started, the home's lock decides which one runs.
    pub fn launch(&self, places: &DaemonPlaces) -> Result<(), StartError> {
        make_home(places.home.path())?;
        self.spawn(places, Stdio::null()).map(drop)
    }

    fn spawn(&self, places: &DaemonPlaces, stdout: Stdio) -> Result<Child, StartError> {
        let log = open_log(places)?;
        let mut command = Command::new(&self.launcher);
        if self.environment == Environment::Isolated {
            let ours = std::env::vars_os().map(|(name, _)| name);
            for name in ours.filter(|name| name.as_encoded_bytes().starts_with(b"BETHINK_")) {
                command.env_remove(name);
            }
            command.env("BETHINK_CONFIG", places.home.path().join("config.toml"));
        }
        command.arg(LAUNCH).arg(&self.daemon);
        if let Some(listen) = &self.listen {
            command.args(["--listen", listen]);
        }
        command
            .env("BETHINK_HOME", places.home.path())
            .current_dir(places.home.path())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(log)
            .spawn()
            .map_err(|source| StartError::Spawn { path: self.launcher.clone(), source })
    }
}

/// Starts the daemon in a session of its own and returns its process id. The caller must end afterwards, so that the daemon has
/// no parent among the programs that started it: some agents end all descendants of their MCP servers, and the daemon, which
/// others also use, must not end with them. Without unsafe code, a process cannot start a child in another session, so the
/// client launches itself for this first.
pub fn detach(
    daemon: &OsStr,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<u32> {
    // Fails only if this process leads a group, and then it already has a session of its own.
    let _session = rustix::process::setsid();
    Ok(daemon_command(daemon, arguments).spawn()?.id())
}

fn daemon_command(
    daemon: &OsStr,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut command = Command::new(daemon);
    command.args(arguments);
    command.envs(ALLOCATOR.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
    command
}

/// Waits until the daemon serves. `logged` is the length of the log before the start. The launcher and the daemon share one stdout pipe, which is closed when both have ended.
async fn wait(
    places: &DaemonPlaces,
    mut launcher: Child,
    logged: u64,
    until: Instant,
) -> Result<Started, StartError> {
    let log = places.home.log_file();
    let failed = |source| StartError::Home { path: places.home.path().to_owned(), source };
    let stdout = launcher.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
    let stdout = Receiver::from_owned_fd(OwnedFd::from(stdout)).map_err(failed)?;
    let (mut printed, mut is_reaped) = (Vec::new(), false);
    loop {
        let has_ended = read_ready(&stdout, &mut printed);
        is_reaped = is_reaped || !matches!(launcher.try_wait(), Ok(None));
        if let Some(file) = serving(places).await.filter(|_| is_reaped) {
            let launched = std::str::from_utf8(&printed).unwrap_or_default();
            let is_new = launched.trim().parse() == Ok(file.pid);
            // Otherwise another daemon has the home's lock, so ours ends.
            if is_new || has_ended {
                return Ok(Started { file, is_new });
            }
        }
        if has_ended && is_reaped {
            let tail = match tail(&log, logged) {
                // It could not be written, because the disk is full.
                log if log.is_empty() => error_on_stdout(&printed),
                log => log,
            };
            return Err(StartError::Stopped { log, tail });
        }
        if Instant::now() > until {
            return Err(StartError::Late { log });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns the error that a daemon printed after the process id, because it could not write to its log.
fn error_on_stdout(printed: &[u8]) -> String {
    let printed = String::from_utf8_lossy(printed);
    let error = printed.lines().find(|line| line.starts_with("bethinkd: "));
    error.unwrap_or_default().to_owned()
}

/// Reads what a pipe holds, and returns whether it has ended.
fn read_ready(pipe: &Receiver, read: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 64];
    loop {
        match pipe.try_read(&mut buffer) {
            Ok(0) => return true,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// Returns the daemon that `daemon.json` describes, if it is running.
async fn serving(places: &DaemonPlaces) -> Option<DaemonFile> {
    Client::find(places).await.ok()?;
    places.daemon()
}

async fn lock(places: &DaemonPlaces, until: Instant) -> Result<File, StartError> {
    let path = places.start_lock();
    let failed = |source| StartError::Home { path: path.clone(), source };
    let file =
        OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() > until => {
                return Err(StartError::Late { log: places.home.log_file() });
            }
            Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

fn make_home(home: &Path) -> Result<(), StartError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(home)
        .map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::other("it is a file, or a link to nothing; it must be a directory")
            }
            _ => source,
        })
        .map_err(|source| StartError::Home { path: home.to_owned(), source })
}

fn open_log(places: &DaemonPlaces) -> Result<File, StartError> {
    let path = places.home.log_file();
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    opened.map_err(|source| StartError::Home { path, source })
}

/// Returns the last lines of the log, from the position `start`; nothing if it cannot be read.
pub fn tail(log: &Path, start: u64) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        let from = length.saturating_sub(LOG_GLIMPSE);
        file.seek(SeekFrom::Start(from.max(start)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        // The first of many lines may be incomplete. A single long one still says something.
        let lines = text.split_once('\n').filter(|(_, lines)| from > start && !lines.is_empty());
        Ok(lines.map_or(&*text, |(_, lines)| lines).trim().to_owned())
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(dir: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.join("launcher");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn starter(launcher: PathBuf) -> Starter {
        let environment = Environment::Isolated;
        Starter { daemon: launcher.clone(), launcher, listen: None, environment }
    }

    #[test]
    fn the_daemon_beside_the_program_comes_before_the_path() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = other.path().as_os_str();
        let find = || Starter::beside(own.path().join("bethink"), Some(path));
        assert!(matches!(find(), Err(StartError::NotFound { looked }) if looked.len() == 2));
        std::fs::write(other.path().join("bethinkd"), "").unwrap();
        assert_eq!(find().unwrap().daemon, other.path().join("bethinkd"));
        std::fs::write(own.path().join("bethinkd"), "").unwrap();
        assert_eq!(find().unwrap().daemon, own.path().join("bethinkd"));
    }

    #[test]
    fn the_daemon_gives_memory_back() {
        let command = daemon_command(OsStr::new("bethinkd"), ["--listen"]);
        for (name, value) in ALLOCATOR {
            let is_set =
                |(set, to): (&OsStr, Option<&OsStr>)| set == name && to == Some(OsStr::new(value));
            assert!(command.get_envs().any(is_set) || std::env::var_os(name).is_some(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_daemon_that_dies_at_once_is_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let places = DaemonPlaces::at(dir.path().join("home"));
        for failure in ["the disk is on fire", "the disk is wet"] {
            let dies = script(dir.path(), &format!("#!/bin/sh\necho {failure} >&2\nexit 7\n"));
            let error = starter(dies).start(&places).await.unwrap_err();
            let StartError::Stopped { tail, .. } = error else { panic!("{error}") };
            assert_eq!(tail, failure, "without the failures of earlier starts");
        }
    }

    #[tokio::test]
    async fn a_daemon_that_cannot_write_its_log_is_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let places = DaemonPlaces::at(dir.path().join("home"));
        let dies = script(dir.path(), "#!/bin/sh\necho 'bethinkd: the disk is full'\necho 7\n");
        let error = starter(dies).start(&places).await.unwrap_err();
        let StartError::Stopped { tail, .. } = error else { panic!("{error}") };
        assert_eq!(tail, "bethinkd: the disk is full");
    }

    #[tokio::test]
    async fn a_home_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let places = DaemonPlaces::at(dir.path().join("file/home"));
        let error = starter("/nowhere".into()).start(&places).await.unwrap_err();
        assert!(
            matches!(&error, StartError::Home { path, .. } if path == places.home.path()),
            "{error}"
        );
    }
}
