//! Compares two daemons that differ in one setting and do the same work.

use std::time::{Duration, Instant};

use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Client, Daemon, Home, say};
use serde_json::json;

use crate::table::{Goal, Row};
use crate::{ms, timed};

/// A window that is large enough to avoid compactions.
const WINDOW: u64 = 1_000_000;
/// Pause between two appends, so that the client does not use a whole core.
const PAUSE: Duration = Duration::from_millis(2);
/// The sentence that messages repeat.
const SENTENCE: &str = "mended the gauge ";

/// A daemon with one session.
#[derive(Debug)]
pub struct Side {
    pub daemon: Daemon,
    pub session: String,
    client: Client,
    pub appends: Vec<Duration>,
    pub prompts: Vec<Duration>,
    appended: usize,
}

impl Side {
    pub fn new(home: Home) -> Self {
        let daemon = home.start();
        let session = daemon.session(WINDOW);
        let client = daemon.client();
        Self { daemon, session, client, appends: Vec::new(), prompts: Vec::new(), appended: 0 }
    }

    /// Appends messages of this many words for this long.
    pub fn round(&mut self, length: Duration, words: usize) {
        let start = Instant::now();
        while start.elapsed() < length {
            self.append(words);
        }
    }

    /// Runs turns, each with a user message, a prompt and an answer.
    pub fn turns(&mut self, turns: usize, words: usize) {
        let path = format!("/v1/sessions/{}/context", self.session);
        for _ in 0..turns {
            self.append(words);
            self.prompts.push(timed(|| self.client.post(&path, &json!({})).ok()).0);
            self.append(words);
        }
    }

    /// Makes the next message, in turns from the user and the assistant.
    pub fn append(&mut self, words: usize) {
        let sentences = words.div_ceil(SENTENCE.split_whitespace().count());
        let text = format!("Step {}: {}", self.appended + 1, SENTENCE.repeat(sentences));
        let message = match self.appended % 2 {
            0 => say::user(&text),
            _ => say::assistant(&text),
        };
        self.appended += 1;
        let path = format!("/v1/sessions/{}/messages", self.session);
        let body = json!({ "messages": [message] });
        self.appends.push(timed(|| self.client.post(&path, &body).ok()).0);
        std::thread::park_timeout(PAUSE);
    }

    /// Waits until no update of notes is due or running.
    pub fn settle(&self) {
        let mut seen = self.updates();
        let mut since = Instant::now();
        until(PATIENCE, || {
            let now = self.updates();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            // An update begins after a pause of 200 ms.
            (since.elapsed() > Duration::from_secs(1)).then_some(())
        });
    }

    /// Returns the number of updates of notes since the start of the daemon.
    pub fn updates(&self) -> usize {
        counted(&self.daemon.client().get("/metrics").text(), "bethink_notes_updates_total")
    }
}

/// Returns the sum of a counter of `/metrics` over all labels; 0 if it does not exist.
fn counted(metrics: &str, name: &str) -> usize {
    let of = |line: &str| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labelled) => labelled.rsplit_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.trim().parse::<usize>().ok()
    };
    metrics.lines().filter_map(of).sum()
}

/// Returns the ratio of the slowest 1% of both daemons' times.
pub fn compared(what: &str, one: &[Duration], other: &[Duration], goal: Goal, told: &str) -> Row {
    let at = |times: &[Duration], percent| percentile(times, percent);
    let ratio = at(one, 99).as_secs_f64() / at(other, 99).as_secs_f64();
    let detail = format!(
        "p99 {} against {}, p50 {} against {}, {} and {} times, {told}",
        ms(at(one, 99)),
        ms(at(other, 99)),
        ms(at(one, 50)),
        ms(at(other, 50)),
        one.len(),
        other.len()
    );
    Row::new(what, ratio, "", goal).detail(detail)
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_with_labels_and_without() {
        let check = |metrics: &str, expect: usize| {
            assert_eq!(counted(metrics, "notes_total"), expect, "{metrics}");
        };
        check("# TYPE notes_total counter\nnotes_total 3\n", 3);
        check("notes_total{strategy=\"model\"} 2\nnotes_total{strategy=\"embedded\"} 5\n", 7);
        check("notes_total_of_another 4\nother 1\n", 0);
        check("", 0);
    }

    #[test]
    fn the_slowest_hundredth_begins_at_its_edge() {
        let times: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 99), Duration::from_millis(199));
        assert_eq!(percentile(&times, 50), Duration::from_millis(101));
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }
}
