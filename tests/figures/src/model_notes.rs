//! What a model that hangs costs those who append and those who ask for prompts.
//!
//! The same turns go to three daemons. One has asked a model for notes that began to hang before the first
//! turn that counts and hangs still after the last one, with the time limits that people have; two take no
//! notes, and what they show beside each other is the noise of the machine. Rounds alternate, and all
//! sessions are equally long at all times.

use std::time::Duration;

use bethink_harness::Home;
use bethink_harness::wait::{PATIENCE, until};
use bethink_model_server::{Fault, Script, Server, Wire};

use crate::asking;
use crate::sides::{Side, compared};
use crate::table::{Goal, Row};

/// Before a word of the answer, and in its middle.
const WAYS: [Fault; 2] = [Fault::HangBeforeHeaders, Fault::HangMidStream];
/// What is compared alternates every few turns, so that a machine that is busy for a moment is so for both.
const ROUNDS: usize = 400;
const TURNS: usize = 4;
/// Short, so that the last prompt is not much longer than the first: the slowest are to be slow for a reason.
const WORDS: usize = 15;
/// Messages before it counts: long enough for notes to be due.
const BEGIN: usize = 40;
const BEGIN_WORDS: usize = 600;
/// The specification's "none measurable", as a ratio.
const GOAL: Goal = Goal::AtMost(1.1);

/// What a client waits for, by name.
type Times = fn(&Side) -> &[Duration];
const TIMES: [(&str, Times); 2] =
    [("appends", |side| &side.appends), ("prompts", |side| &side.prompts)];

/// The slowest hundredth of appends and of prompts while notes hang, to those of a daemon without notes.
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
        // Who goes first changes too, and no other works while one is measured.
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

/// A call is under way, and its client has not left.
fn hangs(server: &Server) -> bool {
    let counts = server.counts();
    counts.requests > counts.left
}
