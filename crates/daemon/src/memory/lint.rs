//! How a project's memory is: where it lies, how large it is, and what is wrong with it.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::lint::{Directory, Finding, StrangeFile, TopicFile, lint};
use bethink_memdir::{Name, Scope, index};
use bethink_memdir_fs::{File, FileError};

use super::read::scope_of;
use super::refused::{blocking, refused};
use super::{Shelf, Snapshot};
use crate::{Daemon, Result};

/// The files of a directory, read for one look at them.
#[derive(Default)]
struct Read {
    there: bool,
    topics: Vec<(Name, String)>,
    /// Path, and why it is none.
    strange: Vec<(String, String)>,
}

impl Daemon {
    /// Of both directories, or of one; a team's that nobody set up is left out.
    pub async fn memory_lint(
        &self,
        project_dir: &str,
        scope: Option<String>,
    ) -> Result<api::MemoryLint> {
        let project = self.project(project_dir).await?;
        let asked = scope.as_deref().map(scope_of).transpose()?;
        let scopes = asked.map_or_else(|| vec![Scope::Private, Scope::Team], |scope| vec![scope]);
        let mut shelves = Vec::new();
        for scope in scopes {
            let found = self.look_over(project.shelf(scope)).await?;
            if found.there || found.fault.is_some() || scope == Scope::Private || asked.is_some() {
                shelves.push(found);
            }
        }
        Ok(api::MemoryLint { shelves })
    }

    async fn look_over(&self, shelf: &Arc<Shelf>) -> Result<api::MemoryShelf> {
        let shown = shelf.snapshot_anew(self).await?;
        let (held, seen) = (Arc::clone(shelf), Arc::clone(&shown));
        // Thousands of topics are a second of work, which no other request should wait for.
        let looked = blocking(move || {
            let read = read(&held, &seen)?;
            let text = seen.index.as_ref().map(|index| index.text.as_str());
            Ok((read.there, findings(held.scope, text, &read)))
        });
        // A directory that can't be read is told as the fault that it is.
        let (there, findings, fault) = match looked.await {
            Ok((there, findings)) => (there, findings, shown.fault.clone()),
            Err(refusal) => (false, Vec::new(), shown.fault.clone().or(Some(refusal.detail))),
        };
        let text = shown.index.as_ref().map(|index| index.text.as_str());
        Ok(api::MemoryShelf {
            scope: shelf.scope.to_string(),
            dir: shelf.dir.display().to_string(),
            layout: self.settings().memory.layout.clone(),
            there,
            topics: shown.topics.len() as u64,
            bytes: shown.topics.values().map(|topic| topic.bytes).sum(),
            index: text.map(index_size),
            watch: if shelf.is_polled() { "polling" } else { "events" }.to_owned(),
            fault,
            findings,
        })
    }
}

fn index_size(text: &str) -> api::IndexSize {
    let shown = index::shown(text);
    api::IndexSize {
        lines: shown.lines as u64,
        bytes: shown.bytes as u64,
        cut_by: shown.cut_by.map(str::to_owned),
    }
}

fn read(shelf: &Shelf, shown: &Snapshot) -> Result<Read> {
    let Some(root) = shelf.root(false)? else { return Ok(Read::default()) };
    let mut read = Read { there: true, ..Read::default() };
    let strange = shown.strange.iter().map(|one| (one.path.clone(), one.why.to_string()));
    read.strange.extend(strange);
    if let Some(index) = root.read(&File::Index).map_err(|error| refused(&error))?
        && let Err(error) = std::str::from_utf8(&index.bytes)
    {
        read.strange.push((File::Index.path(), not_text(error.valid_up_to())));
    }
    for name in shown.topics.keys() {
        match root.read(&File::Topic(name.clone())) {
            Ok(None) => {}
            Ok(Some(content)) => match String::from_utf8(content.bytes) {
                Ok(text) => read.topics.push((name.clone(), text)),
                Err(error) => {
                    let why = not_text(error.utf8_error().valid_up_to());
                    read.strange.push((name.file(), why));
                }
            },
            Err(FileError::Strange { file, why }) => read.strange.push((file, why.to_string())),
            Err(error) => return Err(refused(&error)),
        }
    }
    Ok(read)
}

fn not_text(at: usize) -> String {
    format!("is not UTF-8: the byte at offset {at}")
}

fn findings(scope: Scope, index: Option<&str>, read: &Read) -> Vec<api::MemoryFinding> {
    let topics: Vec<TopicFile<'_>> =
        read.topics.iter().map(|(name, text)| TopicFile { name, text }).collect();
    let strange: Vec<StrangeFile<'_>> =
        read.strange.iter().map(|(path, why)| StrangeFile { path, why }).collect();
    let directory = Directory { scope, index, topics: &topics, strange: &strange };
    lint(&directory).into_iter().map(out).collect()
}

fn out(finding: Finding) -> api::MemoryFinding {
    api::MemoryFinding {
        severity: finding.severity.to_string(),
        rule: finding.rule.to_owned(),
        file: finding.file,
        line: finding.line.map(|line| line as u64),
        what: finding.what,
        help: finding.help,
    }
}
