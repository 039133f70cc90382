//! Compares this build with another one. They do the same work in turns, so that a busy machine affects both.

use std::path::Path;
use std::time::Duration;

use bethink_harness::{Home, Request};
use bethink_model_server::{Script, Server};
use serde_json::json;

use crate::sides::Side;
use crate::table::{Goal, Row};
use crate::{gateway, median, memory, ms, timed};

const ROUNDS: usize = 9;
/// Number of turns in a round, each with two appends and a prompt.
const TURNS: usize = 100;
const WORDS: usize = 150;
/// Number of requests through the gateway in a round, each with the whole history.
const REQUESTS: usize = 100;
/// Number of requests of each kind before the measurement.
const WARM: usize = 15;
/// Tolerance for noise.
const MOST: f64 = 1.02;

/// Median times of a round: an append, a prompt, and a request through the gateway.
type Medians = [Duration; 3];

/// Returns the ratios to the other daemon: medians over pairs of rounds.
pub fn rows(other: &Path) -> Vec<Row> {
    let server = Server::start(Script { keep: 1, ..Script::good() }).expect("a model server");
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for side in [round % 2, (round + 1) % 2] {
            let home = gateway::home(&server.url());
            match side {
                0 => own.push(medians(home)),
                _ => others.push(medians(home.running(other))),
            }
        }
    }
    let mut rows: Vec<Row> = ["append", "context", "gateway"]
        .into_iter()
        .enumerate()
        .map(|(nth, what)| ratio(what, nth, &own, &others))
        .collect();
    let (idle, before) = (idle(Home::new()), idle(Home::new().running(other)));
    let detail = format!("{before:.1} MB with the other build");
    rows.push(Row::new("memory, idle", idle, "MB", Goal::AtMost(memory::IDLE)).detail(detail));
    rows
}

fn medians(home: Home) -> Medians {
    let mut side = Side::new(home);
    side.turns(TURNS, WORDS);
    let through = through_the_gateway(&side);
    [&side.appends, &side.prompts, &through].map(|times| median(&times[WARM..]))
}

fn through_the_gateway(side: &Side) -> Vec<Duration> {
    let mut client = side.daemon.client();
    let mut messages = Vec::new();
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let text = format!("Step {number}: {}", "word ".repeat(WORDS));
        messages.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "scripted-1", "max_tokens": 1000, "messages": messages});
        let request = Request::new("POST", "/anthropic/v1/messages")
            .json(&body)
            .header("anthropic-version", "2023-06-01");
        let (time, answer) = timed(|| client.must(&request).ok());
        times.push(time);
        messages.push(json!({"role": "assistant", "content": answer["content"]}));
    }
    times
}

fn ratio(what: &str, nth: usize, own: &[Medians], others: &[Medians]) -> Row {
    let all = |side: &[Medians]| median(&side.iter().map(|times| times[nth]).collect::<Vec<_>>());
    let pairs = own.iter().zip(others);
    let mut ratios: Vec<f64> =
        pairs.map(|(own, other)| own[nth].as_secs_f64() / other[nth].as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    let detail = format!("{} and {}, {ROUNDS} rounds of each", ms(all(own)), ms(all(others)));
    let what = format!("{what} p50, to the other build");
    Row::new(what, ratios[ROUNDS / 2], "", Goal::AtMost(MOST)).detail(detail)
}

/// Returns the memory of a fresh daemon after it became idle.
fn idle(home: Home) -> f64 {
    let daemon = home.start();
    daemon.client().get("/health").ok();
    std::thread::park_timeout(Duration::from_secs(3));
    memory::resident(&daemon)
}
