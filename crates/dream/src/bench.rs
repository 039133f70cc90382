//! A working copy of a directory. It records each edit as a step, and all of them become the plan.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bethink_memdir::header::{self, HeaderChange};
use bethink_memdir::{DirectoryFile, Header, Name, Scope};
use bethink_transcript::UnixMicros;
use jiff::civil::Date;

use crate::consolidate::TextContent;
use crate::directory::{DreamDirectory, DreamTopic};
use crate::limits::QUOTED_CHARS;
use crate::plan::{DreamDropped, DreamNote, DreamPlan, DreamStep, Phase, PlannedChange};

#[derive(Debug)]
pub(crate) struct DreamBench {
    pub(crate) scope: Scope,
    /// The current phase, for steps and notes.
    pub(crate) phase: Phase,
    index: Option<String>,
    /// The topics before the dream.
    pub(crate) found: BTreeMap<Name, String>,
    now_index: Option<String>,
    pub(crate) index_put_back: bool,
    pages: BTreeMap<Name, TopicState>,
    pub(crate) unread: Vec<Name>,
    pub(crate) steps: Vec<DreamStep>,
    dropped: Vec<DreamDropped>,
    notes: Vec<DreamNote>,
}

/// A topic after the steps so far.
#[derive(Clone, Debug)]
pub(crate) struct TopicState {
    pub(crate) text: String,
    pub(crate) header: Header,
    pub(crate) header_range: Range<usize>,
    pub(crate) body: Range<usize>,
    pub(crate) modified: UnixMicros,
    untouched: bool,
    /// Whether a person restored this topic. Then it is neither changed nor removed.
    pub(crate) put_back: bool,
    content: OnceLock<Arc<TextContent>>,
}

impl TopicState {
    fn read(text: String, modified: UnixMicros, untouched: bool, put_back: bool) -> Self {
        let topic = header::read(&text);
        let body = text.len() - topic.body.len()..text.len();
        let (header, header_range) = (topic.header, topic.header_range);
        let content = OnceLock::new();
        Self { header, header_range, body, text, modified, untouched, put_back, content }
    }

    pub(crate) fn body(&self) -> &str {
        &self.text[self.body.clone()]
    }

    /// Returns what the body says. It is read once.
    pub(crate) fn content(&self) -> Arc<TextContent> {
        Arc::clone(self.content.get_or_init(|| Arc::new(TextContent::of(self.body()))))
    }

    /// Returns whether this daemon wrote the topic and nobody has changed it since, so that a dream may rewrite it.
    pub(crate) fn is_own(&self) -> bool {
        let by_us = self.header.source.as_ref().is_some_and(|source| source.strategy != "person");
        by_us && self.untouched
    }

    /// Returns the day of the topic's source.
    pub(crate) fn learned(&self) -> Option<Date> {
        day(&self.header.source.as_ref()?.time)
    }

    /// Returns the whole file with its body replaced.
    pub(crate) fn with_body(&self, body: &str) -> String {
        [&self.text[..self.body.start], body].concat()
    }
}

/// Returns the day of an RFC 3339 time.
pub(crate) fn day(time: &str) -> Option<Date> {
    time.get(..10)?.parse().ok()
}

/// Changes a key of the header. Returns the text unchanged if the key cannot be changed by itself.
pub(crate) fn with_header(text: String, change: HeaderChange<'_>) -> String {
    header::with(&text, &[change]).unwrap_or(text)
}

/// Returns the beginning of the text, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= QUOTED_CHARS {
        return line;
    }
    line.chars().take(QUOTED_CHARS).chain(['…']).collect()
}

impl DreamBench {
    /// Opens a directory. Files from the other scope (private or team) are left out, so that no step can change them.
    pub(crate) fn open(directory: &DreamDirectory) -> Self {
        let ours = |topic: &&DreamTopic| !is_foreign(directory.scope, &topic.name);
        let topics: Vec<&DreamTopic> = directory.topics.iter().filter(ours).collect();
        let page = |topic: &&DreamTopic| {
            TopicState::read(topic.text.clone(), topic.modified, topic.untouched, topic.put_back)
        };
        Self {
            scope: directory.scope,
            phase: Phase::Orient,
            index: directory.index.clone(),
            now_index: directory.index.clone(),
            index_put_back: directory.index_put_back,
            found: topics.iter().map(|topic| (topic.name.clone(), topic.text.clone())).collect(),
            pages: topics.iter().map(|topic| (topic.name.clone(), page(topic))).collect(),
            unread: directory.unread.clone(),
            steps: Vec::new(),
            dropped: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn index(&self) -> Option<&str> {
        self.now_index.as_deref()
    }

    pub(crate) fn pages(&self) -> &BTreeMap<Name, TopicState> {
        &self.pages
    }

    pub(crate) fn names(&self) -> Vec<Name> {
        self.pages.keys().cloned().collect()
    }

    /// Writes a topic. Adds a step, unless the text is unchanged.
    pub(crate) fn write(&mut self, name: &Name, text: String, what: &str, why: &str) {
        let old = self.pages.get(name);
        if old.is_some_and(|page| page.text == text) {
            return;
        }
        let (modified, untouched) =
            old.map_or((UnixMicros(0), true), |page| (page.modified, page.untouched));
        self.step(name.file(), what, why);
        self.pages.insert(name.clone(), TopicState::read(text, modified, untouched, false));
    }

    pub(crate) fn remove(&mut self, name: &Name, what: &str, why: &str) {
        if self.pages.remove(name).is_some() {
            self.step(name.file(), what, why);
        }
    }

    pub(crate) fn write_index(&mut self, text: String, what: &str, why: &str) {
        if self.now_index.as_deref() == Some(text.as_str()) {
            return;
        }
        self.step(DirectoryFile::Index.path(), what, why);
        self.now_index = Some(text);
    }

    fn step(&mut self, file: String, what: &str, why: &str) {
        let (phase, what, why) = (self.phase, what.to_owned(), why.to_owned());
        self.steps.push(DreamStep { phase, file, what, why });
    }

    pub(crate) fn dropped(&mut self, file: String, text: &str, why: &str) {
        let (text, why) = (text.to_owned(), why.to_owned());
        self.dropped.push(DreamDropped { file, text, why });
    }

    /// Adds a note, unless there is one with the same text.
    pub(crate) fn note(&mut self, text: String) {
        let note = DreamNote { phase: self.phase, text };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn finish(self) -> DreamPlan {
        let mut changes: Vec<PlannedChange> = Vec::new();
        let mut add = |file, before: Option<&String>, after: Option<&String>| {
            if before != after {
                let (before, after) = (before.cloned(), after.cloned());
                changes.push(PlannedChange { file, before, after });
            }
        };
        for (name, page) in &self.pages {
            add(DirectoryFile::Topic(name.clone()), self.found.get(name), Some(&page.text));
        }
        for (name, text) in &self.found {
            if !self.pages.contains_key(name) {
                add(DirectoryFile::Topic(name.clone()), Some(text), None);
            }
        }
        add(DirectoryFile::Index, self.index.as_ref(), self.now_index.as_ref());
        let Self { scope, steps, dropped, notes, .. } = self;
        DreamPlan { scope, steps, changes, dropped, notes }
    }
}

/// Returns whether a file with this name belongs to the other scope.
fn is_foreign(scope: Scope, name: &Name) -> bool {
    let folder = name.as_str().split_once('/').map(|(folder, _)| folder);
    scope == Scope::Private
        && folder.is_some_and(|folder| folder.eq_ignore_ascii_case(bethink_memdir::name::TEAM))
}
