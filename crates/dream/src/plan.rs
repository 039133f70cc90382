//! A dream's plan: what it would change. It can be shown as steps and as a diff, and is applied file by file.

pub use bethink_api::{DreamDropped, DreamNote, DreamPhase as Phase, DreamStep};
use bethink_memdir::{DirectoryFile, Hash, Scope};
use similar::TextDiff;

/// Number of lines that a diff shows around a change, as in `diff -u`.
const CONTEXT_LINES: usize = 3;

/// The change that all steps together make to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    pub file: DirectoryFile,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl PlannedChange {
    /// Returns the hash that the file must have before the change is made.
    pub fn expected(&self) -> Option<Hash> {
        self.before.as_ref().map(|text| Hash::of(text.as_bytes()))
    }
}

/// All changes that a dream would make in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DreamPlan {
    pub scope: Scope,
    pub steps: Vec<DreamStep>,
    /// In a safe order: a file that receives text comes before the file that is removed, and the index comes last. If
    /// applying stops halfway, some text may exist twice, but none is missing.
    pub changes: Vec<PlannedChange>,
    pub dropped: Vec<DreamDropped>,
    pub notes: Vec<DreamNote>,
}

impl DreamPlan {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// Returns the plan as a unified diff, with `/dev/null` for a missing file.
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
