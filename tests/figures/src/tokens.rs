//! Compares estimated tokens with the provider's figures.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;

use bethink_tokens::{Calibration, TokenCounts};

use crate::fit::{Costs, Errors};
use crate::growth::{self, Growth, Growths};
use crate::table::{Goal, Row};
use crate::timed;

/// Maximum error of the sum of all turns, and mean error of a turn, in percent.
const TOTAL: f64 = 3.0;
const TURN: f64 = 16.0;
/// Minimum speed in bytes per microsecond: estimating must be much faster than an append's commit.
const SPEED: f64 = 300.0;
/// Size of the text for measuring the speed, and the number of repetitions.
const SPEED_BYTES: usize = 4 << 20;
const SPEED_ROUNDS: usize = 20;

pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let sessions: Vec<Growths> = files.iter().map(|f| growth::read(f)).collect();
    let turns: usize = sessions.iter().map(|s| s.all.len()).sum();
    let mut left_out = BTreeMap::<&str, usize>::new();
    for (why, times) in sessions.iter().flat_map(|s| &s.left_out) {
        *left_out.entry(why).or_default() += times;
    }
    let found = Row::new("turns with reported growth", turns as f64, "", Goal::None)
        .detail(format!("left out: {left_out:?}"));
    let mut rows = vec![speed(files), found];
    if turns == 0 {
        return rows;
    }
    let shipped = Costs::shipped();
    let all: Vec<&Growth> = sessions.iter().flat_map(|s| &s.all).collect();
    let fitted = Costs::fitted(&all);
    rows.extend(pair("estimate with what was learnt", &learnt(&sessions), true));
    rows.extend(pair("estimate as shipped", &explained(&sessions, |_| shipped.clone()), true));
    rows.extend(pair("fitted to these sessions", &explained(&sessions, |_| fitted.clone()), false));
    if sessions.len() > 1 {
        let without = |at| Costs::fitted(&others(&sessions, at));
        rows.extend(pair(
            "each session by a fit to the others",
            &explained(&sessions, without),
            true,
        ));
    }
    rows.extend(sessions.iter().filter(|s| !s.all.is_empty()).map(|s| one(s, &shipped)));
    for ((kind, cost), (_, now)) in fitted.each().zip(shipped.each()).skip(1) {
        let detail = format!("shipped {now:.3}, {:?}", kind.fit());
        let what = format!("  a {}", kind.name());
        rows.push(Row::new(what, cost, "tokens", Goal::None).detail(detail));
    }
    rows
}

fn others(sessions: &[Growths], at: usize) -> Vec<&Growth> {
    sessions.iter().enumerate().filter(|(i, _)| *i != at).flat_map(|(_, s)| &s.all).collect()
}

/// Returns the estimated and the reported tokens of each turn, with the costs for its session.
fn explained(sessions: &[Growths], costs: impl Fn(usize) -> Costs) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let costs = costs(at);
        pairs.extend(session.all.iter().map(|g| (costs.of(g), g.reported as f64)));
    }
    pairs
}

/// Estimates each turn like a running session, with corrections from the previous turns.
fn learnt(sessions: &[Growths]) -> Vec<(f64, f64)> {
    sessions.iter().flat_map(learnt_in).collect()
}

fn learnt_in(session: &Growths) -> Vec<(f64, f64)> {
    let mut calibration = Calibration::default();
    let mut pairs = Vec::new();
    for growth in &session.all {
        let estimated = u64::from(growth.counts.tokens());
        pairs.push((calibration.apply(estimated) as f64, growth.reported as f64));
        calibration.observe(estimated, growth.reported);
    }
    pairs
}

fn pair(what: &str, pairs: &[(f64, f64)], judged: bool) -> [Row; 2] {
    let errors = Errors::of(pairs);
    let goal = |most| if judged { Goal::AtMost(most) } else { Goal::None };
    [
        Row::new(format!("{what}: total off by"), errors.total.abs() * 100.0, "%", goal(TOTAL))
            .detail(format!("{:+.2} %", errors.total * 100.0)),
        Row::new(format!("{what}: a turn's growth off by"), errors.turn * 100.0, "%", goal(TURN)),
    ]
}

fn one(session: &Growths, shipped: &Costs) -> Row {
    let plain: Vec<_> = session.all.iter().map(|g| (shipped.of(g), g.reported as f64)).collect();
    let (plain, learnt) = (Errors::of(&plain), Errors::of(&learnt_in(session)));
    let detail = format!(
        "{} turns, total {:+.1} %; with what was learnt {:.1} %, {:+.1} %",
        session.all.len(),
        plain.total * 100.0,
        learnt.turn * 100.0,
        learnt.total * 100.0
    );
    Row::new(format!("  {}", session.name), plain.turn * 100.0, "%", Goal::None).detail(detail)
}

/// Returns text from the recordings, or else generated prose.
fn speed(files: &[PathBuf]) -> Row {
    let mut text = String::new();
    for file in files {
        text.push_str(&std::fs::read_to_string(file).unwrap_or_default());
    }
    while text.len() < SPEED_BYTES {
        text.push_str(
            "the gate reads src/garden/water.py:120 and finds `open_valve(x)`\n    again; ",
        );
    }
    let mut end = SPEED_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let fastest =
        (0..SPEED_ROUNDS).map(|_| timed(|| black_box(TokenCounts::of_text(black_box(text)))).0);
    let fastest = fastest.min().unwrap_or_default().as_secs_f64();
    let goal = Goal::AtLeast(SPEED);
    Row::new("counting a text", text.len() as f64 / 1e6 / fastest, "MB/s", goal)
}
