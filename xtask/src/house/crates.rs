//! Finds dependency cycles between crates. `[dev-dependencies]` may form cycles and are ignored.

use std::collections::{BTreeMap, BTreeSet};

use super::cycles::{Cycle, Edges, larger_than};
use super::workspace::Workspace;

/// Returns the cycles of crates, each as the names of its packages.
pub(super) fn cycles(workspace: &Workspace) -> Vec<Cycle> {
    let manifests: BTreeMap<&str, BTreeSet<String>> = workspace
        .manifests()
        .filter_map(|(_, text)| Some((package(text)?, dependencies(text))))
        .collect();
    let edges: Edges =
        manifests.iter().map(|(name, needs)| ((*name).to_owned(), needs.clone())).collect();
    larger_than(1, &edges)
}

fn package(manifest: &str) -> Option<&str> {
    let mut lines = manifest.lines().skip_while(|line| line.trim() != "[package]");
    lines.find_map(|line| line.strip_prefix("name = ")).map(|name| name.trim().trim_matches('"'))
}

fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            inside = table.0.ends_with("dependencies") && !table.0.ends_with("dev-dependencies");
        } else if inside && !line.starts_with('#') {
            let end = line.find(['.', ' ', '=']).unwrap_or(0);
            names.extend((end > 0).then(|| line[..end].to_owned()));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_need_each_other_are_found() {
        let a = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n# c = \"1\"\n";
        let b = "[package]\nname = \"b\"\n[dependencies]\nserde = \"1\"\nc = { path = \"../c\" }\n";
        let c = "[package]\nname = \"c\"\n[features]\na = []\n";
        let files = |c| {
            [("crates/a/Cargo.toml", a), ("crates/b/Cargo.toml", b), ("crates/c/Cargo.toml", c)]
        };
        assert_eq!(cycles(&Workspace::of(&files(c))), []);
        let round = format!("{c}[dependencies]\na.workspace = true\n");
        let found = cycles(&Workspace::of(&files(&round)));
        let names: Vec<_> = found[0].0.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn what_only_tests_need_makes_no_cycle() {
        let a = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n";
        let b = |table: &str| format!("[package]\nname = \"b\"\n[{table}]\na.workspace = true\n");
        for (table, expect) in [
            ("dependencies", 1),
            ("build-dependencies", 1),
            ("target.'cfg(unix)'.dependencies", 1),
            ("dev-dependencies", 0),
            ("target.'cfg(unix)'.dev-dependencies", 0),
        ] {
            let b = b(table);
            let files = [("crates/a/Cargo.toml", a), ("crates/b/Cargo.toml", &*b)];
            assert_eq!(cycles(&Workspace::of(&files)).len(), expect, "{table}");
        }
    }
}
