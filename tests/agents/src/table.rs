//! The table of results.

use std::time::Duration;

/// The result of a check, with the reason if it failed.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Holds,
    /// The agent has no such feature, or bethink does not support it yet.
    Absent,
    Fails(String),
}

impl Outcome {
    pub(crate) fn of(holds: bool, why_not: impl FnOnce() -> String) -> Self {
        if holds { Self::Holds } else { Self::Fails(why_not()) }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        match self {
            Self::Fails(_) => self,
            _ => other,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Holds => "ok",
            Self::Absent => "-",
            Self::Fails(_) => "FAILED",
        }
    }
}

/// The results of an agent's checks.
#[derive(Debug)]
pub(crate) struct AgentRow {
    pub(crate) name: &'static str,
    pub(crate) checks: Vec<(&'static str, Outcome)>,
    /// Median times of a run without bethink, and with everything that `bethink install` adds.
    pub(crate) starts: Option<(Duration, Duration)>,
}

impl AgentRow {
    pub(crate) fn holds(&self) -> bool {
        self.checks.iter().all(|(_, outcome)| !matches!(outcome, Outcome::Fails(_)))
    }

    pub(crate) fn print(&self) {
        let words = self.checks.iter().map(|(name, outcome)| format!("{name} {}", outcome.word()));
        let words: Vec<String> = words.collect();
        let starts = self.starts.map(|(plain, with_all)| {
            let (plain, with_all) = (plain.as_secs_f64(), with_all.as_secs_f64());
            format!("  {plain:.2} s alone, {with_all:.2} s installed")
        });
        println!("{:<12} {}{}", self.name, words.join("  "), starts.unwrap_or_default());
        for (name, outcome) in &self.checks {
            if let Outcome::Fails(why) = outcome {
                println!("    {name}: {why}");
            }
        }
    }
}
