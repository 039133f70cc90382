//! Finds which files of a crate need each other.
//!
//! A file needs another if a private `use`, or a path in its code, leads to an item that the other defines. Re-exports are
//! followed to the definition. `mod` and `pub use` alone do not count, but using a re-exported item does. Code that is only
//! for tests is ignored. Methods called on a value are not recognized.

use super::cycles::{Cycle, Edges, larger_than};
use super::modules::{Module, modules};
use super::workspace::Workspace;

use anyhow::Result;

/// Largest import cycle that is allowed, in files: a type may be split over two.
const ALLOWED: usize = 2;

/// Maximum length of a chain of imports, so that a cycle of re-exports ends.
const LONGEST_CHAIN: usize = 32;

/// Returns the cycles of more than two files, the largest first.
pub(super) fn cycles_of_files(workspace: &Workspace) -> Result<Vec<Cycle>> {
    let mut edges = Edges::new();
    for (folder, _) in workspace
        .sources()
        .filter(|(path, _)| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs"))
    {
        edges.extend(edges_between_files(&modules(workspace, folder)?));
    }
    Ok(larger_than(ALLOWED, &edges))
}

fn edges_between_files(modules: &[Module<'_>]) -> Edges {
    let tree = Tree { modules };
    let mut edges = Edges::new();
    for (at, module) in modules.iter().enumerate() {
        let imports =
            module.imports.iter().filter(|import| !import.is_exported).map(|import| &import.path);
        for path in imports.chain(&module.paths) {
            if let Target::Item(home) = tree.resolve(at, path, 0)
                && modules[home].file != module.file
            {
                edges.entry(module.file.clone()).or_default().insert(modules[home].file.clone());
            }
        }
    }
    edges
}

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item of this module, or a part of one, such as a variant or a function of a type.
    Item(usize),
    /// An item of another crate, a local name, or a name of the language.
    Elsewhere,
}

struct Tree<'s, 'a> {
    modules: &'s [Module<'a>],
}

impl Tree<'_, '_> {
    fn resolve(&self, from: usize, path: &[&str], chain: usize) -> Target {
        let Some((first, rest)) = path.split_first() else { return Target::Elsewhere };
        let mut target = match *first {
            "crate" => Target::Module(0),
            "self" => Target::Module(from),
            "super" => Target::Module(self.modules[from].parent),
            name => self.look_up(from, name, rest.is_empty(), chain),
        };
        for (at, segment) in rest.iter().enumerate() {
            let Target::Module(module) = target else { return target };
            target = match *segment {
                "super" => Target::Module(self.modules[module].parent),
                name => match self.look_up(module, name, at + 1 == rest.len(), chain) {
                    // A macro defines it, so its module is the best guess.
                    Target::Elsewhere => return Target::Item(module),
                    found => found,
                },
            };
        }
        target
    }

    /// Finds a name in a module. If a child module and an item have this name, the last part of a path means the item.
    fn look_up(&self, module: usize, name: &str, is_last: bool, chain: usize) -> Target {
        let scope = &self.modules[module];
        let child = scope.children.get(name).map(|child| Target::Module(*child));
        if let (false, Some(child)) = (is_last, child) {
            return child;
        }
        if scope.items.contains(name) {
            return Target::Item(module);
        }
        if chain >= LONGEST_CHAIN {
            return child.unwrap_or(Target::Elsewhere);
        }
        let named = scope.imports.iter().filter(|import| import.name == Some(name));
        let mut found = named.map(|import| self.resolve_import(module, &import.path, name, chain));
        if let Some(found) = found.find(|found| *found != Target::Elsewhere) {
            return found;
        }
        let globs = scope.imports.iter().filter(|import| import.name.is_none());
        // The path of a glob is not looked up through other globs: two globs in a module would lead to each other
        // forever.
        let mut found =
            globs.filter_map(|glob| match self.resolve(module, &glob.path, LONGEST_CHAIN) {
                Target::Module(other) if other != module => {
                    Some(self.look_up(other, name, is_last, chain + 1))
                }
                _ => None,
            });
        found.find(|found| *found != Target::Elsewhere).or(child).unwrap_or(Target::Elsewhere)
    }

    /// Resolves an import. In `pub use view::view` next to `mod view`, the first `view` is the child module.
    fn resolve_import(&self, module: usize, path: &[&str], name: &str, chain: usize) -> Target {
        if path == [name] {
            return self.modules[module]
                .children
                .get(name)
                .map_or(Target::Elsewhere, |child| Target::Module(*child));
        }
        self.resolve(module, path, chain + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the edges between `files` of one crate, given by name and text. `expected` lists edges as `from>to`.
    fn check(files: &[(&str, &str)], expected: &str) {
        let paths: Vec<_> =
            files.iter().map(|(name, text)| (format!("src/{name}"), *text)).collect();
        let borrowed: Vec<_> = paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let workspace = Workspace::of(&borrowed);
        let edges = edges_between_files(&modules(&workspace, "src/lib.rs").unwrap());
        let all =
            edges.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from}>{to}")));
        assert_eq!(all.collect::<Vec<_>>().join(" ").replace("src/", ""), expected, "{files:?}");
    }

    const A: (&str, &str) = ("a.rs", "pub struct A; pub fn make() -> A { A }");

    #[test]
    fn each_kind_of_path_is_an_edge() {
        for b in [
            "use crate::a::A;",
            "use super::a::A;",
            "use crate::{a::{A as Other}};",
            "fn f() -> crate::a::A { todo() }",
            "fn f() { super::a::A::new() }",
            "use crate::a; fn f() -> a::A { todo() }",
            "use crate::a::{self}; fn f() { a::make() }",
            "use crate::a::*; fn f() -> A { todo() }",
            "use crate::a::A::Variant;",
            "mod inline { use super::super::a::A; }",
            "fn f() { use crate::a::A; }",
            "fn f() { crate::a::made_by_a_macro() }",
        ] {
            check(&[("lib.rs", "mod a; mod b;"), A, ("b.rs", b)], "b.rs>a.rs");
        }
    }

    #[test]
    fn what_is_no_use_is_no_edge() {
        for b in [
            "use std::a::A;",
            "use crate::a;",
            "use crate::a::*;",
            "struct A; fn f() -> A { A }",
            "// crate::a::A",
            "const X: &str = \"crate::a::A\";",
            "#[cfg(test)] mod tests { use crate::a::A; }",
            "fn f() { x.make() }",
            "fn f(a: u8) { a.A }",
        ] {
            check(&[("lib.rs", "mod a; mod b;"), A, ("b.rs", b)], "");
        }
    }

    #[test]
    fn re_exports_are_followed() {
        for root in [
            "mod a; mod b; pub use a::A;",
            "mod a; mod b; pub use self::a::*;",
            "mod a; mod b; pub(crate) use crate::a::A;",
        ] {
            check(&[("lib.rs", root), A, ("b.rs", "use crate::A;")], "b.rs>a.rs");
        }
        let named_alike = ("view.rs", "pub fn view() {}");
        check(
            &[
                ("lib.rs", "mod view; mod b; pub use view::view;"),
                named_alike,
                ("b.rs", "use crate::view;"),
            ],
            "b.rs>view.rs",
        );
        let (root, b, c) = (
            ("lib.rs", "mod b; mod c; pub use b::B;"),
            ("b.rs", "pub use crate::c::C as B;"),
            ("c.rs", "pub struct C;"),
        );
        check(&[root, b, c, ("d.rs", "")], "");
        check(
            &[("lib.rs", "mod b; mod c; mod d;"), b, c, ("d.rs", "use crate::b::B;")],
            "d.rs>c.rs",
        );
    }

    #[test]
    fn a_doorway_that_works_is_a_room() {
        check(&[("lib.rs", "mod a; pub use a::A;"), A], "");
        check(&[("lib.rs", "mod a; pub use a::A; impl A {}"), A], "lib.rs>a.rs");
        check(&[("lib.rs", "mod a; pub use a::make; pub fn f() { make() }"), A], "lib.rs>a.rs");
        check(&[("lib.rs", "mod a; pub fn f() { a::make() }"), A], "lib.rs>a.rs");
        check(&[("lib.rs", "mod a; pub use a::make; pub fn f(make: u8) -> u8 { make }"), A], "");
    }

    #[test]
    fn circles_of_re_exports_end() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "pub use crate::b::X;"),
                ("b.rs", "pub use crate::a::X; fn f() -> X {}"),
            ],
            "",
        );
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "pub use crate::b::*;"),
                ("b.rs", "pub use crate::a::*; fn f() -> X {}"),
            ],
            "",
        );
    }

    #[test]
    fn two_files_may_need_each_other_and_three_may_not() {
        let cycles = |z: &str| {
            let files = [
                ("crates/a/src/lib.rs", "mod x; mod y; mod z;"),
                ("crates/a/src/x.rs", "use crate::y::Y; pub struct X;"),
                ("crates/a/src/y.rs", "use crate::x::X; use crate::z::Z; pub struct Y;"),
                ("crates/a/src/z.rs", z),
            ];
            cycles_of_files(&Workspace::of(&files)).unwrap()
        };
        assert_eq!(cycles("pub struct Z;").len(), 0);
        assert_eq!(cycles("pub struct Z; fn f() -> crate::x::X { x() }")[0].0.len(), 3);
    }
}
