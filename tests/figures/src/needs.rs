//! Measures how well needed names are predicted: of the known names that a session uses in its next messages, the
//! share that is ranked highest. Fits the weights again, on all sessions and for each session on the others, and
//! prints them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bethink_facts::need::{FEATURE_NAMES, FEATURES, HELD, WEIGHTS, features};
use bethink_facts::{Facts, names, readable};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{BlockKind, Message, MessageId, MessageMeta, Role, Seq, UnixMicros};
use bytes::Bytes;

use crate::recording;
use crate::retention::HORIZON;
use crate::table::{Goal, Row};

/// Number of messages before the first cut, and between cuts.
const FIRST: usize = 60;
const EVERY: usize = 40;
/// Number of names in a summary of the usual size.
const ROOM: usize = 200;
/// Minimum number of names for a result.
const ENOUGH: usize = 10;
/// Number of messages before a cut; names that occur only before them are distant.
const NEAR: u64 = 40;
/// Number of Newton steps, and the weight of a prior at zero. Neither affects the result.
const STEPS: usize = 8;
const PRIOR: f64 = 5.0;

type Vector = [f64; FEATURES];

/// A name at a cut.
struct Sample {
    at: Vector,
    wanted: bool,
    distant: bool,
}

/// The cuts of a session.
struct Session {
    cuts: Vec<Vec<Sample>>,
}

pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let sessions: Vec<Session> = files.iter().map(|file| read(file)).collect();
    let sessions: Vec<&Session> = sessions.iter().filter(|s| !s.cuts.is_empty()).collect();
    if sessions.len() < 2 {
        // There is no session to leave out.
        return Vec::new();
    }
    let fitted = fit(&sessions);
    let shipped: Vector = WEIGHTS.map(f64::from);
    let apart: Vec<Scores> = (0..sessions.len())
        .map(|out| {
            let others: Vec<&Session> =
                sessions.iter().enumerate().filter(|(i, _)| *i != out).map(|(_, s)| *s).collect();
            scores(&[sessions[out]], &fit(&others))
        })
        .collect();
    let apart = Scores::sum(&apart);
    let row = |what: &str, of: Scores| {
        let detail =
            format!("distant {:.4}, {} cuts", of.distant / of.distant_cuts.max(1.0), of.cuts);
        Row::new(what, of.all / of.cuts.max(1.0), "", Goal::None).detail(detail)
    };
    let shares = [
        row(
            "names needed next among the first 200, weights as shipped",
            scores(&sessions, &shipped),
        ),
        row("the same, fitted on all of these sessions", scores(&sessions, &fitted)),
        row("the same, each session by weights fitted on the others", apart),
    ];
    let weights = FEATURE_NAMES
        .iter()
        .zip(fitted)
        .map(|(name, weight)| Row::new(format!("fitted weight: {name}"), weight, "", Goal::None));
    shares.into_iter().chain(weights).collect()
}

fn read(file: &Path) -> Session {
    let messages: Vec<Message> = recording::load(file)
        .iter()
        .enumerate()
        .filter_map(|(i, recorded)| {
            let seq = Seq(i as u64 + 1);
            let id = MessageId::new(&format!("m{seq}")).ok()?;
            let meta = MessageMeta { seq, id, created_at: UnixMicros(0) };
            Message::parse(meta, Bytes::from(recorded.wire().to_string()), MessageSource::Client)
                .ok()
        })
        .collect();
    let mut facts = Facts::default();
    let mut cuts = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        facts.observe(message);
        if i >= FIRST && i % EVERY == 0 && i + HORIZON < messages.len() {
            let next: String = messages[i + 1..].iter().take(HORIZON).map(spoken).collect();
            cuts.extend(cut(&facts, &next));
        }
    }
    Session { cuts }
}

fn cut(facts: &Facts, next: &str) -> Option<Vec<Sample>> {
    let mut wanted = HashSet::new();
    names::names_in(next, &mut wanted);
    let moment = facts.moment();
    let samples: Vec<Sample> = facts
        .names
        .iter()
        .map(|(name, used)| Sample {
            at: features(name, used, &moment).map(f64::from),
            wanted: wanted.contains(name),
            distant: used.last.0 + NEAR < moment.now.0,
        })
        .collect();
    (samples.iter().filter(|s| s.wanted).count() >= ENOUGH).then_some(samples)
}

/// Returns the texts and the inputs of tools, without results.
fn spoken(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text => text.push_str(&block.text()),
            BlockKind::ToolUse { .. } if message.role == Role::Assistant => {
                text.push_str(&readable(block.input()));
            }
            _ => {}
        }
        text.push('\n');
    }
    text
}

#[derive(Clone, Copy, Debug, Default)]
struct Scores {
    all: f64,
    cuts: f64,
    distant: f64,
    distant_cuts: f64,
}

impl Scores {
    fn sum(all: &[Scores]) -> Scores {
        all.iter().fold(Scores::default(), |sum, one| Scores {
            all: sum.all + one.all,
            cuts: sum.cuts + one.cuts,
            distant: sum.distant + one.distant,
            distant_cuts: sum.distant_cuts + one.distant_cuts,
        })
    }
}

fn scores(sessions: &[&Session], weights: &Vector) -> Scores {
    let mut sum = Scores::default();
    for cut in sessions.iter().flat_map(|s| &s.cuts) {
        let mut ranked: Vec<(f64, &Sample)> =
            cut.iter().map(|s| (dot(weights, &s.at), s)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let share = |of: &dyn Fn(&Sample) -> bool| {
            let all = cut.iter().filter(|s| of(s)).count();
            let kept = ranked.iter().take(ROOM).filter(|(_, s)| of(s)).count();
            (all > 0).then(|| kept as f64 / all as f64)
        };
        if let Some(share) = share(&|s| s.wanted) {
            sum.all += share;
            sum.cuts += 1.0;
        }
        if let Some(share) = share(&|s| s.wanted && s.distant) {
            sum.distant += share;
            sum.distant_cuts += 1.0;
        }
    }
    sum
}

/// Fits a logistic regression with Newton's method; all cuts have the same weight.
fn fit(sessions: &[&Session]) -> Vector {
    let mut weights = [0.0; FEATURES];
    for (place, weight) in HELD {
        weights[place] = f64::from(weight);
    }
    for _ in 0..STEPS {
        let mut gradient = weights.map(|w| -PRIOR * w);
        let mut hessian = [[0.0; FEATURES]; FEATURES];
        for (i, row) in hessian.iter_mut().enumerate() {
            row[i] = PRIOR;
        }
        for sample in sessions.iter().flat_map(|s| &s.cuts).flatten() {
            let p = 1.0 / (1.0 + (-dot(&weights, &sample.at)).exp());
            let miss = f64::from(u8::from(sample.wanted)) - p;
            let curve = p * (1.0 - p);
            for (i, x) in sample.at.iter().enumerate() {
                gradient[i] += miss * x;
                for (cell, y) in hessian[i].iter_mut().zip(sample.at) {
                    *cell += curve * x * y;
                }
            }
        }
        for (held, _) in HELD {
            gradient[held] = 0.0;
            hessian.iter_mut().for_each(|row| row[held] = 0.0);
            hessian[held] = [0.0; FEATURES];
            hessian[held][held] = 1.0;
        }
        let step = solve(hessian, gradient);
        weights.iter_mut().zip(step).for_each(|(w, s)| *w += s);
    }
    weights
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Solves `matrix · x = right` by elimination, for a positive definite matrix.
fn solve(mut matrix: [[f64; FEATURES]; FEATURES], mut right: Vector) -> Vector {
    for i in 0..FEATURES {
        for j in i + 1..FEATURES {
            let factor = matrix[j][i] / matrix[i][i];
            let above = matrix[i];
            matrix[j].iter_mut().zip(above).for_each(|(x, y)| *x -= factor * y);
            right[j] -= factor * right[i];
        }
    }
    let mut x = [0.0; FEATURES];
    for i in (0..FEATURES).rev() {
        let known: f64 = (i + 1..FEATURES).map(|j| matrix[i][j] * x[j]).sum();
        x[i] = (right[i] - known) / matrix[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    const FITTED: usize = 6;

    fn sample(x: f64, wanted: bool) -> Sample {
        let mut at = [0.0; FEATURES];
        // A feature that is fitted, unlike the fixed ones.
        (at[0], at[FITTED]) = (1.0, x);
        Sample { at, wanted, distant: false }
    }

    #[test]
    fn what_tells_the_wanted_apart_gets_the_weight() {
        let cut = (0..400).map(|i| sample(f64::from(i) / 100.0, i % 7 == 0 || i > 300)).collect();
        let session = Session { cuts: vec![cut] };
        let weights = fit(&[&session]);
        assert!(weights[FITTED] > 0.5, "{weights:?}");
        assert!(weights[5].abs() < 1e-9, "{weights:?}");
        assert!(scores(&[&session], &weights).all > scores(&[&session], &weights.map(|w| -w)).all);
    }
}
