//! Replays recorded sessions through the daemon, turn by turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bethink_harness::{Client, Daemon, prompt};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::recording::{self, Recorded};
use crate::table::{Goal, Row};
use crate::{median, retention};

/// The windows that every session is replayed in.
pub const WINDOWS: [u64; 3] = [30_000, 60_000, 200_000];
/// The window for which retention is reported.
const RETENTION_WINDOW: u64 = 60_000;
/// The window with many compactions, and the number of the compaction to compare with the first.
const OFTEN_WINDOW: u64 = 30_000;
const LATER: usize = 5;

/// The result of one session in one window.
#[derive(Clone, Debug, Default)]
pub struct Driven {
    pub file: PathBuf,
    pub window: u64,
    pub prompts: usize,
    pub invalid: Vec<String>,
    pub over: usize,
    pub compactions: usize,
    /// How often each kind of summary was used.
    pub levels: BTreeMap<String, usize>,
    /// Share of a prompt's bytes that the next prompt begins with, except after compactions.
    pub stable: Vec<f64>,
    pub retention: Vec<f64>,
    /// Times of the append and the prompt of every turn.
    pub turns: Vec<Duration>,
}

impl Driven {
    /// Ratio of the medians of the last and the first third.
    pub fn growth(&self) -> f64 {
        let third = (self.turns.len() / 3).max(1);
        let first = median(&self.turns[..third.min(self.turns.len())]);
        let last = median(&self.turns[self.turns.len().saturating_sub(third)..]);
        last.as_secs_f64() / first.as_secs_f64().max(1e-9)
    }
}

/// Replays all files in all windows.
pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let daemon = Daemon::fresh();
    let mut all = Vec::new();
    for window in WINDOWS {
        for file in files {
            all.push(drive(&daemon, file, window));
        }
    }
    let mut rows = Vec::new();
    for window in WINDOWS {
        let of: Vec<&Driven> = all.iter().filter(|d| d.window == window).collect();
        let sum = |of_one: fn(&Driven) -> usize| of.iter().map(|d| of_one(d)).sum::<usize>();
        let invalid: Vec<&String> = of.iter().flat_map(|d| &d.invalid).collect();
        let detail = format!(
            "{} sessions, {} prompts, {} compactions {}",
            of.len(),
            sum(|d| d.prompts),
            sum(|d| d.compactions),
            invalid.first().map_or("", |f| f.as_str()),
        );
        let what = format!("invalid prompts at {window}");
        rows.push(Row::new(what, invalid.len() as f64, "", Goal::AtMost(0.0)).detail(detail));
        let what = format!("prompts over the window at {window}");
        rows.push(Row::new(what, sum(|d| d.over) as f64, "", Goal::AtMost(0.0)));
        let stable: Vec<f64> = of.iter().flat_map(|d| d.stable.iter().copied()).collect();
        let what = format!("prefix stability at {window}");
        rows.push(Row::new(what, mean(&stable), "", Goal::AtLeast(0.99)));
        let of_sessions: Vec<f64> =
            of.iter().filter(|d| !d.retention.is_empty()).map(|d| mean(&d.retention)).collect();
        let goal = if window == RETENTION_WINDOW { Goal::AtLeast(0.98) } else { Goal::None };
        if !of_sessions.is_empty() {
            rows.push(Row::new(format!("retention at {window}"), mean(&of_sessions), "", goal));
        }
        if window == OFTEN_WINDOW {
            rows.extend(thinning(&of));
        }
        if let Some(longest) = of.iter().max_by_key(|d| d.prompts) {
            let what = format!("turn time, last third to first, at {window}");
            let detail = format!(
                "{} turns, median {}",
                longest.turns.len(),
                crate::ms(median(&longest.turns))
            );
            rows.push(Row::new(what, longest.growth(), "", Goal::AtMost(1.2)).detail(detail));
        }
    }
    rows
}

/// Ratio of the retention after a session's fifth and after its first compaction.
fn thinning(of: &[&Driven]) -> Option<Row> {
    let often: Vec<_> = of.iter().filter(|d| d.retention.len() >= LATER).collect();
    let first: Vec<f64> = often.iter().map(|d| d.retention[0]).collect();
    let later: Vec<f64> = often.iter().map(|d| d.retention[LATER - 1]).collect();
    let what = "retention after the fifth compaction, to that after the first";
    let detail = format!("{} sessions, {:.4} and {:.4}", often.len(), mean(&first), mean(&later));
    let ratio = mean(&later) / mean(&first);
    (!often.is_empty()).then(|| Row::new(what, ratio, "", Goal::AtLeast(0.95)).detail(detail))
}

/// Replays one session: appends every message, and requests a prompt before every assistant turn.
pub fn drive(daemon: &Daemon, file: &Path, window: u64) -> Driven {
    let recorded = recording::load(file);
    let session = daemon.session(window);
    let mut client = daemon.client();
    let mut driven = Driven { file: file.to_path_buf(), window, ..Driven::default() };
    let mut before: Option<Vec<u8>> = None;
    let mut speaking: Option<&str> = None;
    for (i, message) in recorded.iter().enumerate() {
        let start = Instant::now();
        let body = json!({"messages": [message.wire()]});
        client.post(&format!("/v1/sessions/{session}/messages"), &body).ok();
        let appended = start.elapsed();
        if message.role == "assistant" {
            speaking = message.id.as_deref();
        }
        if !calls_the_model(message, recorded.get(i + 1), speaking) {
            continue;
        }
        let start = Instant::now();
        let answer = client.post(&format!("/v1/sessions/{session}/context"), &json!({}));
        driven.turns.push(appended + start.elapsed());
        driven.prompts += 1;
        if answer.status != 200 {
            driven.invalid.push(format!("{} at {i}: {}", file.display(), answer.brief()));
            continue;
        }
        let bytes = answer.body.clone();
        let answer = answer.json();
        judge(&mut driven, &answer, i);
        let now = shown(&bytes);
        if answer["report"]["compacted"].is_string() {
            driven.compactions += 1;
            driven.retention.extend(retention::share(&recorded, i + 1, &answer));
        } else if let Some(before) = before {
            driven.stable.push(common(&before, &now));
        }
        before = Some(now);
    }
    driven.levels = levels(&mut client, &session);
    driven
}

fn levels(client: &mut Client, session: &str) -> BTreeMap<String, usize> {
    let listed = client.get(&format!("/v1/sessions/{session}/compactions")).ok();
    let mut levels = BTreeMap::new();
    for made in listed["compactions"].as_array().expect("a list") {
        *levels.entry(made["level"].as_str().expect("a level").to_owned()).or_default() += 1;
    }
    levels
}

/// Returns whether to request a prompt: after a user message, unless more of the same turn follows.
pub(crate) fn calls_the_model(
    now: &Recorded,
    next: Option<&Recorded>,
    speaking: Option<&str>,
) -> bool {
    now.role == "user"
        && !next
            .is_some_and(|n| n.role == "user" || (n.id.is_some() && n.id.as_deref() == speaking))
}

fn judge(driven: &mut Driven, answer: &Value, at: usize) {
    let faults = prompt::faults_of(answer);
    if !faults.is_empty() {
        driven.invalid.push(format!("{} at {at}: {faults:?}", driven.file.display()));
    }
    driven.over += usize::from(prompt::tokens(answer) > driven.window);
}

/// Returns the bytes of the `messages` in a response, without the closing bracket.
fn shown(answer: &[u8]) -> Vec<u8> {
    let members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(answer).expect("an object");
    let messages = members.get("messages").map_or("", |m| m.get());
    messages.trim_end_matches(']').as_bytes().to_vec()
}

/// Returns the share of `before` that `now` begins with.
pub(crate) fn common(before: &[u8], now: &[u8]) -> f64 {
    let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
    same as f64 / before.len().max(1) as f64
}

pub(crate) fn mean(of: &[f64]) -> f64 {
    if of.is_empty() { 1.0 } else { of.iter().sum::<f64>() / of.len() as f64 }
}
