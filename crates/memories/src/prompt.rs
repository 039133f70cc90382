//! The memory index in prompts: the index in the project part, and later changes at the end.
//!
//! The project part precedes the conversation, so a changed byte in it invalidates the whole prompt cache. The index
//! therefore stays as it was first shown until the cache becomes invalid anyway: after a compaction, or after a time
//! without requests that is longer than the provider's cache lifetime. Until then, changes are added at the end.

use std::sync::{Arc, Mutex};

use bethink_context::{Attachment, ProjectTexts};
use bethink_memdir::{Hash, Scope, index, prompt};
use bethink_service::locked;
use bethink_sessions::{
    Contributed, Contribution, Contributor, Inject, LoadedSession, Moment, PromptRequest,
    SessionFeature, SessionHandle,
};
use bethink_transcript::Role;

use crate::branches::{UnmergedTopics, unmerged_last};
use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// The kind of attachment that shows changes to the index.
const NEWS: &str = "memory";
const NEWS_NAME: &str = "MEMORY.md";

/// The index as a session's prompts show it. Kept while the session is in memory.
#[derive(Clone, Debug, Default)]
struct IndexShown {
    /// The text in the project part.
    part: Option<String>,
    /// The indexes from which `part` was made: the private, the team's and the person's.
    shown: [String; 3],
    /// Hashes of the indexes that the prompts show, including changes at the end.
    told: [Option<Hash>; 3],
    /// The compaction whose summary the prompts begin with.
    boundary: Option<String>,
    made: bool,
}

impl SessionFeature for IndexShown {
    fn weight(&self) -> usize {
        let texts = self.shown.iter().chain(&self.part);
        size_of_val(self) + texts.map(String::len).sum::<usize>()
    }
}

/// The memory index in the project part, and later changes at the end.
#[derive(Debug)]
pub struct IndexContributor(pub MemoryService);

impl Contributor for IndexContributor {
    fn contribute<'a>(&'a self, asked: PromptRequest<'a>) -> Contributed<'a, Contribution> {
        Box::pin(async move {
            let PromptRequest { handle, loaded, inject, moment, .. } = asked;
            let Some(project) = self.0.project_of(loaded, inject).await? else {
                return Ok(Contribution::default());
            };
            let kept = handle.feature::<Mutex<IndexShown>>();
            let mut standing = locked(&kept).clone();
            let mut system = ProjectTexts::default();
            if inject == Inject::Full {
                standing = self.0.index_standing(loaded, standing, &project).await;
                system.memory = standing.part.clone();
            }
            let mut reminders = Vec::new();
            if matches!(moment, Moment::Begin { .. }) {
                reminders.extend(self.0.index_news(loaded, &mut standing, &project).await);
            }
            // The session stays locked until the prompt is stored, so nothing else can have changed this.
            let once_kept = move || *locked(&kept) = standing;
            Ok(Contribution { system, reminders, once_kept: Some(Box::new(once_kept)) })
        })
    }

    /// After a restart, prompts begin as before it.
    fn loaded<'a>(
        &'a self,
        handle: &'a SessionHandle,
        loaded: &'a LoadedSession,
    ) -> Contributed<'a, ()> {
        Box::pin(async move {
            let kept = handle.feature::<Mutex<IndexShown>>();
            let mut kept = locked(&kept);
            if !kept.made {
                *kept = IndexShown::sent(loaded).unwrap_or_default();
            }
            Ok(())
        })
    }
}

impl IndexShown {
    /// Returns the index as the session's last request showed it, if its prompts still begin in the same way.
    fn sent(loaded: &LoadedSession) -> Option<Self> {
        let boundary = loaded.state.decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
        let sent_with = loaded.state.shape.as_ref().and_then(|shape| shape.boundary.clone());
        if boundary.is_some() && boundary != sent_with {
            return None;
        }
        let found = loaded.sent_system().into_iter().find_map(|text| {
            let shown = prompt::shown_indexes(&text)?;
            Some((Some(text), shown))
        });
        let (part, shown) = match found {
            Some(found) => found,
            // The first memories were added during the session.
            None if told_news(loaded).is_some() => (None, Default::default()),
            None => return None,
        };
        Some(Self { part, shown, told: [None; 3], boundary, made: true })
    }
}

impl MemoryService {
    /// Returns the index as the session's prompts show it, updated if the prompt cache is invalid anyway.
    async fn index_standing(
        &self,
        loaded: &LoadedSession,
        standing: IndexShown,
        project: &Arc<MemoryProject>,
    ) -> IndexShown {
        let snapshots = self.snapshots_soon(project).await;
        let boundary = loaded.state.decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
        if standing.made && standing.boundary == boundary && !self.cache_is_cold(loaded) {
            return standing;
        }
        let dirs = Scope::ALL.map(|scope| project.directory(scope).dir.display().to_string());
        let shown = self.index_texts(project, &loaded.session.project_dir, &snapshots).await;
        let is_empty = snapshots.iter().all(|shown| shown.topics.is_empty())
            && shown.iter().all(String::is_empty);
        let part = (!is_empty).then(|| prompt::index(&dirs, &shown));
        let told = snapshots.each_ref().map(|shown| hash_of(shown));
        IndexShown { part, told, shown, boundary, made: true }
    }

    /// Whether the last request is older than the provider's cache lifetime.
    fn cache_is_cold(&self, loaded: &LoadedSession) -> bool {
        let minutes =
            i64::try_from(self.cx.settings().context.cache_ttl_minutes).unwrap_or(i64::MAX);
        let ttl = minutes.saturating_mul(60_000_000);
        let last = loaded.state.last_activity();
        last.is_none_or(|at| self.cx.now().0.saturating_sub(at.0) >= ttl)
    }

    /// Returns changes to the index since it was last shown in a prompt. Each change is added once, after a user
    /// message.
    async fn index_news(
        &self,
        loaded: &LoadedSession,
        standing: &mut IndexShown,
        project: &MemoryProject,
    ) -> Option<Attachment> {
        let last = loaded.state.history.entries().last()?;
        if last.message.role != Role::User {
            return None;
        }
        let directories = project.shown();
        let now = directories.each_ref().map(|shown| hash_of(shown));
        if !standing.made || standing.told == now {
            return None;
        }
        let texts = self.index_texts(project, &loaded.session.project_dir, &directories).await;
        let news = prompt::index_news(&standing.shown, &texts);
        standing.told = now;
        // What was told before a restart is in the decisions.
        let told = told_news(loaded);
        let news = news.filter(|news| told.is_none_or(|told| told.text != *news))?;
        Some(Attachment::new(last.message.seq, NEWS, NEWS_NAME.to_owned(), news))
    }

    /// Returns the indexes as prompts in `dir` show them: private, the team's and the person's. Topics that the project's
    /// memory overrides are left out of the person's index, and suppressed topics and those with a secret are left out of
    /// all of them. Lines of topics from unmerged branches come last.
    pub async fn index_texts(
        &self,
        project: &MemoryProject,
        dir: &str,
        snapshots: &[Arc<DirectorySnapshot>; 3],
    ) -> [String; 3] {
        let unmerged = self.unmerged(project, dir).await;
        let [private, team, person] = snapshots;
        let overridden = person.overridden_by(private, team);
        let mut texts = <[String; 3]>::default();
        for ((text, scope), snapshot) in texts.iter_mut().zip(Scope::ALL).zip(snapshots) {
            let shown = self.shown_index(project.directory(scope), snapshot, &unmerged).await;
            let hidden = overridden.iter().filter(|_| scope == Scope::Person);
            *text = index::remove_all(&shown, hidden);
        }
        texts
    }

    /// Returns a directory's index without suppressed topics and those with a secret. Lines of topics from unmerged branches
    /// come last.
    pub(crate) async fn shown_index(
        &self,
        directory: &MemoryDirectory,
        snapshot: &DirectorySnapshot,
        unmerged: &UnmergedTopics,
    ) -> String {
        let held_back = self.held_back_topics(directory, snapshot).await;
        let hidden = snapshot.suppressed().chain(&held_back);
        unmerged_last(&index::remove_all(&snapshot.index_text(), hidden), directory.scope, unmerged)
    }
}

/// Returns the newest text about changes to the index.
fn told_news(loaded: &LoadedSession) -> Option<&Attachment> {
    let mut newest_first = loaded.state.decisions.attachments().iter().rev();
    newest_first.find(|attachment| attachment.what == NEWS && attachment.name == NEWS_NAME)
}

fn hash_of(shown: &DirectorySnapshot) -> Option<Hash> {
    shown.index.as_ref().map(|file| file.hash)
}
