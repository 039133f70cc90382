//! The text of the workspace's source, read once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Where crates stand.
const HOMES: [&str; 2] = ["crates", "bin"];

/// `.rs` files and manifests of `crates/` and `bin/`, by path from the root with `/` between its parts.
pub(super) struct Workspace {
    files: BTreeMap<String, String>,
}

impl Workspace {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for home in HOMES {
            read_folder(&root.join(home), home, &mut files)?;
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let owned = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { files: owned.collect() }
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The product's own `.rs` files, path and text.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let rust = self.files.iter().filter(|(path, _)| path.ends_with(".rs") && !is_test(path));
        rust.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The folder and manifest of each crate.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        let manifests = self
            .files
            .iter()
            .filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text)));
        manifests.map(|(folder, text)| (folder, text.as_str()))
    }
}

/// The folder of the crate that a file belongs to: the first two parts of its path.
pub(super) fn crate_of(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(end, _)| &path[..end])
}

/// Tests, benches and examples: folders of these names at any depth, `tests.rs` and `*_tests.rs`.
fn is_test(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let in_folder = parts.iter().any(|part| matches!(*part, "tests" | "benches" | "examples"));
    in_folder || file == "tests.rs" || file.ends_with("_tests.rs")
}

fn read_folder(folder: &Path, path: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    let could_not = || format!("could not read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(could_not)? {
        let entry = entry.with_context(could_not)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{path}/{name}");
        if entry.file_type().with_context(could_not)?.is_dir() {
            if name != "target" && name != "node_modules" {
                read_folder(&entry.path(), &path, files)?;
            }
        } else if name.ends_with(".rs") || name == "Cargo.toml" {
            let text = fs::read_to_string(entry.path())
                .with_context(|| format!("could not read {path}"))?;
            files.insert(path, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_their_path() {
        for path in [
            "crates/a/tests/x.rs",
            "crates/a/src/tests/x.rs",
            "crates/a/src/b/tests.rs",
            "bin/a/src/b_tests.rs",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in [
            "crates/a/src/lib.rs",
            "crates/a/build.rs",
            "crates/a/src/latests.rs",
            "bin/a/src/main.rs",
        ] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn a_file_belongs_to_the_first_two_folders() {
        assert_eq!(crate_of("crates/a/src/b/c.rs"), "crates/a");
    }
}
