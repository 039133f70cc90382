//! Decides when to dream: after each assistant message, the cheapest check first.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bethink_memdir::Scope;
use bethink_service::{Result, blocking, locked};
use bethink_sessions::{LoadedSession, SessionHandle};
use bethink_store::{LastDream, PageRequest, SessionFilter};
use bethink_transcript::{Role, SessionId, UnixMicros};
use serde_json::json;

use crate::extract::run::is_replay;
use crate::place::ProjectPlace;
use crate::service::MemoryService;

pub(super) const DREAM: &str = "dream";

const HOUR_MICROS: i64 = 3_600_000_000;
/// Minimum time between two checks of a project's sessions, in microseconds.
const LOOK_MICROS: i64 = 600_000_000;
/// Maximum number of pages of sessions that a check reads. These pages hold more sessions than any check needs.
const PAGES: usize = 10;
const PAGE: usize = 100;

/// Whether enough time has passed since the last dream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    TooSoon(UnixMicros),
    /// Enough time has passed. The sessions since the last dream are counted next.
    Count,
}

pub(super) fn gate(last: Option<UnixMicros>, hours: u64, now: UnixMicros) -> Gate {
    let wait = i64::try_from(hours).unwrap_or(i64::MAX).saturating_mul(HOUR_MICROS);
    match last {
        // If the clock was set back, the last dream is in the future. Do not wait for it.
        Some(UnixMicros(last)) if last <= now.0 && now.0 - last < wait => {
            Gate::TooSoon(UnixMicros(last.saturating_add(wait)))
        }
        _ => Gate::Count,
    }
}

impl MemoryService {
    /// Enqueues a dream if one is due, but not for a replay, from which nothing is learned. Never waits or fails: the next
    /// assistant message checks again.
    pub(crate) fn ask_dream_gate(&self, handle: &SessionHandle, loaded: &LoadedSession) {
        let newest = loaded.state.history.entries().last();
        let ended = newest.is_some_and(|entry| entry.message.role == Role::Assistant);
        let is_replay = is_replay(&loaded.session);
        if self.cx.settings().memory.dream == "off" || !ended || is_replay {
            return;
        }
        let (dir, now) = (&loaded.session.project_dir, self.cx.now());
        {
            let mut next = locked(&self.inner.dream_looks);
            if next.get(dir).is_some_and(|next| now.0 < next.0) {
                return;
            }
            next.insert(dir.clone(), UnixMicros(now.0 + LOOK_MICROS));
        }
        let (memories, id, dir) = (self.clone(), handle.id, dir.clone());
        self.cx.spawn(async move {
            if let Err(error) = memories.dream_if_due(id, &dir).await {
                tracing::warn!(session = %id, reason = %error.detail, "could not enqueue a dream");
            }
        });
    }

    pub(super) async fn dream_if_due(&self, session: SessionId, dir: &str) -> Result<bool> {
        let project = self.project_of_session(&self.cx.store().session(session).await?).await?;
        let (last, now) = (self.last_dream(&project.key).await?, self.cx.now());
        let settings = &self.cx.settings().memory;
        if let Gate::TooSoon(until) = gate(last.at, settings.dream_hours, now) {
            locked(&self.inner.dream_looks).insert(dir.to_owned(), until);
            return Ok(false);
        }
        let since = last.at.unwrap_or_default();
        let wanted = usize::try_from(settings.dream_sessions).unwrap_or(usize::MAX);
        if self.touched_since(&project.key, Some(session), since, wanted).await?.len() < wanted {
            return Ok(false);
        }
        // Store this first, so that no other session enqueues it too.
        self.put_last_dream(&project.key, LastDream { at: Some(now), ..last.clone() }).await?;
        let root = project.root.display().to_string();
        let payload = json!({ "project_dir": root, "session": session.0, "before": last });
        self.cx.jobs().enqueue_background(DREAM, None, &payload).await?;
        self.dream_of_person_if_due(session, &root).await?;
        self.cx.jobs().wake();
        Ok(true)
    }

    /// Enqueues a dream of the person's memory along with a project's dream, if enough time has passed since the last
    /// dream of the person's memory.
    async fn dream_of_person_if_due(&self, session: SessionId, dir: &str) -> Result<()> {
        let (key, now) = (Scope::Person.to_string(), self.cx.now());
        let last = self.last_dream(&key).await?;
        if gate(last.at, self.cx.settings().memory.dream_hours, now) != Gate::Count {
            return Ok(());
        }
        self.put_last_dream(&key, LastDream { at: Some(now), ..last.clone() }).await?;
        let payload = json!({
            "project_dir": dir, "scope": Scope::Person, "session": session.0, "before": last,
        });
        self.cx.jobs().enqueue_background(DREAM, None, &payload).await?;
        Ok(())
    }

    /// Returns the project's sessions that were written to after `since`, without replays, at most `enough`, newest first.
    pub(crate) async fn touched_since(
        &self,
        key: &str,
        but: Option<SessionId>,
        since: UnixMicros,
        enough: usize,
    ) -> Result<Vec<SessionId>> {
        let (mut touched, mut cursor, mut known) = (Vec::new(), None, HashMap::new());
        for _ in 0..PAGES {
            let page = PageRequest { limit: PAGE, cursor };
            let (sessions, next) = self.cx.store().sessions(SessionFilter::default(), page).await?;
            let all = sessions.len();
            let young: Vec<_> = sessions.into_iter().filter(|one| one.updated_at > since).collect();
            let done = young.len() < all;
            let dirs = young.iter().map(|one| one.project_dir.clone());
            self.know_projects(dirs.filter(|dir| !known.contains_key(dir)).collect(), &mut known)
                .await?;
            let ours = |dir: &String| known.get(dir).is_some_and(|found: &String| found == key);
            let new = young
                .iter()
                .filter(|one| Some(one.id) != but && !is_replay(one) && ours(&one.project_dir));
            touched.extend(new.map(|one| one.id));
            cursor = next;
            if touched.len() >= enough || done || cursor.is_none() {
                break;
            }
        }
        touched.truncate(enough);
        Ok(touched)
    }

    /// Adds the project key of each directory, without opening the projects.
    async fn know_projects(
        &self,
        dirs: HashSet<String>,
        known: &mut HashMap<String, String>,
    ) -> Result<()> {
        let settings = self.cx.settings().clone();
        let key = move |dir: String| {
            let key = ProjectPlace::of(Path::new(&dir), &settings).key;
            (dir, key)
        };
        known.extend(blocking(move || Ok(dirs.into_iter().map(key).collect::<Vec<_>>())).await?);
        Ok(())
    }

    pub(super) async fn last_dream(&self, project: &str) -> Result<LastDream> {
        Ok(self.cx.store().last_dream(project.to_owned()).await?.unwrap_or_default())
    }

    pub(super) async fn put_last_dream(&self, project: &str, last: LastDream) -> Result<()> {
        Ok(self.cx.store().put_last_dream(project.to_owned(), last).await?)
    }
}
