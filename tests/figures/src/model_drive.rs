//! Replays recorded sessions while a scripted model writes summaries and notes, without faults and with random
//! faults.
//!
//! Each session in each window has its own daemon and server, so that a fault that only a person can fix, such as a
//! wrong key, affects only one session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Client, Daemon, say};
use bethink_model_server::{Counts, Fault, Script, Wire};
use serde_json::json;

use crate::asking;
use crate::drive::{self, Driven, mean};
use crate::table::{Goal, Row};
use crate::watch::{self, Open};

/// A window with many compactions, and the window of the goal for retention.
const WINDOWS: [u64; 2] = [30_000, 60_000];
const RETENTION_WINDOW: u64 = 60_000;
/// Percentage of calls that fail, from the specification of this figure.
const FAILING: u8 = 30;
/// Deadline of an errand: short, but long enough for a retry after a second.
const ERRAND: Duration = Duration::from_secs(3);
/// Time between two updates of notes.
const NOTED: Duration = Duration::from_millis(100);
/// Number of errands to request while the breaker is open.
const ASKED: usize = 20;
const RESULT_BYTES: usize = 4_000;

/// The results of the sessions and their servers in one window.
#[derive(Default)]
struct Seen {
    driven: Vec<Driven>,
    counts: Vec<Counts>,
    open: Open,
}

/// A kind of model, and how it is used.
struct Kind {
    name: &'static str,
    wire: Wire,
    fail_percent: u8,
    /// Notes are requested repeatedly, because a replay never pauses as automatic updates require. Fresh notes replace
    /// summaries.
    noted: bool,
}

const KINDS: [Kind; 3] = [
    Kind { name: "a good model", wire: Wire::Anthropic, fail_percent: 0, noted: false },
    Kind { name: "a failing model", wire: Wire::Anthropic, fail_percent: FAILING, noted: false },
    Kind {
        name: "a failing model over chat completions and notes all the time",
        wire: Wire::OpenAi,
        fail_percent: FAILING,
        noted: true,
    },
];

/// Replays all files with every kind of model. `seed` determines the faults.
pub fn rows(files: &[PathBuf], seed: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for window in WINDOWS {
        for kind in &KINDS {
            let mut seen = Seen::default();
            for (file, seed) in files.iter().zip(seed..) {
                seen.drive(file, window, kind, seed);
            }
            rows.extend(seen.rows(window, kind.name));
        }
    }
    rows.push(shut());
    rows
}

impl Seen {
    fn drive(&mut self, file: &Path, window: u64, kind: &Kind, seed: u64) {
        let fail_percent = kind.fail_percent;
        let server = asking::server(Script { fail_percent, seed, ..Script::good() });
        // Automatic updates are off, because they would cover the same messages.
        let unasked = (!kind.noted).to_string();
        let home = asking::hurried(&server, kind.wire, ERRAND);
        let daemon = home.with("BETHINK_SESSION_MEMORY__ENABLED", &unasked).start();
        let drive = || {
            let drive = || drive::drive(&daemon, file, window);
            if kind.noted { with_notes(&daemon, drive) } else { drive() }
        };
        let (driven, open) = watch::during(&daemon, &server, drive);
        self.open.time += open.time;
        self.open.calls += open.calls;
        self.driven.push(driven);
        self.counts.push(server.counts());
    }

    fn rows(&self, window: u64, model: &str) -> Vec<Row> {
        let at = format!("with {model} at {window}");
        let row =
            |what: &str, figure: f64, goal| Row::new(format!("{what}, {at}"), figure, "", goal);
        let prompts: usize = self.driven.iter().map(|d| d.prompts).sum();
        let invalid: Vec<&String> = self.driven.iter().flat_map(|d| &d.invalid).collect();
        let first = invalid.first().map_or("", |fault| fault.as_str());
        let over: usize = self.driven.iter().map(|d| d.over).sum();
        let kept: Vec<f64> = self
            .driven
            .iter()
            .filter(|d| !d.retention.is_empty())
            .map(|d| mean(&d.retention))
            .collect();
        let promised = window == RETENTION_WINDOW;
        let none = Goal::AtMost(0.0);
        let open = format!("watched for {:.1} s of rest", self.open.time.as_secs_f64());
        let mut rows = vec![
            row("invalid prompts", invalid.len() as f64, none)
                .detail(format!("{} sessions, {prompts} prompts {first}", self.driven.len())),
            row("prompts over the window", over as f64, none).detail(self.levels()),
            row("invalid requests to the model", self.sum(invalid_requests), none)
                .detail(self.calls()),
            row("refused requests sent again unchanged", self.sum(|c| c.repeated), none),
            row("calls while the breaker was open", self.open.calls as f64, none).detail(open),
        ];
        if !kept.is_empty() {
            let goal = if promised { Goal::AtLeast(0.98) } else { Goal::None };
            rows.push(row("retention", mean(&kept), goal));
        }
        rows
    }

    fn sum(&self, of: fn(&Counts) -> u64) -> f64 {
        self.counts.iter().map(of).sum::<u64>() as f64
    }

    fn levels(&self) -> String {
        let mut all: BTreeMap<&str, usize> = BTreeMap::new();
        for (level, times) in self.driven.iter().flat_map(|d| &d.levels) {
            *all.entry(level.as_str()).or_default() += times;
        }
        let told: Vec<String> =
            all.iter().map(|(level, times)| format!("{level} {times}")).collect();
        format!("compactions: {}", told.join(", "))
    }

    fn calls(&self) -> String {
        let of = |purpose: &str| -> u64 {
            self.counts.iter().filter_map(|counts| counts.by_purpose.get(purpose)).sum()
        };
        let failed: u64 = self.counts.iter().flat_map(|counts| counts.failed.values()).sum();
        let (summaries, notes) = (of("summary"), of("notes"));
        format!("calls: {summaries} for summaries, {notes} for notes; {failed} failed")
    }
}

/// Counts requests with invalid messages or other problems.
fn invalid_requests(counts: &Counts) -> u64 {
    counts.invalid_prompts + counts.invalid_envelopes
}

/// Requests notes whenever the session has continued, until the work is done.
fn with_notes<T>(daemon: &Daemon, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = daemon.client();
            // Requesting the same notes twice would send the same request twice.
            let mut noted = 0;
            while !done.load(Ordering::Relaxed) {
                if let Some((id, last)) = newest(&mut client)
                    && last > noted
                {
                    client.post(&format!("/v1/sessions/{id}/notes/update"), &json!({}));
                    noted = newest(&mut client).map_or(noted, |(_, last)| last);
                }
                std::thread::park_timeout(NOTED);
            }
        });
        let made = work();
        done.store(true, Ordering::Relaxed);
        made
    })
}

/// Returns the daemon's only session, and its last message.
fn newest(client: &mut Client) -> Option<(String, u64)> {
    let listed = client.get("/v1/sessions").ok();
    let session = listed["sessions"].get(0)?;
    Some((session["id"].as_str()?.to_owned(), session["last_seq"].as_u64()?))
}

/// Counts calls for errands that are requested while the breaker is open.
fn shut() -> Row {
    let server = asking::server(Script::always(Fault::WrongKey));
    let daemon = asking::hurried(&server, Wire::Anthropic, ERRAND).start();
    let session = daemon.session(200_000);
    let mut client = daemon.client();
    let mut work = (0..).flat_map(|n| say::work(n, RESULT_BYTES));
    let mut ask = || {
        let more: Vec<_> = work.by_ref().take(4 * 5).collect();
        daemon.append(&session, &more);
        let path = format!("/v1/sessions/{session}");
        client.post(&format!("{path}/notes/update"), &json!({})).ok();
        client.post(&format!("{path}/compact"), &json!({"level": "full"})).ok()
    };
    ask();
    let rest = || watch::rests(&daemon.client().get("/v1/model").ok());
    until(PATIENCE, rest).expect("the breaker to open");
    let before = server.counts().requests;
    let made: Vec<_> = (0..ASKED).map(|_| ask()).collect();
    assert!(rest().is_some_and(|rest| !rest.is_zero()), "the breaker closed meanwhile");
    let embedded = made.iter().filter(|made| made["level"] == "embedded").count();
    let calls = server.counts().requests - before;
    let detail = format!(
        "{ASKED} summaries and as many updates of notes asked for; {embedded} summaries embedded"
    );
    Row::new(
        "calls while the breaker was open, asked for by a person",
        calls as f64,
        "",
        Goal::AtMost(0.0),
    )
    .detail(detail)
}
