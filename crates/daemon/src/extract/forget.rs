//! "Forget what that session taught": its lines go, what others wrote stays, and versions make it undone.

use std::collections::BTreeSet;

use bethink_api as api;
use bethink_extractor::forget::{Forgotten, Step, forget};
use bethink_memdir::{Hash, Name, Scope};
use bethink_memdir_fs::File;
use bethink_store::{MemoryVersion, MemoryVersionFilter};
use bethink_transcript::SessionId;

use crate::memory::{Author, MemoryWish, MemoryWrite, Project, Shelf};
use crate::{Daemon, Refusal, Result};

/// Versions of one session, or of one file, that are looked at.
const VERSIONS: usize = 2_000;

/// One topic and what is to become of it.
struct Wanted {
    name: Name,
    hash: Hash,
    forgotten: Forgotten,
}

impl Daemon {
    pub async fn forget_session(&self, request: api::ForgetRequest) -> Result<api::Forgotten> {
        let project = self.project(&request.project_dir).await?;
        let id = SessionId(request.session_id);
        let _one = self.extractions().enter(&project.key).await;
        let mut files = Vec::new();
        for wanted in self.taught_by(&project, id).await? {
            if !request.dry_run {
                self.make_forgotten(&project, id, &wanted).await?;
            }
            files.push(told(wanted));
        }
        Ok(api::Forgotten { dry_run: request.dry_run, session_id: request.session_id, files })
    }

    /// Topics in which something of the session stands.
    async fn taught_by(&self, project: &Project, id: SessionId) -> Result<Vec<Wanted>> {
        let shelf = project.shelf(Scope::Private);
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            session: Some(id),
            limit: VERSIONS,
            ..MemoryVersionFilter::default()
        };
        let versions = self.store().memory_versions(filter).await?;
        let learnt = versions.iter().filter(|version| version.author == "extraction");
        // The index is no topic, and has no name of one.
        let names = learnt.filter_map(|version| Name::parse(&version.file).ok());
        let names: BTreeSet<Name> = names.collect();
        let mut wanted = Vec::new();
        for name in names {
            let Some((now, hash)) = shelf.read(self, &name).await? else { continue };
            let forgotten = forget(&now, &self.steps(shelf, &name, id).await?);
            if forgotten != Forgotten::Nothing {
                wanted.push(Wanted { name, hash, forgotten });
            }
        }
        Ok(wanted)
    }

    /// What the session did to a topic, oldest first.
    async fn steps(&self, shelf: &Shelf, name: &Name, id: SessionId) -> Result<Vec<Step>> {
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            file: Some(name.file()),
            limit: VERSIONS,
            ..MemoryVersionFilter::default()
        };
        let mut versions = self.store().memory_versions(filter).await?;
        versions.reverse();
        let mut steps = Vec::new();
        for (at, version) in versions.iter().enumerate() {
            if version.session != Some(id) || version.author != "extraction" {
                continue;
            }
            let before = at.checked_sub(1).and_then(|at| versions.get(at));
            let before = match before {
                Some(before) => self.text_of_version(before).await?,
                None => None,
            };
            if let Some(after) = self.text_of_version(version).await? {
                steps.push(Step { before, after });
            }
        }
        Ok(steps)
    }

    async fn text_of_version(&self, version: &MemoryVersion) -> Result<Option<String>> {
        let content = self.store().memory_content(version.number).await?;
        let bytes = content.and_then(|kept| kept.content);
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes.into()).ok()))
    }

    async fn make_forgotten(
        &self,
        project: &Project,
        id: SessionId,
        wanted: &Wanted,
    ) -> Result<()> {
        let (text, lines) = match &wanted.forgotten {
            Forgotten::Nothing => return Ok(()),
            Forgotten::Removed { lines } => (None, lines),
            Forgotten::Cut { text, lines, .. } => (Some(text.clone()), lines),
        };
        // First, so that what is cut is not learnt again by an extraction that comes between.
        for line in lines {
            self.refuse_statement(project, line).await?;
        }
        let write = MemoryWrite {
            scope: Scope::Private,
            file: File::Topic(wanted.name.clone()),
            text,
            wish: MemoryWish::Hash(wanted.hash),
            author: Author { by: "person", session: None, note: format!("forgot session {id}") },
        };
        match self.write_memory(project, write).await {
            Ok(_) => Ok(()),
            Err(refusal) => Err(Refusal {
                detail: format!("{}; what was forgotten before it stays forgotten", refusal.detail),
                ..refusal
            }
            .hint("ask again: it goes on with what is left")),
        }
    }
}

fn told(wanted: Wanted) -> api::ForgottenMemory {
    let (outcome, lines, text) = match wanted.forgotten {
        Forgotten::Nothing => ("same", Vec::new(), None),
        Forgotten::Removed { lines } => ("removed", lines, None),
        Forgotten::Cut { text, lines, whole: true } => ("restored", lines, Some(text)),
        Forgotten::Cut { text, lines, whole: false } => ("cut", lines, Some(text)),
    };
    api::ForgottenMemory {
        scope: Scope::Private.to_string(),
        name: wanted.name.to_string(),
        outcome: outcome.to_owned(),
        lines,
        text,
    }
}
