//! The third phase: merges duplicates, dates relative days, and marks statements that later ones replaced.
//!
//! A person's file is not changed, with two exceptions in which nothing is lost: a line that is repeated under
//! one heading, and a topic whose every sentence is in another one.

mod contradict;
mod dates;
mod mend;
mod merge;
mod repeated;
mod statement;
mod timeline;

use crate::bench::DreamBench;
use crate::limits::ROUNDS;
use crate::plan::Phase;

pub(crate) use contradict::STRUCK;
pub(crate) use timeline::{Meant, meant};

/// Repeats until nothing changes: a merged topic may duplicate a third one.
pub(crate) fn consolidate(bench: &mut DreamBench) {
    bench.phase = Phase::Consolidate;
    mend::mend(bench);
    dates::tell_dates(bench);
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
