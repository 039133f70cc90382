//! Disk faults: the n-th file call of each of the daemon's threads fails; in other runs, all later calls fail, too.
//!
//! `strace` counts the calls of the scenario, and injects the errors. Whatever fails, every acknowledged write is
//! stored, no error is reported as internal, and nothing is missing after the next start.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use bethink_harness::writes::{Audit, EVERYTHING, WriteClock, Writer};
use bethink_harness::{Daemon, Home};

use crate::limit::AttackLimit;
use crate::report::AttackResult;

/// The calls that change files. `write` is left out, because sockets use it, too.
const CALLS: &str = "pwrite64,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat";
/// The errors of a broken, a full and a read-only disk.
const ERRORS: [&str; 3] = ["EIO", "ENOSPC", "EROFS"];
/// Number of writes while faults are injected.
const STEPS: usize = 25;
/// Primes. Steps of a size that does not divide the number of calls reach all of them.
const STRIDES: [usize; 3] = [37, 41, 43];

#[derive(Debug, Default)]
struct FaultTally {
    runs: u64,
    acknowledged: u64,
    refused: u64,
    not_started: u64,
    audit: Audit,
}

/// A fault in the scenario.
#[derive(Clone, Copy, Debug)]
struct DiskFault {
    error: &'static str,
    /// The number of the file call of each thread, from 1.
    call: usize,
    /// Whether all later calls fail, too.
    stays: bool,
}

impl DiskFault {
    /// Returns the faults in order: each call fails once, then together with all later ones, then the same with the
    /// next error.
    fn nth(number: usize, calls: usize) -> Self {
        let (turn, place) = (number / calls, number % calls);
        // Every third call has the same error in one turn, so that a short run has all of them.
        let error = ERRORS[(turn / 2 + place) % ERRORS.len()];
        Self { error, call: 1 + place, stays: turn % 2 == 1 }
    }
}

impl std::fmt::Display for DiskFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let from_then_on = if self.stays { "+" } else { "" };
        write!(f, "error={}:when={}{from_then_on}", self.error, self.call)
    }
}

/// A stopped daemon's home, and a client of it.
struct FaultHome {
    daemon: Daemon,
    writer: Writer,
}

impl FaultHome {
    fn new(seed: u64) -> Self {
        let mut daemon = Daemon::fresh();
        let clock = WriteClock::default();
        let writer = Writer::new("w0", daemon.home.scratch(), &mut daemon.client(), seed, &clock);
        daemon.terminate();
        Self { daemon, writer }
    }

    /// Runs the scenario through strace. Returns whether the daemon started.
    fn runs(&mut self, options: &[&str]) -> bool {
        // With -D, the daemon is our own child.
        let strace = [&["strace", "-D", "-f", "-qq"][..], options].concat();
        let Ok(mut daemon) = self.home().through(&strace).try_start() else { return false };
        let mut client = daemon.client();
        for _ in 0..STEPS {
            self.writer.step(&mut client);
        }
        daemon.kill9();
        true
    }

    fn home(&self) -> Home {
        Home::at(self.daemon.home.path())
    }
}

/// Returns how many file calls the busiest thread makes in the scenario.
fn file_calls(seed: u64) -> usize {
    let mut home = FaultHome::new(seed);
    let log = home.daemon.home.scratch().join("calls");
    let only = format!("trace={CALLS}");
    home.runs(&["-o", &log.to_string_lossy(), "-e", &only]);
    busiest(&log)
}

/// Returns the largest number of lines of one thread in strace's output. Each line begins with the thread's number.
fn busiest(log: &Path) -> usize {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains('(') && !line.contains("resumed>")) {
        *calls.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    calls.into_values().max().unwrap_or_default()
}

pub fn run(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    if !strace.is_ok_and(|status| status.success()) {
        return vec![AttackResult::not_run("disk faults", "needs strace")];
    }
    let (start, mut tally) = (Instant::now(), FaultTally::default());
    let calls = file_calls(seed).max(1);
    // The steps are large, so that even a short run has faults everywhere in the scenario.
    let step = STRIDES.into_iter().find(|step| !calls.is_multiple_of(*step)).unwrap_or(1);
    while limit.allows(tally.runs) {
        let number = tally.runs as usize;
        let place = (number * step + seed as usize) % calls;
        tally.fault(DiskFault::nth(number / calls * calls + place, calls), seed);
    }
    let FaultTally { runs, acknowledged, refused, not_started, audit } = tally;
    vec![AttackResult {
        attack: "disk faults".to_owned(),
        size: format!("{runs} faults"),
        checks: audit.checks,
        broken: audit.wrong,
        took: start.elapsed(),
        note: format!(
            "{calls} calls, {acknowledged} writes acknowledged, {refused} refused, {not_started} starts refused"
        ),
    }]
}

impl FaultTally {
    fn fault(&mut self, fault: DiskFault, seed: u64) {
        let mut home = FaultHome::new(seed);
        let inject = format!("inject={CALLS}:{fault}");
        self.runs += 1;
        if !home.runs(&["-o", "/dev/null", "-e", &inject]) {
            self.not_started += 1;
        }
        self.judge(&mut home.writer, fault);
        match home.home().try_start() {
            Ok(healed) => self.audit.add(home.writer.audit(&mut healed.client(), EVERYTHING)),
            Err(exit) => self.audit.wrong.push(format!("{fault}: no start afterwards: {exit:?}")),
        }
    }

    fn judge(&mut self, writer: &mut Writer, fault: DiskFault) {
        self.acknowledged += writer.acknowledged;
        for answer in writer.refused.drain(..) {
            self.refused += 1;
            if answer.text().contains("internal") {
                let what = format!("{fault}: {}: {}", answer.status, answer.brief());
                self.audit.wrong.push(what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_call_fails_once_and_with_all_later_ones_before_one_fails_again() {
        let calls = 50;
        let faults: Vec<DiskFault> = (0..2 * calls).map(|n| DiskFault::nth(n, calls)).collect();
        let places: BTreeSet<_> = faults.iter().map(|fault| (fault.call, fault.stays)).collect();
        assert_eq!(places.len(), 2 * calls);
        assert!(places.contains(&(1, false)) && places.contains(&(calls, true)), "{places:?}");
        assert_eq!(faults[50].to_string(), "error=EIO:when=1+");
    }

    #[test]
    fn the_calls_of_the_busiest_thread_are_counted() {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("calls");
        let text = "12 fsync(4 <unfinished ...>\n7 pwrite64(3)= 1\n12 <... fsync resumed>) = 0\n7 mkdir(\"a\") = 0\n\
                    7 +++ exited with 0 +++\n";
        std::fs::write(&log, text).expect("a log");
        assert_eq!(busiest(&log), 2);
    }
}
