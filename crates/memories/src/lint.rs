//! The state of a project's memory: where it is, how large it is, and what is wrong with it.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::lint::{Directory, StrangeFile, TopicFile, lint};
use bethink_memdir::{Name, Scope, index};
use bethink_memdir_fs::{DirectoryFile, FileError};
use bethink_secrets::{ScannedText, SecretFinding, scan};
use bethink_service::{Result, blocking};

use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::refused::refused;
use crate::service::MemoryService;

/// A directory's files.
#[derive(Default)]
struct ReadFiles {
    there: bool,
    topics: Vec<(Name, String)>,
    /// Paths of files that are not memories, with the reasons.
    strange: Vec<(String, String)>,
}

impl MemoryService {
    /// Checks one directory or all of them. If all are checked, team and person directories that do not exist are
    /// skipped.
    pub async fn memory_lint(
        &self,
        project_dir: &str,
        scope: Option<Scope>,
    ) -> Result<api::MemoryLint> {
        let project = self.project(project_dir).await?;
        let scopes = scope.map_or(Scope::ALL.to_vec(), |scope| vec![scope]);
        let mut directories = Vec::new();
        for one in scopes {
            let found = self.look_over(project.directory(one)).await?;
            if found.there || found.fault.is_some() || one == Scope::Private || scope.is_some() {
                directories.push(found);
            }
        }
        Ok(api::MemoryLint { shelves: directories })
    }

    /// Returns a finding for each secret that nobody has allowed.
    async fn secrets_of(
        &self,
        directory: &MemoryDirectory,
        file: &str,
        text: &str,
    ) -> Result<Vec<api::MemoryFinding>> {
        let found = self.held_back(directory, text).await?;
        let finding = |one: SecretFinding| api::MemoryFinding {
            severity: api::Severity::Warning,
            rule: "secret".to_owned(),
            file: file.to_owned(),
            line: Some(one.line as u64),
            what: format!("contains {} ({}), so it is not recalled", one.what, one.rule),
            help: match directory.scope {
                Scope::Team => {
                    "remove the secret, and issue a new one if others may have seen it".to_owned()
                }
                _ => format!(
                    "remove the secret, or run `bethink memory edit NAME --allow-secret {}:{}` to allow it",
                    one.rule, one.line
                ),
            },
        };
        Ok(found.into_iter().map(finding).collect())
    }

    async fn look_over(&self, directory: &Arc<MemoryDirectory>) -> Result<api::MemoryShelf> {
        let shown = self.snapshot_anew(directory).await?;
        let (held, seen) = (Arc::clone(directory), Arc::clone(&shown));
        // Thousands of topics take a second; no other request should wait for that.
        let looked = blocking(move || {
            let read = read(&held, &seen)?;
            let text = seen.index.as_ref().map(|index| index.text.as_str());
            let found = findings(held.scope, text, &read);
            Ok((read.there, found, suspects(&read, text)))
        });
        // A directory that cannot be read is reported as a fault.
        let (there, findings, fault) = match looked.await {
            Ok((there, mut findings, suspects)) => {
                for (file, text) in suspects {
                    findings.extend(self.secrets_of(directory, &file, &text).await?);
                }
                findings.extend(directory.sync.findings());
                (there, findings, shown.fault.clone())
            }
            Err(error) => (false, Vec::new(), shown.fault.clone().or(Some(error.detail))),
        };
        let text = shown.index.as_ref().map(|index| index.text.as_str());
        Ok(api::MemoryShelf {
            scope: directory.scope,
            dir: directory.dir.display().to_string(),
            layout: api::parse_word(&self.cx.settings().memory.layout).unwrap_or_default(),
            there,
            topics: shown.topics.len() as u64,
            bytes: shown.topics.values().map(|topic| topic.bytes).sum(),
            index: text.map(index_size),
            watch: match directory.is_polled() {
                true => api::MemoryWatch::Polling,
                false => api::MemoryWatch::Events,
            },
            fault,
            findings,
        })
    }
}

/// Returns the files with findings, allowed or not.
fn suspects(read: &ReadFiles, index: Option<&str>) -> Vec<(String, String)> {
    let topics = read.topics.iter().map(|(name, text)| (name.file(), text.as_str()));
    let index = index.map(|text| (DirectoryFile::Index.path(), text));
    let has_findings = |text: &str| !scan(&ScannedText { name: "", text }).is_empty();
    let suspects = topics.chain(index).filter(|(_, text)| has_findings(text));
    suspects.map(|(file, text)| (file, text.to_owned())).collect()
}

fn index_size(text: &str) -> api::IndexSize {
    let shown = index::shown(text);
    api::IndexSize { lines: shown.lines as u64, bytes: shown.bytes as u64, cut_by: shown.cut_by }
}

fn read(directory: &MemoryDirectory, shown: &DirectorySnapshot) -> Result<ReadFiles> {
    let Some(root) = directory.root(false)? else { return Ok(ReadFiles::default()) };
    let mut read = ReadFiles { there: true, ..ReadFiles::default() };
    let strange = shown.strange.iter().map(|one| (one.path.clone(), one.why.to_string()));
    read.strange.extend(strange);
    if let Some(index) = root.read(&DirectoryFile::Index).map_err(refused)?
        && let Err(error) = std::str::from_utf8(&index.bytes)
    {
        read.strange.push((DirectoryFile::Index.path(), not_text(error.valid_up_to())));
    }
    for name in shown.topics.keys() {
        match root.read(&DirectoryFile::Topic(name.clone())) {
            Ok(None) => {}
            Ok(Some(content)) => match String::from_utf8(content.bytes) {
                Ok(text) => read.topics.push((name.clone(), text)),
                Err(error) => {
                    let why = not_text(error.utf8_error().valid_up_to());
                    read.strange.push((name.file(), why));
                }
            },
            Err(FileError::Strange { file, why }) => read.strange.push((file, why.to_string())),
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(read)
}

fn not_text(at: usize) -> String {
    format!("has invalid UTF-8 at byte offset {at}")
}

fn findings(scope: Scope, index: Option<&str>, read: &ReadFiles) -> Vec<api::MemoryFinding> {
    let topics: Vec<TopicFile<'_>> =
        read.topics.iter().map(|(name, text)| TopicFile { name, text }).collect();
    let strange: Vec<StrangeFile<'_>> =
        read.strange.iter().map(|(path, why)| StrangeFile { path, why }).collect();
    let directory = Directory { scope, index, topics: &topics, strange: &strange };
    lint(&directory)
}
