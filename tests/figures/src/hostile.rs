//! Measures how long each engine takes for 1 MB of the hostile text that it likes least.

use std::time::Duration;

use bethink_hostile_texts::{ENGINES, HOSTILE_TEXTS, TextEngine, least_time};

use crate::table::{Goal, Row};

const BYTES: usize = 1_000_000;
/// Goal of each engine, in milliseconds.
const MOST: f64 = 500.0;
/// Number of runs of the slowest text, of which the fastest counts.
const RUNS: usize = 3;

pub fn rows() -> Vec<Row> {
    ENGINES.iter().map(row).collect()
}

fn row(engine: &TextEngine) -> Row {
    let times = HOSTILE_TEXTS
        .iter()
        .map(|hostile| (least_time(engine, &hostile.of_size(BYTES), 1), hostile));
    let Some((_, worst)) = times.max_by_key(|(time, _)| *time) else {
        return Row::new(engine.name, 0.0, "ms", Goal::None);
    };
    let time = least_time(engine, &worst.of_size(BYTES), RUNS);
    Row::new(
        format!("1 MB of hostile text, {}", engine.name),
        milliseconds(time),
        "ms",
        Goal::AtMost(MOST),
    )
    .detail(worst.name)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
