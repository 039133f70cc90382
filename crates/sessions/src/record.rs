//! The stored record of a compaction, and its forms for views and clients.

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
use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::loaded::LoadedSession;
use crate::service::{SessionEvent, SessionService};

/// The part of a stored compaction that is not in separate columns.
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
    /// The measured fidelity of the previous compaction, which is known when this one is made.
    #[serde(rename = "proved")]
    pub(crate) previous: Option<MeasuredCompaction>,
    pub(crate) warning: Option<String>,
    /// The levels that were tried before, and why each was rejected.
    pub(crate) refused: Vec<String>,
    /// The todo list when the compaction was made, so that it survives a restart.
    pub(crate) todos: Vec<api::Todo>,
    /// The session's title, repeated here so that exports contain it near the end.
    pub(crate) title: Option<String>,
    pub(crate) tags: Vec<String>,
    /// Number of tokens that the provider counted in addition to the prompt, if known.
    pub(crate) unseen: u64,
}

/// The measured fidelity of a compaction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MeasuredCompaction {
    pub(crate) compaction: String,
    pub(crate) hindsight: Fidelity,
}

impl SessionService {
    /// Makes the row of an accepted compaction.
    pub(crate) fn compaction_row(
        &self,
        loaded: &LoadedSession,
        trigger: Trigger,
        outcome: &CompactionOutcome,
        previous: Option<MeasuredCompaction>,
        mut tried: Vec<String>,
    ) -> Result<CompactionRecord> {
        let warning = warning(loaded, outcome, previous.as_ref());
        tried.extend(outcome.refused.iter().cloned());
        let detail = Detail {
            marker: outcome.boundary.marker.clone(),
            restored: outcome.boundary.restored.clone(),
            clipped: outcome.boundary.clipped.clone(),
            items: outcome.restored.clone(),
            names: outcome.fidelity.names,
            kept_names: outcome.fidelity.kept,
            lost: outcome.fidelity.lost.clone(),
            previous,
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

    /// Tells the listeners that a file was imported as this session.
    pub fn announce_import(&self, session: SessionId) {
        self.tell(&SessionEvent::Imported { session });
    }

    /// Stores a compaction that the client made. Prompts then show its summary and the messages from `kept_from` on.
    /// The compaction was made after the message `made_after`.
    pub async fn add_recorded_compaction(
        &self,
        session: SessionId,
        compaction: &RecordedCompaction,
        kept_from: Seq,
        made_after: Seq,
    ) -> Result<()> {
        let summary_tokens = u64::from(text_tokens(&compaction.summary));
        self.add_compaction(CompactionRecord {
            id: CompactionId(Uuid::now_v7()),
            session,
            trigger: compaction.trigger.clone(),
            level: "recorded".to_owned(),
            first_seq: Seq(1),
            last_seq: Seq(kept_from.0.min(made_after.0).saturating_sub(1)),
            kept_from,
            made_after,
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

/// Returns the row of an undone compaction that is being redone.
pub(crate) fn redone(
    undone: &CompactionRecord,
    loaded: &LoadedSession,
    now: UnixMicros,
) -> Result<CompactionRecord> {
    let again = CompactionRecord {
        made_after: loaded.session.last_seq,
        created_at: now,
        undone_at: None,
        ..undone.clone()
    };
    let detail = Detail {
        // What was measured about an earlier compaction is stored with the undone one.
        previous: None,
        todos: loaded.state.todos.items.clone(),
        unseen: loaded.state.learner.unseen(),
        ..detail_of(&again)?
    };
    let detail = serde_json::to_string(&detail).map_err(ServiceError::internal)?;
    Ok(CompactionRecord { detail, ..again })
}

/// Returns the texts that were restored after the messages that a compaction kept.
pub fn restored_texts(compaction: &CompactionRecord) -> Result<Vec<String>> {
    let restored = detail_of(compaction)?.restored;
    Ok(restored.into_iter().map(|attachment| attachment.text).collect())
}

fn warning(
    loaded: &LoadedSession,
    outcome: &CompactionOutcome,
    previous: Option<&MeasuredCompaction>,
) -> Option<String> {
    let before = loaded.last_compaction.as_ref().filter(|c| c.level != "recorded");
    let pressure = Pressure {
        fixed: loaded.state.fixed.total(),
        auto: loaded.state.thresholds.auto,
        summary: outcome.summary_tokens,
        refused: outcome.refused.len(),
    };
    let hindsight = previous.map(|previous| &previous.hindsight);
    fidelity::warning(&outcome.fidelity, before.map(|c| c.fidelity), hindsight, pressure)
}

/// Reads the detail of a compaction. If that fails, the error names the compaction: a default would change bytes that
/// were already sent.
pub(crate) fn detail_of(compaction: &CompactionRecord) -> Result<Detail> {
    let read = serde_json::from_str(&compaction.detail);
    if compaction.undone_at.is_some() && read.is_err() {
        // No prompt uses an undone compaction.
        return Ok(Detail::default());
    }
    read.map_err(|error| {
        let (id, session) = (compaction.id, compaction.session);
        let detail = format!("could not read compaction {id} of session {session}: {error}");
        ServiceError::internal(detail)
            .hint("a newer version of bethink may have written it; start that version, or undo this compaction")
    })
}

/// Returns the trigger. For a recorded compaction, this is what the agent wrote, which may be any text.
fn trigger_of(compaction: &CompactionRecord) -> api::CompactionTrigger {
    api::parse_word(&compaction.trigger).unwrap_or(api::CompactionTrigger::Recorded)
}

fn level_of(compaction: &CompactionRecord) -> api::CompactionLevel {
    api::parse_word(&compaction.level).unwrap_or(api::CompactionLevel::Recorded)
}

/// Converts the last compaction for reports.
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

/// Returns the log entry of a stored compaction, which a client may have made.
pub(crate) fn compacted_entry(compaction: &CompactionRecord) -> Result<Decision> {
    let detail = detail_of(compaction)?;
    let (todos, unseen) = (detail.todos.clone(), detail.unseen);
    let boundary = boundary_of(compaction, detail);
    Ok(Decision::Compacted(Compacted { boundary, todos, unseen }))
}

fn boundary_of(compaction: &CompactionRecord, detail: Detail) -> Boundary {
    let marker = if detail.marker.is_empty() {
        format!(
            "This session continues from an earlier part, messages 1 to {}, which the client summarized. The summary follows.",
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
        attempts: without_repeats(detail.refused),
        created_at: rfc3339(compaction.created_at),
        undone_at: compaction.undone_at.map(rfc3339),
    })
}

/// Removes duplicates from the reasons of several attempts.
pub(crate) fn without_repeats(mut reasons: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    reasons
}

/// Converts all compactions of a session, oldest first, each with its measured fidelity; `newest` is the fidelity of
/// the compaction in force.
pub(crate) fn all_out(
    compactions: &[CompactionRecord],
    newest: Option<MeasuredCompaction>,
) -> Result<Vec<api::Compaction>> {
    let mut known = Vec::new();
    for later in compactions {
        known.extend(detail_of(later)?.previous);
    }
    known.extend(newest);
    let shown = |compaction: &CompactionRecord| {
        let mut shown = compaction_out(compaction)?;
        let id = compaction.id.to_string();
        let measured = known.iter().rev().find(|measured| measured.compaction == id);
        shown.fidelity_detail.hindsight = measured.map(|found| hindsight_out(&found.hindsight));
        Ok(shown)
    };
    compactions.iter().map(shown).collect()
}

fn hindsight_out(hindsight: &Fidelity) -> api::Hindsight {
    let Fidelity { score, names, kept, lost } = hindsight.clone();
    api::Hindsight { score, names, kept, lost }
}

/// Measures the fidelity of the compaction in force from the messages so far.
pub(crate) fn measured(loaded: &LoadedSession, facts: &Facts) -> Option<MeasuredCompaction> {
    let compaction = loaded.state.decisions.boundary.as_ref()?.id.clone();
    let hindsight = fidelity::look_back(&loaded.state.history, &loaded.state.decisions, facts)?;
    Some(MeasuredCompaction { compaction, hindsight })
}
