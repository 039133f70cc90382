//! Code as it was written: excerpts from the edits outside the kept tail, if the summary has room for them.

use std::collections::HashSet;

use bethink_facts::rows::mark;
use bethink_facts::{Facts, ToolEdit, names};
use bethink_transcript::text::shorten;

use crate::ladder::SummaryRequest;

use super::choose::{freshness, needs};

/// Code gets this percentage of the room beyond this many bytes.
const FROM_BYTES: usize = 6_000;
const PERCENT: usize = 45;
/// Maximum size of an excerpt, which is the beginning of an edit, in bytes.
const EXCERPT_BYTES: usize = 700;
/// Number of messages after which the value of an edit is halved.
const HALF_LIFE: f32 = 120.0;
const HEADING: &str =
    "Code as it was written, as JSON strings, so that exact edits can copy tabs and line endings\n";

/// Returns excerpts in a part of `room` bytes, which files and names share; empty if there is little room.
pub(super) fn excerpts(request: &SummaryRequest<'_>, room: usize) -> String {
    within(request, room.saturating_sub(FROM_BYTES) * PERCENT / 100)
}

/// Returns excerpts in up to `limit` bytes.
pub(super) fn within(request: &SummaryRequest<'_>, limit: usize) -> String {
    let facts = request.facts;
    let mut left = limit.saturating_sub(HEADING.len());
    let mut chosen: Vec<(&ToolEdit, String)> = Vec::new();
    for edit in by_worth(request) {
        let row = row(facts, edit);
        if row.len() > left {
            break;
        }
        left -= row.len();
        chosen.push((edit, row));
    }
    if chosen.is_empty() {
        return String::new();
    }
    chosen.sort_by_key(|(edit, _)| edit.seq);
    let rows: String = chosen.into_iter().map(|(_, row)| row).collect();
    format!("{HEADING}{rows}")
}

fn row(facts: &Facts, edit: &ToolEdit) -> String {
    let name = facts.tools.files().get(edit.file).map_or("", |file| file.name());
    format!("- {} {name}: {}\n", mark(edit.seq), shorten(&edit.code, EXCERPT_BYTES))
}

/// Returns hidden edits by the predicted need of their names, weighted by length and age. Text that was written twice
/// is listed once.
fn by_worth<'a>(request: &SummaryRequest<'a>) -> Vec<&'a ToolEdit> {
    let facts = request.facts;
    let needs = needs(facts);
    let mut seen = HashSet::new();
    let mut worth: Vec<(f32, &ToolEdit)> = Vec::new();
    for edit in facts.tools.edits.iter().rev().filter(|edit| request.is_hidden(edit.seq)) {
        let code = shorten(&edit.code, EXCERPT_BYTES);
        if !seen.insert(code.clone()) {
            continue;
        }
        let mut found = HashSet::new();
        names::names_in(&code, &mut found);
        let need: f32 = found.iter().filter_map(|name| needs.get(name)).sum();
        let fresh = freshness(facts, edit.seq, HALF_LIFE);
        worth.push((need * (0.3 + fresh) / (code.len() as f32 + 60.0), edit));
    }
    worth.sort_by(|a, b| b.0.total_cmp(&a.0));
    worth.into_iter().map(|(_, edit)| edit).collect()
}
