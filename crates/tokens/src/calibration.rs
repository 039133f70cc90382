//! The ratio of a provider's counts to the estimates, learned turn by turn.
//!
//! The result is a ratio of sums, not a mean of ratios, because long turns say more than short ones. The ratio starts as if
//! some tokens had been estimated exactly, which limits the effect of one odd turn at the start. Old turns lose weight, so the
//! ratio adapts when the kind of text changes.

/// Number of tokens that are assumed to have been estimated exactly before the first report: about ten turns.
const PRIOR_TOKENS: f64 = 10_000.0;
/// Factor by which each later turn reduces a turn's weight; the weight halves in 34 turns.
const MEMORY: f64 = 0.98;
/// Maximum factor between a turn's estimate and its reported count. A count that exceeds this is clamped before the
/// ratio is updated, because such a difference comes from something that is not in the history.
const ODD: f64 = 1.5;
/// Bounds of the ratio: no tokenizer in use differs more from the estimate.
const MIN_SCALE: f64 = 0.5;
const MAX_SCALE: f64 = 2.0;
/// Number of turns that the mean error covers.
const ERROR_TURNS: f64 = 20.0;

/// State of one session and one model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    estimated: f64,
    reported: f64,
    turns: u32,
    error: f64,
}

impl Calibration {
    /// Records that the prompt grew by `estimated` tokens according to the estimate, and by `reported` tokens
    /// according to the provider.
    pub fn observe(&mut self, estimated: u64, reported: u64) {
        if estimated == 0 || reported == 0 {
            return;
        }
        let (estimated, reported) = (estimated as f64, reported as f64);
        let wrong = ((estimated * self.scale() - reported).abs() / reported).min(1.0);
        self.turns = self.turns.saturating_add(1);
        // The mean covers all turns at first, later only the most recent ones.
        let share = 1.0 / f64::from(self.turns).min(ERROR_TURNS);
        self.error += (wrong - self.error) * share;
        self.estimated = self.estimated * MEMORY + estimated;
        self.reported = self.reported * MEMORY + reported.clamp(estimated / ODD, estimated * ODD);
    }

    /// Returns the factor for estimates: 1 before the first report.
    pub fn scale(&self) -> f64 {
        ((PRIOR_TOKENS + self.reported) / (PRIOR_TOKENS + self.estimated))
            .clamp(MIN_SCALE, MAX_SCALE)
    }

    /// Adjusts an estimate to match what the provider would count.
    pub fn apply(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.scale()).round() as u64
    }

    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns the mean relative error of the most recent turns, each measured before the ratio was updated with that
    /// turn; `None` before the first report.
    pub fn error(&self) -> Option<f64> {
        (self.turns > 0).then_some(self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(turns: &[(u64, u64)]) -> Calibration {
        let mut calibration = Calibration::default();
        turns.iter().for_each(|(estimated, reported)| calibration.observe(*estimated, *reported));
        calibration
    }

    #[test]
    fn nothing_reported_changes_nothing() {
        for turns in [&[][..], &[(0, 500), (500, 0)]] {
            let calibration = learned(turns);
            assert_eq!((calibration.scale(), calibration.error()), (1.0, None));
            assert_eq!(calibration.apply(12_345), 12_345);
        }
    }

    #[test]
    fn a_tokenizer_that_counts_otherwise_is_followed() {
        for ratio in [0.7, 0.9, 1.0, 1.3] {
            let turns = [(2_000, (2_000.0 * ratio) as u64); 60];
            let calibration = learned(&turns);
            assert!((calibration.scale() - ratio).abs() < 0.05, "{ratio}: {calibration:?}");
            assert!(calibration.error().unwrap() < 0.1, "{ratio}: {calibration:?}");
        }
    }

    #[test]
    fn one_odd_turn_moves_little_and_none_leads_out_of_bounds() {
        let mut calibration = learned(&[(1_000, 1_000); 10]);
        calibration.observe(100, 90_000);
        assert!((calibration.scale() - 1.0).abs() < 0.01, "{calibration:?}");
        calibration.observe(90_000, 1);
        assert!(calibration.scale() > MIN_SCALE, "{calibration:?}");
        for (estimated, reported) in [(u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            let mut calibration = learned(&[(estimated, reported); 500]);
            calibration.observe(1_000, 1_000);
            assert!((MIN_SCALE..=MAX_SCALE).contains(&calibration.scale()), "{calibration:?}");
            assert!(calibration.error().unwrap() <= 1.0);
        }
    }

    #[test]
    fn it_forgets() {
        let mut calibration = learned(&[(2_000, 2_600); 60]);
        for _ in 0..150 {
            calibration.observe(2_000, 2_000);
        }
        assert!((calibration.scale() - 1.0).abs() < 0.05, "{calibration:?}");
        assert!(calibration.error().unwrap() < 0.05, "{calibration:?}");
    }
}
