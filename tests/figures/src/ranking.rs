//! Measures the ranking of searches: with the shipped constants, with fitted ones, and with leave-one-out validation.
//!
//! Files are in LoCoMo's format: an array of `{sample_id, conversation, qa}`.

use std::cell::RefCell;
use std::path::PathBuf;

use bethink_recall::Weights;

use crate::table::{Goal, Row};
use crate::talk::{Sums, Talk, load};

/// A constant to fit: its name, its field, and the values to try.
struct Knob {
    name: &'static str,
    of: fn(&mut Weights) -> &mut f32,
    tried: &'static [f32],
}

/// The constants that matter, with their useful ranges.
const KNOBS: [Knob; 10] = [
    Knob { name: "stretch", of: |w| &mut w.stretch, tried: &[0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0] },
    Knob {
        name: "stretch_repeats",
        of: |w| &mut w.stretch_repeats,
        tried: &[0.6, 0.9, 1.2, 1.6, 2.4, 4.0],
    },
    Knob {
        name: "stretch_length",
        of: |w| &mut w.stretch_length,
        tried: &[0.2, 0.35, 0.5, 0.75, 0.9],
    },
    Knob { name: "length", of: |w| &mut w.length, tried: &[0.2, 0.3, 0.4, 0.55, 0.7] },
    Knob { name: "family", of: |w| &mut w.family, tried: &[0.0, 0.1, 0.2, 0.3, 0.4] },
    Knob { name: "next", of: |w| &mut w.next, tried: &[0.1, 0.2, 0.3, 0.4] },
    Knob { name: "before", of: |w| &mut w.before, tried: &[0.2, 0.3, 0.4, 0.5] },
    Knob { name: "answers", of: |w| &mut w.answers, tried: &[0.2, 0.5, 0.8, 1.1] },
    Knob { name: "named_day", of: |w| &mut w.named_day, tried: &[0.7, 1.4, 2.0, 3.0, 4.0, 6.0] },
    Knob { name: "speaker", of: |w| &mut w.speaker, tried: &[0.6, 1.0, 1.4, 1.8, 2.2] },
];
/// Number of rounds of fitting; more change little.
const ROUNDS: usize = 2;

pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let talks: Vec<Talk> = files.iter().flat_map(|file| load(file)).collect();
    let judge = Judge { talks: &talks, known: RefCell::default() };
    let everyone: Vec<usize> = (0..talks.len()).collect();
    let shipped = judge.sums(&Weights::default(), &everyone);
    let fitted = judge.fitted(&everyone);
    let mut apart = Sums::default();
    for out in &everyone {
        let others: Vec<usize> = everyone.iter().copied().filter(|talk| talk != out).collect();
        apart.add(&judge.sums(&judge.fitted(&others), &[*out]));
    }
    let goals = [Goal::AtLeast(0.80), Goal::AtLeast(0.77), Goal::AtLeast(0.58)];
    let mut rows = rows_of("as shipped", &shipped, goals, String::new());
    rows.extend(rows_of(
        "fitted on all",
        &judge.sums(&fitted, &everyone),
        [Goal::None; 3],
        constants(&fitted),
    ));
    rows.extend(rows_of("each fitted on the others", &apart, [Goal::None; 3], String::new()));
    rows
}

pub(crate) fn rows_of(how: &str, sums: &Sums, goals: [Goal; 3], detail: String) -> Vec<Row> {
    let figures =
        [("turn_frac10", sums.turn_frac10), ("session_hit1", sums.session_hit1), ("mrr", sums.mrr)];
    let rows = figures.iter().zip(goals).map(|((name, sum), goal)| {
        Row::new(format!("ranking {how}, {name}"), sum / sums.questions, "", goal)
            .detail(format!("{} questions", sums.questions))
    });
    let mut rows: Vec<Row> = rows.collect();
    if let Some(first) = rows.first_mut().filter(|_| !detail.is_empty()) {
        first.detail = detail;
    }
    rows
}

fn constants(weights: &Weights) -> String {
    let mut weights = *weights;
    let each = KNOBS.iter().map(|knob| format!("{} {}", knob.name, (knob.of)(&mut weights)));
    each.collect::<Vec<_>>().join(", ")
}

/// Caches results, because fits that leave out different conversations try the same constants.
struct Judge<'a> {
    talks: &'a [Talk],
    known: RefCell<Vec<(Weights, Vec<Sums>)>>,
}

impl Judge<'_> {
    fn sums(&self, weights: &Weights, talks: &[usize]) -> Sums {
        let known =
            self.known.borrow().iter().find(|known| known.0 == *weights).map(|k| k.1.clone());
        let each = known.unwrap_or_else(|| {
            let each: Vec<Sums> = self.talks.iter().map(|talk| talk.judged(weights)).collect();
            self.known.borrow_mut().push((*weights, each.clone()));
            each
        });
        let mut sums = Sums::default();
        talks.iter().for_each(|talk| sums.add(&each[*talk]));
        sums
    }

    /// Sets one constant after the other to the value with the best sum of the three figures.
    fn fitted(&self, talks: &[usize]) -> Weights {
        let worth = |weights: &Weights| {
            let sums = self.sums(weights, talks);
            sums.turn_frac10 + sums.session_hit1 + sums.mrr
        };
        let mut best = (Weights::default(), worth(&Weights::default()));
        for knob in KNOBS.iter().cycle().take(ROUNDS * KNOBS.len()) {
            for value in knob.tried {
                let mut weights = best.0;
                *(knob.of)(&mut weights) = *value;
                let worth = worth(&weights);
                if worth > best.1 {
                    best = (weights, worth);
                }
            }
        }
        best.0
    }
}
