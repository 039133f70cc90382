//! What searches found: the places in files that the work is about.

use bethink_facts::rows::{common_root, file_name, mark};

use crate::ladder::SummaryRequest;

use super::rows::below;
use super::select::{PassageCandidate, PassageGroup, freshness};

/// Value of a search result from the current turn, and from an earlier one. An earlier one is worth less, because its
/// turn's answer already says what it led to.
const THIS_TURN: f32 = 1.0;
const EARLIER_TURN: f32 = 0.2;
/// Share of that value that a single line found by the search gets.
const ONE_LINE: f32 = 0.6;

pub(super) fn groups(request: &SummaryRequest<'_>) -> Vec<PassageGroup> {
    let facts = request.facts;
    let root = common_root(facts.tools.files());
    let turn = facts.user.last().map(|said| said.seq).unwrap_or_default();
    let hidden = facts.tools.searches.iter().filter(|found| request.is_hidden(found.seq));
    let group = |found: &bethink_facts::SearchFact| {
        let worth = if found.seq > turn { THIS_TURN } else { EARLIER_TURN };
        let worth = worth * freshness(facts, found.seq);
        let text = below(&found.sentence(), &root);
        let sentence = PassageCandidate { text, worth, is_chosen: false };
        let lines = found.files.iter().flat_map(|file| {
            let name = file_name(&file.path);
            file.lines.iter().map(move |(number, text)| format!("{name}:{number}: `{text}`"))
        });
        let worth = worth * ONE_LINE;
        let lines = lines.map(|text| PassageCandidate { text, worth, is_chosen: false });
        let passages = std::iter::once(sentence).chain(lines).collect();
        let head = format!("- {} ", mark(found.seq));
        PassageGroup { head, seq: found.seq, is_edited: false, passages }
    };
    hidden.map(group).collect()
}
