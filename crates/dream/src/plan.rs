//! What a dream would change, step by step: looked at first, applied file by file.

pub use bethink_api::DreamPhase as Phase;
use bethink_memdir::{DirectoryFile, Hash, Scope};
use similar::TextDiff;

/// Lines around a change that a diff shows, as `diff -u` does.
const CONTEXT_LINES: usize = 3;

/// One thing that is done to one file. A later step of the same file begins where the earlier one ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    pub phase: Phase,
    pub what: String,
    pub why: String,
    pub file: DirectoryFile,
    /// Of the text that the step was made for; `None`: no such file.
    pub before_hash: Option<Hash>,
    /// `None`: the file goes.
    pub after: Option<String>,
}

/// What all steps do to one file together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    pub file: DirectoryFile,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl PlannedChange {
    /// What the file must hold for the change to be made.
    pub fn expected(&self) -> Option<Hash> {
        self.before.as_ref().map(|text| Hash::of(text.as_bytes()))
    }
}

/// A sentence or a line that stands in no file any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedText {
    pub file: DirectoryFile,
    pub text: String,
    pub why: String,
}

/// Something that was seen and is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub phase: Phase,
    pub text: String,
}

/// All that a dream would do to one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DreamPlan {
    pub scope: Scope,
    pub steps: Vec<PlannedStep>,
    /// In the order in which they are safe to make: what takes a text over comes before what goes, and the
    /// index comes last, so that whoever is stopped on the way leaves something twice and nothing missing.
    pub changes: Vec<PlannedChange>,
    pub dropped: Vec<DroppedText>,
    pub notes: Vec<Note>,
}

impl DreamPlan {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The plan as a unified diff; `/dev/null` stands where a file is not.
pub fn diff(plan: &DreamPlan) -> String {
    plan.changes.iter().map(file_diff).collect()
}

fn file_diff(change: &PlannedChange) -> String {
    let side = |letter: &str, text: &Option<String>| match text {
        Some(_) => format!("{letter}/{}", change.file),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let texts = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    texts
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&side("a", &change.before), &side("b", &change.after))
        .to_string()
}
