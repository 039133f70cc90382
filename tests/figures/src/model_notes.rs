//! Measures how a hanging model affects appends and prompts.
//!
//! The same turns go to three daemons. In one of them, a request for notes hangs during all measured turns, with
//! the default time limits. The other two make no notes; the difference between them is the noise of the machine.
//! Rounds alternate, and all sessions are equally long at all times.

use std::time::Duration;

use bethink_harness::Home;
use bethink_harness::wait::{PATIENCE, until};
use bethink_model_server::{Fault, Script, Server, Wire};

use crate::asking;
use crate::sides::{Side, compared};
use crate::table::{Goal, Row};

/// The model hangs before the answer, and in the middle of it.
const WAYS: [Fault; 2] = [Fault::HangBeforeHeaders, Fault::HangMidStream];
/// Number of rounds of a few turns each. The daemons alternate, so that a busy machine affects all of them.
const ROUNDS: usize = 400;
const TURNS: usize = 4;
/// Few words per message, so that the last prompt is not much longer than the first.
const WORDS: usize = 15;
/// Number of messages before the measurement, enough for notes to be due.
const BEGIN: usize = 40;
const BEGIN_WORDS: usize = 600;
/// Maximum ratio that counts as "none measurable" in the specification.
const GOAL: Goal = Goal::AtMost(1.1);

/// The operations that a client waits for.
type Times = fn(&Side) -> &[Duration];
const TIMES: [(&str, Times); 2] =
    [("appends", |side| &side.appends), ("prompts", |side| &side.prompts)];

/// Compares the slowest 1% of appends and prompts while notes hang with those of a daemon without notes.
pub fn rows() -> Vec<Row> {
    WAYS.into_iter().flat_map(hanging).collect()
}

fn hanging(fault: Fault) -> Vec<Row> {
    let server = asking::server(Script::always(fault));
    let still = || Side::new(Home::new().with("BETHINK_SESSION_MEMORY__ENABLED", "false"));
    let noting = Side::new(asking::home(&server, Wire::Anthropic));
    let mut sides = [noting, still(), still()];
    sides.iter_mut().for_each(begin);
    until(PATIENCE, || hangs(&server).then_some(())).expect("notes to be asked for");
    for round in 0..ROUNDS {
        // The order changes too, and only one daemon works at a time.
        let first = round % sides.len();
        let (then, now) = sides.split_at_mut(first);
        now.iter_mut().chain(then).for_each(|side| side.turns(TURNS, WORDS));
    }
    assert!(hangs(&server), "the call ended before the measurement: {:?}", server.counts());
    let [noting, still, twin] = &sides;
    let row = |what: &str, goal, one: &[Duration], other: &[Duration]| {
        compared(&format!("{what}, p99, to without notes"), one, other, goal, fault.name())
    };
    let mut rows = Vec::new();
    for (what, times) in TIMES {
        let (one, other, again) = (times(noting), times(still), times(twin));
        rows.push(row(&format!("{what} while the model for notes hangs"), GOAL, one, other));
        rows.push(row(&format!("{what} without notes as well"), Goal::None, again, other));
    }
    rows
}

fn begin(side: &mut Side) {
    for _ in 0..BEGIN {
        side.append(BEGIN_WORDS);
    }
    side.appends.clear();
}

/// Returns whether a call is running and its client is connected.
fn hangs(server: &Server) -> bool {
    let counts = server.counts();
    counts.requests > counts.left
}
