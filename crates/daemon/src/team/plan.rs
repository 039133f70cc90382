//! What becomes of each file when two sides have changed a directory. Pure: contents in, contents out.
//!
//! Nothing is lost: what both changed is kept twice, and an edit wins over a deletion. What the remote has
//! keeps the name, whoever merges, so that all sides come to the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_memdir::{Hash, Name, index};
use bethink_memdir_fs::File;

/// Hexadecimal digits of a version's hash in the name of its file.
const DIGITS: usize = 8;
/// Bytes of a topic's name that are kept in the name of its other version.
const MOST_STEM: usize = 150;

/// What one side holds.
pub(super) type Side = BTreeMap<File, Arc<[u8]>>;

/// What a file is to hold; `None` is no file.
pub(super) type Content = Option<Arc<[u8]>>;

/// One file on which a side differs from what both come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) file: File,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Theirs comes here.
    In(Content),
    /// Ours goes there.
    Out(Content),
    /// Both get this.
    Merged(Arc<[u8]>),
    /// Theirs keeps the name, ours gets another.
    Apart { theirs: Arc<[u8]>, ours: Arc<[u8]>, aside: File },
}

/// Only what has to change anywhere.
pub(super) fn plan(base: &Side, ours: &Side, theirs: &Side) -> Vec<Step> {
    let files: BTreeSet<&File> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let steps = files.into_iter().filter_map(|file| {
        let what = decide(file, base.get(file), ours.get(file), theirs.get(file))?;
        Some(Step { file: file.clone(), what })
    });
    steps.collect()
}

fn decide(
    file: &File,
    base: Option<&Arc<[u8]>>,
    ours: Option<&Arc<[u8]>>,
    theirs: Option<&Arc<[u8]>>,
) -> Option<What> {
    if ours == theirs {
        return None;
    }
    if ours == base {
        return Some(What::In(theirs.cloned()));
    }
    if theirs == base {
        return Some(What::Out(ours.cloned()));
    }
    match (ours, theirs) {
        (None, theirs) => Some(What::In(theirs.cloned())),
        (ours, None) => Some(What::Out(ours.cloned())),
        (Some(ours), Some(theirs)) => Some(both(file, base, ours, theirs)),
    }
}

/// Both sides changed it, and differently.
fn both(file: &File, base: Option<&Arc<[u8]>>, ours: &Arc<[u8]>, theirs: &Arc<[u8]>) -> What {
    if *file == File::Index
        && let (Ok(ours), Ok(theirs)) = (std::str::from_utf8(ours), std::str::from_utf8(theirs))
    {
        let base = base.and_then(|base| std::str::from_utf8(base).ok()).unwrap_or("");
        return What::Merged(index::merge(base, ours, theirs).into_bytes().into());
    }
    What::Apart { theirs: theirs.clone(), ours: ours.clone(), aside: aside(file, ours) }
}

/// `fog.conflict-1a2b3c4d`: the same version has the same name, wherever and however often it is made.
fn aside(file: &File, ours: &[u8]) -> File {
    let mut digits = Hash::of(ours).to_string();
    digits.truncate(DIGITS);
    let path = file.path();
    let stem = path.strip_suffix(".md").unwrap_or(&path);
    let end = (0..=MOST_STEM.min(stem.len())).rev().find(|at| stem.is_char_boundary(*at));
    let name = format!("{}.conflict-{digits}", &stem[..end.unwrap_or(0)]);
    match Name::parse(&name).or_else(|_| Name::parse(&format!("conflict-{digits}"))) {
        Ok(name) => File::Topic(name),
        // Never: such a name has letters and a dash alone.
        Err(_) => file.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(files: &[(&str, &str)]) -> Side {
        let one =
            |(path, text): &(&str, &str)| (File::parse(path).unwrap(), text.as_bytes().into());
        files.iter().map(one).collect()
    }

    fn check(base: &[(&str, &str)], ours: &[(&str, &str)], theirs: &[(&str, &str)], expect: &str) {
        let steps = plan(&side(base), &side(ours), &side(theirs));
        let text = |content: &Content| match content {
            None => "-".to_owned(),
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        };
        let told: Vec<String> = steps
            .iter()
            .map(|step| match &step.what {
                What::In(content) => format!("{} in {}", step.file, text(content)),
                What::Out(content) => format!("{} out {}", step.file, text(content)),
                What::Merged(bytes) => {
                    format!("{} merged {}", step.file, text(&Some(bytes.clone())))
                }
                What::Apart { theirs, ours, aside } => {
                    let (theirs, ours) = (text(&Some(theirs.clone())), text(&Some(ours.clone())));
                    format!("{} theirs {theirs} ours {ours} aside {aside}", step.file)
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
    fn an_edit_wins_over_a_deletion() {
        check(&[("a", "1")], &[], &[("a", "2")], "a.md in 2");
        check(&[("a", "1")], &[("a", "2")], &[], "a.md out 2");
    }

    #[test]
    fn what_both_changed_is_kept_twice() {
        let aside = aside(&File::parse("a").unwrap(), b"2").to_string();
        let expect = format!("a.md theirs 3 ours 2 aside {aside}");
        check(&[("a", "1")], &[("a", "2")], &[("a", "3")], &expect);
        check(&[], &[("a", "2")], &[("a", "3")], &expect);
        assert!(aside.starts_with("a.conflict-") && aside.ends_with(".md"), "{aside}");
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
        let What::Merged(merged) = &steps[0].what else { panic!("{steps:?}") };
        let merged = std::str::from_utf8(merged).unwrap();
        for line in ["(a.md)", "(b.md)", "(c.md)"] {
            assert!(merged.contains(line), "{merged}");
        }
    }

    #[test]
    fn long_and_nested_names_have_another_version_too() {
        let long = format!("plans/{}", "ü".repeat(95));
        let File::Topic(name) = aside(&File::parse(&long).unwrap(), b"x") else { panic!() };
        assert!(name.as_str().starts_with("plans/ü"), "{name}");
    }
}
