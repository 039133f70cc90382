//! Compactions: made, listed, undone, expanded.
//!
//! Reading order: `make` (prepare, generate, commit) → `full` (by a model) → `disk` (what is read again) →
//! `record` (as stored, viewed and told).

mod disk;
mod full;
mod make;
mod record;

use std::sync::Arc;

use bethink_api as api;
use bethink_compactor::{Level, Trigger, fidelity};
use bethink_facts::Facts;
use bethink_model::Figures;
use bethink_transcript::{CompactionId, SessionId};

use crate::hot::HotSession;
use crate::{Daemon, Kind, Refusal, Result};

use record::{Proved, all_out};
pub(crate) use record::{boundary_of, detail_of, out};

/// What a compaction is asked to be.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) trigger: Trigger,
    pub(crate) focus: Option<String>,
    pub(crate) level: Option<Level>,
    pub(crate) summary_tokens: Option<u64>,
    /// Boundary of the view that was too large; another one since then is answer enough.
    pub(crate) seen: Option<String>,
    /// The provider refused the prompt as too long, and named these figures.
    pub(crate) refused: Option<Figures>,
}

impl Wish {
    pub(crate) fn of(trigger: Trigger) -> Self {
        Self { trigger, focus: None, level: None, summary_tokens: None, seen: None, refused: None }
    }

    fn allows(&self, level: Level) -> bool {
        self.level.is_none_or(|wanted| wanted == level)
    }

    /// Focus instructions and a size of its own need a summary that is written anew.
    fn takes_notes(&self) -> bool {
        let plain = self.focus.is_none() && self.summary_tokens.is_none();
        self.level == Some(Level::SessionMemory) || (self.level.is_none() && plain)
    }
}

impl Daemon {
    pub async fn compact(
        &self,
        id: SessionId,
        request: api::CompactRequest,
    ) -> Result<api::Compaction> {
        let wish = wish_of(request)?;
        let slot = self.hot(id).await?;
        self.compact_slot(&slot, wish).await.map(|done| out(&done))
    }

    /// Oldest first. The one in force is judged by what came since.
    pub async fn compactions(&self, id: SessionId) -> Result<api::Compactions> {
        self.store().session(id).await?;
        let all = self.store().compactions(id).await?;
        let newest = if all.is_empty() { None } else { self.proved_by_now(id).await? };
        Ok(api::Compactions { compactions: all_out(&all, newest) })
    }

    async fn proved_by_now(&self, id: SessionId) -> Result<Option<Proved>> {
        let slot = self.hot(id).await?;
        let hot = slot.lock(self).await?;
        let at_hand = hot.history.entries().iter().map(|e| Arc::clone(&e.message)).collect();
        let facts = self.facts_through(&slot, hot.session.last_seq, at_hand).await?;
        Ok(tokio::task::block_in_place(|| proved(&hot, &facts)))
    }

    /// Ignores the record from now on; the messages behind it are in view again.
    pub async fn undo(&self, id: SessionId, compaction: CompactionId) -> Result<api::Compaction> {
        let slot = self.hot(id).await?;
        let undone = self.store().undo_compaction(id, compaction, self.now()).await?;
        slot.cache.compacted();
        slot.cool().await;
        let data = crate::events::compaction_event(&undone);
        self.hub().publish(id, "compaction", undone.made_after, &data);
        Ok(out(&undone))
    }

    /// The messages behind a summary: all, those a line of it points at, or those that match.
    pub async fn expand(
        &self,
        id: SessionId,
        compaction: CompactionId,
        q: Option<String>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<api::Expanded> {
        let all = self.store().compactions(id).await?;
        let Some(found) = all.iter().find(|c| c.id == compaction) else {
            return Err(Refusal::new(
                Kind::NotFound,
                format!("there is no compaction {compaction}"),
            ));
        };
        self.expand_covered(id, (found.first_seq, found.last_seq), q, limit, cursor).await
    }
}

/// How the compaction in force proved so far.
fn proved(hot: &HotSession, facts: &Facts) -> Option<Proved> {
    let compaction = hot.decisions.boundary.as_ref()?.id.clone();
    let hindsight = fidelity::look_back(&hot.history, &hot.decisions, facts)?;
    Some(Proved { compaction, hindsight })
}

fn wish_of(request: api::CompactRequest) -> Result<Wish> {
    let level = match request.level.as_deref() {
        None => None,
        Some("embedded") => Some(Level::Embedded),
        Some("session_memory") => Some(Level::SessionMemory),
        Some("full") => Some(Level::Full),
        Some(other) => {
            return Err(Refusal::invalid(
                "level",
                format!(
                    "{other:?} is not a level: use \"session_memory\", \"full\" or \"embedded\""
                ),
            ));
        }
    };
    const LEAST: u64 = 200;
    const MOST: u64 = 200_000;
    if let Some(tokens) = request.summary_tokens
        && !(LEAST..=MOST).contains(&tokens)
    {
        return Err(Refusal::invalid("summary_tokens", format!("{LEAST} to {MOST} tokens"))
            .bounded(MOST, tokens));
    }
    let focus = request.instructions.filter(|text| !text.trim().is_empty());
    let wish = Wish::of(Trigger::Manual);
    Ok(Wish { focus, level, summary_tokens: request.summary_tokens, ..wish })
}
