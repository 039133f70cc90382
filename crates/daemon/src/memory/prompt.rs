//! What a prompt says of memory: the index in the project part, and news of it at the tail.
//!
//! The project part stands before the conversation, so a changed byte in it costs the whole prompt cache. The
//! index therefore stays as it was first shown until the cache is gone anyway: after a compaction, or when
//! nobody asked for as long as the provider keeps it. What changed meanwhile is told at the tail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_context::Attachment;
use bethink_memdir::{Hash, Scope, prompt};
use bethink_transcript::Role;

use super::{Project, Snapshot};
use crate::hot::{HotSession, Slot, tokens};
use crate::{Daemon, Refusal, Result};

/// The kind of attachment that brings news of the index.
const NEWS: &str = "memory";
const NEWS_NAME: &str = "MEMORY.md";

/// What bethink adds to a prompt of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inject {
    Full,
    Recall,
    Off,
}

impl Inject {
    pub(crate) fn of(asked: Option<&str>) -> Result<Self> {
        match asked {
            None | Some("full") => Ok(Self::Full),
            Some("recall") => Ok(Self::Recall),
            Some("off") => Ok(Self::Off),
            Some(other) => {
                let detail = format!("{other:?}: use \"full\", \"recall\" or \"off\"");
                Err(Refusal::invalid("inject", detail))
            }
        }
    }
}

/// What stands in the project part of the system prompt beside what the client gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectPart {
    pub(crate) instructions: Option<String>,
    pub(crate) memory: Option<String>,
}

/// The index as a session's prompts show it, shared by its slot and its hot state.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexShown(Arc<Mutex<Standing>>);

#[derive(Debug, Default)]
struct Standing {
    /// The part as it stands in the prompts.
    part: Option<String>,
    /// The indexes that it was made of, private and team.
    shown: [String; 2],
    /// The indexes that the prompts know of, with the news at the tail.
    told: [Option<Hash>; 2],
    /// The compaction that the prompts begin at.
    boundary: Option<String>,
    made: bool,
}

impl IndexShown {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Daemon {
    /// The index for the project part, as the session's prompts show it.
    pub(crate) async fn index_part(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: &Project,
    ) -> Option<String> {
        let private = project.shelf(Scope::Private).snapshot_soon(self).await;
        let team = project.shelf(Scope::Team).snapshot_soon(self).await;
        let boundary = hot.decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
        let mut standing = slot.index.standing();
        if !standing.made || standing.boundary != boundary || self.cache_is_cold(hot) {
            *standing = stand(project, &private, &team, boundary);
        }
        standing.part.clone()
    }

    /// Nobody asked for as long as the provider keeps a prompt.
    fn cache_is_cold(&self, hot: &HotSession) -> bool {
        let minutes = i64::try_from(self.settings().context.cache_ttl_minutes).unwrap_or(i64::MAX);
        let last = crate::turn::last_activity(hot);
        last.is_none_or(|at| {
            self.now().0.saturating_sub(at.0) >= minutes.saturating_mul(60_000_000)
        })
    }

    /// What changed in the index since the prompts showed it, told once, after a message of the user.
    pub(crate) fn index_news(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: &Project,
    ) -> Option<Attachment> {
        let last = hot.history.entries().last()?;
        if last.message.role != Role::User {
            return None;
        }
        let shelves = [Scope::Private, Scope::Team].map(|scope| project.shelf(scope).shown());
        let mut standing = slot.index.standing();
        let now = [&shelves[0], &shelves[1]].map(|shown| hash_of(shown));
        if !standing.made || standing.told == now {
            return None;
        }
        let texts = [&shelves[0], &shelves[1]].map(|shown| text_of(shown));
        let news = prompt::index_news(&standing.shown, &texts);
        standing.told = now;
        let text = news?;
        let tokens = tokens(&text);
        let (what, name) = (NEWS.to_owned(), NEWS_NAME.to_owned());
        Some(Attachment { after: last.message.seq, what, name, text, tokens })
    }
}

fn stand(
    project: &Project,
    private: &Snapshot,
    team: &Snapshot,
    boundary: Option<String>,
) -> Standing {
    let shown = [text_of(private), text_of(team)];
    let dirs =
        [Scope::Private, Scope::Team].map(|scope| project.shelf(scope).dir.display().to_string());
    let part = (!private.topics.is_empty()
        || !team.topics.is_empty()
        || shown.iter().any(|text| !text.is_empty()))
    .then(|| prompt::index(&dirs, &shown));
    Standing { part, told: [hash_of(private), hash_of(team)], shown, boundary, made: true }
}

/// The whole index: what of it is shown, and what is told of the rest, is the prompt's matter.
fn text_of(shown: &Snapshot) -> String {
    shown.index.as_ref().map_or_else(String::new, |file| file.text.clone())
}

fn hash_of(shown: &Snapshot) -> Option<Hash> {
    shown.index.as_ref().map(|file| file.hash)
}
