//! Reads the text of the workspace's sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The directories that contain crates.
const HOMES: [&str; 2] = ["crates", "bin"];

/// The `.rs` files and manifests in `crates/` and `bin/`, by their path from the root, with `/` as separator.
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

    /// Returns path and text of the `.rs` files, without tests, benches and examples.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let rust = self.files.iter().filter(|(path, _)| path.ends_with(".rs") && !is_test(path));
        rust.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the folder and the manifest of each crate.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        let manifests = self
            .files
            .iter()
            .filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text)));
        manifests.map(|(folder, text)| (folder, text.as_str()))
    }
}

/// Returns the folder of the crate that a file belongs to, which is the first two parts of its path.
pub(super) fn crate_of(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(end, _)| &path[..end])
}

/// Returns whether a file is in a folder `tests`, `benches` or `examples` at any depth, or named `tests.rs` or
/// `*_tests.rs`.
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
