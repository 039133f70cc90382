//! What a provider counts over what is estimated, learnt turn by turn.
//!
//! A ratio of sums rather than a mean of ratios: long turns say more than short ones. It starts as if
//! some turns had been estimated exactly, so that one odd turn at the start moves little, and it
//! forgets, so that a session that changes its kind of text is followed.

/// Tokens that are taken as estimated exactly before anything was reported: about ten turns.
const PRIOR_TOKENS: f64 = 10_000.0;
/// What a turn's weight is worth one turn later; half after 34.
const MEMORY: f64 = 0.98;
/// One turn counts as at most so many times its estimate, or as so small a part of it: more was added
/// or left out by something that no record shows.
const ODD: f64 = 1.5;
/// No tokenizer in use is further from the estimate than this.
const MIN_SCALE: f64 = 0.5;
const MAX_SCALE: f64 = 2.0;
/// Turns that the mean error looks back on.
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
    /// A turn made the prompt grow by `estimated` tokens as estimated, by `reported` in truth.
    pub fn observe(&mut self, estimated: u64, reported: u64) {
        if estimated == 0 || reported == 0 {
            return;
        }
        let (estimated, reported) = (estimated as f64, reported as f64);
        let wrong = ((estimated * self.scale() - reported).abs() / reported).min(1.0);
        self.turns = self.turns.saturating_add(1);
        // The mean of all turns at first, then of the last ones.
        let share = 1.0 / f64::from(self.turns).min(ERROR_TURNS);
        self.error += (wrong - self.error) * share;
        self.estimated = self.estimated * MEMORY + estimated;
        self.reported = self.reported * MEMORY + reported.clamp(estimated / ODD, estimated * ODD);
    }

    /// What an estimate is multiplied by; 1 before anything was reported.
    pub fn scale(&self) -> f64 {
        ((PRIOR_TOKENS + self.reported) / (PRIOR_TOKENS + self.estimated))
            .clamp(MIN_SCALE, MAX_SCALE)
    }

    /// An estimate as the provider would count it.
    pub fn apply(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.scale()).round() as u64
    }

    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Mean error of a turn's growth over the last turns, each judged before it was learnt from; none
    /// before anything was reported.
    pub fn error(&self) -> Option<f64> {
        (self.turns > 0).then_some(self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(turns: &[(u64, u64)]) -> Calibration {
        let mut calibration = Calibration::default();
        turns.iter().for_each(|(estimated, reported)| calibration.observe(*estimated, *reported));
        calibration
    }

    #[test]
    fn nothing_reported_changes_nothing() {
        for turns in [&[][..], &[(0, 500), (500, 0)]] {
            let calibration = learnt(turns);
            assert_eq!((calibration.scale(), calibration.error()), (1.0, None));
            assert_eq!(calibration.apply(12_345), 12_345);
        }
    }

    #[test]
    fn a_tokenizer_that_counts_otherwise_is_followed() {
        for ratio in [0.7, 0.9, 1.0, 1.3] {
            let turns = [(2_000, (2_000.0 * ratio) as u64); 60];
            let calibration = learnt(&turns);
            assert!((calibration.scale() - ratio).abs() < 0.05, "{ratio}: {calibration:?}");
            assert!(calibration.error().unwrap() < 0.1, "{ratio}: {calibration:?}");
        }
    }

    #[test]
    fn one_odd_turn_moves_little_and_none_leads_out_of_bounds() {
        let mut calibration = learnt(&[(1_000, 1_000); 10]);
        calibration.observe(100, 90_000);
        assert!((calibration.scale() - 1.0).abs() < 0.01, "{calibration:?}");
        calibration.observe(90_000, 1);
        assert!(calibration.scale() > MIN_SCALE, "{calibration:?}");
        for (estimated, reported) in [(u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            let mut calibration = learnt(&[(estimated, reported); 500]);
            calibration.observe(1_000, 1_000);
            assert!((MIN_SCALE..=MAX_SCALE).contains(&calibration.scale()), "{calibration:?}");
            assert!(calibration.error().unwrap() <= 1.0);
        }
    }

    #[test]
    fn it_forgets() {
        let mut calibration = learnt(&[(2_000, 2_600); 60]);
        for _ in 0..150 {
            calibration.observe(2_000, 2_000);
        }
        assert!((calibration.scale() - 1.0).abs() < 0.05, "{calibration:?}");
        assert!(calibration.error().unwrap() < 0.05, "{calibration:?}");
    }
}
