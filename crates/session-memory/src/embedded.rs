//! Notes without a model: each section from facts, each row says what happened and where.
//!
//! A row's key names the fact, so that its next wording replaces this one; its weight says how long it
//! stays when room is short: what is unfinished, what the user said, and what is recent weigh most.

mod files;
mod task;
mod trouble;
mod turns;
mod work;

use bethink_facts::{Facts, shorten};
use bethink_transcript::Seq;

use crate::draft::{Draft, DraftSection, NotesRequest, NotesWriter, Row, WriterError, one_line};
use crate::template::SectionKind;
use turns::Turn;

/// Structured extraction; no model, no network.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddedWriter;

impl NotesWriter for EmbeddedWriter {
    fn strategy(&self) -> &'static str {
        "embedded"
    }

    fn write(&self, request: &NotesRequest<'_>) -> Result<Draft, WriterError> {
        let page = Page::new(request);
        let sections = request.template.sections.iter().map(|section| {
            let rows = section.kind.map_or_else(Vec::new, |kind| page.rows(kind));
            DraftSection::new(section.kind, rows)
        });
        Ok(Draft { sections: sections.collect() })
    }
}

/// What every section draws on.
struct Page<'a> {
    facts: &'a Facts,
    title: Option<&'a str>,
    project_dir: &'a str,
    turns: Vec<Turn<'a>>,
}

impl<'a> Page<'a> {
    fn new(request: &NotesRequest<'a>) -> Self {
        Self {
            facts: request.facts,
            title: request.title,
            project_dir: request.project_dir.trim_end_matches('/'),
            turns: turns::of(request.facts),
        }
    }

    fn rows(&self, kind: SectionKind) -> Vec<Row> {
        match kind {
            SectionKind::Title => task::title(self),
            SectionKind::CurrentState => work::current_state(self),
            SectionKind::Task => task::specification(self),
            SectionKind::Files => files::files(self),
            SectionKind::Workflow => work::workflow(self),
            SectionKind::Errors => trouble::errors(self),
            SectionKind::Docs => files::docs(self),
            SectionKind::Learnings => trouble::learnings(self),
            SectionKind::Results => work::results(self),
            SectionKind::Worklog => work::worklog(self),
        }
    }

    /// From 0 for the beginning of the session to 100 for now.
    fn recency(&self, seq: Seq) -> u32 {
        let now = self.facts.through().0.max(1);
        u32::try_from(seq.0.min(now) * 100 / now).unwrap_or(100)
    }

    /// A path as the project's people say it.
    fn path<'p>(&self, path: &'p str) -> &'p str {
        let below = path.strip_prefix(self.project_dir).and_then(|rest| rest.strip_prefix('/'));
        below.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    /// A call without the project's directory in it.
    fn call(&self, call: &str) -> String {
        match self.project_dir {
            "" => call.to_owned(),
            dir => call.replace(&format!("{dir}/"), ""),
        }
    }
}

/// Where something is told, as the history's commands take it.
fn mark(seq: Seq) -> String {
    format!("[{seq}]")
}

/// Text on one line, shortened between words.
fn clip(text: &str, bytes: usize) -> String {
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

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}
