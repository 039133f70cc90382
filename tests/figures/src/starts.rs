//! Measures the start of the daemon until the first answer, with a database of 1 GB.

use std::time::Duration;

use bethink_harness::{Daemon, say};
use serde_json::{Value, json};

use crate::table::{Goal, Row};
use crate::{median, ms, timed};

const SESSIONS: usize = 50;
/// Numbers of large and of usual messages in each session.
const LARGE: usize = 20;
const LARGE_BYTES: usize = 1 << 20;
const SMALL: usize = 400;
const STARTS: usize = 7;

/// Fills a home, and starts it after clean stops and after kills.
pub fn rows() -> Vec<Row> {
    let mut daemon = Daemon::fresh();
    let (empty, _) = start_after(&mut daemon, |d| {
        d.terminate();
    });
    fill(&daemon);
    let bytes = size(&daemon);
    let stop = |d: &mut Daemon| {
        d.terminate();
    };
    let kill = |d: &mut Daemon| {
        let session = d.session(200_000);
        d.append(&session, &say::work(1, 100_000));
        d.kill9();
    };
    let (clean, clean_worst) = start_after(&mut daemon, stop);
    let (killed, killed_worst) = start_after(&mut daemon, kill);
    let detail =
        |worst: Duration| format!("{:.2} GB, worst of {STARTS} {}", bytes as f64 / 1e9, ms(worst));
    let figure = |time: Duration| time.as_secs_f64() * 1e3;
    vec![
        Row::new("start to serving, empty", figure(empty), "ms", Goal::None),
        Row::new(
            "start to serving, 1 GB, after a clean stop",
            figure(clean),
            "ms",
            Goal::AtMost(150.0),
        )
        .detail(detail(clean_worst)),
        Row::new(
            "start to serving, 1 GB, after kill -9",
            figure(killed),
            "ms",
            Goal::AtMost(150.0),
        )
        .detail(detail(killed_worst)),
    ]
}

/// Returns the median and the maximum.
fn start_after(daemon: &mut Daemon, end: impl Fn(&mut Daemon)) -> (Duration, Duration) {
    let times: Vec<Duration> = (0..STARTS)
        .map(|_| {
            end(daemon);
            timed(|| {
                daemon.start();
                daemon.client().get("/health").ok();
            })
            .0
        })
        .collect();
    (median(&times), times.iter().max().copied().unwrap_or_default())
}

fn fill(daemon: &Daemon) {
    for s in 0..SESSIONS {
        let session = daemon.session(200_000);
        let small: Vec<Value> =
            (0..SMALL / 4).flat_map(|n| say::work(s * SMALL + n, 600)).collect();
        daemon.append(&session, &small);
        for n in 0..LARGE {
            daemon.append(&session, &[large(s * LARGE + n)]);
        }
    }
}

/// Makes an image, which is stored but has no words to index.
fn large(n: usize) -> Value {
    let data = format!("{n:08}").repeat(LARGE_BYTES / 8);
    json!({"role": "user", "content": [{"type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data}}]})
}

fn size(daemon: &Daemon) -> u64 {
    let files = std::fs::read_dir(daemon.home.path()).into_iter().flatten().flatten();
    files
        .filter_map(|f| f.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|m| m.len())
        .sum()
}
