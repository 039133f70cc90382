//! The third phase: merges duplicates, adds dates to relative days, and marks statements that later ones replace.
//!
//! A person's file is not changed, with two exceptions in which nothing is lost: a line that is repeated under the same
//! heading is removed, and so is a topic if another topic has all of its sentences.

mod contradict;
mod dates;
mod merge;
mod repair;
mod repeated;
mod statement;
mod timeline;

use crate::bench::DreamBench;
use crate::limits::ROUNDS;
use crate::plan::Phase;

pub(crate) use contradict::STRUCK;
pub(crate) use timeline::{TextContent, own_sentences};

/// Repeats until nothing changes: a merged topic may duplicate a third one.
pub(crate) fn consolidate(bench: &mut DreamBench) {
    bench.phase = Phase::Consolidate;
    repair::repair_headers(bench);
    dates::add_dates(bench);
    for _ in 0..ROUNDS {
        let steps = bench.steps.len();
        repeated::drop_repeated(bench);
        contradict::mark_superseded(bench);
        merge::merge(bench);
        if bench.steps.len() == steps {
            return;
        }
    }
}
