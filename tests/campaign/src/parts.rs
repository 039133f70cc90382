//! The attacks, and each one's share of the time.

use std::time::Instant;

use bethink_harness::kill_loop;

use crate::limit::AttackLimit;
use crate::report::AttackResult;
use crate::{faults, flips, fuzz, load, power, requests};

/// An attack.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub name: &'static str,
    /// Share of the campaign's time, in percent.
    pub share: u32,
    pub run: fn(AttackLimit, u64) -> Vec<AttackResult>,
}

pub const ALL: [Part; 7] = [
    Part { name: "kills", share: 22, run: kills },
    Part { name: "power", share: 22, run: power::run },
    Part { name: "faults", share: 10, run: faults::run },
    Part { name: "flips", share: 10, run: flips::run },
    Part { name: "load", share: 10, run: load::run },
    Part { name: "requests", share: 4, run: requests::run },
    Part { name: "fuzz", share: 22, run: fuzz },
];

fn kills(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    let start = Instant::now();
    let tally = kill_loop::run_while(seed, |done| limit.allows(done as u64));
    let median = tally.restart_median().as_millis();
    let mut broken = tally.audit.wrong;
    broken.extend(tally.refused);
    vec![AttackResult {
        attack: "kill -9".to_owned(),
        size: format!("{} kills", tally.cycles),
        checks: tally.audit.checks,
        broken,
        took: start.elapsed(),
        note: format!("{} writes acknowledged, restart {median} ms", tally.acknowledged),
    }]
}

fn fuzz(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    let each = limit.left() / u32::try_from(fuzz::targets::ALL.len()).unwrap_or(u32::MAX);
    let result = |target: &fuzz::targets::FuzzTarget| {
        let start = Instant::now();
        let tally = fuzz::run(target, limit.within(each), seed);
        let (slowest, mb) = (tally.slowest.as_millis(), tally.bytes >> 20);
        AttackResult {
            attack: format!("fuzz {}", target.name),
            size: format!("{} inputs", tally.inputs),
            checks: tally.inputs,
            broken: tally.findings,
            took: start.elapsed(),
            note: format!("{mb} MiB, slowest {slowest} ms"),
        }
    };
    // Findings are reported in the table.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let results = fuzz::targets::ALL.iter().map(result).collect();
    std::panic::set_hook(hook);
    results
}
