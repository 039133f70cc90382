//! The table of a campaign: one line for each attack.

use std::fmt;
use std::time::Duration;

/// The result of one attack.
#[derive(Debug)]
pub struct AttackResult {
    pub attack: String,
    /// How often it was tried, with its unit: `3,000 kills`.
    pub size: String,
    /// What was looked at.
    pub checks: u64,
    /// What broke.
    pub broken: Vec<String>,
    pub took: Duration,
    /// Anything else that a reader should know.
    pub note: String,
}

/// Most broken promises that are listed for one attack. The rest are counted.
const MOST_LISTED: usize = 10;

impl AttackResult {
    /// A part that cannot run here, and why. It counts as neither held nor broken.
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

    /// What broke, for people.
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
