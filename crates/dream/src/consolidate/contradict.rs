//! Marks statements that later ones replace, with the date, instead of removing them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use bethink_memdir::Name;
use bethink_memdir::header::HeaderChange;
use jiff::civil::Date;

use super::statement::Claim;
use super::timeline::{is_ours, timeline};
use crate::bench::{DreamBench, TopicState, quoted, with_header};
use crate::text::sentences;
use bethink_statement::normal;

/// Marks the beginning and end of a superseded statement, which is no longer a claim.
pub(crate) const STRUCK: &str = "~~";

pub(super) fn mark_superseded(bench: &mut DreamBench) {
    let found: Vec<DatedClaim> =
        bench.pages().iter().flat_map(|(name, page)| claims(name, page)).collect();
    let mut marks: BTreeMap<&Name, Vec<ClaimPair<'_>>> = BTreeMap::new();
    for (older, newer) in pairs(&found) {
        let (older, newer) = (&found[older], &found[newer]);
        marks.entry(&older.name).or_default().push((older, newer));
    }
    for (name, marks) in marks {
        mark(bench, name, &marks);
    }
}

struct DatedClaim {
    name: Name,
    range: Range<usize>,
    text: String,
    said: Date,
    claim: Claim,
}

/// An older claim, and the newer one that replaces it.
type ClaimPair<'a> = (&'a DatedClaim, &'a DatedClaim);

/// Returns the claims in the daemon's own topics. Of other topics' claims, the date is unknown.
fn claims(name: &Name, page: &TopicState) -> Vec<DatedClaim> {
    if !page.is_own() {
        return Vec::new();
    }
    let (body, parts) = (page.body(), timeline(page));
    let said_at = |at: usize| parts.iter().find(|(range, _)| range.contains(&at));
    let mut found = Vec::new();
    for sentence in sentences(body) {
        let text = &body[sentence.range.clone()];
        let Some((_, said)) = said_at(sentence.range.start) else { continue };
        if is_ours(text) || text.contains(STRUCK) {
            continue;
        }
        if let Some(claim) = Claim::read(text.trim_start_matches(['>', ' '])) {
            let (name, range, text) = (name.clone(), sentence.range, text.to_owned());
            found.push(DatedClaim { name, range, text, said: *said, claim });
        }
    }
    found
}

/// Maps older claims to the newest claim that replaces each.
fn pairs(found: &[DatedClaim]) -> BTreeMap<usize, usize> {
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, one) in found.iter().enumerate() {
        for key in one.claim.keys() {
            by_key.entry(key).or_default().push(at);
        }
    }
    let mut pairs: BTreeMap<usize, usize> = BTreeMap::new();
    for alike in by_key.values() {
        for &newer in alike {
            for &older in alike {
                let (new, old) = (&found[newer], &found[older]);
                let newest = pairs.get(&older).is_none_or(|known| found[*known].said < new.said);
                if new.said > old.said && newest && new.claim.supersedes(&old.claim) {
                    pairs.insert(older, newer);
                }
            }
        }
    }
    pairs
}

fn mark(bench: &mut DreamBench, name: &Name, marks: &[ClaimPair<'_>]) {
    let Some(page) = bench.pages().get(name) else { return };
    let (mut body, mut description) = (page.body().to_owned(), None);
    // Begin at the end, so that earlier positions stay valid.
    for (older, newer) in marks.iter().rev() {
        let (text, remark) = (&older.text, remark(older, newer));
        body.replace_range(older.range.clone(), &struck(text, &remark));
        let says = page.header.description.as_deref();
        if let Some(says) = says.filter(|says| normal(says) == normal(text)) {
            description = Some(format!("{says} ({remark})"));
        }
    }
    let text = page.with_body(&body);
    let text = match description {
        Some(words) => with_header(text, HeaderChange::Description(&words)),
        None => text,
    };
    for (older, newer) in marks {
        let what = format!("marked as superseded: {}", quoted(&older.text));
        let why = format!("said later: {}", quoted(&newer.text));
        bench.write(name, text.clone(), &what, &why);
    }
}

fn remark(older: &DatedClaim, newer: &DatedClaim) -> String {
    let day = newer.said;
    if older.name == newer.name {
        return format!("superseded {day}");
    }
    format!("superseded {day}, see [[{}]]", newer.name)
}

/// Strikes out a statement, except for the quotation mark before it.
fn struck(text: &str, remark: &str) -> String {
    let lead = text.len() - text.trim_start_matches(['>', ' ']).len();
    format!("{}{STRUCK}{}{STRUCK} ({remark})", &text[..lead], &text[lead..])
}
