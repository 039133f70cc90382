//! Formats each fact as one line. Notes and summaries consist of these lines, so a fact reads the same everywhere. A
//! line's `[41]` is the number of the message that the fact comes from.

use std::iter::successors;

use bethink_transcript::Seq;
use bethink_transcript::text::{self, shorten};

use crate::commands::CommandFact;
use crate::decisions::StatedDecision;
use crate::files::{EditKind, FileFact};
pub use crate::places::file_name;
use crate::said::{RecordedStatement, SaidKind};
use crate::tools::{Action, ToolFailure};

/// Formats the number of a message: `[41]`.
pub fn mark(seq: Seq) -> String {
    format!("[{seq}]")
}

/// Puts text on one line, and cuts it off at `bytes` bytes.
pub fn one_line(text: &str, bytes: usize) -> String {
    shorten(&text::one_line(text), bytes)
}

/// Formats a file: `store/append.rs (edited 3×, read 2×, last [84]): added open; changed close`, with a path
/// relative to `root`.
pub fn file(file: &FileFact, root: &str, symbols: usize) -> String {
    let path = file.path.strip_prefix(root).unwrap_or(&file.path);
    let row = format!("{path} ({}, last {})", done_to(file), mark(file.last));
    let changes = changes(file, symbols);
    if changes.is_empty() { row } else { format!("{row}: {changes}") }
}

/// Says what was done to a file: `created, edited 2×, read`.
pub fn done_to(file: &FileFact) -> String {
    let edits = file.edits - u32::from(file.created).min(file.edits);
    let mut done = Vec::new();
    if file.created {
        done.push("created".to_owned());
    }
    for (times, what) in [(edits, "edited"), (file.reads, "read"), (file.searches, "searched")] {
        match times {
            0 => {}
            1 => done.push(what.to_owned()),
            _ => done.push(format!("{what} {times}×")),
        }
    }
    done.join(", ")
}

/// Lists the newest `limit` symbols, grouped by change: `added open, close; removed reopen`.
pub fn changes(file: &FileFact, limit: usize) -> String {
    let verbs = [
        (EditKind::Added, "added"),
        (EditKind::Changed, "changed"),
        (EditKind::Removed, "removed"),
    ];
    let groups = verbs.into_iter().filter_map(|(change, verb)| {
        let newest = file.symbols.iter().rev().take(limit).filter(|s| s.change == change);
        let names: Vec<&str> = newest.map(|symbol| &*symbol.name).collect();
        (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
    });
    groups.collect::<Vec<_>>().join("; ")
}

/// Formats a failure: `[12] Bash \`cargo test\`: error[E0308] → changed a.rs; worked again in [15]`.
pub fn failure(failure: &ToolFailure) -> String {
    const EDITS: usize = 4;
    let mut edits: Vec<&str> = failure.edits.iter().map(|path| file_name(path)).collect();
    edits.dedup();
    edits.truncate(EDITS);
    let changed = match edits.is_empty() {
        true => String::new(),
        false => format!("changed {}; ", edits.join(", ")),
    };
    let after = match (failure.fixed, failure.tests_passed, failure.gone) {
        (Some(fixed), ..) => format!("worked again in {}", mark(fixed)),
        (None, Some(passed), _) => format!("other tests passed in {}", mark(passed)),
        (None, None, Some(gone)) => format!("no longer reported in {}", mark(gone)),
        (None, None, None) => "has not worked since".to_owned(),
    };
    format!("{} {}: {} → {changed}{after}", mark(failure.seq), failure.call, failure.error)
}

/// Formats a command: `\`cargo test\` worked in [84] (run 5×, failed 2×): test result: ok. 12 passed`.
pub fn command(command: &CommandFact) -> String {
    let state = match command.failed {
        Some(true) => "failed",
        Some(false) => "worked",
        None => "was started",
    };
    let times = match (command.runs, command.failures) {
        (1, _) => String::new(),
        (runs, 0) => format!(" (run {runs}×)"),
        (runs, failures) => format!(" (run {runs}×, failed {failures}×)"),
    };
    let verdict = command.verdict.as_deref().map(|v| format!(": {v}")).unwrap_or_default();
    format!("`{}` {state} in {}{times}{verdict}", command.line, mark(command.last))
}

/// Formats a decision: `[12] (user) keep the lease rather than renew it`.
pub fn decision(decision: &StatedDecision, bytes: usize) -> String {
    let who = if decision.by_user { "(user) " } else { "" };
    format!("{} {who}{}", mark(decision.seq), one_line(&decision.text, bytes))
}

/// Formats a call: `[12] Bash \`cargo test\` (failed)`.
pub fn action(action: &Action) -> String {
    let failed = if action.failed { " (failed)" } else { "" };
    format!("{} {}{failed}", mark(action.seq), action.text)
}

/// Formats a statement by the user, with the question that it answers.
pub fn said(said: &RecordedStatement, bytes: usize) -> String {
    let (mark, text) = (mark(said.seq), one_line(&said.text, bytes));
    match &said.question {
        Some(question) => format!("{mark} {text} (asked: {})", one_line(question, bytes / 2)),
        None if said.kind == SaidKind::Handover => {
            format!("{mark} (summary of an earlier session) {text}")
        }
        None => format!("{mark} {text}"),
    }
}

/// Returns the longest directory that most files share, with a trailing slash; empty if there is none.
pub fn common_root(files: &[FileFact]) -> String {
    let Some(first) = files.iter().max_by_key(|f| f.edits + f.reads) else { return String::new() };
    let is_shared = |root: &&str| {
        let below = files.iter().filter(|f| f.path.starts_with(root)).count();
        below * 5 >= files.len() * 4
    };
    // The root of the disk does not count.
    let mut roots = successors(directory(&first.path), |path| directory(path))
        .take_while(|root| root.len() > 1);
    roots.find(is_shared).map(str::to_owned).unwrap_or_default()
}

/// Returns the directory of a path, with a trailing slash.
fn directory(path: &str) -> Option<&str> {
    path.get(..=path.trim_end_matches('/').rfind('/')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Symbol;

    #[test]
    fn a_file_says_what_was_done_to_it() {
        let symbol = |name: &str, change| Symbol { name: name.into(), change, seq: Seq(3) };
        let mut fact = FileFact {
            path: "/proj/src/a.rs".into(),
            reads: 2,
            edits: 1,
            created: true,
            last: Seq(9),
            symbols: vec![symbol("open", EditKind::Added), symbol("gone", EditKind::Removed)],
            ..FileFact::default()
        };
        assert_eq!(
            file(&fact, "/proj/", 5),
            "src/a.rs (created, read 2×, last [9]): added open; removed gone"
        );
        assert_eq!(file(&fact, "/proj/", 0), "src/a.rs (created, read 2×, last [9])");
        fact = FileFact { created: false, reads: 1, edits: 0, symbols: Vec::new(), ..fact };
        assert_eq!(file(&fact, "/else/", 5), "/proj/src/a.rs (read, last [9])");
    }

    #[test]
    fn most_files_share_a_root() {
        let at = |path: &str| FileFact { path: path.into(), reads: 1, ..FileFact::default() };
        let files = ["/proj/a/x.rs", "/proj/a/y.rs", "/proj/b/z.rs"].map(at);
        assert_eq!(common_root(&files), "/proj/");
        assert_eq!(common_root(&[at("x.rs")]), "");
        assert_eq!(common_root(&[]), "");
    }
}
