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

/// Returns the claims in the daemon's own topics. In other topics, the date of a claim is unknown.
fn claims(name: &Name, page: &TopicState) -> Vec<DatedClaim> {
    if !page.is_own() {
        return Vec::new();
    }
    let (body, parts) = (page.body(), timeline(page));
    let said_at = |at: usize| {
        let next = parts.partition_point(|(range, _)| range.end <= at);
        parts.get(next).filter(|(range, _)| range.contains(&at))
    };
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

/// Maximum number of claims about one subject that others are compared with: the newest ones. If there are more, they
/// are a list, and comparing each with each would take quadratic time.
const MAX_NEWER: usize = 64;

/// Maps older claims to the newest claim that replaces each.
fn pairs(found: &[DatedClaim]) -> BTreeMap<usize, usize> {
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, one) in found.iter().enumerate() {
        for key in one.claim.keys() {
            by_key.entry(key).or_default().push(at);
        }
    }
    let mut pairs: BTreeMap<usize, usize> = BTreeMap::new();
    for mut alike in by_key.into_values() {
        alike.sort_by_key(|at| std::cmp::Reverse(found[*at].said));
        for &newer in alike.iter().take(MAX_NEWER) {
            for &older in &alike {
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
    let (Some(page), Some((first, last))) = (bench.pages().get(name), marks.first()) else {
        return;
    };
    let (what, why) = (
        format!("marked as superseded: {}", quoted(&first.text)),
        format!("a later statement says: {}", quoted(&last.text)),
    );
    let says = page.header.description.as_deref();
    let says = says.map(|says| (says, normal(says)));
    let (old, mut body, mut read, mut description) = (page.body(), String::new(), 0, None);
    for (older, newer) in marks {
        let (text, remark) = (&older.text, remark(older, newer));
        body.push_str(&old[read..older.range.start]);
        body.push_str(&struck(text, &remark));
        read = older.range.end;
        if let Some((says, _)) = says.as_ref().filter(|(_, says)| *says == normal(text)) {
            description = description.or_else(|| Some(format!("{says} ({remark})")));
        }
    }
    body.push_str(&old[read..]);
    let text = page.with_body(&body);
    let text = match description {
        Some(words) => with_header(text, HeaderChange::Description(&words)),
        None => text,
    };
    bench.write(name, text, &what, &why);
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
