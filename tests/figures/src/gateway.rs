//! Measures what the gateway adds to a call: the same requests to the same scripted provider, directly and through
//! the daemon, in turns.

use std::time::{Duration, Instant};

use bethink_harness::{Client, Daemon, Home, Request};
use bethink_model_server::{Script, Server};
use serde_json::{Value, json};

use crate::table::{Goal, Row};

/// Size of a text in bytes: a request with its answer has about 2 KB.
const SMALL_BYTES: usize = 1900;
const SMALL_PAIRS: usize = 5000;
/// Number of sessions of some 2 KB, and of the requests of each after its first.
const SHORT_SESSIONS: usize = 200;
const SHORT_TURNS: usize = 10;
/// Number of calls before the measurement.
const WARM_PAIRS: usize = 200;
/// Size of a history of 200,000 tokens in bytes, with messages as long as a coding agent's.
const LARGE_BYTES: usize = 800_000;
const LARGE_MESSAGE: usize = 4000;
const LARGE_PAIRS: usize = 100;
const KEY_VARIABLE: &str = "FIGURES_GATEWAY_KEY";

/// Returns a home with a gateway to `url`, and an arbitrary key.
pub fn home(url: &str) -> Home {
    Home::new()
        .with("BETHINK_GATEWAY__ANTHROPIC_URL", url)
        .with("BETHINK_GATEWAY__ANTHROPIC_KEY_ENV", KEY_VARIABLE)
        .with(KEY_VARIABLE, "none")
        .with("BETHINK_LOG", "warn")
}

pub fn rows() -> Vec<Row> {
    [first_rows(), short_rows(), large_rows()].concat()
}

/// Times of single calls, directly and through the gateway.
#[derive(Default)]
struct Times {
    straight: Vec<Duration>,
    through: Vec<Duration>,
}

impl Times {
    fn added(&self, percent: usize) -> f64 {
        millis(at(&self.through, percent)) - millis(at(&self.straight, percent))
    }

    fn detail(&self) -> String {
        let both = |percent| {
            let (a, b) = (at(&self.straight, percent), at(&self.through, percent));
            format!("p{percent} {:.2} → {:.2} ms", millis(a), millis(b))
        };
        let pairs = self.straight.iter().zip(&self.through);
        let mut added: Vec<f64> = pairs.map(|(a, b)| millis(*b) - millis(*a)).collect();
        added.sort_unstable_by(f64::total_cmp);
        let median = added.get(added.len() / 2).copied().unwrap_or(0.0);
        format!("{}, {}, median of {} pairs {median:.2} ms", both(50), both(99), added.len())
    }
}

fn at(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * percent / 100]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A provider and a daemon, with a client for each.
struct Pair {
    server: Server,
    _daemon: Daemon,
    straight: Client,
    through: Client,
    times: Times,
}

impl Pair {
    fn new(change: impl Fn(Home) -> Home) -> Self {
        let server = Server::start(Script { keep: 1, ..Script::good() }).unwrap();
        let daemon = change(home(&server.url())).start();
        let address = server.url().trim_start_matches("http://").parse().unwrap();
        let (straight, through) = (Client::new(address, "none"), daemon.client());
        Self { server, _daemon: daemon, straight, through, times: Times::default() }
    }

    /// Sends the same body both ways, in alternating order. Returns the answer through the gateway.
    fn call(&mut self, number: usize, body: &Value) -> Value {
        let mut answer = Value::Null;
        for way in [number % 2, (number + 1) % 2] {
            let (client, times, path) = match way {
                0 => (&mut self.straight, &mut self.times.straight, "/v1/messages"),
                _ => (&mut self.through, &mut self.times.through, "/anthropic/v1/messages"),
            };
            let request =
                Request::new("POST", path).json(body).header("anthropic-version", "2023-06-01");
            let start = Instant::now();
            let came = client.must(&request);
            times.push(start.elapsed());
            if way == 1 {
                answer = came.ok();
            }
        }
        answer
    }
}

fn asking(text: &str) -> Value {
    json!({"model": "scripted-1", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]})
}

/// Measures the later requests of short sessions.
fn short_rows() -> Vec<Row> {
    let mut pair = Pair::new(|home| home);
    let mut measured = Times::default();
    for session in 0..SHORT_SESSIONS {
        let mut body = asking(&format!("{session} {}", "word ".repeat(SMALL_BYTES / 5)));
        body["metadata"] = in_session(session);
        for step in 0..=SHORT_TURNS {
            let answer = pair.call(step, &body);
            let messages = body["messages"].as_array_mut().expect("messages");
            messages.push(json!({"role": "assistant", "content": answer["content"]}));
            messages.push(json!({"role": "user", "content": "Go on."}));
        }
        let times = std::mem::take(&mut pair.times);
        measured.straight.extend(&times.straight[1..]);
        measured.through.extend(&times.through[1..]);
    }
    let row = |percent, most| {
        let what = format!("gateway, 2 KB, ongoing session, added p{percent}");
        Row::new(what, measured.added(percent), "ms", Goal::AtMost(most)).detail(measured.detail())
    };
    vec![row(50, 0.15), row(99, 1.0)]
}

/// The metadata with which a coding agent names its session.
fn in_session(number: usize) -> Value {
    json!({"user_id": format!("user_a_account_b_session_0197f3c2-7d1e-7c55-9d0e-{number:012x}")})
}

/// Measures requests that each begin a new session.
fn first_rows() -> Vec<Row> {
    let mut pair = Pair::new(|home| home);
    for number in 0..WARM_PAIRS + SMALL_PAIRS {
        if number == WARM_PAIRS {
            pair.times = Times::default();
        }
        let text = format!("{number} {}", "word ".repeat(SMALL_BYTES / 5));
        pair.call(number, &asking(&text));
    }
    let times = &pair.times;
    let row = |percent, most| {
        let what = format!("gateway, 2 KB, new session, added p{percent}");
        Row::new(what, times.added(percent), "ms", Goal::AtMost(most)).detail(times.detail())
    };
    vec![row(50, 0.3), row(99, 1.0)]
}

/// Measures requests of one session, whose client sends the whole history each time.
fn large_rows() -> Vec<Row> {
    let mut pair = Pair::new(|home| home.with("BETHINK_CONTEXT__WINDOW", "1000000"));
    let mut messages: Vec<Value> = Vec::new();
    for number in 0..LARGE_BYTES / LARGE_MESSAGE {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let text = format!("{number} {}", "let it = be(done); ".repeat(LARGE_MESSAGE / 19));
        messages.push(json!({"role": role, "content": [{"type": "text", "text": text}]}));
    }
    messages.push(json!({"role": "user", "content": "Go on."}));
    let mut body = asking("");
    body["metadata"] = in_session(1);
    for number in 0..LARGE_PAIRS + 2 {
        if number == 2 {
            pair.times = Times::default();
        }
        body["messages"] = json!(messages);
        let answer = pair.call(number, &body);
        messages.push(json!({"role": "assistant", "content": answer["content"]}));
        messages.push(json!({"role": "user", "content": format!("Step {number}, please.")}));
    }
    let counts = pair.server.counts();
    let bytes = body.to_string().len();
    let detail =
        format!("{}; {} KB, {} invalid", pair.times.detail(), bytes / 1000, counts.invalid_prompts);
    let added = pair.times.added(50);
    vec![
        Row::new("gateway, 800 KB history known, added p50", added, "ms", Goal::AtMost(6.0))
            .detail(detail),
    ]
}
