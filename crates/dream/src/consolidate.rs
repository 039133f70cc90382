//! The third phase: what is said twice, in days that passed, or against what was said later.
//!
//! A person's file is read and left as it is, with two exceptions in which nothing is lost: a line that stands
//! twice under one heading, and a topic of which another one holds every sentence.

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

/// Until nothing changes: a merged topic may hold what a third one says.
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
