//! A model's consolidation, judged: it edits a copy, and what comes of it is a plan like any other.
//!
//! The embedded plan is made first and the copy is what it leaves, so that a model starts from order and the
//! safe part stands whatever it does. Each edit is then looked at by itself; one that loses something is left
//! out and told, and where too much would go, all of them are.

mod instruction;
mod judge;

use std::collections::BTreeMap;

use bethink_memdir::{Name, Source};
use bethink_transcript::UnixMicros;

use crate::bench::Bench;
use crate::directory::{Directory, Taught};
use crate::plan::{File, Phase, Plan};
use crate::{consolidate, gather, orient, prune};

pub use instruction::{INSTRUCTION, Question, question};
pub use judge::Refused;

/// How a model says that a topic may go: it has no tool that removes, and none is offered.
pub const MERGED_INTO: &str = "Merged into ";

/// What a model left of the copy.
#[derive(Clone, Debug, Default)]
pub struct Edited {
    /// Files that were written or changed, whole.
    pub files: BTreeMap<File, String>,
    /// Put into what a model wrote without a source.
    pub source: Source,
}

/// What came of a model's edits.
#[derive(Clone, Debug)]
pub struct Rewriting {
    pub plan: Plan,
    pub refused: Vec<Refused>,
    /// Edits that stand.
    pub taken: usize,
}

/// What a model is given to work on: the directory as the embedded plan leaves it.
pub fn copy(directory: &Directory, plan: &Plan) -> BTreeMap<File, String> {
    let topic = |topic: &crate::Topic| (File::Topic(topic.name.clone()), topic.text.clone());
    let mut files: BTreeMap<File, String> = directory.topics.iter().map(topic).collect();
    files.extend(directory.index.iter().map(|text| (File::Index, text.clone())));
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
    directory: &Directory,
    taught: &[Taught],
    now: UnixMicros,
    edited: &Edited,
) -> Rewriting {
    let mut bench = Bench::open(directory);
    orient::orient(&mut bench);
    gather::gather(&mut bench, taught);
    consolidate::consolidate(&mut bench);
    let (edits, refused) = judge::judge(&bench, edited);
    let taken = edits.len();
    for edit in edits {
        take(&mut bench, edit);
    }
    prune::prune(&mut bench, now);
    Rewriting { plan: bench.finish(), refused, taken }
}

/// An edit that stands.
enum Edit {
    Write { name: Name, text: String },
    Merge { name: Name, into: Name },
}

fn take(bench: &mut Bench, edit: Edit) {
    const WHY: &str = "the model's edit; every sentence that it replaces stands somewhere";
    match edit {
        Edit::Write { name, text } => {
            let what = if bench.pages().contains_key(&name) { "rewritten" } else { "a new topic" };
            bench.write(Phase::Consolidate, &name, text, what, WHY);
        }
        Edit::Merge { name, into } => {
            let what = format!("merged into {}", into.file());
            bench.remove(Phase::Consolidate, &name, &what, WHY);
        }
    }
}
