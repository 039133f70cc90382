//! Reads the modules of a crate: what each defines, imports, and refers to by path.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::tokens::{Token, tokens};
use super::workspace::Workspace;

/// The segments of a path.
pub(super) type Segments<'a> = Vec<&'a str>;

/// The module of a file, or an inline module.
#[derive(Default)]
pub(super) struct Module<'a> {
    pub(super) file: String,
    pub(super) parent: usize,
    pub(super) children: BTreeMap<&'a str, usize>,
    /// Functions, types, constants and macros at the top level of the module.
    pub(super) items: BTreeSet<&'a str>,
    pub(super) imports: Vec<Import<'a>>,
    /// Paths outside of `use`, and single words that may name an imported item.
    pub(super) paths: BTreeSet<Segments<'a>>,
}

/// One leaf of a `use`.
pub(super) struct Import<'a> {
    pub(super) path: Segments<'a>,
    /// The local name; `None` for `*`.
    pub(super) name: Option<&'a str>,
    /// The import is `pub`, with any visibility.
    pub(super) is_exported: bool,
}

/// Returns the modules of the crate with this root file, the root first, without those that are only for tests.
pub(super) fn modules<'a>(workspace: &'a Workspace, root: &str) -> Result<Vec<Module<'a>>> {
    let mut modules = Vec::new();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    read_file(workspace, root, folder, 0, &mut modules)?;
    Ok(modules)
}

/// Reads a file and its child modules. Returns the index of its module. `folder` contains the files of its children.
fn read_file<'a>(
    workspace: &'a Workspace,
    file: &str,
    folder: &str,
    parent: usize,
    modules: &mut Vec<Module<'a>>,
) -> Result<usize> {
    let text = workspace
        .text(file)
        .with_context(|| format!("could not find {file}, which a `mod` names"))?;
    let own = modules.len();
    modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
    let all = tokens(text);
    let mut body = Body { workspace, modules, tokens: &all, at: 0 };
    body.read(own, folder)?;
    Ok(own)
}

/// Keywords that are followed by the name they define.
const DEFINES: [&str; 10] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod", "let"];

/// Other keywords that can begin an item.
const STARTS: [&str; 8] =
    ["pub", "use", "impl", "async", "unsafe", "extern", "macro_rules", "default"];

struct Body<'s, 'a> {
    workspace: &'a Workspace,
    modules: &'s mut Vec<Module<'a>>,
    tokens: &'s [Token<'a>],
    at: usize,
}

impl<'a> Body<'_, 'a> {
    /// Reads up to the bracket that closes the module, or to the end.
    fn read(&mut self, own: usize, folder: &str) -> Result<()> {
        let mut depth = 0_usize;
        let mut file_name = None;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign('#') => {
                    if let Some(path) = self.attribute(own) {
                        file_name = Some(path);
                    }
                    continue;
                }
                Token::Sign('{' | '(' | '[') => depth += 1,
                Token::Sign('}' | ')' | ']') if depth == 0 => return Ok(()),
                Token::Sign('}' | ')' | ']') => depth -= 1,
                Token::Word("mod") if matches!(self.peek(2), Some(Token::Sign(';' | '{'))) => {
                    self.child(own, folder, file_name.take())?;
                    continue;
                }
                Token::Word("use") if self.peek(1) != Some(Token::Sign('<')) => {
                    let is_exported = depth == 0 && self.is_after_pub();
                    self.at += 1;
                    self.import(own, &[], is_exported);
                    continue;
                }
                Token::Word(word) => {
                    self.word(own, word, depth == 0);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn before(&self) -> Option<Token<'a>> {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied()
    }

    /// Returns whether the previous token ends `pub` or `pub(…)`.
    fn is_after_pub(&self) -> bool {
        match self.before() {
            Some(Token::Word("pub")) => true,
            Some(Token::Sign(')')) => {
                let open =
                    self.tokens[..self.at].iter().rposition(|token| *token == Token::Sign('('));
                open.and_then(|open| open.checked_sub(1))
                    .is_some_and(|at| self.tokens[at] == Token::Word("pub"))
            }
            _ => false,
        }
    }

    /// Skips an attribute, and the item after it if that is only for tests. Returns the file that a `path` attribute names.
    fn attribute(&mut self, own: usize) -> Option<&'a str> {
        let start = self.at;
        self.at += 1;
        if self.peek(0) == Some(Token::Sign('!')) {
            self.at += 1;
        }
        self.step_over_brackets();
        let tokens = self.tokens;
        let inside = &tokens[start..self.at];
        match inside.get(2..) {
            Some([Token::Word("path"), Token::Sign('='), Token::Text(path), ..]) => {
                return Some(path);
            }
            Some([Token::Word("cfg"), Token::Sign('('), rest @ ..]) => {
                let all = rest.get(..2) == Some(&[Token::Word("all"), Token::Sign('(')]);
                if rest.get(if all { 2 } else { 0 }) == Some(&Token::Word("test")) {
                    self.step_over_item();
                }
            }
            _ => {
                // Some attributes contain paths as strings: `#[serde(default = "crate::a::b")]`.
                let texts = inside.iter().filter_map(|token| {
                    if let Token::Text(text) = token { Some(*text) } else { None }
                });
                let paths = texts.filter(|text| text.contains("::") && !text.contains(' '));
                self.modules[own]
                    .paths
                    .extend(paths.map(|path| path.split("::").collect::<Segments<'_>>()));
            }
        }
        None
    }

    /// Skips from an opening bracket to the end of the closing one.
    fn step_over_brackets(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips the next item, statement, field or match arm.
    fn step_over_item(&mut self) {
        while self.peek(0) == Some(Token::Sign('#')) {
            self.at += 1;
            self.step_over_brackets();
        }
        let is_item = matches!(self.peek(0), Some(Token::Word(word)) if DEFINES.contains(&word) || STARTS.contains(&word));
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign(')' | ']' | '}') => return,
                Token::Sign('(' | '[') => self.step_over_brackets(),
                Token::Sign('{') => return self.step_over_brackets(),
                Token::Sign(sign) => {
                    self.at += 1;
                    if sign == ';' || (sign == ',' && !is_item) {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Reads `mod name;` or `mod name { … }`.
    fn child(&mut self, own: usize, folder: &str, file_name: Option<&str>) -> Result<()> {
        let Some(Token::Word(name)) = self.peek(1) else {
            self.at += 1;
            return Ok(());
        };
        let is_inline = self.peek(2) == Some(Token::Sign('{'));
        self.at += 3;
        let inner = format!("{folder}/{name}");
        let child = if is_inline {
            let child = self.modules.len();
            let file = self.modules[own].file.clone();
            self.modules.push(Module { file, parent: own, ..Module::default() });
            self.read(child, &inner)?;
            self.at += 1;
            child
        } else if let Some(file_name) = file_name {
            // A `path` attribute is relative to the file's folder, and the file it names is like a `mod.rs`.
            let file = &self.modules[own].file;
            let beside = file.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            read_file(self.workspace, &format!("{beside}/{file_name}"), &beside, own, self.modules)?
        } else {
            let flat = format!("{inner}.rs");
            let file =
                if self.workspace.text(&flat).is_some() { flat } else { format!("{inner}/mod.rs") };
            read_file(self.workspace, &file, &inner, own, self.modules)?
        };
        self.modules[own].children.insert(name, child);
        Ok(())
    }

    /// Reads a `use` tree.
    fn import(&mut self, own: usize, prefix: &[&'a str], is_exported: bool) {
        let mut path = prefix.to_vec();
        loop {
            let name = match self.peek(0) {
                Some(Token::Word("as")) => {
                    let name = if let Some(Token::Word(name)) = self.peek(1) { name } else { "_" };
                    self.at += 2;
                    self.modules[own].imports.push(Import { path, name: Some(name), is_exported });
                    return;
                }
                Some(Token::Word("self")) if path.len() > prefix.len() || !prefix.is_empty() => {
                    self.at += 1;
                    continue;
                }
                Some(Token::Word(word)) => {
                    path.push(word);
                    self.at += 1;
                    continue;
                }
                Some(Token::Path) => {
                    self.at += 1;
                    continue;
                }
                Some(Token::Sign('*')) => {
                    self.at += 1;
                    None
                }
                Some(Token::Sign('{')) => {
                    self.at += 1;
                    while !matches!(self.peek(0), None | Some(Token::Sign('}'))) {
                        self.import(own, &path, is_exported);
                        if self.peek(0) == Some(Token::Sign(',')) {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                _ => path.last().copied(),
            };
            if !path.is_empty() {
                self.modules[own].imports.push(Import { path, name, is_exported });
            }
            return;
        }
    }

    /// Reads a definition, or a path.
    fn word(&mut self, own: usize, word: &'a str, is_top: bool) {
        if word == "macro_rules" {
            // `macro_rules ! name`
            if let (true, Some(Token::Word(name))) = (is_top, self.peek(2)) {
                self.modules[own].items.insert(name);
            }
            self.at += 3;
            return;
        }
        if DEFINES.contains(&word) {
            self.at += 1;
            if self.peek(0) == Some(Token::Word("mut")) {
                self.at += 1;
            }
            if let Some(Token::Word(name)) = self.peek(0)
                && !DEFINES.contains(&name)
                && !STARTS.contains(&name)
            {
                if is_top {
                    self.modules[own].items.insert(name);
                }
                // `let Pattern(x)` refers to `Pattern`, so the name is read as a path.
                if word != "let" {
                    self.at += 1;
                }
            }
            return;
        }
        let is_start = !matches!(self.before(), Some(Token::Path | Token::Sign('.')));
        let mut path = vec![word];
        self.at += 1;
        while let (Some(Token::Path), Some(Token::Word(next))) = (self.peek(0), self.peek(1)) {
            path.push(next);
            self.at += 2;
        }
        // A single lowercase word that is not called is usually a local name.
        let is_type = word.starts_with(char::is_uppercase);
        let is_call = matches!(self.peek(0), Some(Token::Sign('(' | '!')));
        if word != "pub" && is_start && (path.len() > 1 || is_type || is_call) {
            self.modules[own].paths.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the root's imports, paths and items, as text.
    fn check(source: &str, imports: &str, paths: &str, items: &str) {
        let workspace = Workspace::of(&[
            ("a/lib.rs", source),
            ("a/x.rs", ""),
            ("a/y/mod.rs", ""),
            ("a/other.rs", ""),
        ]);
        let modules = modules(&workspace, "a/lib.rs").unwrap();
        let root = &modules[0];
        let import = |import: &Import<'_>| {
            let mark = if import.is_exported { "+" } else { "" };
            format!("{mark}{}={}", import.path.join("::"), import.name.unwrap_or("*"))
        };
        let all: Vec<_> = root.imports.iter().map(import).collect();
        assert_eq!(all.join(" "), imports, "{source}");
        let all: Vec<_> = root.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(all.join(" "), paths, "{source}");
        let all: Vec<_> = root.items.iter().copied().collect();
        assert_eq!(all.join(" "), items, "{source}");
    }

    #[test]
    fn uses_are_trees() {
        check("use crate::a::B;", "crate::a::B=B", "", "");
        check("pub(crate) use a::{self, B as C, d::*};", "+a=a +a::B=C +a::d=*", "", "");
        check(
            "pub use self::{x::X, y::{Y, Z}};",
            "+self::x::X=X +self::y::Y=Y +self::y::Z=Z",
            "",
            "",
        );
        check("use super::*; use Trait as _;", "super=* Trait=_", "", "");
        check("fn f() { use crate::a; }", "crate::a=a", "", "f");
    }

    #[test]
    fn paths_and_items_are_told_apart() {
        check("fn f(x: a::B) -> C { crate::d::e(x.g()) }", "", "C a::B crate::d::e", "f");
        check("pub const A: u8 = 1; static mut B: u8 = A;", "", "A", "A B");
        check(
            "pub const fn f() {} pub unsafe trait T {} impl T for X { fn g() {} }",
            "",
            "T X",
            "T f",
        );
        check("macro_rules! m { () => { $crate::x::Y } }", "", "crate::x::Y", "m");
        check(
            "fn f() { let Some(x) = helper(y) else { return }; m!(x) }",
            "",
            "Some helper m",
            "f",
        );
        check("#[serde(default = \"a::b\")] struct S;", "", "a::b", "S");
        check("type A = impl Sized + use<'a>;", "", "Sized", "A");
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        check("#[cfg(test)] use a::B; use c::D;", "c::D=D", "", "");
        check("#[cfg(test)] #[allow(x)] mod tests { use a::B; } struct S;", "", "", "S");
        check("#[cfg(test)] mod missing; struct S;", "", "", "S");
        check("#[cfg(all(test, unix))] fn f<A, B>() { X } struct S;", "", "", "S");
        check("struct S { #[cfg(test)] a: A, b: B }", "", "B", "S");
        check("#[cfg(not(test))] fn f() { g() }", "", "g", "f");
    }

    #[test]
    fn children_are_files_or_inline() {
        let workspace = Workspace::of(&[
            (
                "a/lib.rs",
                "mod x; mod y; #[path = \"other.rs\"] mod z; mod i { use super::q::R; mod j; }",
            ),
            ("a/x.rs", "mod deep;"),
            ("a/x/deep.rs", ""),
            ("a/y/mod.rs", "mod deep;"),
            ("a/y/deep.rs", ""),
            ("a/other.rs", ""),
            ("a/i/j.rs", ""),
        ]);
        let modules = modules(&workspace, "a/lib.rs").unwrap();
        let files: Vec<_> = modules.iter().map(|module| module.file.as_str()).collect();
        let expected = [
            "a/lib.rs",
            "a/x.rs",
            "a/x/deep.rs",
            "a/y/mod.rs",
            "a/y/deep.rs",
            "a/other.rs",
            "a/lib.rs",
            "a/i/j.rs",
        ];
        assert_eq!(files, expected);
        assert_eq!(modules[0].children.keys().copied().collect::<Vec<_>>(), ["i", "x", "y", "z"]);
    }
}
