//! Files that were read, searched, edited or created, and the symbols changed in them.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_transcript::{Seq, ToolKind};

use crate::calls::ToolInput;
use crate::patch;
use crate::said::RecordedStatement;
use crate::symbols::defined;
use crate::written::{TextChange, WrittenLine, WrittenLines};

/// What happened to one file.
#[derive(Clone, Debug, Default)]
pub struct FileFact {
    pub path: Arc<str>,
    pub reads: u32,
    pub searches: u32,
    pub edits: u32,
    pub created: bool,
    pub last: Seq,
    /// Symbols that edits touched, in the order of their last change.
    pub symbols: Vec<Symbol>,
    pub(crate) written: WrittenLines,
    /// What the assistant said before it edited the file, oldest first.
    pub notes: Vec<RecordedStatement>,
    /// The newest edit.
    pub last_edit: Seq,
}

/// A symbol of a file, and what an edit did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: Box<str>,
    pub change: EditKind,
    pub seq: Seq,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditKind {
    Added,
    Changed,
    Removed,
}

/// Number of symbols kept per file. Once there are twice as many, the oldest half is dropped.
const SYMBOLS: usize = 60;
/// Number of notes kept per file. Once there are twice as many, the oldest half is dropped.
const NOTES: usize = 20;

/// An edit whose result has not arrived.
#[derive(Clone, Debug)]
pub(crate) struct PendingEdit {
    /// Index of the file.
    pub(crate) place: usize,
    pub(crate) seq: Seq,
    pub(crate) changes: Vec<TextChange>,
    /// What the assistant said before the edit.
    pub(crate) why: Option<RecordedStatement>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FileFacts {
    pub(crate) all: Vec<FileFact>,
    places: HashMap<Arc<str>, usize>,
}

impl FileFacts {
    /// Records a call. Returns the indices of its files, and the edits that it makes.
    pub(crate) fn touch(
        &mut self,
        kind: ToolKind,
        input: &mut ToolInput,
        seq: Seq,
    ) -> (Vec<usize>, Vec<PendingEdit>) {
        let changes = if kind.changes_files() { input.changes() } else { Vec::new() };
        let patch = input.patch.as_ref().and_then(serde_json::Value::as_str);
        let patch = patch.filter(|_| kind == ToolKind::Edit).unwrap_or_default();
        let touched: Vec<(&str, Vec<TextChange>)> = match input.file() {
            Some(path) => vec![(path, changes)],
            None => patch::files(patch).into_iter().map(|file| (file.path, file.changes)).collect(),
        };
        let (mut places, mut edits) = (Vec::new(), Vec::new());
        for (path, changes) in touched {
            let Some(place) = self.touch_one(kind, path, seq) else { continue };
            places.push(place);
            if kind.changes_files() {
                edits.push(PendingEdit { place, seq, changes, why: None });
            }
        }
        (places, edits)
    }

    fn touch_one(&mut self, kind: ToolKind, path: &str, seq: Seq) -> Option<usize> {
        let is_known = kind.changes_files() || matches!(kind, ToolKind::Read | ToolKind::Search);
        // A search in a directory is not about one file.
        if !is_known || (kind == ToolKind::Search && !has_extension(path)) {
            return None;
        }
        let place = self.place(path, kind);
        let file = self.all.get_mut(place)?;
        file.last = seq;
        match kind {
            ToolKind::Read => file.reads += 1,
            ToolKind::Search => file.searches += 1,
            _ => file.edits += 1,
        }
        Some(place)
    }

    /// Records that an edit took effect.
    pub(crate) fn edited(&mut self, edit: &PendingEdit) {
        let (place, seq) = (edit.place, edit.seq);
        let Some(file) = self.all.get_mut(place) else { return };
        file.last_edit = seq;
        for change in &edit.changes {
            file.change(change.old.as_deref(), &change.new, seq);
        }
        if let Some(why) = &edit.why {
            self.note(place, why);
        }
    }

    /// Records that an edit of the file at `place` had no effect: it failed, or a person refused it.
    pub(crate) fn not_edited(&mut self, place: usize) {
        let Some(file) = self.all.get_mut(place) else { return };
        file.edits = file.edits.saturating_sub(1);
        file.created &= file.edits > 0;
    }

    /// Records what the assistant said before it edited the file at `place`.
    fn note(&mut self, place: usize, why: &RecordedStatement) {
        let known = self.all.iter().any(|file| file.notes.last().is_some_and(|n| n.seq == why.seq));
        if let Some(file) = self.all.get_mut(place).filter(|_| !known) {
            file.notes.push(why.clone());
            crate::recent::forget_oldest(&mut file.notes, NOTES);
        }
    }

    fn place(&mut self, path: &str, kind: ToolKind) -> usize {
        if let Some(place) = self.places.get(path) {
            return *place;
        }
        let path: Arc<str> = path.into();
        let created = kind == ToolKind::Write;
        self.all.push(FileFact { path: Arc::clone(&path), created, ..FileFact::default() });
        self.places.insert(path, self.all.len() - 1);
        self.all.len() - 1
    }
}

impl FileFact {
    /// Returns the lines that edits wrote and that no later edit replaced.
    pub fn written(&self) -> &[WrittenLine] {
        self.written.lines()
    }

    /// Records that `new` replaced `old`, or the whole file.
    fn change(&mut self, old: Option<&str>, new: &str, seq: Seq) {
        match old {
            Some(old) => self.written.replace(old, new, seq),
            None => self.written.write(new, seq),
        }
        let old: Vec<&str> = defined(old.unwrap_or_default()).collect();
        let new: Vec<&str> = defined(new).collect();
        for name in &old {
            if !new.contains(name) {
                self.note(name, EditKind::Removed, seq);
            }
        }
        for name in &new {
            let change = if old.contains(name) { EditKind::Changed } else { EditKind::Added };
            self.note(name, change, seq);
        }
        if self.symbols.len() > 2 * SYMBOLS {
            self.symbols.drain(..SYMBOLS);
        }
    }

    fn note(&mut self, name: &str, change: EditKind, seq: Seq) {
        let known = self.symbols.iter().position(|symbol| &*symbol.name == name);
        let change = match known.map(|at| self.symbols.remove(at).change) {
            // A symbol added in this session stays "added" however often it is changed.
            Some(EditKind::Added) if change == EditKind::Changed => EditKind::Added,
            _ => change,
        };
        self.symbols.push(Symbol { name: name.into(), change, seq });
    }

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

    fn touch(files: &mut FileFacts, tool: &str, json: &str, seq: u64) -> Option<usize> {
        files.touch(ToolKind::of(tool)?, &mut ToolInput::parse(json), Seq(seq)).0.pop()
    }

    fn take_effect(files: &mut FileFacts, json: &str, seq: u64) {
        let changes = ToolInput::parse(json).changes();
        files.edited(&PendingEdit { place: 0, seq: Seq(seq), changes, why: None });
    }

    #[test]
    fn files_are_known_by_what_was_done_to_them() {
        let mut files = FileFacts::default();
        touch(&mut files, "Read", r#"{"file_path":"/proj/a.rs"}"#, 1).unwrap();
        touch(&mut files, "Grep", r#"{"pattern":"x","path":"/proj/a.rs"}"#, 2).unwrap();
        assert!(touch(&mut files, "Grep", r#"{"pattern":"x","path":"/proj/src"}"#, 3).is_none());
        assert!(touch(&mut files, "Bash", r#"{"command":"ls"}"#, 3).is_none());
        let edit = r#"{"file_path":"/proj/a.rs","old_string":"fn old() {}\nfn both() {}","new_string":"fn both() {}\nfn fresh() {}"}"#;
        touch(&mut files, "Edit", edit, 4).unwrap();
        take_effect(&mut files, edit, 4);
        let file = &files.all[0];
        assert_eq!((file.reads, file.searches, file.edits, file.created), (1, 1, 1, false));
        let symbols: Vec<_> = file.symbols.iter().map(|s| (&*s.name, s.change)).collect();
        assert_eq!(
            symbols,
            [("old", EditKind::Removed), ("both", EditKind::Changed), ("fresh", EditKind::Added)]
        );
    }

    #[test]
    fn an_addition_stays_one() {
        let mut files = FileFacts::default();
        let write = r#"{"file_path":"/proj/b.py","content":"def run():\n  pass"}"#;
        touch(&mut files, "Write", write, 1);
        take_effect(&mut files, write, 1);
        let edit =
            r#"{"file_path":"/proj/b.py","old_string":"def run():","new_string":"def run(x):"}"#;
        touch(&mut files, "Edit", edit, 2);
        take_effect(&mut files, edit, 2);
        assert!(files.all[0].created);
        assert_eq!(files.all[0].symbols[0].change, EditKind::Added);
        assert_eq!(files.all[0].symbols[0].seq, Seq(2));
    }

    #[test]
    fn one_file_read_often_is_one_fact() {
        let mut files = FileFacts::default();
        for seq in 1..=400 {
            touch(&mut files, "Read", r#"{"file_path":"/proj/a.rs"}"#, seq).unwrap();
        }
        assert_eq!((files.all.len(), files.all[0].reads), (1, 400));
    }
}
