//! Measures how updates of notes affect the slowest appends.
//!
//! The same appends go to two daemons, only one of which makes notes. Rounds alternate, each long enough for an
//! update to begin without a pause. For comparison, a third pass forces one update after the other, which normal use
//! does not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bethink_harness::Home;
use serde_json::json;

use crate::sides::{Side, compared};
use crate::table::{Goal, Row};

/// Number of rounds. The daemons alternate, so that a busy machine affects both.
const ROUNDS: usize = 6;
/// Length of a round: an update that is due begins after at most five seconds.
const ROUND: Duration = Duration::from_millis(6_500);
const FORCED_ROUND: Duration = Duration::from_millis(2_000);
/// Words per message, so that notes are due every few appends.
const WORDS: usize = 500;

/// Compares the slowest 1% of appends with and without notes.
pub fn rows() -> Vec<Row> {
    let mut noting = side(true);
    let mut still = side(false);
    for round in 0..ROUNDS {
        // The order changes too, and only one daemon works at a time.
        if round % 2 == 0 {
            noting.round(ROUND, WORDS);
            noting.settle();
            still.round(ROUND, WORDS);
        } else {
            still.round(ROUND, WORDS);
            noting.round(ROUND, WORDS);
            noting.settle();
        }
    }
    let updates = noting.updates();
    let goal = Goal::AtMost(1.1);
    let told = format!("{updates} updates in them and after");
    let what = "appends with notes being updated, p99, to without";
    let natural = compared(what, &noting.appends, &still.appends, goal, &told);
    noting.appends.clear();
    still.appends.clear();
    for _ in 0..ROUNDS {
        forced_round(&mut noting);
        still.round(FORCED_ROUND, WORDS);
    }
    let forced = noting.updates() - updates;
    let what = "appends with updates forced without a pause, p99, to without";
    let told = format!("{forced} updates in them");
    let harsh = compared(what, &noting.appends, &still.appends, Goal::None, &told);
    vec![natural, harsh]
}

fn side(notes: bool) -> Side {
    Side::new(Home::new().with("BETHINK_SESSION_MEMORY__ENABLED", &notes.to_string()))
}

/// Appends while another client requests one update after the other.
fn forced_round(side: &mut Side) {
    let mut client = side.daemon.client();
    let path = format!("/v1/sessions/{}/notes/update", side.session);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                client.post(&path, &json!({})).ok();
            }
        });
        side.round(FORCED_ROUND, WORDS);
        stop.store(true, Ordering::Relaxed);
    });
}
