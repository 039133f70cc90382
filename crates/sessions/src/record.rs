//! A compaction as it is stored, as views need it, and as clients see it.

use bethink_api as api;
use bethink_compactor::fidelity::{self, Pressure};
use bethink_compactor::{CompactionOutcome, Fidelity, Trigger};
use bethink_context::decision::ClearedResult;
use bethink_context::{Attachment, Boundary, Compacted, Decision};
use bethink_facts::Facts;
use bethink_service::{Event, Result, ServiceError, rfc3339};
use bethink_session_file::RecordedCompaction;
use bethink_store::CompactionRecord;
use bethink_tokens::text_tokens;
use bethink_transcript::{CompactionId, Seq, SessionId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::loaded::LoadedSession;
use crate::service::SessionService;

/// The part of a stored compaction that is not in columns of its own.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Detail {
    pub(crate) marker: String,
    pub(crate) restored: Vec<Attachment>,
    pub(crate) clipped: Vec<ClearedResult>,
    pub(crate) items: Vec<api::RestoredItem>,
    pub(crate) names: u64,
    pub(crate) kept_names: u64,
    pub(crate) lost: Vec<String>,
    /// How well the previous compaction worked, which is known when this one is made.
    pub(crate) proved: Option<Proved>,
    pub(crate) warning: Option<String>,
    /// Levels that were tried first, and why they were not used.
    pub(crate) refused: Vec<String>,
    /// The todo list at that time, for a restart.
    pub(crate) todos: Vec<api::Todo>,
    /// Repeated with the boundary, so that it is near the end of exports.
    pub(crate) title: Option<String>,
    pub(crate) tags: Vec<String>,
    /// Tokens that the provider counted beyond the prompt, if known.
    pub(crate) unseen: u64,
}

/// An earlier compaction, judged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Proved {
    pub(crate) compaction: String,
    pub(crate) hindsight: Fidelity,
}

impl SessionService {
    /// An accepted compaction, ready to be committed.
    pub(crate) fn compaction_row(
        &self,
        loaded: &LoadedSession,
        trigger: Trigger,
        outcome: &CompactionOutcome,
        proved: Option<Proved>,
        mut tried: Vec<String>,
    ) -> Result<CompactionRecord> {
        let warning = warning(loaded, outcome, proved.as_ref());
        tried.extend(outcome.refused.iter().cloned());
        let detail = Detail {
            marker: outcome.boundary.marker.clone(),
            restored: outcome.boundary.restored.clone(),
            clipped: outcome.boundary.clipped.clone(),
            items: outcome.restored.clone(),
            names: outcome.fidelity.names,
            kept_names: outcome.fidelity.kept,
            lost: outcome.fidelity.lost.clone(),
            proved,
            warning,
            refused: tried,
            todos: loaded.state.todos.items.clone(),
            title: loaded.session.title.clone(),
            tags: loaded.session.tags.clone(),
            unseen: loaded.state.learner.unseen(),
        };
        let id = outcome.boundary.id.parse().map_err(ServiceError::internal)?;
        Ok(CompactionRecord {
            id,
            session: loaded.session.id,
            trigger: trigger.as_str().to_owned(),
            level: outcome.level.as_str().to_owned(),
            first_seq: outcome.first_seq,
            last_seq: outcome.last_seq,
            kept_from: outcome.boundary.kept_from,
            made_after: outcome.boundary.made_after,
            tokens_before: outcome.tokens_before,
            tokens_after: outcome.tokens_after,
            summary: outcome.boundary.summary.clone(),
            summary_tokens: outcome.summary_tokens,
            fidelity: outcome.fidelity.score,
            detail: serde_json::to_string(&detail).map_err(ServiceError::internal)?,
            created_at: self.cx.now(),
            undone_at: None,
        })
    }

    /// Stores a compaction that the client made; its summary is the message at `summary_seq`.
    pub async fn add_recorded_compaction(
        &self,
        session: SessionId,
        compaction: &RecordedCompaction,
        summary_seq: Seq,
    ) -> Result<()> {
        let summary_tokens = u64::from(text_tokens(&compaction.summary));
        self.add_compaction(CompactionRecord {
            id: CompactionId(Uuid::now_v7()),
            session,
            trigger: compaction.trigger.clone(),
            level: "recorded".to_owned(),
            first_seq: Seq(1),
            last_seq: Seq(summary_seq.0.saturating_sub(1)),
            kept_from: summary_seq.next(),
            made_after: summary_seq,
            tokens_before: compaction.pre_tokens,
            tokens_after: summary_tokens,
            summary_tokens,
            summary: compaction.summary.clone(),
            fidelity: 0.0,
            detail: "{}".to_owned(),
            created_at: compaction.created_at,
            undone_at: None,
        })
        .await
    }
}

fn warning(
    loaded: &LoadedSession,
    outcome: &CompactionOutcome,
    proved: Option<&Proved>,
) -> Option<String> {
    let before = loaded.last_compaction.as_ref().filter(|c| c.level != "recorded");
    let pressure = Pressure {
        fixed: loaded.state.fixed.total(),
        auto: loaded.state.thresholds.auto,
        summary: outcome.summary_tokens,
        refused: outcome.refused.len(),
    };
    let hindsight = proved.map(|proved| &proved.hindsight);
    fidelity::warning(&outcome.fidelity, before.map(|c| c.fidelity), hindsight, pressure)
}

/// An unreadable entry is an error that names it: a default would change bytes that were already sent.
pub(crate) fn detail_of(compaction: &CompactionRecord) -> Result<Detail> {
    let read = serde_json::from_str(&compaction.detail);
    if compaction.undone_at.is_some() && read.is_err() {
        // No prompt uses it any more.
        return Ok(Detail::default());
    }
    read.map_err(|error| {
        let (id, session) = (compaction.id, compaction.session);
        let detail = format!("could not read compaction {id} of session {session}: {error}");
        ServiceError::internal(detail)
            .hint("a newer version of bethink may have written it; start that version, or undo this compaction")
    })
}

/// A recorded compaction has the trigger that the agent wrote, which may be any text.
fn trigger_of(compaction: &CompactionRecord) -> api::CompactionTrigger {
    api::parse_word(&compaction.trigger).unwrap_or(api::CompactionTrigger::Recorded)
}

fn level_of(compaction: &CompactionRecord) -> api::CompactionLevel {
    api::parse_word(&compaction.level).unwrap_or(api::CompactionLevel::Recorded)
}

/// The last compaction, for reports.
pub(crate) fn last_compaction(compaction: &CompactionRecord) -> Result<api::LastCompaction> {
    Ok(api::LastCompaction {
        id: compaction.id.to_string(),
        level: level_of(compaction),
        fidelity: compaction.fidelity,
        warning: detail_of(compaction)?.warning,
        at: rfc3339(compaction.created_at),
    })
}

pub(crate) fn compaction_event(done: &CompactionRecord) -> Result<Event> {
    Ok(Event::Compaction {
        id: done.id,
        trigger: trigger_of(done),
        level: level_of(done),
        tokens_before: done.tokens_before,
        tokens_after: done.tokens_after,
        fidelity: done.fidelity,
        warning: detail_of(done)?.warning,
        undone: done.undone_at.is_some(),
    })
}

/// The entry of a stored compaction in the log, recorded ones included.
pub(crate) fn compacted_entry(compaction: &CompactionRecord) -> Result<Decision> {
    let detail = detail_of(compaction)?;
    let (todos, unseen) = (detail.todos.clone(), detail.unseen);
    let boundary = boundary_of(compaction, detail);
    Ok(Decision::Compacted(Compacted { boundary, todos, unseen }))
}

fn boundary_of(compaction: &CompactionRecord, detail: Detail) -> Boundary {
    let marker = if detail.marker.is_empty() {
        format!(
            "This session goes on from an earlier part, messages 1 to {}, that was summarised where it was recorded. The summary follows.",
            compaction.last_seq
        )
    } else {
        detail.marker
    };
    Boundary {
        id: compaction.id.to_string(),
        kept_from: compaction.kept_from,
        made_after: compaction.made_after,
        marker,
        tokens: text_tokens(&compaction.summary),
        summary: compaction.summary.clone(),
        restored: detail.restored,
        clipped: detail.clipped,
    }
}

pub(crate) fn compaction_out(compaction: &CompactionRecord) -> Result<api::Compaction> {
    let detail = detail_of(compaction)?;
    Ok(api::Compaction {
        id: compaction.id.0,
        trigger: trigger_of(compaction),
        level: level_of(compaction),
        covers: api::Covers { first_seq: compaction.first_seq.0, last_seq: compaction.last_seq.0 },
        kept_from_seq: compaction.kept_from.0,
        tokens_before: compaction.tokens_before,
        tokens_after: compaction.tokens_after,
        summary: compaction.summary.clone(),
        summary_tokens: compaction.summary_tokens,
        fidelity: compaction.fidelity,
        fidelity_detail: api::FidelityDetail {
            names: detail.names,
            kept: detail.kept_names,
            lost: detail.lost,
            hindsight: None,
        },
        warning: detail.warning,
        restored: detail.items,
        attempts: told_once(detail.refused),
        created_at: rfc3339(compaction.created_at),
        undone_at: compaction.undone_at.map(rfc3339),
    })
}

/// Removes repeated reasons of several attempts.
pub(crate) fn told_once(mut reasons: Vec<String>) -> Vec<String> {
    let mut told = std::collections::HashSet::new();
    reasons.retain(|reason| told.insert(reason.clone()));
    reasons
}

/// All compactions of a session, oldest first, each with how well it worked; `newest` is how well the one in
/// force works.
pub(crate) fn all_out(
    compactions: &[CompactionRecord],
    newest: Option<Proved>,
) -> Result<Vec<api::Compaction>> {
    let mut known = Vec::new();
    for later in compactions {
        known.extend(detail_of(later)?.proved);
    }
    known.extend(newest);
    let proved = |id: &str| known.iter().rev().find(|proved| proved.compaction == id);
    let shown = |compaction: &CompactionRecord| {
        let mut shown = compaction_out(compaction)?;
        let proved = proved(&compaction.id.to_string());
        shown.fidelity_detail.hindsight = proved.map(|proved| hindsight_out(&proved.hindsight));
        Ok(shown)
    };
    compactions.iter().map(shown).collect()
}

fn hindsight_out(hindsight: &Fidelity) -> api::Hindsight {
    let Fidelity { score, names, kept, lost } = hindsight.clone();
    api::Hindsight { score, names, kept, lost }
}

/// How well the compaction in force has worked so far.
pub(crate) fn proved(loaded: &LoadedSession, facts: &Facts) -> Option<Proved> {
    let compaction = loaded.state.decisions.boundary.as_ref()?.id.clone();
    let hindsight = fidelity::look_back(&loaded.state.history, &loaded.state.decisions, facts)?;
    Some(Proved { compaction, hindsight })
}
