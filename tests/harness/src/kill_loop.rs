//! The kill loop: writers, a daemon that is killed while they write, and a check of what it acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::http::Client;
use crate::rng::Rng;
use crate::say;
use crate::wait::PATIENCE;

const WRITERS: usize = 8;
/// Two writers share a session, so that they also compete for its order.
const SESSIONS: usize = 4;
/// A cycle kills the daemon after at most this many acknowledgements.
const MOST_ACKNOWLEDGED: usize = 60;
/// And at most this long after them, so that kills happen at every stage of a commit.
const LONGEST_SPIN: Duration = Duration::from_millis(3);

/// The result of a kill loop.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub cycles: usize,
    pub acknowledged: usize,
    /// Messages that were acknowledged and are missing.
    pub lost: usize,
    /// Messages that are stored more than once.
    pub doubled: usize,
    /// Sessions whose seqs are not 1, 2, 3, …
    pub gaps: usize,
    /// Batches that were stored in part.
    pub torn: usize,
    /// Answers other than success.
    pub refused: Vec<String>,
    /// How long each start after a kill took.
    pub restarts: Vec<Duration>,
}

impl Tally {
    pub fn is_clean(&self) -> bool {
        self.lost + self.doubled + self.gaps + self.torn == 0 && self.refused.is_empty()
    }

    pub fn restart_median(&self) -> Duration {
        let mut all = self.restarts.clone();
        all.sort();
        all.get(all.len() / 2).copied().unwrap_or_default()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cycles {} acknowledged {} lost {} doubled {} gaps {} torn {} restart median {:.1} ms max {:.1} ms",
            self.cycles,
            self.acknowledged,
            self.lost,
            self.doubled,
            self.gaps,
            self.torn,
            self.restart_median().as_secs_f64() * 1e3,
            self.restarts.iter().max().map_or(0.0, Duration::as_secs_f64) * 1e3,
        )
    }
}

/// Kills a daemon `cycles` times while eight writers append, and looks for every acknowledged message.
pub fn run(cycles: usize, seed: u64) -> Tally {
    let mut rng = Rng::new(seed);
    let mut daemon = Daemon::fresh();
    let sessions: Vec<String> = (0..SESSIONS).map(|_| daemon.session(200_000)).collect();
    let mut writers: Vec<Writer> =
        (0..WRITERS).map(|n| Writer::new(n, &sessions[n % SESSIONS], rng.draw())).collect();
    let mut tally = Tally { cycles, ..Tally::default() };
    for _ in 0..cycles {
        let enough = 1 + rng.below(MOST_ACKNOWLEDGED);
        let spin = LONGEST_SPIN.mul_f64(rng.below(1000) as f64 / 1000.0);
        cycle(&mut daemon, &mut writers, enough, spin);
        let start = Instant::now();
        daemon.start();
        tally.restarts.push(start.elapsed());
    }
    for writer in &mut writers {
        writer.settle(&mut daemon.client());
        tally.refused.append(&mut writer.refused);
    }
    for session in &sessions {
        let mine = writers.iter().filter(|w| w.session == *session);
        let batches: Vec<&Vec<String>> = mine.flat_map(|w| &w.acknowledged).collect();
        tally.acknowledged += batches.iter().map(|b| b.len()).sum::<usize>();
        audit(&mut daemon.client(), session, &batches, &mut tally);
    }
    tally
}

/// Lets the writers write until `enough` batches are acknowledged, then kills the daemon.
fn cycle(daemon: &mut Daemon, writers: &mut [Writer], enough: usize, spin: Duration) {
    let acknowledged = Acknowledged::default();
    std::thread::scope(|scope| {
        for writer in writers.iter_mut() {
            let (client, acknowledged) = (daemon.client(), &acknowledged);
            scope.spawn(move || writer.write(client, acknowledged));
        }
        acknowledged.wait_for(enough);
        let start = Instant::now();
        while start.elapsed() < spin {
            std::hint::spin_loop();
        }
        daemon.kill9();
    });
}

#[derive(Default)]
struct Acknowledged {
    count: Mutex<usize>,
    more: Condvar,
}

impl Acknowledged {
    fn one(&self) {
        *self.count.lock().expect("lock") += 1;
        self.more.notify_all();
    }

    /// Returns after [`PATIENCE`] at the latest; the audit then shows what is wrong.
    fn wait_for(&self, enough: usize) {
        let count = self.count.lock().expect("lock");
        let waited = self.more.wait_timeout_while(count, PATIENCE, |count| *count < enough);
        drop(waited.expect("lock"));
    }
}

struct Writer {
    name: usize,
    session: String,
    rng: Rng,
    made: usize,
    /// A batch that was sent without an answer. It is sent again with the same ids.
    pending: Option<Vec<String>>,
    acknowledged: Vec<Vec<String>>,
    refused: Vec<String>,
}

impl Writer {
    fn new(name: usize, session: &str, seed: u64) -> Self {
        Self {
            name,
            session: session.to_owned(),
            rng: Rng::new(seed),
            made: 0,
            pending: None,
            acknowledged: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Writes until the daemon is gone.
    fn write(&mut self, mut client: Client, acknowledged: &Acknowledged) {
        while self.one(&mut client) {
            acknowledged.one();
        }
    }

    /// Sends the pending batch again and gets an answer.
    fn settle(&mut self, client: &mut Client) {
        if self.pending.is_some() && !self.one(client) {
            self.refused.push("no answer from a daemon that was not killed".to_owned());
        }
    }

    /// Appends one batch; `false` if it was not acknowledged.
    fn one(&mut self, client: &mut Client) -> bool {
        let batch = self.pending.take().unwrap_or_else(|| self.batch());
        let messages: Vec<Value> =
            batch.iter().map(|id| say::with_id(id, say::user(&format!("note {id}")))).collect();
        let path = format!("/v1/sessions/{}/messages", self.session);
        let request = crate::Request::new("POST", &path).json(&json!({"messages": messages}));
        match client.send(&request) {
            Ok(answer) if answer.status == 200 => {
                self.acknowledged.push(batch);
                true
            }
            Ok(answer) => {
                self.refused.push(format!("{}: {}", answer.status, answer.brief()));
                self.pending = Some(batch);
                false
            }
            Err(_) => {
                self.pending = Some(batch);
                false
            }
        }
    }

    /// Mostly one message, sometimes three that belong together.
    fn batch(&mut self) -> Vec<String> {
        let count = if self.rng.one_in(4) { 3 } else { 1 };
        (0..count)
            .map(|_| {
                self.made += 1;
                format!("writer{}-{}", self.name, self.made)
            })
            .collect()
    }
}

fn audit(client: &mut Client, session: &str, batches: &[&Vec<String>], tally: &mut Tally) {
    let stored = stored(client, session);
    let gapless = stored.iter().zip(1..).all(|((seq, _), expected)| *seq == expected);
    tally.gaps += usize::from(!gapless);
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, id) in &stored {
        *count.entry(id).or_default() += 1;
    }
    tally.doubled += count.values().filter(|n| **n > 1).count();
    let there: BTreeSet<&str> = count.keys().copied().collect();
    for batch in batches {
        let missing = batch.iter().filter(|id| !there.contains(id.as_str())).count();
        tally.lost += missing;
        tally.torn += usize::from(missing > 0 && missing < batch.len());
    }
}

/// Every message of a session, page by page: seq and id.
pub fn stored(client: &mut Client, session: &str) -> Vec<(u64, String)> {
    let mut all: Vec<(u64, String)> = Vec::new();
    loop {
        let after = all.last().map_or(0, |(seq, _)| *seq);
        let path = format!("/v1/sessions/{session}/messages?after_seq={after}");
        let page = client.get(&path).ok();
        let messages = page["messages"].as_array().expect("messages");
        if messages.is_empty() {
            return all;
        }
        all.extend(
            messages.iter().map(|m| {
                (m["seq"].as_u64().expect("seq"), m["id"].as_str().expect("id").to_owned())
            }),
        );
    }
}
