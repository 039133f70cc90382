//! Forgets what a session taught: removes the lines that came from it and keeps all others. Stored versions make it
//! possible to undo this.

use std::collections::BTreeSet;

use bethink_api as api;
use bethink_api::MemoryOutcome;
use bethink_extractor::forget::{ForgetOutcome, TopicStep, forget};
use bethink_memdir::{Hash, Name, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Result, ServiceError};
use bethink_store::{MemoryVersionFilter, VersionRecord};
use bethink_transcript::SessionId;

use crate::directory::MemoryDirectory;
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of versions that are checked, per session and per file.
const VERSIONS: usize = 2_000;

/// A topic, and how to change it.
struct ForgetRequest {
    scope: Scope,
    name: Name,
    hash: Hash,
    forgotten: ForgetOutcome,
}

impl MemoryService {
    pub async fn forget_session(&self, request: api::ForgetRequest) -> Result<api::Forgotten> {
        let project = self.project(&request.project_dir).await?;
        let id = SessionId(request.session_id);
        let _one = project.turns.extracting.lock().await;
        let mut files = Vec::new();
        let mut taught = self.taught_by(&project, Scope::Private, id).await?;
        taught.extend(self.taught_by(&project, Scope::Person, id).await?);
        for wanted in taught {
            if !request.dry_run {
                self.make_forgotten(&project, id, &wanted).await?;
            }
            files.push(outcome(wanted));
        }
        let candidates = self.forget_candidates(&project, id, request.dry_run).await?;
        let api::ForgetRequest { dry_run, session_id, .. } = request;
        Ok(api::Forgotten { dry_run, session_id, files, candidates })
    }

    /// Finds topics with text from the session.
    async fn taught_by(
        &self,
        project: &MemoryProject,
        scope: Scope,
        id: SessionId,
    ) -> Result<Vec<ForgetRequest>> {
        let directory = project.directory(scope);
        let filter = MemoryVersionFilter { session: Some(id), ..directory.versions(VERSIONS) };
        let versions = self.cx.store().memory_versions(filter).await?;
        let names: BTreeSet<Name> = versions
            .iter()
            .filter(|version| version.author == api::MemoryAuthor::Extraction)
            // The index is not a topic, so its name does not parse.
            .filter_map(|version| Name::parse(&version.file).ok())
            .collect();
        let mut wanted = Vec::new();
        for name in names {
            let Some((now, hash)) = directory.read(&name).await? else { continue };
            let forgotten = forget(&now, &self.steps(directory, &name, id).await?);
            if forgotten != ForgetOutcome::Nothing {
                wanted.push(ForgetRequest { scope, name, hash, forgotten });
            }
        }
        Ok(wanted)
    }

    /// Returns the session's changes to a topic, oldest first.
    async fn steps(
        &self,
        directory: &MemoryDirectory,
        name: &Name,
        id: SessionId,
    ) -> Result<Vec<TopicStep>> {
        let filter =
            MemoryVersionFilter { file: Some(name.file()), ..directory.versions(VERSIONS) };
        let mut versions = self.cx.store().memory_versions(filter).await?;
        versions.reverse();
        let mut steps = Vec::new();
        for (at, version) in versions.iter().enumerate() {
            if version.session != Some(id) || version.author != api::MemoryAuthor::Extraction {
                continue;
            }
            let before = match at.checked_sub(1) {
                Some(before) => self.text_of_version(&versions[before]).await?,
                None => None,
            };
            if let Some(after) = self.text_of_version(version).await? {
                steps.push(TopicStep { before, after });
            }
        }
        Ok(steps)
    }

    pub(super) async fn text_of_version(&self, version: &VersionRecord) -> Result<Option<String>> {
        let (directory, file) = (version.directory.clone(), version.file.clone());
        let version = self.cx.store().memory_content(directory, file, version.number).await?;
        let bytes = version.and_then(|version| version.content);
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes.into()).ok()))
    }

    async fn make_forgotten(
        &self,
        project: &MemoryProject,
        id: SessionId,
        wanted: &ForgetRequest,
    ) -> Result<()> {
        let note = format!("forgot session {id}");
        let mut author = Author { note, ..Author::person() };
        let (text, lines) = match &wanted.forgotten {
            ForgetOutcome::Nothing => return Ok(()),
            ForgetOutcome::Removed { lines } => (None, lines),
            ForgetOutcome::Cut { text, lines, whole } => {
                if *whole {
                    // The topic gets back the exact bytes that it had.
                    author.by = api::MemoryAuthor::Restore;
                }
                (Some(text.clone()), lines)
            }
        };
        // Refuse the lines first, so that a concurrent extraction does not learn them again.
        for line in lines {
            self.refuse_statement(project, line).await?;
        }
        let (file, expected) =
            (DirectoryFile::Topic(wanted.name.clone()), Expected::Hash(wanted.hash));
        let write = MemoryWrite { scope: wanted.scope, file, text, expected, author };
        self.write_memory(project, write).await.map(drop).map_err(|error| {
            let detail =
                format!("{}; topics that were already forgotten stay forgotten", error.detail);
            ServiceError { detail, ..error }.hint("try again to forget the rest")
        })
    }
}

fn outcome(wanted: ForgetRequest) -> api::ForgottenMemory {
    let (outcome, lines, text) = match wanted.forgotten {
        ForgetOutcome::Nothing => (MemoryOutcome::Same, Vec::new(), None),
        ForgetOutcome::Removed { lines } => (MemoryOutcome::Removed, lines, None),
        ForgetOutcome::Cut { text, lines, whole: true } => {
            (MemoryOutcome::Restored, lines, Some(text))
        }
        ForgetOutcome::Cut { text, lines, whole: false } => (MemoryOutcome::Cut, lines, Some(text)),
    };
    api::ForgottenMemory {
        scope: wanted.scope,
        name: wanted.name.to_string(),
        outcome,
        lines,
        text,
    }
}
