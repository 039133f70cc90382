//! Recall for whoever asks for it, outside of a prompt.

use std::collections::BTreeSet;

use bethink_api as api;
use bethink_memdir::age::age;
use bethink_memdir::prompt::excerpt;
use bethink_transcript::SessionId;

use super::MOST;
use super::attach::{key_of, name_of, recent_tools, surfaced};
use super::choose::{Found, Wanted};
use crate::clock::rfc3339;
use crate::memory::Project;
use crate::{Daemon, Refusal, Result};

impl Daemon {
    /// Memories that help with something; none where nothing fits. Here a model is waited for.
    pub async fn recall(&self, request: api::RecallRequest) -> Result<api::RecallAnswer> {
        let query = request.query.trim().to_owned();
        if query.is_empty() {
            return Err(Refusal::invalid("query", "is empty")
                .hint("say what you want to do, or some words of what you look for"));
        }
        let project = self.project(&request.project_dir).await?;
        let limit = request.limit.map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST));
        let mut wanted = Wanted { query, limit: limit.clamp(1, MOST), ..Wanted::default() };
        let session = request.session_id.map(SessionId);
        let mut own_model = String::new();
        if let Some(id) = session {
            let slot = self.hot(id).await?;
            let hot = slot.lock(self).await?;
            wanted.exclude = surfaced(&hot.decisions).into_keys().collect();
            wanted.recent_tools = recent_tools(&hot);
            own_model = hot.model.name.clone();
        }
        wanted.recent_tools = request.recent_tools.unwrap_or(wanted.recent_tools);
        project.library.follow(&project, self).await?;
        let searched = project.library.len() as u64;
        let chosen = self.choose_by_model(&project.library, session, &own_model, &wanted).await;
        let (found, strategy) = match chosen {
            Some(found) => (found, "model"),
            None => (project.library.choose(wanted).await?, "embedded"),
        };
        let mut memories = Vec::with_capacity(found.len());
        for found in found {
            memories.extend(self.told(&project, found).await);
        }
        Ok(api::RecallAnswer { memories, searched, strategy: strategy.to_owned() })
    }

    /// Memories for a prompt that stands elsewhere, each with its name and as a prompt says it. No model is asked:
    /// a person waits. `told` are those that stand there already.
    pub(crate) async fn recall_for_hook(
        &self,
        dir: &str,
        query: &str,
        told: &BTreeSet<String>,
    ) -> Result<Vec<(String, String)>> {
        let query = query.trim().to_owned();
        if query.is_empty() || self.settings().memory.recall == "off" {
            return Ok(Vec::new());
        }
        let project = self.project(dir).await?;
        project.library.follow(&project, self).await?;
        let exclude = told.iter().filter_map(|name| key_of(name)).collect();
        let wanted = Wanted { query, limit: MOST, exclude, ..Wanted::default() };
        let mut texts = Vec::new();
        for found in project.library.choose(wanted).await? {
            let text = self.reminder(&project, &found).await;
            texts.extend(text.map(|text| (name_of(&found.key()), text)));
        }
        Ok(texts)
    }

    /// `None` where the file has gone meanwhile.
    async fn told(&self, project: &Project, found: Found) -> Option<api::RecalledMemory> {
        let Found { scope, topic, why } = found;
        let shelf = project.shelf(scope);
        let (text, _) = shelf.read(self, &topic.name).await.ok()??;
        let excerpt = excerpt(&text);
        Some(api::RecalledMemory {
            scope: scope.to_string(),
            name: topic.name.to_string(),
            description: topic.header.description.clone(),
            kind: topic.header.kind.map(|kind| kind.to_string()),
            age: age(topic.modified, self.now()),
            modified: rfc3339(topic.modified),
            score: why.score,
            content: excerpt.content.to_owned(),
            truncated: excerpt.truncated,
            path: shelf.dir.join(topic.name.file()).display().to_string(),
            why,
        })
    }
}
