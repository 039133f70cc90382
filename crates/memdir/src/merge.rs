//! Decides what to do with each file when both sides have changed a directory. Has no side effects.
//!
//! Nothing is lost: if both sides changed a file, both versions are kept, and an edit wins over a deletion. The
//! other side's version keeps the name, so that all sides end up with the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::file::DirectoryFile;
use crate::index::{LineChange, TopicWords};
use crate::{conflict, index, rejections};

/// The files of one side, with their content.
pub type FileSet = BTreeMap<DirectoryFile, Arc<[u8]>>;

/// The new content of a file; `None` if it is removed.
pub type NewContent = Option<Arc<[u8]>>;

/// A file that has changed on at least one side, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    pub file: DirectoryFile,
    pub what: FileChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// Write the other side's version here.
    Pull(NewContent),
    /// Give the other side the local version.
    Push(NewContent),
    /// Write this content on both sides.
    Merged(Arc<[u8]>),
    /// The other side's version keeps the name, and the local version gets another name.
    KeepBoth { theirs: Arc<[u8]>, ours: Arc<[u8]>, conflict_file: DirectoryFile },
}

/// Plans a step for each file that must change on at least one side. Removals here are first, because a file's new name may differ from
/// the old one only in upper and lower case.
pub fn plan(base: &FileSet, ours: &FileSet, theirs: &FileSet) -> Vec<PlanStep> {
    let files: BTreeSet<&DirectoryFile> =
        base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let is_gone = |file: &&DirectoryFile| !ours.contains_key(*file) && !theirs.contains_key(*file);
    let resolved: BTreeSet<DirectoryFile> =
        base.keys().filter(is_gone).filter_map(versioned_topic).collect();
    let steps = files.into_iter().filter_map(|file| {
        let sides = (base.get(file), ours.get(file), theirs.get(file));
        let what = match sides {
            // Each side resolved the same conflict, in another way. One of them may not have changed the topic.
            (_, Some(ours), Some(theirs)) if ours != theirs && resolved.contains(file) => {
                both(file, base.get(file), ours, theirs)
            }
            (base, ours, theirs) => decide(file, base, ours, theirs)?,
        };
        Some(PlanStep { file: file.clone(), what })
    });
    let mut steps: Vec<PlanStep> = steps.collect();
    steps.sort_by_key(|step| step.what != FileChange::Pull(None));
    steps
}

/// Returns the topic of a conflict file.
fn versioned_topic(file: &DirectoryFile) -> Option<DirectoryFile> {
    let DirectoryFile::Topic(name) = file else { return None };
    conflict::topic_of(name).map(DirectoryFile::Topic)
}

fn decide(
    file: &DirectoryFile,
    base: Option<&Arc<[u8]>>,
    ours: Option<&Arc<[u8]>>,
    theirs: Option<&Arc<[u8]>>,
) -> Option<FileChange> {
    if ours == theirs {
        return None;
    }
    if ours == base {
        return Some(FileChange::Pull(theirs.cloned()));
    }
    if theirs == base {
        return Some(FileChange::Push(ours.cloned()));
    }
    match (ours, theirs) {
        (None, theirs) => Some(FileChange::Pull(theirs.cloned())),
        (ours, None) => Some(FileChange::Push(ours.cloned())),
        (Some(ours), Some(theirs)) => Some(both(file, base, ours, theirs)),
    }
}

/// Plans the step for a file that both sides changed in different ways.
fn both(
    file: &DirectoryFile,
    base: Option<&Arc<[u8]>>,
    ours: &Arc<[u8]>,
    theirs: &Arc<[u8]>,
) -> FileChange {
    let merge = match file {
        DirectoryFile::Index => Some(index::merge as fn(&str, &str, &str) -> String),
        DirectoryFile::Rejections => Some(rejections::merge as _),
        DirectoryFile::Topic(_) => None,
    };
    if let Some(merge) = merge
        && let (Ok(ours), Ok(theirs)) = (std::str::from_utf8(ours), std::str::from_utf8(theirs))
    {
        let base = base.and_then(|base| std::str::from_utf8(base).ok()).unwrap_or("");
        return FileChange::Merged(merge(base, ours, theirs).into_bytes().into());
    }
    FileChange::KeepBoth {
        theirs: theirs.clone(),
        ours: ours.clone(),
        conflict_file: conflict_file(file, ours),
    }
}

/// Returns the new file name for the local version of a topic that both sides changed.
fn conflict_file(file: &DirectoryFile, ours: &[u8]) -> DirectoryFile {
    let DirectoryFile::Topic(name) = file else { return file.clone() };
    conflict::version_name(name, ours).map_or_else(|| file.clone(), DirectoryFile::Topic)
}

/// A topic's line in the index after a step.
#[derive(Clone, Debug)]
pub struct NeededLine {
    words: TopicWords,
    /// Whether the line is added if the index lacks it.
    is_added: bool,
    /// The words of the topic's other versions. A line with one of them gets the new words.
    old: Vec<TopicWords>,
}

/// Returns the lines that the index needs, by the steps' files: for each topic that a step changes; for a local version that gets another name, described by
/// `says`, and for a topic that one side edited while the other one deleted it, together with its line. `was_known` tells which files
/// both sides had before.
pub fn needed_lines(
    steps: &[PlanStep],
    was_known: impl Fn(&DirectoryFile) -> bool,
    [base, ours, theirs]: [&FileSet; 3],
    says: impl Fn(&str) -> String,
) -> BTreeMap<DirectoryFile, Vec<NeededLine>> {
    let needed = steps.iter().filter_map(|PlanStep { file, what }| {
        let DirectoryFile::Topic(topic) = file else { return None };
        let (FileChange::Pull(Some(content))
        | FileChange::Push(Some(content))
        | FileChange::KeepBoth { theirs: content, .. }) = what
        else {
            return None;
        };
        let words =
            |content: &Arc<[u8]>| Some(TopicWords::of(topic, std::str::from_utf8(content).ok()?));
        let versions = [base, ours, theirs].into_iter().filter_map(|side| side.get(file));
        let own = words(content).map(|new| NeededLine {
            words: new,
            is_added: was_known(file) && !(ours.contains_key(file) && theirs.contains_key(file)),
            old: versions.filter_map(words).collect(),
        });
        let aside = match what {
            FileChange::KeepBoth { conflict_file: DirectoryFile::Topic(name), .. } => {
                let topic = file.to_string();
                let topic = topic.trim_end_matches(".md");
                let title = format!("{topic}, another version");
                let words = TopicWords { name: name.clone(), title, description: says(topic) };
                Some(NeededLine { words, is_added: true, old: Vec::new() })
            }
            _ => None,
        };
        Some((file.clone(), own.into_iter().chain(aside).collect()))
    });
    needed.collect()
}

/// Returns the step for the index with the lines that it needs. `here` is the local index. A directory without an index gets none.
pub fn with_lines(
    step: Option<PlanStep>,
    here: Option<&Arc<[u8]>>,
    lines: &[NeededLine],
) -> Option<PlanStep> {
    let planned = match step.as_ref().map(|step| &step.what) {
        Some(FileChange::Pull(content) | FileChange::Push(content)) => content.as_deref(),
        Some(FileChange::Merged(bytes)) => Some(&**bytes),
        // It is not text.
        Some(FileChange::KeepBoth { .. }) => return step,
        None => Some(&**here?),
    };
    let Ok(planned) = std::str::from_utf8(planned.unwrap_or_default()) else { return step };
    let added = lines.iter().filter(|line| line.is_added);
    let text = added.fold(planned.to_owned(), |text, NeededLine { words, .. }| {
        index::add(&text, &words.name, &words.title, &words.description)
    });
    let changes = lines.iter().flat_map(|NeededLine { words, old, .. }| {
        let old = old.iter().filter(move |old| *old != words);
        old.map(|old| LineChange { old: old.line(), new: words.line() })
    });
    let text = index::follow(&text, &changes.collect::<Vec<_>>());
    if text == planned {
        return step;
    }
    let what = FileChange::Merged(text.into_bytes().into());
    Some(PlanStep { file: DirectoryFile::Index, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(files: &[(&str, &str)]) -> FileSet {
        let one = |(path, text): &(&str, &str)| {
            (DirectoryFile::parse(path).unwrap(), text.as_bytes().into())
        };
        files.iter().map(one).collect()
    }

    fn check(base: &[(&str, &str)], ours: &[(&str, &str)], theirs: &[(&str, &str)], expect: &str) {
        let steps = plan(&side(base), &side(ours), &side(theirs));
        let text = |content: &NewContent| match content {
            None => "-".to_owned(),
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        };
        let told: Vec<String> = steps
            .iter()
            .map(|step| match &step.what {
                FileChange::Pull(content) => format!("{} in {}", step.file, text(content)),
                FileChange::Push(content) => format!("{} out {}", step.file, text(content)),
                FileChange::Merged(bytes) => {
                    format!("{} merged {}", step.file, text(&Some(bytes.clone())))
                }
                FileChange::KeepBoth { theirs, ours, conflict_file } => {
                    let (theirs, ours) = (text(&Some(theirs.clone())), text(&Some(ours.clone())));
                    format!(
                        "{} theirs {theirs} ours {ours} conflict_file {conflict_file}",
                        step.file
                    )
                }
            })
            .collect();
        assert_eq!(told.join(", "), expect);
    }

    #[test]
    fn what_one_side_changed_goes_to_the_other() {
        check(&[], &[], &[], "");
        check(&[("a", "1")], &[("a", "1")], &[("a", "1")], "");
        check(&[("a", "1")], &[("a", "2")], &[("a", "2")], "");
        check(&[], &[], &[("a", "1")], "a.md in 1");
        check(&[], &[("a", "1")], &[], "a.md out 1");
        check(&[("a", "1")], &[("a", "1")], &[("a", "2")], "a.md in 2");
        check(&[("a", "1")], &[("a", "2")], &[("a", "1")], "a.md out 2");
        check(&[("a", "1")], &[("a", "1")], &[], "a.md in -");
        check(&[("a", "1")], &[], &[("a", "1")], "a.md out -");
    }

    #[test]
    fn an_old_name_is_removed_before_the_new_one_is_written() {
        let (old, new) = ([("dam", "1")], [("Dam", "1")]);
        check(&old, &old, &new, "dam.md in -, Dam.md in 1");
    }

    #[test]
    fn an_edit_wins_over_a_deletion() {
        check(&[("a", "1")], &[], &[("a", "2")], "a.md in 2");
        check(&[("a", "1")], &[("a", "2")], &[], "a.md out 2");
    }

    #[test]
    fn a_topic_that_one_side_deleted_and_the_other_edited_keeps_its_line() {
        let line = "- [Dam](dam.md) — it leaks\n";
        let base = side(&[("MEMORY.md", line), ("dam", "It leaks.")]);
        let edited = side(&[("MEMORY.md", line), ("dam", "It leaks a lot.")]);
        let deleted = side(&[]);
        for (ours, theirs) in [(&edited, &deleted), (&deleted, &edited)] {
            let mut steps = plan(&base, ours, theirs);
            let index = steps.iter().position(|step| step.file == DirectoryFile::Index);
            let index = index.map(|at| steps.remove(at));
            let was_known = |file: &DirectoryFile| base.contains_key(file);
            let needed = needed_lines(&steps, was_known, [&base, ours, theirs], |_| String::new());
            let lines: Vec<NeededLine> = needed.into_values().flatten().collect();
            let here = ours.get(&DirectoryFile::Index);
            let Some(PlanStep { what: FileChange::Merged(text), .. }) =
                with_lines(index.clone(), here, &lines)
            else {
                panic!("{index:?}")
            };
            assert_eq!(&*text, "- [Dam](dam.md) — It leaks a lot.\n".as_bytes());
            // Nothing is added without a need, and no index is created.
            assert_eq!(with_lines(index.clone(), here, &[]), index);
            assert_eq!(with_lines(None, None, &lines), None);
        }
        let steps = plan(&side(&[]), &deleted, &edited);
        let sides = [&deleted, &deleted, &edited];
        let lines = needed_lines(&steps, |_| false, sides, str::to_owned).into_values().flatten();
        assert_eq!(
            with_lines(None, Some(&b"".as_slice().into()), &lines.collect::<Vec<_>>()),
            None
        );
    }

    #[test]
    fn a_line_that_nobody_worded_follows_the_version_that_keeps_the_name() {
        let topic = |about: &str| format!("---\ndescription: {about}\n---\n\nText.\n");
        let (old, short, long) = (topic("old"), topic("short"), topic("much longer"));
        let line = |about: &str| format!("- [dam](dam.md) — {about}\n");
        let check = |index: &str, expect: &str| {
            let base = side(&[("dam", &old)]);
            let (ours, theirs) = (side(&[("dam", &long)]), side(&[("dam", &short)]));
            let steps = plan(&base, &ours, &theirs);
            let needed = needed_lines(&steps, |_| true, [&base, &ours, &theirs], str::to_owned);
            let lines: Vec<NeededLine> = needed.into_values().flatten().collect();
            let here = index.as_bytes().into();
            let step = with_lines(None, Some(&here), &lines);
            let Some(FileChange::Merged(text)) = step.map(|step| step.what) else { panic!() };
            let text = std::str::from_utf8(&text).unwrap().to_owned();
            assert!(text.starts_with(expect), "{text}");
        };
        check(&line("much longer"), &line("short"));
        check(&line("old"), &line("short"));
        check(&line("my own words"), &line("my own words"));
    }

    #[test]
    fn a_conflict_that_each_side_resolves_in_another_way_is_a_conflict_again() {
        let base = [("dam", "1"), ("dam.conflict-1a2b3c4d", "2")];
        let conflict_file = conflict_file(&DirectoryFile::parse("dam").unwrap(), b"2").to_string();
        let expect = format!("dam.md theirs 1 ours 2 conflict_file {conflict_file}");
        check(&base, &[("dam", "2")], &[("dam", "1")], &expect);
        // If only one side resolved it, the other one follows.
        check(&base, &[("dam", "2")], &base, "dam.md out 2, dam.conflict-1a2b3c4d.md out -");
    }

    #[test]
    fn what_both_changed_is_kept_twice() {
        let conflict_file = conflict_file(&DirectoryFile::parse("a").unwrap(), b"2").to_string();
        let expect = format!("a.md theirs 3 ours 2 conflict_file {conflict_file}");
        check(&[("a", "1")], &[("a", "2")], &[("a", "3")], &expect);
        check(&[], &[("a", "2")], &[("a", "3")], &expect);
        assert!(
            conflict_file.starts_with("a.conflict-") && conflict_file.ends_with(".md"),
            "{conflict_file}"
        );
    }

    #[test]
    fn an_index_is_merged_as_a_set() {
        let base = "- [a](a.md) — one\n";
        let ours = "- [a](a.md) — one\n- [b](b.md) — two\n";
        let theirs = "- [a](a.md) — one\n- [c](c.md) — three\n";
        let steps = plan(
            &side(&[("MEMORY.md", base)]),
            &side(&[("MEMORY.md", ours)]),
            &side(&[("MEMORY.md", theirs)]),
        );
        let FileChange::Merged(merged) = &steps[0].what else { panic!("{steps:?}") };
        let merged = std::str::from_utf8(merged).unwrap();
        for line in ["(a.md)", "(b.md)", "(c.md)"] {
            assert!(merged.contains(line), "{merged}");
        }
    }

    #[test]
    fn long_and_nested_names_have_another_version_too() {
        let long = format!("plans/{}", "ü".repeat(95));
        let DirectoryFile::Topic(name) = conflict_file(&DirectoryFile::parse(&long).unwrap(), b"x")
        else {
            panic!()
        };
        assert!(name.as_str().starts_with("plans/ü"), "{name}");
    }
}
