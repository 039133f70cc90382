//! Recall on request, outside prompts.

use std::collections::BTreeSet;

use bethink_api as api;
use bethink_memdir::age::age;
use bethink_memdir::prompt::excerpt;
use bethink_service::{Result, ServiceError, rfc3339};
use bethink_transcript::SessionId;

use super::MOST;
use super::choose::{FoundMemory, MemoryLookup};
use super::linked::linked;
use super::view::{key_of, name_of, recent_tools, surfaced};
use crate::project::MemoryProject;
use crate::service::MemoryService;

impl MemoryService {
    /// Returns the memories that are relevant to a question, possibly none. Waits for a model.
    pub async fn recall(&self, request: api::RecallRequest) -> Result<api::RecallAnswer> {
        let query = request.query.trim().to_owned();
        if query.is_empty() {
            return Err(ServiceError::invalid("query", "is empty")
                .hint("say what you want to do, or use words of what you are looking for"));
        }
        let project = self.project(&request.project_dir).await?;
        let limit = request.limit.map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST));
        let mut wanted =
            MemoryLookup { query, limit: limit.clamp(1, MOST), ..MemoryLookup::default() };
        let session = request.session_id.map(SessionId);
        let mut own_model = String::new();
        if let Some(id) = session {
            let handle = self.sessions.handle(id).await?;
            let loaded = self.sessions.lock(&handle).await?;
            wanted.exclude = surfaced(&loaded.state.decisions).into_keys().collect();
            wanted.recent_tools = recent_tools(&loaded);
            own_model = loaded.state.model.name.clone();
        }
        wanted.recent_tools = request.recent_tools.unwrap_or(wanted.recent_tools);
        self.refresh_library(&project).await?;
        let searched = project.library.len() as u64;
        let chosen = self.choose_by_model(&project.library, session, &own_model, &wanted).await;
        let (found, strategy) = match chosen {
            Some(found) => (found, api::Strategy::Model),
            None => (project.library.choose(wanted).await?, api::Strategy::Embedded),
        };
        let mut memories = Vec::with_capacity(found.len());
        for found in found {
            memories.extend(self.recalled_memory(&project, found).await);
        }
        Ok(api::RecallAnswer { memories, searched, strategy })
    }

    /// Returns memories for another program's prompt: their names, and their texts for the prompt. No model is asked,
    /// because a person is waiting. `delivered` are the names of memories that were already shown.
    pub async fn recall_for_hook(
        &self,
        dir: &str,
        query: &str,
        delivered: &BTreeSet<String>,
    ) -> Result<Vec<(String, String)>> {
        let query = query.trim().to_owned();
        if query.is_empty() || self.cx.settings().memory.recall == "off" {
            return Ok(Vec::new());
        }
        let project = self.project(dir).await?;
        self.refresh_library(&project).await?;
        let exclude = delivered.iter().filter_map(|name| key_of(name)).collect();
        let wanted = MemoryLookup { query, limit: MOST, exclude, ..MemoryLookup::default() };
        let mut texts = Vec::new();
        for found in project.library.choose(wanted).await? {
            let text = self.reminder(&project, &found).await;
            texts.extend(text.map(|text| (name_of(&found.key()), text)));
        }
        Ok(texts)
    }

    /// Returns `None` if the file no longer exists, or is held back because of a secret.
    async fn recalled_memory(
        &self,
        project: &MemoryProject,
        found: FoundMemory,
    ) -> Option<api::RecalledMemory> {
        let FoundMemory { scope, topic, why } = found;
        let directory = project.directory(scope);
        let (text, _) = directory.read(&topic.name).await.ok()??;
        if !self.held_back(directory, &text).await.ok()?.is_empty() {
            return None;
        }
        let excerpt = excerpt(&text);
        Some(api::RecalledMemory {
            scope,
            name: topic.name.to_string(),
            description: topic.header.description.clone(),
            kind: topic.header.kind,
            age: age(topic.modified, self.cx.now()),
            modified: rfc3339(topic.modified),
            score: why.score,
            content: excerpt.content.to_owned(),
            truncated: excerpt.truncated,
            versions: directory
                .shown()
                .other_versions(&topic.name)
                .iter()
                .map(ToString::to_string)
                .collect(),
            links: linked(&directory.shown(), &topic.name, &text),
            path: directory.dir.join(topic.name.file()).display().to_string(),
            why,
        })
    }
}
