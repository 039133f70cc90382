//! The kill loop: writers, a daemon that is killed while they write, and a check of what it acknowledged.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::daemon::Daemon;
use crate::http::{Client, Request};
use crate::rng::Rng;
use crate::wait::PATIENCE;
use crate::writes::{Audit, EVERYTHING, WriteClock, Writer};

const WRITERS: usize = 6;
/// A cycle kills the daemon after at most this many acknowledgements.
const MOST_ACKNOWLEDGED: usize = 40;
/// And at most this long after them, so that kills happen at every stage of a commit.
const LONGEST_SPIN: Duration = Duration::from_millis(3);
/// A home is used for this many cycles, so that a check of all its writes stays quick.
const CYCLES_OF_A_HOME: usize = 50;

/// The result of a kill loop.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub cycles: usize,
    pub acknowledged: u64,
    /// What was looked for, and what was lost, stored twice, torn or came back.
    pub audit: Audit,
    /// Answers other than success.
    pub refused: Vec<String>,
    /// How long each start after a kill took.
    pub restarts: Vec<Duration>,
}

impl Tally {
    pub fn is_clean(&self) -> bool {
        self.audit.wrong.is_empty() && self.refused.is_empty()
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
            "cycles {} acknowledged {} checks {} wrong {} refused {} restart median {:.1} ms max {:.1} ms",
            self.cycles,
            self.acknowledged,
            self.audit.checks,
            self.audit.wrong.len(),
            self.refused.len(),
            self.restart_median().as_secs_f64() * 1e3,
            self.restarts.iter().max().map_or(0.0, Duration::as_secs_f64) * 1e3,
        )
    }
}

/// Kills a daemon `cycles` times while clients make every kind of write, and looks for everything that was acknowledged.
pub fn run(cycles: usize, seed: u64) -> Tally {
    run_while(seed, |done| done < cycles)
}

/// The same, as long as `goes_on` is true of the number of kills.
pub fn run_while(seed: u64, goes_on: impl Fn(usize) -> bool) -> Tally {
    let (mut tally, mut rng) = (Tally::default(), Rng::new(seed));
    while goes_on(tally.cycles) {
        round(&goes_on, &mut rng, &mut tally);
    }
    tally
}

/// Uses one home.
fn round(goes_on: impl Fn(usize) -> bool, rng: &mut Rng, tally: &mut Tally) {
    let mut daemon = Daemon::fresh();
    let dir = daemon.home.scratch().to_path_buf();
    let clock = WriteClock::default();
    let writer = |n| Writer::new(&format!("w{n}"), &dir, &mut daemon.client(), rng.draw(), &clock);
    let mut writers: Vec<Writer> = (0..WRITERS).map(writer).collect();
    let last = tally.cycles + CYCLES_OF_A_HOME;
    while tally.cycles < last && goes_on(tally.cycles) {
        tally.cycles += 1;
        let enough = 1 + rng.below(MOST_ACKNOWLEDGED);
        let spin = LONGEST_SPIN.mul_f64(rng.below(1000) as f64 / 1000.0);
        cycle(&mut daemon, &mut writers, enough, spin);
        let start = Instant::now();
        daemon.start();
        tally.restarts.push(start.elapsed());
        for writer in &mut writers {
            tally.audit.add(writer.audit_values(&mut daemon.client(), EVERYTHING));
        }
    }
    for writer in &mut writers {
        tally.audit.add(writer.audit(&mut daemon.client(), EVERYTHING));
        tally.acknowledged += writer.acknowledged;
        let refused = writer.refused.iter().map(|a| format!("{}: {}", a.status, a.brief()));
        tally.refused.extend(refused);
    }
}

/// Lets the writers write until `enough` writes are acknowledged, then kills the daemon.
fn cycle(daemon: &mut Daemon, writers: &mut [Writer], enough: usize, spin: Duration) {
    let acknowledged = Acknowledged::default();
    std::thread::scope(|scope| {
        for writer in writers.iter_mut() {
            let (mut client, acknowledged) = (daemon.client(), &acknowledged);
            scope.spawn(move || {
                while writer.step(&mut client) {
                    acknowledged.one();
                }
            });
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

/// Every message of a session, page by page: seq and id.
#[track_caller]
pub fn stored(client: &mut Client, session: &str) -> Vec<(u64, String)> {
    let messages = stored_messages(client, session).unwrap_or_else(|why| panic!("{why}"));
    let place = |message: &Value| {
        (message["seq"].as_u64().expect("seq"), message["id"].as_str().expect("id").to_owned())
    };
    messages.iter().map(place).collect()
}

/// Every message of a session as the daemon shows it, or why it could not be read.
pub(crate) fn stored_messages(client: &mut Client, session: &str) -> Result<Vec<Value>, String> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().and_then(|last| last["seq"].as_u64()).unwrap_or_default();
        let path = format!("/v1/sessions/{session}/messages?after_seq={after}");
        let page = client.send(&Request::new("GET", &path)).map_err(|e| e.to_string())?;
        if page.status != 200 {
            return Err(format!("{}: {}", page.status, page.brief()));
        }
        let mut page = page.json();
        let messages = page["messages"].as_array_mut().ok_or("no messages")?;
        if messages.is_empty() {
            return Ok(all);
        }
        all.append(messages);
    }
}
