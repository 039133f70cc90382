//! Finds topics that others link to. They are not removed.

use std::collections::BTreeSet;

use bethink_memdir::Name;

use crate::bench::DreamBench;

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
        rest.get(..rest.find(['|', '#', ']', '\n'])?)
    });
    let file = text.match_indices(".md").map(|(end, _)| {
        let outside =
            |c: char| c.is_whitespace() || matches!(c, '(' | '<' | '[' | '`' | '"' | '\'');
        let start = text[..end].rfind(outside).map_or(0, |at| at + 1);
        text.get(start..end).unwrap_or_default().trim_start_matches(|c: char| !c.is_alphanumeric())
    });
    let last = |target: &str| target.rfind('/').map_or(0, |at| at + 1);
    wiki.chain(file).flat_map(|target| [target, &target[last(target)..]]).collect()
}
