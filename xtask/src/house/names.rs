//! Finds names that more than one type has.
//!
//! A name counts once for each line that defines it. Unlike in the line count, the part after `#[cfg(test)]` is
//! included, because a text search finds it too. Public names are those of `pub struct`, `pub enum`, `pub trait` and
//! `pub type`. All names are those of `struct`, `enum` and `trait` with any visibility, also inside functions. A `type`
//! without `pub` is left out, because it is usually an associated type that a trait names. At 9d2d0ec this gives 79 and
//! 185.

use std::collections::BTreeMap;

use super::workspace::Workspace;

/// A name, and the files that define it. A file that defines it twice is listed twice.
pub(super) struct Repeated {
    pub(super) name: String,
    pub(super) places: Vec<String>,
}

pub(super) fn repeated_public(workspace: &Workspace) -> Vec<Repeated> {
    repeated_by(workspace, public_name)
}

pub(super) fn repeated(workspace: &Workspace) -> Vec<Repeated> {
    repeated_by(workspace, any_name)
}

fn repeated_by(workspace: &Workspace, name_of: fn(&str) -> Option<&str>) -> Vec<Repeated> {
    let mut places = BTreeMap::<&str, Vec<String>>::new();
    for (path, text) in workspace.sources() {
        for name in text.lines().filter_map(name_of) {
            places.entry(name).or_default().push(path.to_owned());
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    let mut repeated: Vec<_> =
        repeated.map(|(name, places)| Repeated { name: name.to_owned(), places }).collect();
    repeated.sort_by_key(|repeated| std::cmp::Reverse(repeated.places.len()));
    repeated
}

fn public_name(line: &str) -> Option<&str> {
    name_after(line.trim_start().strip_prefix("pub ")?, &["struct ", "enum ", "trait ", "type "])
}

fn any_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").and_then(after_visibility).unwrap_or(line);
    name_after(line, &["struct ", "enum ", "trait "])
}

/// Returns the text after `pub ` or `pub(…) `, given the text after `pub`.
fn after_visibility(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('(').map_or(Some(rest), |scope| Some(scope.split_once(')')?.1));
    rest?.strip_prefix(' ')
}

fn name_after<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let rest = keywords.iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_told_by_its_line() {
        for (line, public, any) in [
            ("pub struct Row<'a> {", Some("Row"), Some("Row")),
            ("    pub(crate) enum Kind {", None, Some("Kind")),
            ("pub(in crate::a) trait Port: Send {", None, Some("Port")),
            ("pub type Result<T> = X;", Some("Result"), None),
            ("    type Item = u8;", None, None),
            ("struct Unit;", None, Some("Unit")),
            ("// struct Unit;", None, None),
            ("let structure = 1;", None, None),
            ("public struct Row;", None, None),
        ] {
            assert_eq!((public_name(line), any_name(line)), (public, any), "{line}");
        }
    }

    #[test]
    fn names_are_repeated_within_and_across_crates() {
        let workspace = Workspace::of(&[
            (
                "crates/a/src/lib.rs",
                "pub struct Row;\nstruct Only;\n#[cfg(test)]\nmod tests { \n struct Row; }\n",
            ),
            (
                "crates/b/src/lib.rs",
                "pub enum Row {}\nfn f() {\n    struct Local;\n}\nfn g() {\n    struct Local;\n}\n",
            ),
            ("crates/b/tests/all.rs", "struct Only;\n"),
        ]);
        let counts = |repeated: Vec<Repeated>| -> Vec<_> {
            repeated.into_iter().map(|r| (r.name, r.places.len())).collect()
        };
        assert_eq!(counts(repeated_public(&workspace)), [("Row".to_owned(), 2)]);
        assert_eq!(counts(repeated(&workspace)), [("Row".to_owned(), 3), ("Local".to_owned(), 2)]);
    }
}
