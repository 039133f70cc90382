//! Keeps the topics' lines in MEMORY.md up to date. A line is added and removed with its topic, and updated when the
//! title or the description changes, no matter who changed it. Lines that a person has reworded are not changed.

use std::sync::Arc;

use bethink_api::MemoryAuthor;
use bethink_memdir::Name;
use bethink_memdir::index::{self, LineChange, TopicLine, TopicWords};
use bethink_memdir_fs::{DirectoryFile, WriteOutcome};
use bethink_service::{Result, ServiceError};
use bethink_store::{MemoryVersionFilter, VersionRecord};

use crate::change::TRIES;
use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::memory_write::{Author, MemoryWrite};
use crate::service::MemoryService;

/// Maximum number of outdated lines for which earlier versions of the topic are read, and maximum number of versions
/// read for each.
const MOST_LINES: usize = 200;
const VERSIONS: usize = 5;

/// A topic's title and description before and after a change.
#[derive(Clone, Debug)]
pub(crate) struct WordsChange {
    pub(crate) old: TopicWords,
    pub(crate) new: TopicWords,
}

pub(crate) fn followed(index: &str, changes: &[WordsChange]) -> String {
    let changes: Vec<LineChange<'_>> = changes
        .iter()
        .map(|change| LineChange { old: change.old.line(), new: change.new.line() })
        .collect();
    index::follow(index, &changes)
}

impl MemoryService {
    /// Adds, removes or updates a topic's line. `before` is the topic's text before the write. If the index cannot be
    /// updated, returns a warning rather than an error, because the topic itself has been written.
    pub(super) async fn index_line(
        &self,
        directory: &Arc<MemoryDirectory>,
        name: &Name,
        write: &MemoryWrite,
        before: Option<&str>,
    ) -> Option<String> {
        let old = before.map(|text| TopicWords::of(name, text));
        let new = write.text.as_ref().map(|text| TopicWords::of(name, text));
        let shown = directory.read_file(&DirectoryFile::Index).await.ok().flatten();
        let all = if shown.is_none() { self.all_words(directory).await } else { Vec::new() };
        let changed = |index: &str| match (old.clone(), new.clone()) {
            // The index was removed, or there was none. It gets the lines of all topics.
            (_, Some(_)) if index.is_empty() && !all.is_empty() => {
                let lines: Vec<TopicLine<'_>> = all.iter().map(TopicWords::line).collect();
                index::rebuild(index, &lines)
            }
            (_, None) => index::remove(index, name),
            (None, Some(new)) => index::add(index, name, &new.title, &new.description),
            (Some(old), Some(new)) => followed(index, &[WordsChange { old, new }]),
        };
        let line = MemoryWrite { file: DirectoryFile::Index, ..write.clone() };
        let done = self.change_text(directory, &line, changed).await;
        done.err().map(|error| format!("could not update MEMORY.md: {}", error.detail))
    }

    /// Returns the title and description of each topic, for its line in the index.
    async fn all_words(&self, directory: &Arc<MemoryDirectory>) -> Vec<TopicWords> {
        let shown = self.snapshot(directory).await.unwrap_or_default();
        shown.topics.values().map(|topic| topic.words()).collect()
    }

    /// Changes the text of the file that `write` names, which may not exist yet.
    pub(super) async fn change_text(
        &self,
        directory: &Arc<MemoryDirectory>,
        write: &MemoryWrite,
        changed: impl Fn(&str) -> String,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let current = directory.read_file(&write.file).await?;
            let text = match &current {
                None => String::new(),
                Some(content) => String::from_utf8(content.bytes.clone())
                    .map_err(|_| ServiceError::conflict("it is not UTF-8"))?,
            };
            let changed = changed(&text);
            if changed == text {
                return Ok(());
            }
            let expected = current.map(|content| content.hash).into();
            let line = MemoryWrite { text: Some(changed), expected, ..write.clone() };
            if !matches!(self.try_change(directory, &line).await?, WriteOutcome::Conflict(_)) {
                return Ok(());
            }
        }
        Err(ServiceError::conflict("another program keeps changing it"))
    }

    /// Updates the lines of topics that another program has changed since `known`.
    pub(super) async fn follow_edits(
        &self,
        directory: &Arc<MemoryDirectory>,
        known: &DirectorySnapshot,
        shown: &DirectorySnapshot,
    ) -> Result<()> {
        let mut changes = Vec::new();
        for (name, topic) in &shown.topics {
            let Some(old) = known.topics.get(name).filter(|old| old.hash != topic.hash) else {
                continue;
            };
            let (old, new) = (old.words(), topic.words());
            if old == new {
                continue;
            }
            // The writers of this daemon update the line themselves.
            let newest = self.newest_version(directory, &name.file(), None).await?;
            if newest.is_none_or(|version| version.hash != topic.hash.to_string()) {
                changes.push(WordsChange { old, new });
            }
        }
        self.follow_all(directory, &changes).await
    }

    /// Updates lines that match an earlier version of their topic, because the topic was edited while no daemon was
    /// running.
    pub(super) async fn follow_versions(&self, directory: &Arc<MemoryDirectory>) -> Result<()> {
        let shown = directory.shown();
        let Some(index) = &shown.index else { return Ok(()) };
        let newest = self.newest_version(directory, &DirectoryFile::Index.path(), None).await?;
        let is_restored = |version: &VersionRecord| {
            version.author == MemoryAuthor::Restore && version.hash == index.hash.to_string()
        };
        if newest.as_ref().is_some_and(is_restored) {
            return Ok(());
        }
        let words: Vec<TopicWords> = shown.topics.values().map(|topic| topic.words()).collect();
        let lines: Vec<TopicLine<'_>> = words.iter().map(TopicWords::line).collect();
        let mut changes = Vec::new();
        for line in index::differing(&index.text, &lines).into_iter().take(MOST_LINES) {
            let new = words.iter().find(|words| words.name == *line.name);
            let Some(new) = new else { continue };
            for old in self.earlier_words(directory, line.name).await? {
                changes.push(WordsChange { old, new: new.clone() });
            }
        }
        self.follow_all(directory, &changes).await
    }

    async fn follow_all(
        &self,
        directory: &Arc<MemoryDirectory>,
        changes: &[WordsChange],
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let note = "updated to match edited topics".to_owned();
        let write = MemoryWrite {
            scope: directory.scope,
            file: DirectoryFile::Index,
            text: None,
            expected: crate::Expected::Anything,
            author: Author { note, ..Author::person() },
        };
        self.change_text(directory, &write, |index| followed(index, changes)).await
    }

    async fn earlier_words(
        &self,
        directory: &MemoryDirectory,
        name: &Name,
    ) -> Result<Vec<TopicWords>> {
        let filter =
            MemoryVersionFilter { file: Some(name.file()), ..directory.versions(VERSIONS) };
        let mut words = Vec::new();
        for version in self.cx.store().memory_versions(filter).await? {
            let VersionRecord { directory, file, number, .. } = version;
            let version = self.cx.store().memory_content(directory, file, number).await?;
            let content = version.and_then(|version| version.content);
            let text = content.and_then(|content| String::from_utf8(content.into()).ok());
            words.extend(text.map(|text| TopicWords::of(name, &text)));
        }
        Ok(words)
    }
}
