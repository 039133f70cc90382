//! Patches of several files, in the format of Codex's `apply_patch`.

use crate::written::TextChange;

/// Maximum number of lines read; a longer patch is data.
const LINES: usize = 10_000;

/// What a patch does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilePatch<'a> {
    pub(crate) path: &'a str,
    pub(crate) changes: Vec<TextChange>,
}

/// Returns the files that a patch writes, in the order of the patch.
pub(crate) fn files(patch: &str) -> Vec<FilePatch<'_>> {
    let mut found: Vec<FilePatch<'_>> = Vec::new();
    for line in patch.lines().take(LINES) {
        if let Some(head) = line.strip_prefix("*** ") {
            let updated = head.strip_prefix("Update File: ").map(|path| (path, Vec::new()));
            let whole = || vec![TextChange::default()];
            let added = || head.strip_prefix("Add File: ").map(|path| (path, whole()));
            let Some((path, changes)) = updated.or_else(added) else { continue };
            found.push(FilePatch { path, changes });
            continue;
        }
        let Some(file) = found.last_mut() else { continue };
        if line.starts_with("@@") || file.changes.is_empty() {
            file.changes.push(TextChange { old: Some(String::new()), new: String::new() });
        }
        let Some(change) = file.changes.last_mut() else { continue };
        let (old, new) = match line.split_at_checked(1) {
            Some((" ", text)) => (Some(text), Some(text)),
            Some(("-", text)) => (Some(text), None),
            Some(("+", text)) => (None, Some(text)),
            _ => continue,
        };
        for (lines, text) in [(change.old.as_mut(), old), (Some(&mut change.new), new)] {
            if let (Some(lines), Some(text)) = (lines, text) {
                lines.push_str(text);
                lines.push('\n');
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_read_file_by_file() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn open\n kept\n-old\n+fresh\n\
            *** Add File: b.md\n+one\n+two\n*** Delete File: c\n*** End Patch";
        let change = |old: Option<&str>, new: &str| TextChange {
            old: old.map(str::to_owned),
            new: new.to_owned(),
        };
        assert_eq!(
            files(patch),
            [
                FilePatch {
                    path: "src/a.rs",
                    changes: vec![change(Some("kept\nold\n"), "kept\nfresh\n")]
                },
                FilePatch { path: "b.md", changes: vec![change(None, "one\ntwo\n")] },
            ]
        );
        assert_eq!(files("no patch\n+x"), []);
    }
}
