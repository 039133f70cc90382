//! Consolidation by a model: it edits a copy, its edits are judged, and the result is a plan like any other.
//!
//! The embedded plan is made first, and the model edits its result. So the embedded plan takes effect even if the
//! model's edits are refused. Each edit is judged separately: one that loses something is refused and reported. If all
//! edits together would change too much, all are refused.

mod instruction;
mod judge;

use std::collections::BTreeMap;

use bethink_memdir::DirectoryFile;
use bethink_transcript::UnixMicros;

use crate::bench::DreamBench;
use crate::directory::{DreamDirectory, TaughtTopic};
use crate::plan::DreamPlan;
use crate::prune;
use judge::TopicEdit;

pub use instruction::{DreamQuestion, INSTRUCTION, question};
pub use judge::{EditedCopy, RefusedEdit};

#[derive(Clone, Debug)]
pub struct Rewriting {
    pub plan: DreamPlan,
    pub refused: Vec<RefusedEdit>,
    pub taken: usize,
}

/// Returns the copy for a model: the directory after the embedded plan.
pub fn copy(directory: &DreamDirectory, plan: &DreamPlan) -> BTreeMap<DirectoryFile, String> {
    let topic =
        |topic: &crate::DreamTopic| (DirectoryFile::Topic(topic.name.clone()), topic.text.clone());
    let mut files: BTreeMap<DirectoryFile, String> = directory.topics.iter().map(topic).collect();
    files.extend(directory.index.iter().map(|text| (DirectoryFile::Index, text.clone())));
    for change in &plan.changes {
        match &change.after {
            Some(text) => files.insert(change.file.clone(), text.clone()),
            None => files.remove(&change.file),
        };
    }
    files
}

/// Returns the embedded plan together with those of the model's edits that lose nothing.
pub fn rewritten(
    directory: &DreamDirectory,
    taught: &[TaughtTopic],
    now: UnixMicros,
    edited: &EditedCopy,
) -> Rewriting {
    let mut bench = crate::consolidated(directory, taught);
    let (edits, refused) = judge::judge(&bench, edited);
    let taken = edits.len();
    for edit in edits {
        take(&mut bench, edit);
    }
    prune::prune(&mut bench, now);
    Rewriting { plan: bench.finish(), refused, taken }
}

fn take(bench: &mut DreamBench, edit: TopicEdit) {
    const WHY: &str = "a model made this edit, and it passed the checks for lost and invented text";
    match edit {
        TopicEdit::Write { name, text } => {
            let what = if bench.pages().contains_key(&name) { "rewritten" } else { "a new topic" };
            bench.write(&name, text, what, WHY);
        }
        TopicEdit::Merge { name, into } => {
            let what = format!("merged into {}", into.file());
            bench.remove(&name, &what, WHY);
        }
    }
}
