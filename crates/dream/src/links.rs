//! Finds topics that others link to. They are not removed.

use std::collections::BTreeSet;

use bethink_memdir::Name;
use bethink_memdir::name::{MOST_BYTES, MOST_PARTS};

use crate::bench::DreamBench;

/// Maximum length of a name that is searched for, in bytes.
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
    // No part of the text is read twice: a search from each `[[` would take quadratic time.
    let wiki = text.split("[[").skip(1).filter_map(|rest| {
        let end = rest.find(['|', '#', ']', '\n'])?;
        Some(&rest[..end])
    });
    let outside = |c: char| c.is_whitespace() || matches!(c, '(' | '<' | '[' | '`' | '"' | '\'');
    let file = text.split(outside).flat_map(|word| {
        let names = [word.split_once(".md"), word.rsplit_once(".md")];
        names
            .into_iter()
            .flatten()
            .map(|(name, _)| name.trim_start_matches(|c: char| !c.is_alphanumeric()))
    });
    let last = |target: &str| target.rfind('/').map_or(0, |at| at + 1);
    let targets = wiki.chain(file).flat_map(|target| [target, &target[last(target)..]]);
    targets.filter(|target| (1..=NAME_BYTES).contains(&target.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_names_of_files_are_targets() {
        let of = |text| targets(text).into_iter().collect::<Vec<_>>().join(", ");
        assert_eq!(of("see [[fog]], [[team/tea|Tea]] and [[unclosed"), "fog, tea, team/tea");
        assert_eq!(of("[a](./sub/fog.md#x) or `tea.md`."), "fog, sub/fog, tea");
        assert_eq!(of("a.md-b.md.md"), "a, a.md-b.md");
        assert_eq!(of("no link.mx [x](y)"), "");
    }
}
