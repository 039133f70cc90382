//! The context in which sections are written, and wording that they share.

use bethink_facts::Facts;
use bethink_facts::rows::mark;
use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use super::turns::{self, NotesTurn};
use crate::draft::{NotesRequest, NotesRow, one_line};

pub(super) struct NotesContext<'a> {
    pub(super) facts: &'a Facts,
    pub(super) title: Option<&'a str>,
    pub(super) project_dir: &'a str,
    pub(super) turns: Vec<NotesTurn<'a>>,
}

impl<'a> NotesContext<'a> {
    pub(super) fn new(request: &NotesRequest<'a>) -> Self {
        Self {
            facts: request.facts,
            title: request.title,
            project_dir: request.project_dir.trim_end_matches('/'),
            turns: turns::of(request.facts),
        }
    }

    /// Returns how recent a message is, from 0 (the beginning of the session) to 100 (now).
    pub(super) fn recency(&self, seq: Seq) -> u32 {
        let now = self.facts.through.0.max(1);
        u32::try_from(seq.0.min(now) * 100 / now).unwrap_or(100)
    }

    /// Returns a path below the project's directory relative to it, and any other path unchanged.
    pub(super) fn path<'p>(&self, path: &'p str) -> &'p str {
        let below = path.strip_prefix(self.project_dir).and_then(|rest| rest.strip_prefix('/'));
        below.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    /// Makes a row about message `seq`; newer messages weigh more.
    pub(super) fn row(&self, what: &str, seq: Seq, text: &str, weight: u32) -> NotesRow {
        let text = format!("{} {text}", mark(seq));
        NotesRow::item(format!("{what}:{seq}"), &text, weight + self.recency(seq))
    }

    /// Removes the project's directory from a call.
    pub(super) fn call(&self, call: &str) -> String {
        match self.project_dir {
            "" => call.to_owned(),
            dir => call.replace(&format!("{dir}/"), ""),
        }
    }
}

/// Puts text on one line and shortens it, if possible at the end of a word.
pub(super) fn clip(text: &str, bytes: usize) -> String {
    let line = one_line(text);
    let short = shorten(&line, bytes);
    match short.strip_suffix('…') {
        Some(cut) if line.len() > bytes => {
            let word = cut.rfind(' ').filter(|at| at * 4 > cut.len() * 3);
            format!("{}…", cut[..word.unwrap_or(cut.len())].trim_end())
        }
        _ => short,
    }
}

/// Says how often something was done: `changed once`, `read 3 times`.
pub(super) fn times(done: &str, times: u32) -> String {
    if times == 1 { format!("{done} once") } else { format!("{done} {times} times") }
}

/// Returns ` and 3 more` if there are three more than the `named` ones; empty if there are none.
pub(super) fn and_more(all: usize, named: usize) -> String {
    if all > named { format!(" and {} more", all - named) } else { String::new() }
}
