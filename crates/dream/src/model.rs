//! A model's consolidation, judged: it edits a copy, and what comes of it is a plan like any other.
//!
//! The embedded plan is made first and the copy is what it leaves, so that a model starts from order and the
//! safe part stands whatever it does. Each edit is then looked at by itself; one that loses something is left
//! out and told, and where too much would go, all of them are.

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

/// What a model is given to work on: the directory as the embedded plan leaves it.
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

/// The embedded plan with those of a model's edits that lose nothing.
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
    const WHY: &str = "the model's edit; every sentence that it replaces is still in some topic";
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
