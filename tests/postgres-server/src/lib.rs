//! A PostgreSQL server for the tests of one binary: in a temporary folder, reachable only through a socket in it. It is
//! stopped, and its folder removed, when the binary ends.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test stops where it fails")]

use std::fs::Permissions;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};

/// A user who needs a password, unlike the others, and this password.
pub const GUARDED_USER: (&str, &str) = ("guarded", "correct horse");

/// The first line of the server's list of who may connect how.
const GUARD: &str = "local all guarded scram-sha-256\n";

/// Waits until the test binary ends, because its standard input is a pipe from there.
const CLEAN_UP: &str = r#"trap "" INT; cat > /dev/null; stop=$1; dir=$2; shift 2
    "$@" "$stop" -D "$dir/data" -m immediate stop > /dev/null 2>&1; rm -rf "$dir""#;

/// Places where packages put the programs of the server.
const PLACES: [&str; 3] =
    ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin"];

#[derive(Debug)]
pub struct TestServer {
    programs: PathBuf,
    dir: PathBuf,
    /// The command that changes the user, if this is root: the server refuses to run as root.
    as_user: Vec<String>,
    /// Ends with this process.
    _clean_up: Child,
    databases: AtomicU32,
    is_durable: bool,
    /// The TCP port, which is part of the socket's name.
    port: OnceLock<u16>,
}

impl TestServer {
    /// Starts a server that does not wait for the disk. If PostgreSQL is not installed, ends the binary: successfully, except
    /// in CI.
    pub async fn start() -> Self {
        Self::start_with(false).await
    }

    /// Starts a server with PostgreSQL's own settings, for measurements.
    pub async fn start_durable() -> Self {
        Self::start_with(true).await
    }

    async fn start_with(is_durable: bool) -> Self {
        let Some(programs) = find_programs() else {
            let reason = b"skipped: PostgreSQL's programs initdb and pg_ctl are not installed\n";
            // Not with a macro, whose output the test harness would hide.
            std::io::stderr().write_all(reason).unwrap();
            std::process::exit(i32::from(std::env::var_os("CI").is_some()));
        };
        let dir = tempfile::Builder::new().prefix("bethink-pg-").tempdir().unwrap().keep();
        let user = rustix::process::geteuid().is_root().then(|| unprivileged_user(&dir));
        let as_user = user.map_or_else(Vec::new, |(uid, gid)| {
            let ids = [format!("--reuid={uid}"), format!("--regid={gid}")];
            [vec!["setpriv".into()], ids.to_vec(), vec!["--clear-groups".into()]].concat()
        });
        let clean_up = Command::new("sh")
            .args(["-c", CLEAN_UP, "sh"])
            .arg(programs.join("pg_ctl"))
            .arg(&dir)
            .args(if as_user.is_empty() { vec!["env".to_owned()] } else { as_user.clone() })
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let databases = AtomicU32::new(0);
        let port = OnceLock::new();
        let server =
            Self { programs, dir, as_user, _clean_up: clean_up, databases, is_durable, port };
        server.run("initdb", &["-U", "bethink", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]);
        let who = server.dir.join("data/pg_hba.conf");
        let rest = std::fs::read_to_string(&who).unwrap();
        std::fs::write(&who, format!("{GUARD}{rest}")).unwrap();
        server.configure("listen_addresses = ''");
        server.resume();
        let (user, password) = GUARDED_USER;
        server.admin(&format!("CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{password}'")).await;
        server
    }

    /// Returns the path of one of PostgreSQL's programs, such as `pg_dump`.
    pub fn program(&self, name: &str) -> PathBuf {
        // The programs that were found may be links, next to which the others are missing.
        let real = self.programs.join("pg_ctl").canonicalize().unwrap();
        real.with_file_name(name)
    }

    /// Runs a program of PostgreSQL on the server's folder.
    fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = match self.as_user.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        let output = self.dir.join("output");
        let log = std::fs::File::create(&output).unwrap();
        command.arg("-D").arg(self.dir.join("data")).args(arguments).current_dir(&self.dir);
        // Not pipes: the server would keep them open.
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let ended = command.status().unwrap();
        assert!(ended.success(), "{command:?}: {}", std::fs::read_to_string(output).unwrap());
    }

    /// Stops the server, like an administrator who restarts it.
    pub fn stop(&self) {
        self.run("pg_ctl", &["-w", "-m", "fast", "stop"]);
    }

    /// Kills the server, which loses what it has not written to its log.
    pub fn crash(&self) {
        self.run("pg_ctl", &["-w", "-m", "immediate", "stop"]);
    }

    /// Starts the server, and waits until it answers.
    pub fn resume(&self) {
        let log = self.dir.join("log").display().to_string();
        // In a test, nothing needs to survive a power failure.
        let speed = match self.is_durable {
            true => "",
            false => "-c fsync=off -c full_page_writes=off -c synchronous_commit=off",
        };
        let settings = format!("-k {} {speed}", self.dir.display());
        self.run("pg_ctl", &["-w", "-l", &log, "-o", &settings, "start"]);
    }

    /// Gives a folder to the server's user.
    pub fn give(&self, dir: &Path) {
        let own = std::fs::metadata(&self.dir).unwrap();
        chown(dir, Some(own.uid()), Some(own.gid())).unwrap();
    }

    /// Restarts the server so that it also listens on a TCP port of this machine, with this certificate (`.pem`) and its key
    /// (`.key`). Returns the port.
    pub fn listen_with_tls(&self, certificate: &Path) -> u16 {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for (kind, name) in [("pem", "server.crt"), ("key", "server.key")] {
            let file = self.dir.join("data").join(name);
            std::fs::copy(certificate.with_extension(kind), &file).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            self.give(&file);
        }
        self.stop();
        self.configure("ssl = on");
        self.configure(&format!("port = {port}"));
        self.configure("listen_addresses = '127.0.0.1'");
        self.resume();
        self.port.set(port).unwrap();
        port
    }

    /// Adds a setting, which applies when the server starts.
    fn configure(&self, setting: &str) {
        let file = self.dir.join("data/postgresql.conf");
        let rest = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, format!("{rest}\n{setting}\n")).unwrap();
    }

    /// Pauses all processes of the server, as if its machine did not answer any more.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets paused processes continue.
    pub fn unpause(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let file = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        let main: i32 = file.lines().next().unwrap().parse().unwrap();
        let children =
            Command::new("ps").args(["-o", "pid=", "--ppid", &main.to_string()]).output();
        let children = String::from_utf8(children.unwrap().stdout).unwrap();
        let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
        // The main process first, so that it starts no other one.
        for pid in std::iter::once(main).chain(children) {
            // A child may have ended since.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
        }
    }

    /// Returns the URL of a database for this user.
    pub fn url(&self, user: &str, database: &str) -> String {
        let folder = self.dir.display().to_string().replace('/', "%2F");
        format!("postgres://{user}@{folder}/{database}")
    }

    /// Returns the folder of the socket.
    pub fn folder(&self) -> &Path {
        &self.dir
    }

    pub fn address(&self, database: &str) -> PgConnectOptions {
        let address = PgConnectOptions::new_without_pgpass()
            .socket(&self.dir)
            .username("bethink")
            .database(database);
        match self.port.get() {
            Some(port) => address.port(*port),
            None => address,
        }
    }

    /// Opens a connection of its own, to look at a database behind a store's back.
    pub async fn connect(&self, database: &str) -> PgConnection {
        self.address(database).connect().await.unwrap()
    }

    pub async fn admin(&self, statement: &str) {
        let mut db = self.connect("postgres").await;
        db.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
        db.close().await.unwrap();
    }

    /// Creates a database without a schema.
    pub async fn bare_database(&self) -> String {
        self.create("template0").await
    }

    /// Copies a database, and returns the name of the copy.
    pub async fn create(&self, template: &str) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.admin(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        name
    }
}

/// Returns the number that a query behind a daemon's back finds.
pub async fn count(db: &mut PgConnection, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(db).await.unwrap()
}

/// Executes a statement behind a daemon's back.
pub async fn execute(db: &mut PgConnection, statement: &'static str) {
    db.execute(statement).await.unwrap();
}

fn find_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for pattern in PLACES {
        let (parent, rest) = pattern.split_once('*').unwrap();
        let parent = Path::new(parent);
        let (parent, prefix) = match parent.is_dir() {
            true => (parent, ""),
            false => (parent.parent().unwrap(), parent.file_name().unwrap().to_str().unwrap()),
        };
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                places.push(entry.path().join(rest.trim_start_matches('/')));
            }
        }
    }
    // Links on PATH may point to a wrapper, which needs a configured cluster.
    let has_all = |place: &PathBuf| ["initdb", "pg_ctl"].iter().all(|it| place.join(it).is_file());
    places.into_iter().find(has_all)
}

/// Gives the folder to a user without rights, and returns that user's ids.
fn unprivileged_user(dir: &Path) -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let ids_of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(|field| field.parse().ok());
        Some((fields.next()??, fields.next()??))
    };
    let (uid, gid) = ids_of("postgres").or_else(|| ids_of("nobody")).unwrap();
    chown(dir, Some(uid), Some(gid)).unwrap();
    (uid, gid)
}
