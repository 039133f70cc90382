//! Fits the tokens per kind of text to the reported usage of turns.
//!
//! The proportions are fitted by least absolute relative error, so that all turns count alike, and the few with
//! unrecorded content count little. The level is fitted by the sum, because unrecorded content only adds tokens.

use bethink_tokens::TokenKind;
use bethink_tokens::kind::{FactorSource, MILLI};

use crate::growth::Growth;

/// Number of rounds of re-weighting; more have no effect.
const ROUNDS: usize = 20;
/// Smaller relative errors count as this one.
const EXACT: f64 = 0.03;
/// Weight of the prior at zero, as a share of a kind's own weight.
const RIDGE: f64 = 1e-3;

/// Tokens per unit of each kind.
#[derive(Clone, Debug)]
pub struct Costs(Vec<(TokenKind, f64)>);

/// How well the costs explain the growth of prompts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    /// Relative error of the sum, signed.
    pub total: f64,
    /// Mean relative error of a turn.
    pub turn: f64,
}

impl Costs {
    /// The costs that the estimator uses.
    pub fn shipped() -> Self {
        Self(TokenKind::ALL.iter().map(|k| (*k, k.milli() as f64 / MILLI as f64)).collect())
    }

    pub fn fitted(growths: &[&Growth]) -> Self {
        let open: Vec<TokenKind> =
            TokenKind::ALL.into_iter().filter(|k| k.fit() == FactorSource::Usage).collect();
        let mut costs = Self::shipped();
        let set =
            Costs(costs.0.iter().filter(|(k, _)| k.fit() == FactorSource::Set).copied().collect());
        let rows: Vec<Vec<f64>> = growths
            .iter()
            .map(|g| open.iter().map(|k| f64::from(g.counts.of(*k))).collect())
            .collect();
        let whole: Vec<f64> = growths.iter().map(|g| g.reported as f64).collect();
        let rest: Vec<f64> = growths.iter().zip(&whole).map(|(g, y)| y - set.of(g)).collect();
        let mut weights: Vec<f64> = whole.iter().map(|y| y.powi(-2)).collect();
        let mut found = Vec::new();
        for _ in 0..ROUNDS {
            found = weighted(&rows, &rest, &weights);
            for ((weight, row), (y, whole)) in
                weights.iter_mut().zip(&rows).zip(rest.iter().zip(&whole))
            {
                let wrong = (dot(row, &found) - y).abs() / whole;
                *weight = whole.powi(-2) / wrong.max(EXACT);
            }
        }
        let estimated: f64 = rows.iter().map(|row| dot(row, &found)).sum();
        let level = rest.iter().sum::<f64>() / estimated;
        for (kind, cost) in &mut costs.0 {
            if let Some(at) = open.iter().position(|k| k == kind) {
                *cost = found[at] * level;
            }
        }
        costs
    }

    pub fn of(&self, growth: &Growth) -> f64 {
        self.0.iter().map(|(kind, cost)| f64::from(growth.counts.of(*kind)) * cost).sum()
    }

    pub fn each(&self) -> impl Iterator<Item = (TokenKind, f64)> {
        self.0.iter().copied()
    }
}

impl Errors {
    /// Computes the errors from pairs of estimated and reported tokens.
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let (estimated, reported) =
            pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let turns: f64 = pairs.iter().map(|(e, r)| (e - r).abs() / r).sum();
        Self { total: estimated / reported - 1.0, turn: turns / pairs.len() as f64 }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves weighted least squares with the normal equations.
fn weighted(rows: &[Vec<f64>], y: &[f64], weights: &[f64]) -> Vec<f64> {
    let width = rows.first().map_or(0, Vec::len);
    let mut normal = vec![vec![0.0; width + 1]; width];
    for ((row, y), weight) in rows.iter().zip(y).zip(weights) {
        for i in 0..width {
            for j in 0..width {
                normal[i][j] += weight * row[i] * row[j];
            }
            normal[i][width] += weight * row[i] * y;
        }
    }
    for (i, row) in normal.iter_mut().enumerate() {
        row[i] = row[i] * (1.0 + RIDGE) + f64::MIN_POSITIVE;
    }
    solved(normal)
}

/// Gauss-Jordan elimination with the largest pivot. Undetermined variables are zero.
fn solved(mut m: Vec<Vec<f64>>) -> Vec<f64> {
    let width = m.len();
    for i in 0..width {
        let pivot =
            (i..width).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs())).unwrap_or(i);
        m.swap(i, pivot);
        if m[i][i].abs() < 1e-12 {
            continue;
        }
        let row = m[i].clone();
        for (_, other) in m.iter_mut().enumerate().filter(|(at, _)| *at != i) {
            let times = other[i] / row[i];
            other.iter_mut().zip(&row).for_each(|(o, r)| *o -= times * r);
        }
    }
    m.iter()
        .enumerate()
        .map(|(i, row)| if row[i].abs() < 1e-12 { 0.0 } else { row[width] / row[i] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_tokens::TokenCounts;

    /// Makes turns with `word` tokens per word and `line` tokens per line.
    fn growths(word: f64, line: f64) -> Vec<Growth> {
        (1..60_u32)
            .map(|n| {
                let (words, lines) = (n * 7 % 83 + 20, n * 5 % 19 + 1);
                let mut counts = TokenCounts::default();
                counts.add(TokenKind::Word, words);
                counts.add(TokenKind::Line, lines);
                let reported = f64::from(words) * word + f64::from(lines) * line;
                Growth { reported: reported.round() as u64, counts }
            })
            .collect()
    }

    fn cost(costs: &Costs, kind: TokenKind) -> f64 {
        costs.each().find(|(k, _)| *k == kind).map_or(0.0, |(_, cost)| cost)
    }

    #[test]
    fn costs_are_found_again_although_some_turns_hide_content() {
        for hidden in [0, 5] {
            let mut turns = growths(1.3, 2.0);
            turns.iter_mut().take(hidden).for_each(|g| g.reported += 60);
            let costs = Costs::fitted(&turns.iter().collect::<Vec<_>>());
            let ratio = cost(&costs, TokenKind::Line) / cost(&costs, TokenKind::Word);
            assert!((ratio - 2.0 / 1.3).abs() < 0.15, "{hidden}: {costs:?}");
            let pairs: Vec<_> = turns.iter().map(|g| (costs.of(g), g.reported as f64)).collect();
            let errors = Errors::of(&pairs);
            assert!(errors.total.abs() < 0.01 && errors.turn < 0.12, "{hidden}: {errors:?}");
        }
    }
}
