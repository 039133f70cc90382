//! The table of a campaign: one line for each attack.

use std::fmt;
use std::time::Duration;

/// The result of one attack.
#[derive(Debug)]
pub struct AttackResult {
    pub attack: String,
    /// Number of attempts, with the unit: `3,000 kills`.
    pub size: String,
    /// Number of checks.
    pub checks: u64,
    /// The broken promises.
    pub broken: Vec<String>,
    pub took: Duration,
    /// Anything else that a reader should know.
    pub note: String,
}

/// Maximum number of broken promises that are listed for one attack. The rest are only counted.
const MOST_LISTED: usize = 10;

impl AttackResult {
    /// Returns the result of a part that cannot run here, for this reason. It counts as neither passed nor failed.
    pub fn not_run(attack: &str, why: &str) -> Self {
        Self {
            attack: attack.to_owned(),
            size: "not run".to_owned(),
            checks: 0,
            broken: Vec::new(),
            took: Duration::ZERO,
            note: why.to_owned(),
        }
    }

    /// Describes the broken promises.
    pub fn details(&self) -> String {
        let mut lines: Vec<String> =
            self.broken.iter().take(MOST_LISTED).map(|what| format!("  {what}\n")).collect();
        if self.broken.len() > MOST_LISTED {
            lines.push(format!("  and {} more\n", self.broken.len() - MOST_LISTED));
        }
        lines.concat()
    }
}

impl fmt::Display for AttackResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attack, size, checks, broken, took, note } = self;
        let broken = broken.len();
        let seconds = took.as_secs_f64();
        write!(
            f,
            "{attack:<24} {size:<22} {checks:>10} checks {broken:>5} broken {seconds:>8.1} s  {note}"
        )
    }
}
