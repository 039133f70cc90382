//! Disk faults: the n-th file call of each of the daemon's threads fails, and so do, in other runs, all from the n-th on.
//!
//! `strace` injects the errors. Whatever fails, no write is acknowledged that is not stored, no error is called an internal one,
//! and the next start has everything.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bethink_harness::writes::{Audit, EVERYTHING, WriteClock, Writer};
use bethink_harness::{Daemon, Home};

use crate::report::AttackResult;

/// The calls that change files. `write` is left out, because sockets use it, too.
const CALLS: &str = "pwrite64,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat";
/// The errors of a broken, a full and a read-only disk.
const ERRORS: [&str; 3] = ["EIO", "ENOSPC", "EROFS"];
/// Writes under faults.
const STEPS: usize = 25;
/// After this call, the scenario is over.
const LAST: usize = 120;

#[derive(Debug, Default)]
struct FaultTally {
    runs: u64,
    acknowledged: u64,
    refused: u64,
    not_started: u64,
    audit: Audit,
}

pub fn run(budget: Duration, seed: u64) -> Vec<AttackResult> {
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    if !strace.is_ok_and(|status| status.success()) {
        return vec![AttackResult::not_run("disk faults", "needs strace")];
    }
    let (start, mut tally) = (Instant::now(), FaultTally::default());
    let mut number = seed as usize;
    while start.elapsed() < budget {
        tally.fault(number, seed);
        number += 1;
    }
    let FaultTally { runs, acknowledged, refused, not_started, audit } = tally;
    vec![AttackResult {
        attack: "disk faults".to_owned(),
        size: format!("{runs} faults"),
        checks: audit.checks,
        broken: audit.wrong,
        took: start.elapsed(),
        note: format!(
            "{acknowledged} writes acknowledged, {refused} refused, {not_started} starts refused"
        ),
    }]
}

impl FaultTally {
    fn fault(&mut self, number: usize, seed: u64) {
        let mut daemon = Daemon::fresh();
        let dir = daemon.home.scratch().to_path_buf();
        let clock = WriteClock::default();
        let mut writer = Writer::new("w0", &dir, &mut daemon.client(), seed, &clock);
        daemon.terminate();
        let home = daemon.home.path().to_path_buf();
        let error = ERRORS[number % ERRORS.len()];
        let from_then_on = if number.is_multiple_of(2) { "+" } else { "" };
        let fault = format!("error={error}:when={}{from_then_on}", 1 + number % LAST);
        let inject = format!("inject={CALLS}:{fault}");
        // With -D, the daemon is our own child.
        let strace = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", &inject];
        self.runs += 1;
        match Home::at(&home).through(&strace).try_start() {
            Ok(mut faulty) => {
                let mut client = faulty.client();
                for _ in 0..STEPS {
                    writer.step(&mut client);
                }
                faulty.kill9();
            }
            Err(_) => self.not_started += 1,
        }
        self.judge(&mut writer, &fault);
        match Home::at(&home).try_start() {
            Ok(healed) => self.audit.add(writer.audit(&mut healed.client(), EVERYTHING)),
            Err(exit) => self.audit.wrong.push(format!("{fault}: no start afterwards: {exit:?}")),
        }
    }

    fn judge(&mut self, writer: &mut Writer, fault: &str) {
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
