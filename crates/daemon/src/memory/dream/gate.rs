//! When to dream: asked after each message of the assistant, cheapest question first.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bethink_store::{Kept, NewJob, Page, SessionFilter};
use bethink_transcript::{Role, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{DREAM, SPACE};
use crate::hot::{HotSession, Slot};
use crate::memory::place::Place;
use crate::{Daemon, Refusal, Result, jobs};

const HOUR_MICROS: i64 = 3_600_000_000;
/// Sessions are looked through at most so often (specification, section 7).
const LOOK_MICROS: i64 = 600_000_000;
/// Sessions of one look; who has touched more has touched enough.
const PAGES: usize = 10;
const PAGE: usize = 100;
const STATE: &str = "state";

/// What is remembered of a project's dreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DreamState {
    /// Microseconds. A dream that is to come counts from when it was asked for, and is taken back if it fails.
    #[serde(default)]
    pub(super) last: Option<i64>,
    /// Under which the last dream's versions are noted.
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// How far a project has come on its way to a dream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Not before.
    TooSoon(UnixMicros),
    /// The sessions touched since are worth counting.
    Count,
}

/// The gate of time, which costs nothing.
pub(super) fn gate(last: Option<i64>, hours: u64, now: UnixMicros) -> Gate {
    let wait = i64::try_from(hours).unwrap_or(i64::MAX).saturating_mul(HOUR_MICROS);
    match last {
        // A clock that was set back is not waited for.
        Some(last) if last <= now.0 && now.0 - last < wait => {
            Gate::TooSoon(UnixMicros(last.saturating_add(wait)))
        }
        _ => Gate::Count,
    }
}

impl Daemon {
    /// Leaves a dream to the worker if one is due. Neither waits nor fails: the next message of the assistant
    /// asks again.
    pub(crate) fn ask_dream_gate(&self, slot: &Slot, hot: &HotSession) {
        let newest = hot.history.entries().last();
        let ended = newest.is_some_and(|entry| entry.message.role == Role::Assistant);
        if self.settings().memory.dream == "off" || !ended {
            return;
        }
        let (dir, now) = (&hot.session.project_dir, self.now());
        {
            let mut next = self.dreams().next();
            if next.get(dir).is_some_and(|next| now.0 < next.0) {
                return;
            }
            next.insert(dir.clone(), UnixMicros(now.0 + LOOK_MICROS));
        }
        let (daemon, id, dir) = (self.clone(), slot.id, dir.clone());
        self.spawn(async move {
            if let Err(refusal) = daemon.dream_if_due(id, &dir).await {
                tracing::warn!(session = %id, reason = %refusal.detail, "a dream could not be asked for");
            }
        });
    }

    pub(super) async fn dream_if_due(&self, session: SessionId, dir: &str) -> Result<bool> {
        let project = self.project(dir).await?;
        let (state, now) = (self.dream_state(&project.key).await?, self.now());
        let settings = &self.settings().memory;
        if let Gate::TooSoon(until) = gate(state.last, settings.dream_hours, now) {
            self.dreams().next().insert(dir.to_owned(), until);
            return Ok(false);
        }
        let since = UnixMicros(state.last.unwrap_or_default());
        let wanted = usize::try_from(settings.dream_sessions).unwrap_or(usize::MAX);
        if self.touched_since(&project.key, Some(session), since, wanted).await?.len() < wanted {
            return Ok(false);
        }
        // Counted from now, so that nobody else asks for it.
        let asked = DreamState { last: Some(now.0), ..state.clone() };
        self.keep_dream_state(&project.key, &asked).await?;
        let new = NewJob {
            id: jobs::new_id(),
            kind: DREAM.to_owned(),
            session: Some(session),
            payload: json!({ "project_dir": dir, "session": session.0, "before": state })
                .to_string(),
            background: true,
            created_at: now,
        };
        self.store().enqueue(new).await?;
        self.wake_worker();
        Ok(true)
    }

    /// Sessions of the project that were written to since then, up to `enough`, newest first.
    pub(super) async fn touched_since(
        &self,
        key: &str,
        but: Option<SessionId>,
        since: UnixMicros,
        enough: usize,
    ) -> Result<Vec<SessionId>> {
        let (mut touched, mut cursor, mut known) = (Vec::new(), None, HashMap::new());
        for _ in 0..PAGES {
            let page = Page { limit: PAGE, cursor };
            let (sessions, next) = self.store().sessions(SessionFilter::default(), page).await?;
            let all = sessions.len();
            let young: Vec<_> = sessions.into_iter().filter(|one| one.updated_at > since).collect();
            let done = young.len() < all;
            let dirs = young.iter().map(|one| one.project_dir.clone());
            self.know_projects(dirs.filter(|dir| !known.contains_key(dir)).collect(), &mut known)
                .await?;
            let ours = |dir: &String| known.get(dir).is_some_and(|found: &String| found == key);
            let new = young.iter().filter(|one| Some(one.id) != but && ours(&one.project_dir));
            touched.extend(new.map(|one| one.id));
            cursor = next;
            if touched.len() >= enough || done || cursor.is_none() {
                break;
            }
        }
        touched.truncate(enough);
        Ok(touched)
    }

    /// Adds the project of each directory, without making it one in use.
    async fn know_projects(
        &self,
        dirs: HashSet<String>,
        known: &mut HashMap<String, String>,
    ) -> Result<()> {
        let settings = self.settings().clone();
        let key = move |dir: String| {
            let key = Place::of(Path::new(&dir), &settings).key;
            (dir, key)
        };
        let found =
            tokio::task::spawn_blocking(move || dirs.into_iter().map(key).collect::<Vec<_>>());
        known.extend(found.await.map_err(Refusal::internal)?);
        Ok(())
    }

    pub(super) async fn dream_state(&self, project: &str) -> Result<DreamState> {
        let kept = self.store().kept(SPACE.to_owned(), project.to_owned()).await?;
        let state = kept.into_iter().find(|kept| kept.key == STATE);
        Ok(state.and_then(|kept| serde_json::from_str(&kept.value).ok()).unwrap_or_default())
    }

    pub(super) async fn keep_dream_state(&self, project: &str, state: &DreamState) -> Result<()> {
        let value = serde_json::to_string(state).map_err(Refusal::internal)?;
        let (space, owner, key) = (SPACE.to_owned(), project.to_owned(), STATE.to_owned());
        Ok(self.store().keep(Kept { space, owner, key, value, at: self.now() }).await?)
    }
}
