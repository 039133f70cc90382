//! Measures memory and processor time of the daemon, idle and after much work.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bethink_harness::{Daemon, until};

use crate::drive;
use crate::table::{Goal, Row};

/// How long processor time is measured.
const WATCH: Duration = Duration::from_secs(2);
const WINDOW: u64 = 60_000;
/// Goal for the memory of an unused daemon, in MB.
pub const IDLE: f64 = 20.0;

/// Measures a fresh daemon, and again after all files.
pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let daemon = Daemon::fresh();
    daemon.client().get("/health").ok();
    let idle = resident(&daemon);
    let ticks = idle_ticks(&daemon);
    for file in files {
        drive::drive(&daemon, file, WINDOW);
    }
    let driven = resident(&daemon);
    let caught_up = catching_up(&daemon);
    let after = idle_ticks(&daemon);
    vec![
        Row::new("memory, idle", idle, "MB", Goal::AtMost(IDLE)),
        Row::new("memory, after driving all files", driven, "MB", Goal::AtMost(120.0))
            .detail(format!("{} files, peak {:.1} MB", files.len(), status(&daemon, "VmHWM:"))),
        Row::new("processor ticks in 2 s, idle", ticks, "", Goal::AtMost(0.0)),
        Row::new("processor ticks in 2 s, idle after driving", after, "", Goal::AtMost(0.0))
            .detail(format!("once the index had caught up, {caught_up:.1} s after the last turn")),
    ]
}

pub fn resident(daemon: &Daemon) -> f64 {
    status(daemon, "VmRSS:")
}

/// Reads a size in `/proc/PID/status`, in MB.
fn status(daemon: &Daemon, what: &str) -> f64 {
    let pid = daemon.pid().expect("a running daemon");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix(what)).unwrap_or_default();
    let kib: f64 = line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(f64::NAN);
    kib * 1024.0 / 1e6
}

/// Waits until the daemon has used no processor time for a second. Returns how many seconds that took.
fn catching_up(daemon: &Daemon) -> f64 {
    const QUIET: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(60);
    let start = Instant::now();
    while start.elapsed() < MOST {
        let before = ticks(daemon);
        let _ = until(QUIET, || None::<()>);
        if ticks(daemon) <= before {
            break;
        }
    }
    start.elapsed().saturating_sub(QUIET).as_secs_f64()
}

fn idle_ticks(daemon: &Daemon) -> f64 {
    let before = ticks(daemon);
    let _ = until(WATCH, || None::<()>);
    ticks(daemon) - before
}

/// Reads user and system time in `/proc/PID/stat`.
fn ticks(daemon: &Daemon) -> f64 {
    let pid = daemon.pid().expect("a running daemon");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name may contain spaces; the fields after its bracket begin with number 3.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let field =
        |n: usize| fields.get(n - 3).and_then(|f| f.parse::<f64>().ok()).unwrap_or(f64::NAN);
    field(14) + field(15)
}
