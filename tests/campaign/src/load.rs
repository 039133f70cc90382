//! Load: many sessions, large bodies, and silent connections. The daemon's memory must stay bounded, and it must still
//! answer.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bethink_harness::{Answer, Client, Daemon, Request, Rng, http, say};
use serde_json::{Value, json};

use crate::limit::AttackLimit;
use crate::report::AttackResult;

/// Number of sessions that get messages in random order.
const SESSIONS: usize = 400;
/// Size of one append, in megabytes.
const APPEND_MB: usize = 1;
/// Maximum memory of the daemon, in MiB: for sessions, and for bodies.
const SESSIONS_PEAK: u64 = 200;
const BODIES_PEAK: u64 = 400;
/// A debug build of the daemon maps larger program files: 40 MiB are resident, 20 MiB in a release build.
const DEBUG_FILES: u64 = if cfg!(debug_assertions) { 20 } else { 0 };
/// Number of bodies that are sent at the same time.
const BODIES: usize = 24;
/// Size of each body, in megabytes: nearly the largest that the daemon accepts.
const BODY_MB: usize = 60;
/// How long a client waits for the answer to a large body.
const PATIENCE: Duration = Duration::from_secs(120);
/// Number of silent connections.
const SILENT: usize = 1000;
/// Number of a client's requests over each listener, before the silent connections are opened again.
const ROUND: usize = 50;
/// After this time, a silent connection may be closed without an answer.
const SILENCE: Duration = Duration::from_secs(8);

pub fn run(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    // The bodies have no time limit.
    let time = limit.left();
    let silence = silence(limit.within(time / 4));
    vec![silence, sessions(limit.within(time / 2), seed), bodies()]
}

/// Appends to sessions in random order, so that most are cold. An attempt is a megabyte.
fn sessions(limit: AttackLimit, seed: u64) -> AttackResult {
    let (start, mut rng, daemon) = (Instant::now(), Rng::new(seed), Daemon::fresh());
    let (mut client, mut broken, mut sent) = (daemon.client(), Vec::new(), 0);
    let sessions: Vec<String> = (0..SESSIONS).map(|_| daemon.session(200_000)).collect();
    let text = "word salad of many words and 12345 numbers ".repeat(1150);
    let messages: Vec<Value> = (0..APPEND_MB * 20).map(|_| say::user(&text)).collect();
    let body = json!({ "messages": messages });
    let mut used = BTreeSet::new();
    while limit.allows(sent) {
        let session = rng.below(SESSIONS);
        used.insert(session);
        let path = format!("/v1/sessions/{}/messages", sessions[session]);
        expect_ok(client.send(&Request::new("POST", &path).json(&body)), &mut broken);
        sent += APPEND_MB as u64;
    }
    let peak = expect_peak(&daemon, SESSIONS_PEAK, &mut broken);
    AttackResult {
        attack: "load, sessions".to_owned(),
        size: format!("{sent} MB, {} sessions", used.len()),
        checks: sent / APPEND_MB as u64,
        broken,
        took: start.elapsed(),
        note: format!("peak {peak} MiB, {} MiB afterwards", memory(&daemon, "VmRSS")),
    }
}

/// Sends large bodies at the same time, while another client makes small requests.
fn bodies() -> AttackResult {
    let start = Instant::now();
    let daemon = Daemon::fresh();
    let messages = json!({ "messages": [say::user(&"x".repeat(BODY_MB * 1_000_000))] });
    let (session, other) = (daemon.session(200_000), daemon.session(200_000));
    let request = Request::new("POST", &format!("/v1/sessions/{session}/messages")).json(&messages);
    let (over, mut broken) = (AtomicBool::new(false), Vec::new());
    let (mut stored, mut refused, mut small) = (0, 0, 0);
    std::thread::scope(|scope| {
        let large = |mut client: Client| client.send(&request);
        let large: Vec<_> = (0..BODIES)
            .map(|_| daemon.client().patient(PATIENCE))
            .map(|client| scope.spawn(move || large(client)))
            .collect();
        let beside = scope.spawn(|| {
            let (mut client, mut broken, mut sent) = (daemon.client(), Vec::new(), 0);
            let path = format!("/v1/sessions/{other}/messages?limit=20");
            while !over.load(Ordering::Relaxed) {
                expect_ok(client.send(&Request::new("GET", &path)), &mut broken);
                sent += 1;
            }
            (sent, broken)
        });
        for answer in large {
            match answer.join().expect("a client") {
                Ok(answer) if answer.status == 200 => stored += 1,
                Ok(answer) if is_busy(&answer) => refused += 1,
                other => {
                    broken.push(format!("{BODY_MB} MB: {:?}", other.map(|answer| answer.brief())));
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        let (sent, wrong) = beside.join().expect("a client");
        small = sent;
        broken.extend(wrong);
    });
    if stored == 0 {
        broken.push("none of the bodies was stored".to_owned());
    }
    let peak = expect_peak(&daemon, BODIES_PEAK, &mut broken);
    AttackResult {
        attack: "load, large bodies".to_owned(),
        size: format!("{BODIES} of {BODY_MB} MB"),
        checks: BODIES as u64 + small,
        broken,
        took: start.elapsed(),
        note: format!(
            "peak {peak} MiB, {stored} stored, {refused} busy, {small} small requests beside"
        ),
    }
}

#[derive(Debug, Default)]
struct SilenceTally {
    requests: u64,
    /// Requests without a good answer.
    tcp_failed: u64,
    socket_failed: u64,
    slowest: Duration,
    /// Number of silent connections that were closed, and of those that were closed without an answer.
    closed: u64,
    untold: u64,
}

/// Opens silent connections, while a client opens a new connection for each request.
fn silence(limit: AttackLimit) -> AttackResult {
    let (start, daemon) = (Instant::now(), Daemon::fresh());
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("hello")]);
    let path = format!("/v1/sessions/{session}/messages?limit=20");
    let mut tally = SilenceTally::default();
    while limit.allows(tally.requests) {
        tally.round(&daemon, &path);
    }
    let mut broken = Vec::new();
    let SilenceTally { requests, tcp_failed, socket_failed, slowest, closed, untold } = tally;
    if tcp_failed * 100 > requests {
        broken.push(format!("{tcp_failed} of {requests} requests over TCP failed"));
    }
    if socket_failed > 0 {
        broken.push(format!("{socket_failed} of {requests} requests over the socket failed"));
    }
    if untold > 0 {
        broken.push(format!("{untold} of {closed} connections were closed without a word"));
    }
    daemon.is_well();
    AttackResult {
        attack: "load, silence".to_owned(),
        size: format!("{SILENT} connections"),
        checks: 2 * requests,
        broken,
        took: start.elapsed(),
        note: format!(
            "{tcp_failed} of {requests} failed over TCP, {socket_failed} over the socket, slowest {} ms",
            slowest.as_millis()
        ),
    }
}

impl SilenceTally {
    fn round(&mut self, daemon: &Daemon, path: &str) {
        let start = Instant::now();
        let silent = (0..SILENT).filter_map(|_| http::connect(daemon.addr()).ok()).collect();
        for _ in 0..ROUND {
            self.requests += 1;
            let asked = Instant::now();
            let answer = daemon.client().send(&Request::new("GET", path));
            self.slowest = self.slowest.max(asked.elapsed());
            self.tcp_failed += u64::from(!answer.is_ok_and(|answer| answer.status == 200));
            let answer = over_socket(&daemon.home.path().join("daemon.sock"), path);
            let is_good = answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "));
            self.socket_failed += u64::from(!is_good);
        }
        if start.elapsed() < SILENCE {
            self.count_closed(silent);
        }
    }

    fn count_closed(&mut self, silent: Vec<TcpStream>) {
        for mut connection in silent {
            let mut head = [0; 12];
            let read = connection.set_nonblocking(true).and_then(|()| connection.read(&mut head));
            match read {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(12) if head.starts_with(b"HTTP/1.1 503") => self.closed += 1,
                _ => {
                    self.closed += 1;
                    self.untold += 1;
                }
            }
        }
    }
}

fn over_socket(socket: &Path, path: &str) -> std::io::Result<String> {
    let mut connection = UnixStream::connect(socket)?;
    connection.set_read_timeout(Some(bethink_harness::wait::PATIENCE))?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    connection.write_all(head.as_bytes())?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

fn is_busy(answer: &Answer) -> bool {
    answer.status == 503
        && answer.header("retry-after").is_some()
        && answer.json()["type"] == "busy"
}

fn expect_ok(answer: std::io::Result<Answer>, broken: &mut Vec<String>) {
    match answer {
        Ok(answer) if answer.status == 200 => {}
        Ok(answer) => broken.push(format!("{}: {}", answer.status, answer.brief())),
        Err(error) => broken.push(error.to_string()),
    }
}

/// Checks the peak of the daemon's memory, in MiB, corrected to that of a release build, and returns it.
fn expect_peak(daemon: &Daemon, most: u64, broken: &mut Vec<String>) -> u64 {
    let peak = memory(daemon, "VmHWM").saturating_sub(DEBUG_FILES);
    if peak > most {
        broken.push(format!("the daemon took {peak} MiB; at most {most} are promised"));
    }
    peak
}

/// Returns the value of a line of the daemon's `/proc/PID/status`, in MiB.
fn memory(daemon: &Daemon, line: &str) -> u64 {
    let status = format!("/proc/{}/status", daemon.pid().unwrap_or_default());
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kib = found.and_then(|text| text.trim().split(' ').next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib >> 10)
}
