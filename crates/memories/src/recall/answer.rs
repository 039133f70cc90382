//! Recall on request, outside prompts.

use std::collections::{BTreeSet, HashSet};

use bethink_api as api;
use bethink_memdir::age::age;
use bethink_memdir::prompt::excerpt;
use bethink_service::{ErrorKind, Result, ServiceError, rfc3339};
use bethink_transcript::SessionId;

use super::choose::{FoundMemory, MemoryLookup};
use super::linked::linked;
use super::view::{OwnMemories, key_of, name_of, recent_tools, surfaced};
use super::what_if::{RecallSource, tried_changes};
use super::{Key, MOST};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of wordings of one question.
const MOST_QUERIES: usize = 8;
/// Maximum size of a question, in bytes. Only the beginning and the end of a long question are read.
const MOST_QUERY_BYTES: usize = 1024 * 1024;

/// Which memories a session's prompts show.
#[derive(Debug, Default)]
struct SessionView {
    shown: HashSet<Key>,
    recent_tools: Vec<String>,
    own: Option<OwnMemories>,
    model: String,
}

/// Returns the wordings of the question that are not empty.
fn wordings(request: &api::RecallRequest) -> Result<Vec<String>> {
    let all = std::iter::once(&request.query).chain(&request.queries);
    let wordings: Vec<String> =
        all.map(|query| query.trim().to_owned()).filter(|query| !query.is_empty()).collect();
    if wordings.is_empty() {
        return Err(ServiceError::invalid("query", "is empty")
            .hint("describe what you want to do, or use words that the memory may contain"));
    }
    if wordings.len() > MOST_QUERIES {
        let detail = format!("has {} wordings; at most {MOST_QUERIES} are allowed", wordings.len());
        return Err(ServiceError::invalid("queries", detail)
            .hint("send only the wordings that differ most"));
    }
    if let Some(long) = wordings.iter().find(|query| query.len() > MOST_QUERY_BYTES) {
        let detail = format!("has {} bytes; at most {MOST_QUERY_BYTES} are allowed", long.len());
        return Err(ServiceError::invalid("query", detail).hint("send only the question"));
    }
    Ok(wordings)
}

impl MemoryService {
    /// Returns the memories that are relevant to a question. If a model chooses the memories, waits for its answer. With
    /// changes, answers as if they had been made. No model is asked then: a call for each try would cost money.
    ///
    /// # Errors `Invalid` if the request has no question, too many questions or changes, or too much text.
    pub async fn recall(&self, request: api::RecallRequest) -> Result<api::RecallAnswer> {
        let queries = wordings(&request)?;
        let changes = tried_changes(&request.changes)?;
        let project = self.project(&request.project_dir).await?;
        let limit = request.limit.map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST));
        let session = request.session_id.map(SessionId);
        let mut view = SessionView::default();
        if let Some(id) = session {
            view = self.session_view(id).await?;
        }
        let wanted = MemoryLookup {
            queries,
            manner: request.manner,
            recent_tools: request.recent_tools.unwrap_or(view.recent_tools),
            exclude: view.shown,
            own: if request.manner == api::RecallManner::Injected { view.own } else { None },
            limit: limit.clamp(1, MOST),
        };
        self.refresh_library(&project).await?;
        if request.manner == api::RecallManner::Asked {
            self.read_vectors(&project).await;
        }
        let is_tried = !changes.is_empty();
        let _one = if is_tried { Some(project.library.trying.lock().await) } else { None };
        let source = match is_tried {
            true => self.what_if(&project, changes).await?,
            false => RecallSource::of(&project),
        };
        let library = &source.library;
        let searched = library.len() as u64;
        let chosen = match is_tried {
            true => Err(None),
            false => {
                let chosen = self.choose_by_model(library, session, &view.model, &wanted);
                Box::pin(chosen).await
            }
        };
        let (found, strategy, model_failure) = match chosen {
            Ok(found) => (library.with_nearest(found, wanted).await?, api::Strategy::Model, None),
            Err(failure) => (library.choose(wanted).await?, api::Strategy::Embedded, failure),
        };
        let found = self.unmerged_last(&project, &request.project_dir, found).await;
        let memories = self.recalled_memories(&project, &source, found).await;
        Ok(api::RecallAnswer { memories, searched, strategy, model_failure })
    }

    /// Returns memories for another program's prompt, pinned ones first: their names, and their texts formatted for the
    /// prompt. No model is asked, because a person is waiting. `delivered` are the names of memories that were already shown, and
    /// `session` is the program's session, if bethink has it.
    pub async fn recall_for_hook(
        &self,
        dir: &str,
        query: &str,
        delivered: &BTreeSet<String>,
        session: Option<SessionId>,
    ) -> Result<Vec<(String, String)>> {
        let query = query.trim().to_owned();
        if query.is_empty() || self.cx.settings().memory.recall == "off" {
            return Ok(Vec::new());
        }
        let project = self.project(dir).await?;
        self.refresh_library(&project).await?;
        if project.library.len() == 0 {
            return Ok(Vec::new());
        }
        let mut view = SessionView::default();
        if let Some(id) = session {
            view = match self.session_view(id).await {
                // It has been deleted.
                Err(error) if error.kind == ErrorKind::NotFound => view,
                known => known?,
            };
        }
        let wanted = MemoryLookup {
            queries: vec![query],
            manner: api::RecallManner::Injected,
            recent_tools: view.recent_tools,
            exclude: delivered.iter().filter_map(|name| key_of(name)).collect(),
            own: view.own,
            limit: MOST,
        };
        let is_new = |found: &FoundMemory| {
            let own = wanted.own.as_ref().is_some_and(|own| own.has(&found.topic));
            !own && !wanted.exclude.contains(&found.key())
        };
        let mut recalled: Vec<FoundMemory> =
            project.library.pinned().into_iter().filter(is_new).collect();
        let pinned: HashSet<Key> = recalled.iter().map(FoundMemory::key).collect();
        let found = project.library.choose(wanted).await?;
        recalled.extend(found.into_iter().filter(|found| !pinned.contains(&found.key())));
        recalled.truncate(MOST);
        let mut texts = Vec::new();
        for found in self.unmerged_last(&project, dir, recalled).await {
            let text = self.reminder(&project, &found).await;
            texts.extend(text.map(|text| (name_of(&found.key()), text)));
        }
        Ok(texts)
    }

    async fn session_view(&self, id: SessionId) -> Result<SessionView> {
        let handle = self.sessions.handle(id).await?;
        let loaded = self.sessions.lock(&handle).await?;
        Ok(SessionView {
            shown: surfaced(&loaded.state.decisions).into_keys().collect(),
            recent_tools: recent_tools(&loaded),
            own: Some(OwnMemories::of(&loaded)),
            model: loaded.state.model.name.clone(),
        })
    }

    /// Reads the texts, and leaves out memories whose files no longer exist.
    async fn recalled_memories(
        &self,
        project: &MemoryProject,
        source: &RecallSource,
        found: Vec<FoundMemory>,
    ) -> Vec<api::RecalledMemory> {
        let mut memories = Vec::with_capacity(found.len());
        for found in found {
            memories.extend(self.recalled_memory(project, source, found).await);
        }
        memories
    }

    /// Returns `None` if the file no longer exists, or is held back because of a secret.
    async fn recalled_memory(
        &self,
        project: &MemoryProject,
        source: &RecallSource,
        found: FoundMemory,
    ) -> Option<api::RecalledMemory> {
        let text = source.text(project, &found.key()).await?;
        let FoundMemory { scope, topic, why, certainty, unmerged } = found;
        let (directory, shown) = (project.directory(scope), source.shown(scope));
        if !self.held_back(directory, &text).await.ok()?.is_empty() {
            return None;
        }
        let excerpt = excerpt(&text);
        Some(api::RecalledMemory {
            scope,
            name: topic.name.to_string(),
            description: topic.header.description.clone(),
            kind: topic.header.kind,
            recall: topic.header.recall,
            age: age(topic.modified, self.cx.now()),
            modified: rfc3339(topic.modified),
            certainty,
            score: why.score,
            content: excerpt.content.to_owned(),
            truncated: excerpt.truncated,
            versions: shown.other_versions(&topic.name).iter().map(ToString::to_string).collect(),
            links: linked(shown, &topic.name, &text),
            path: directory.dir.join(topic.name.file()).display().to_string(),
            unmerged,
            why,
        })
    }
}
