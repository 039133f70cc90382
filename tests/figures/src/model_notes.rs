//! What a model that hangs costs those who append and those who ask for prompts.
//!
//! The same turns go to two daemons. One takes no notes; the other has asked a model for them that began to
//! hang before the first turn that counts and hangs still after the last one, with the time limits that
//! people have. Rounds alternate, and both sessions are equally long at all times.

use bethink_harness::Home;
use bethink_harness::wait::{PATIENCE, until};
use bethink_model_server::{Fault, Script, Server, Wire};

use crate::asking;
use crate::sides::{Side, compared};
use crate::table::{Goal, Row};

/// Before a word of the answer, and in its middle.
const WAYS: [Fault; 2] = [Fault::HangBeforeHeaders, Fault::HangMidStream];
/// What is compared alternates, so that a busy machine is busy for both.
const ROUNDS: usize = 8;
const TURNS: usize = 200;
/// Short, so that the last prompt is not much longer than the first: the slowest are to be slow for a reason.
const WORDS: usize = 15;
/// Messages before it counts: long enough for notes to be due.
const BEGIN: usize = 40;
const BEGIN_WORDS: usize = 600;
/// The specification's "none measurable", as a ratio.
const GOAL: Goal = Goal::AtMost(1.1);

/// The slowest hundredth of appends and of prompts while notes hang, to those of a daemon without notes.
pub fn rows() -> Vec<Row> {
    WAYS.into_iter().flat_map(hanging).collect()
}

fn hanging(fault: Fault) -> Vec<Row> {
    let server = asking::server(Script::always(fault));
    let mut noting = Side::new(asking::home(&server, Wire::Anthropic));
    let mut still = Side::new(Home::new().with("BETHINK_SESSION_MEMORY__ENABLED", "false"));
    for side in [&mut noting, &mut still] {
        begin(side);
    }
    until(PATIENCE, || hangs(&server).then_some(())).expect("notes to be asked for");
    for round in 0..ROUNDS {
        let mut order = [&mut noting, &mut still];
        // Who goes first changes too, and neither works while the other is measured.
        order.rotate_left(round % 2);
        order.into_iter().for_each(|side| side.turns(TURNS, WORDS));
    }
    assert!(hangs(&server), "the call ended before the measurement: {:?}", server.counts());
    let told = format!("{}, {} of notes were done", fault.name(), noting.updates());
    let row = |what: &str, one: &[_], other: &[_]| {
        let what = format!("{what} while the model for notes hangs, p99, to without notes");
        compared(&what, one, other, GOAL, &told)
    };
    vec![
        row("appends", &noting.appends, &still.appends),
        row("prompts", &noting.prompts, &still.prompts),
    ]
}

fn begin(side: &mut Side) {
    let mut client = side.daemon.client();
    for _ in 0..BEGIN {
        side.append(&mut client, BEGIN_WORDS);
    }
    side.appends.clear();
}

/// A call is under way, and its client has not left.
fn hangs(server: &Server) -> bool {
    let counts = server.counts();
    counts.requests > counts.left
}
