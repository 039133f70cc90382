//! Conflict files: if two people change a topic, a sync keeps one of the two versions in a separate file.
//!
//! Such files are recognized by their names: ours, such as `fog.conflict-1a2b3c4d`, and those of programs that
//! synchronize folders.

use crate::hash::Hash;
use crate::name::Name;

/// Number of hexadecimal digits of a version's hash that are part of its file name.
const DIGITS: usize = 8;
/// Maximum number of bytes of a topic's name that are kept in the name of its conflict file.
const MOST_STEM: usize = 150;
/// Markers after the topic's name, in lower case: ours, Syncthing's, Dropbox's and Nextcloud's.
const MARKS: [&str; 3] = [".conflict-", ".sync-conflict-", "conflicted copy"];

/// Returns a name such as `fog.conflict-1a2b3c4d`, which is always the same for the same version.
pub fn version_name(name: &Name, text: &[u8]) -> Option<Name> {
    let mut digits = Hash::of(text).to_string();
    digits.truncate(DIGITS);
    let stem = name.as_str();
    let stem = &stem[..stem.floor_char_boundary(MOST_STEM)];
    Name::parse(&format!("{stem}.conflict-{digits}"))
        .or_else(|_| Name::parse(&format!("conflict-{digits}")))
        .ok()
}

/// Returns the name of the topic if the file's name is that of a conflict file.
pub fn topic_of(name: &Name) -> Option<Name> {
    let lower = name.as_str().to_lowercase();
    // In some scripts, the lower-case form has a different length. Such a name has no mark that we could cut at.
    let lower = Some(lower).filter(|lower| lower.len() == name.as_str().len())?;
    let at = MARKS.iter().filter_map(|mark| lower.find(mark)).min()?;
    let mut stem = &name.as_str()[..at];
    if !lower[at..].starts_with('.') {
        // `fog (Ada's conflicted copy 2026-11-23)`
        stem = stem.rsplit_once('(').map_or(stem, |(stem, _)| stem);
    }
    Name::parse(stem.trim_end()).ok()
}

/// Returns whether the text has git's three conflict markers at the beginnings of lines, in order.
pub fn has_markers(text: &str) -> bool {
    let mut lines = text.lines();
    ["<<<<<<< ", "=======", ">>>>>>> "].iter().all(|mark| lines.any(|line| line.starts_with(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_markers_in_order_are_a_conflict() {
        assert!(has_markers("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n"));
        assert!(!has_markers("Title\n=======\n<<<<<<< HEAD\n>>>>>>> main\n"));
        assert!(!has_markers("a <<<<<<< HEAD\n=======\n>>>>>>> main\n"));
    }

    #[test]
    fn a_version_names_its_topic() {
        let of = |name: &str| topic_of(&Name::parse(name).unwrap()).map(|name| name.to_string());
        let fog = Some("fog".to_owned());
        let version = version_name(&Name::parse("fog").unwrap(), b"text").unwrap();
        assert_eq!(of(version.as_str()), fog);
        assert_eq!(of("fog.conflict-1a2b3c4d.conflict-5e6f7a8b"), fog);
        assert_eq!(of("fog.sync-conflict-20261123-101010-ABCDEFG"), fog);
        assert_eq!(of("fog (Ada's conflicted copy 2026-11-23)"), fog);
        assert_eq!(of("plans/fog.conflict-1a2b3c4d"), Some("plans/fog".to_owned()));
        assert_eq!(of("fog"), None);
        assert_eq!(of("conflict-1a2b3c4d"), None);
        assert_eq!(of("conflicts of interest"), None);
    }
}
