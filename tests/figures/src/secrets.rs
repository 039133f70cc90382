//! Measures the check for secrets before every write to a team, every push and every pull.

use std::time::{Duration, Instant};

use bethink_harness::Rng;

use crate::table::{Goal, Row};
use crate::{median, ms, timed};

/// Maximum size of a team's file in other agents, in bytes.
const SIZE: usize = 250_000;
const TIMES: usize = 31;
const MOST_MS: f64 = 20.0;

pub fn rows(seed: u64) -> Vec<Row> {
    let mut rng = Rng::new(seed);
    let honest = text(|| sentence(&mut rng));
    let encoded =
        text(|| "aGVsbG8gd29ybGQsIHRoaXMgaXMgdGV4dCB0aGF0IHdhcyBlbmNvZGVkLiBUaGUg\n".to_owned());
    let hostile = text(|| "sk-proj-".to_owned());
    let begun = Instant::now();
    assert!(bethink_secrets::gate("notes", &hostile).is_ok());
    let worst = begun.elapsed();
    vec![
        row("memories with hashes, addresses and code", &honest, Goal::AtMost(MOST_MS)),
        row("base64 alone", &encoded, Goal::None),
        Row::new(
            "text that begins a key all over",
            worst.as_secs_f64() * 1e3,
            "ms",
            Goal::AtMost(1_000.0),
        ),
    ]
}

fn row(what: &str, text: &str, goal: Goal) -> Row {
    let times: Vec<Duration> =
        (0..TIMES).map(|_| timed(|| bethink_secrets::gate("notes", text)).0).collect();
    let least = times.iter().min().copied().unwrap_or_default();
    let detail =
        format!("{} bytes, median {}, least {}", text.len(), ms(median(&times)), ms(least));
    Row::new(format!("look for secrets: {what}"), median(&times).as_secs_f64() * 1e3, "ms", goal)
        .detail(detail)
}

fn text(mut part: impl FnMut() -> String) -> String {
    let mut out = String::with_capacity(SIZE + 1_000);
    while out.len() < SIZE {
        out.push_str(&part());
    }
    out
}

fn sentence(rng: &mut Rng) -> String {
    let hash: String = (0..4).map(|_| format!("{:016x}", rng.draw())).collect();
    match rng.draw() % 8 {
        0 => format!("Fixed in commit {}.\n", &hash[..40]),
        1 => format!("- the image is pinned: `sha256:{hash}`\n"),
        2 => "The password: ask the person on call, it is in the vault.\n".to_owned(),
        3 => "Set `API_KEY=${API_KEY}` before `make run`, token_count: 18234.\n".to_owned(),
        4 => format!("> see https://example.com/docs/{}?page=3#top\n", &hash[..8]),
        _ => "Deploys go through CI and wait for the weekly release of the core team.\n".to_owned(),
    }
}
