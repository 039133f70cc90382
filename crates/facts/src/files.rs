//! Files by their role: read, searched, edited, created, and which symbols were changed in them.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_transcript::Seq;

use crate::calls::Input;
use crate::symbols::defined;

/// What happened to one file.
#[derive(Clone, Debug, Default)]
pub struct FileFact {
    pub path: Arc<str>,
    pub reads: u32,
    pub searches: u32,
    pub edits: u32,
    pub created: bool,
    pub last: Seq,
    pub last_edit: Option<Seq>,
    /// Symbols that edits touched, in the order of their last change.
    pub symbols: Vec<Symbol>,
}

/// A symbol of a file, and what an edit did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: Box<str>,
    pub change: Change,
    pub seq: Seq,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Changed,
    Removed,
}

/// What a call does to the file that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Read,
    Search,
    Edit,
    Write,
}

const READS: [&str; 6] = ["Read", "read", "read_file", "view", "NotebookRead", "LSP"];
const SEARCHES: [&str; 5] = ["Grep", "grep", "Glob", "glob", "search"];
const EDITS: [&str; 8] = [
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "edit",
    "edit_file",
    "str_replace",
    "str_replace_editor",
    "apply_patch",
];
const WRITES: [&str; 5] = ["Write", "write", "write_file", "create_file", "create"];
/// Symbols that are kept of one file, the newest.
const SYMBOLS: usize = 60;

impl Role {
    pub fn of(tool: &str) -> Option<Self> {
        match tool {
            _ if READS.contains(&tool) => Some(Role::Read),
            _ if SEARCHES.contains(&tool) => Some(Role::Search),
            _ if EDITS.contains(&tool) => Some(Role::Edit),
            _ if WRITES.contains(&tool) => Some(Role::Write),
            _ => None,
        }
    }

    fn changes(self) -> bool {
        matches!(self, Role::Edit | Role::Write)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) all: Vec<FileFact>,
    places: HashMap<Arc<str>, usize>,
}

impl Files {
    /// Notes a call; gives the file's index and whether it was changed.
    pub(crate) fn touch(&mut self, tool: &str, input: &Input, seq: Seq) -> Option<Touched> {
        let role = Role::of(tool)?;
        let path = input.file()?;
        // A search below a directory is about no file.
        if role == Role::Search && !has_extension(path) {
            return None;
        }
        let place = self.place(path, role);
        let file = self.all.get_mut(place)?;
        file.last = seq;
        match role {
            Role::Read => file.reads += 1,
            Role::Search => file.searches += 1,
            Role::Edit | Role::Write => {
                file.edits += 1;
                file.last_edit = Some(seq);
                file.change(input, seq);
            }
        }
        Some(Touched { place, changed: role.changes() })
    }

    fn place(&mut self, path: &str, role: Role) -> usize {
        if let Some(place) = self.places.get(path) {
            return *place;
        }
        let path: Arc<str> = path.into();
        let created = role == Role::Write;
        self.all.push(FileFact { path: Arc::clone(&path), created, ..FileFact::default() });
        self.places.insert(path, self.all.len() - 1);
        self.all.len() - 1
    }
}

pub(crate) struct Touched {
    pub(crate) place: usize,
    pub(crate) changed: bool,
}

impl FileFact {
    /// What the edit did to which symbols.
    fn change(&mut self, input: &Input, seq: Seq) {
        let old: Vec<&str> =
            input.old_string.as_deref().map_or(Vec::new(), |t| defined(t).collect());
        let new: Vec<&str> =
            input.new_string.as_deref().map_or(Vec::new(), |t| defined(t).collect());
        for name in &old {
            if !new.contains(name) {
                self.note(name, Change::Removed, seq);
            }
        }
        for name in &new {
            let change = if old.contains(name) { Change::Changed } else { Change::Added };
            self.note(name, change, seq);
        }
        if self.symbols.len() > 2 * SYMBOLS {
            self.symbols.drain(..SYMBOLS);
        }
    }

    fn note(&mut self, name: &str, change: Change, seq: Seq) {
        let known = self.symbols.iter().position(|symbol| &*symbol.name == name);
        let change = match known.and_then(|at| self.symbols.get(at)).map(|symbol| symbol.change) {
            // What this session added stays its addition however often it is changed.
            Some(Change::Added) if change == Change::Changed => Change::Added,
            _ => change,
        };
        if let Some(at) = known {
            self.symbols.remove(at);
        }
        self.symbols.push(Symbol { name: name.into(), change, seq });
    }

    /// The file's name without its directories.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

fn has_extension(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(files: &mut Files, tool: &str, json: &str, seq: u64) -> Option<Touched> {
        files.touch(tool, &Input::parse(json), Seq(seq))
    }

    #[test]
    fn files_are_known_by_what_was_done_to_them() {
        let mut files = Files::default();
        touch(&mut files, "Read", r#"{"file_path":"/proj/a.rs"}"#, 1).unwrap();
        touch(&mut files, "Grep", r#"{"pattern":"x","path":"/proj/a.rs"}"#, 2).unwrap();
        assert!(touch(&mut files, "Grep", r#"{"pattern":"x","path":"/proj/src"}"#, 3).is_none());
        assert!(touch(&mut files, "Bash", r#"{"command":"ls"}"#, 3).is_none());
        let edit = r#"{"file_path":"/proj/a.rs","old_string":"fn old() {}\nfn both() {}","new_string":"fn both() {}\nfn fresh() {}"}"#;
        let touched = touch(&mut files, "Edit", edit, 4).unwrap();
        assert!(touched.changed);
        let file = &files.all[0];
        assert_eq!((file.reads, file.searches, file.edits, file.created), (1, 1, 1, false));
        let symbols: Vec<_> = file.symbols.iter().map(|s| (&*s.name, s.change)).collect();
        assert_eq!(
            symbols,
            [("old", Change::Removed), ("both", Change::Changed), ("fresh", Change::Added)]
        );
    }

    #[test]
    fn an_addition_stays_one() {
        let mut files = Files::default();
        touch(
            &mut files,
            "Write",
            r#"{"file_path":"/proj/b.py","content":"def run():\n  pass"}"#,
            1,
        );
        let edit =
            r#"{"file_path":"/proj/b.py","old_string":"def run():","new_string":"def run(x):"}"#;
        touch(&mut files, "Edit", edit, 2);
        assert!(files.all[0].created);
        assert_eq!(files.all[0].symbols[0].change, Change::Added);
        assert_eq!(files.all[0].symbols[0].seq, Seq(2));
    }

    #[test]
    fn one_file_read_often_is_one_fact() {
        let mut files = Files::default();
        for seq in 1..=400 {
            touch(&mut files, "Read", r#"{"file_path":"/proj/a.rs"}"#, seq).unwrap();
        }
        assert_eq!((files.all.len(), files.all[0].reads), (1, 400));
    }
}
