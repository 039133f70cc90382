//! A figure with its goal.

/// The goal of a figure.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// No goal; shown for comparison.
    None,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub figure: f64,
    pub unit: &'static str,
    pub goal: Goal,
    /// The data that the figure was made from.
    pub detail: String,
}

impl Row {
    pub fn new(what: impl Into<String>, figure: f64, unit: &'static str, goal: Goal) -> Self {
        Self { what: what.into(), figure, unit, goal, detail: String::new() }
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    pub fn is_met(&self) -> bool {
        match self.goal {
            Goal::AtMost(most) => self.figure <= most,
            Goal::AtLeast(least) => self.figure >= least,
            Goal::None => true,
        }
    }

    /// Formats the row as a line.
    pub fn line(&self) -> String {
        let goal = match self.goal {
            Goal::AtMost(most) => format!("≤ {}", number(most)),
            Goal::AtLeast(least) => format!("≥ {}", number(least)),
            Goal::None => String::new(),
        };
        let verdict = match self.goal {
            Goal::None => "     ",
            _ if self.is_met() => "met  ",
            _ => "MISS ",
        };
        let figure = format!("{} {}", number(self.figure), self.unit);
        format!("{verdict} {figure:>14}  {goal:<10} {}  {}", self.what, self.detail)
    }
}

fn number(x: f64) -> String {
    match x {
        _ if x.fract() == 0.0 => format!("{x:.0}"),
        _ if x.abs() >= 100.0 => format!("{x:.1}"),
        _ => format!("{x:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_up_to_its_edge() {
        let check = |figure: f64, goal: Goal, met: bool| {
            let row = Row::new("x", figure, "", goal);
            assert_eq!(row.is_met(), met, "{}", row.line());
            assert_eq!(row.line().starts_with("MISS"), !met);
        };
        check(1.0, Goal::AtMost(1.0), true);
        check(1.1, Goal::AtMost(1.0), false);
        check(0.7, Goal::AtLeast(0.7), true);
        check(0.6, Goal::AtLeast(0.7), false);
        check(f64::NAN, Goal::AtMost(1.0), false);
        check(5.0, Goal::None, true);
    }
}
