//! The table of what holds.

use std::time::Duration;

use crate::agent::Agent;

/// Whether a check holds, and why not.
#[derive(Clone, Debug)]
pub(crate) struct Outcome(Option<String>);

impl Outcome {
    pub(crate) fn of(holds: bool, why_not: impl FnOnce() -> String) -> Self {
        Self((!holds).then(why_not))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }
}

/// What holds for an agent.
#[derive(Debug)]
pub(crate) struct AgentRow {
    pub(crate) agent: Agent,
    pub(crate) checks: Vec<(&'static str, Outcome)>,
    /// Median time of a run without bethink.
    pub(crate) plain: Duration,
    /// The same with everything that `bethink install` adds.
    pub(crate) with_all: Duration,
}

impl AgentRow {
    pub(crate) fn holds(&self) -> bool {
        self.checks.iter().all(|(_, outcome)| outcome.0.is_none())
    }
}

pub(crate) fn print(rows: &[AgentRow]) {
    for row in rows {
        let told: Vec<String> = row
            .checks
            .iter()
            .map(|(name, outcome)| match &outcome.0 {
                None => format!("{name} ok"),
                Some(_) => format!("{name} FAILED"),
            })
            .collect();
        let (plain, with_all) = (row.plain.as_secs_f64(), row.with_all.as_secs_f64());
        let times = format!("{plain:.2} s alone, {with_all:.2} s installed");
        println!("{:<12} {}  {times}", row.agent.name(), told.join("  "));
        for (name, outcome) in &row.checks {
            if let Some(why) = &outcome.0 {
                println!("    {name}: {why}");
            }
        }
    }
    let passed = rows.iter().filter(|row| row.holds()).count();
    println!("{passed} passed, {} failed", rows.len() - passed);
}
