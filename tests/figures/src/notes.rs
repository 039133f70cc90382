//! What notes cost those who append: the slowest appends with updates running, beside those without.
//!
//! The same appends go to two daemons that differ in nothing but that one of them takes notes. Rounds
//! alternate, each long enough for an update to begin although it is never quiet. A third pass forces
//! updates one after the other, which no gate does, and is shown for comparison.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Daemon, Home, say};
use serde_json::json;

use crate::table::{Goal, Row};
use crate::{ms, timed};

/// What is compared alternates, so that a busy machine is busy for both.
const ROUNDS: usize = 6;
/// An update that is due begins after five seconds in any case.
const ROUND: Duration = Duration::from_millis(6_500);
const FORCED_ROUND: Duration = Duration::from_millis(2_000);
/// A turn's worth of text: notes come due every few appends.
const WORDS: usize = 500;
/// Between two appends, so that the client does not take a core for itself.
const PAUSE: Duration = Duration::from_millis(2);

struct Side {
    daemon: Daemon,
    session: String,
    appended: usize,
    times: Vec<Duration>,
}

/// The slowest hundredth of appends with notes, to that without.
pub fn rows() -> Vec<Row> {
    let mut noting = Side::new(true);
    let mut still = Side::new(false);
    for round in 0..ROUNDS {
        // Who goes first changes too, and neither works while the other is measured.
        if round % 2 == 0 {
            noting.round(ROUND);
            noting.settle();
            still.round(ROUND);
        } else {
            still.round(ROUND);
            noting.round(ROUND);
            noting.settle();
        }
    }
    let updates = noting.updates();
    let goal = Goal::AtMost(1.1);
    let told = format!("{updates} updates in them and after");
    let what = "appends with notes being updated, p99, to without";
    let natural = compared(what, &noting, &still, goal, &told);
    noting.times.clear();
    still.times.clear();
    for _ in 0..ROUNDS {
        noting.forced_round();
        still.round(FORCED_ROUND);
    }
    let forced = noting.updates() - updates;
    let what = "appends with updates forced without a pause, p99, to without";
    let told = format!("{forced} updates in them");
    let harsh = compared(what, &noting, &still, Goal::None, &told);
    vec![natural, harsh]
}

fn compared(what: &str, noting: &Side, still: &Side, goal: Goal, told: &str) -> Row {
    let at = |side: &Side, percent| percentile(&side.times, percent);
    let ratio = at(noting, 99).as_secs_f64() / at(still, 99).as_secs_f64();
    let detail = format!(
        "p99 {} against {}, p50 {} against {}, {} and {} appends, {told}",
        ms(at(noting, 99)),
        ms(at(still, 99)),
        ms(at(noting, 50)),
        ms(at(still, 50)),
        noting.times.len(),
        still.times.len()
    );
    Row::new(what, ratio, "", goal).detail(detail)
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

impl Side {
    fn new(notes: bool) -> Self {
        let home = Home::new().with("BETHINK_SESSION_MEMORY__ENABLED", &notes.to_string());
        let daemon = home.start();
        let session = daemon.session(1_000_000);
        Self { daemon, session, appended: 0, times: Vec::new() }
    }

    fn round(&mut self, length: Duration) {
        let start = Instant::now();
        let mut client = self.daemon.client();
        let path = format!("/v1/sessions/{}/messages", self.session);
        while start.elapsed() < length {
            self.appended += 1;
            let text = format!("Step {}: {}", self.appended, "mended the gauge ".repeat(WORDS / 3));
            let message = match self.appended % 2 {
                0 => say::assistant(&text),
                _ => say::user(&text),
            };
            let body = json!({ "messages": [message] });
            self.times.push(timed(|| client.post(&path, &body).ok()).0);
            std::thread::park_timeout(PAUSE);
        }
    }

    /// Appends while another client asks for one update after the other.
    fn forced_round(&mut self) {
        let mut client = self.daemon.client();
        let path = format!("/v1/sessions/{}/notes/update", self.session);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    client.post(&path, &json!({})).ok();
                }
            });
            self.round(FORCED_ROUND);
            stop.store(true, Ordering::Relaxed);
        });
    }

    /// Waits until no update is due or under way any more.
    fn settle(&self) {
        let mut seen = self.updates();
        let mut since = Instant::now();
        until(PATIENCE, || {
            let now = self.updates();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            // An update begins when it was quiet for a fifth of a second.
            (since.elapsed() > Duration::from_secs(1)).then_some(())
        });
    }

    fn updates(&self) -> usize {
        let metrics = self.daemon.client().get("/metrics").text();
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("bethink_notes_updates_total "));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}
