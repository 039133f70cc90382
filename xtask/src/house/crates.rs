//! Finds dependency cycles between crates. `[dev-dependencies]` may form cycles and are ignored.

use std::collections::BTreeSet;

use super::cycles::{Cycle, Edges, larger_than};
use super::workspace::Workspace;

/// Returns the cycles of crates, each as the names of its packages.
pub(super) fn cycles(workspace: &Workspace) -> Vec<Cycle> {
    larger_than(1, &edges(workspace))
}

/// Returns what each package needs, also outside the workspace.
fn edges(workspace: &Workspace) -> Edges {
    let manifests = workspace.manifests();
    manifests
        .filter_map(|(_, text)| Some((package(text)?.to_owned(), dependencies(text))))
        .collect()
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

    /// A database's driver would be a third of `bethink`, which starts for each event of a hook.
    #[test]
    fn only_the_daemon_links_a_database() {
        let edges = edges(&Workspace::read(crate::root()).unwrap());
        for (program, expect) in [("bethink", false), ("bethinkd", true)] {
            let (mut needed, mut open) = (BTreeSet::new(), vec![program]);
            while let Some(name) = open.pop() {
                if needed.insert(name) {
                    open.extend(edges.get(name).into_iter().flatten().map(String::as_str));
                }
            }
            assert!(needed.contains("bethink-config"), "{program}: {needed:?}");
            assert_eq!(needed.contains("sqlx"), expect, "{program}: {needed:?}");
        }
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
