//! Finds topics that others link to. They are not removed.

use std::collections::BTreeSet;

use bethink_memdir::Name;
use bethink_memdir::name::{MOST_BYTES, MOST_PARTS};

use crate::bench::DreamBench;

/// Maximum size of a name that is looked for, in bytes.
const NAME_BYTES: usize = MOST_PARTS * (MOST_BYTES + 1);

/// Returns topics that are linked or whose file is named. Links in the index do not count, because it is updated.
pub(crate) fn linked(bench: &DreamBench) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    for (from, page) in bench.pages() {
        let targets = targets(&page.text);
        let named = |name: &&Name| {
            let last = name.as_str().rsplit('/').next().unwrap_or_default();
            *name != from && (targets.contains(name.as_str()) || targets.contains(last))
        };
        if !targets.is_empty() {
            found.extend(bench.pages().keys().filter(named).cloned());
        }
    }
    found
}

/// Returns names in `[[…]]` or before `.md`, with and without their folders.
fn targets(text: &str) -> BTreeSet<&str> {
    let wiki = text.match_indices("[[").filter_map(|(at, _)| {
        let rest = &text[at + 2..];
        let rest = &rest[..rest.floor_char_boundary(NAME_BYTES)];
        rest.get(..rest.find(['|', '#', ']', '\n'])?)
    });
    let file = text.match_indices(".md").map(|(end, _)| {
        let outside =
            |c: char| c.is_whitespace() || matches!(c, '(' | '<' | '[' | '`' | '"' | '\'');
        let before = &text[text.ceil_char_boundary(end.saturating_sub(NAME_BYTES))..end];
        let name = before.rsplit(outside).next().unwrap_or_default();
        name.trim_start_matches(|c: char| !c.is_alphanumeric())
    });
    let last = |target: &str| target.rfind('/').map_or(0, |at| at + 1);
    wiki.chain(file).flat_map(|target| [target, &target[last(target)..]]).collect()
}
