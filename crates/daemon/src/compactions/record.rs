//! A compaction as it is stored, as views need it, and as clients see it.

use bethink_api as api;
use bethink_compactor::fidelity::{self, Pressure};
use bethink_compactor::{Hindsight, Outcome, RestoredItem, Trigger};
use bethink_context::decision::ClearedResult;
use bethink_context::todos::Todo;
use bethink_context::{Attachment, Boundary};
use bethink_store::Compaction;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::hot::{HotSession, tokens};
use crate::{Daemon, Refusal, Result};

/// The part of a stored compaction that only views and people need.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Detail {
    pub(crate) marker: String,
    pub(crate) restored: Vec<Attachment>,
    pub(crate) clipped: Vec<ClearedResult>,
    pub(crate) items: Vec<RestoredItem>,
    pub(crate) names: u64,
    pub(crate) kept_names: u64,
    pub(crate) lost: Vec<String>,
    /// How the compaction before this one proved, which is known when this one is made.
    pub(crate) proved: Option<Proved>,
    pub(crate) warning: Option<String>,
    /// Levels that were tried first, and why they were not taken.
    pub(crate) refused: Vec<String>,
    /// The list as it stood, for a restart.
    pub(crate) todos: Vec<Todo>,
    /// Appended again with the boundary, so that they stand near the end of what is exported.
    pub(crate) title: Option<String>,
    pub(crate) tags: Vec<String>,
    /// Tokens that the provider counted beyond the prompt, as far as was known.
    pub(crate) unseen: u64,
}

/// An earlier compaction, judged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Proved {
    pub(crate) compaction: String,
    pub(crate) hindsight: Hindsight,
}

impl Daemon {
    /// An accepted compaction, ready to be committed.
    pub(super) fn row(
        &self,
        hot: &HotSession,
        trigger: Trigger,
        outcome: &Outcome,
        proved: Option<Proved>,
        mut tried: Vec<String>,
    ) -> Result<Compaction> {
        let warning = warning(hot, outcome, proved.as_ref());
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
            todos: hot.todos.list.clone(),
            title: hot.session.title.clone(),
            tags: hot.session.tags.clone(),
            unseen: hot.learner.unseen(),
        };
        let id = outcome.boundary.id.parse().map_err(Refusal::internal)?;
        Ok(Compaction {
            id,
            session: hot.session.id,
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
            detail: serde_json::to_string(&detail).map_err(Refusal::internal)?,
            created_at: self.now(),
            undone_at: None,
        })
    }
}

fn warning(hot: &HotSession, outcome: &Outcome, proved: Option<&Proved>) -> Option<String> {
    let before = hot.last_compaction.as_ref().filter(|c| c.level != "recorded");
    let pressure = Pressure {
        fixed: hot.fixed_tokens,
        auto: hot.thresholds.auto,
        summary: outcome.summary_tokens,
        refused: outcome.refused.len(),
    };
    let hindsight = proved.map(|proved| &proved.hindsight);
    fidelity::warning(&outcome.fidelity, before.map(|c| c.fidelity), hindsight, pressure)
}

pub(crate) fn detail_of(compaction: &Compaction) -> Detail {
    serde_json::from_str(&compaction.detail).unwrap_or_default()
}

/// The boundary of a stored compaction, recorded ones included.
pub(crate) fn boundary_of(compaction: &Compaction) -> Boundary {
    let detail = detail_of(compaction);
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
        tokens: tokens(&compaction.summary),
        summary: compaction.summary.clone(),
        restored: detail.restored,
        clipped: detail.clipped,
    }
}

pub(crate) fn out(compaction: &Compaction) -> api::Compaction {
    let detail = detail_of(compaction);
    api::Compaction {
        id: compaction.id.0,
        trigger: compaction.trigger.clone(),
        level: compaction.level.clone(),
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
        restored: detail
            .items
            .into_iter()
            .map(|i| api::RestoredItem {
                kind: i.kind,
                name: i.name,
                tokens: i.tokens,
                truncated: i.truncated,
            })
            .collect(),
        attempts: told_once(detail.refused),
        created_at: rfc3339(compaction.created_at),
        undone_at: compaction.undone_at.map(rfc3339),
    }
}

/// Each attempt has its reason; the same one four times tells no more than once.
fn told_once(mut reasons: Vec<String>) -> Vec<String> {
    let mut told = std::collections::HashSet::new();
    reasons.retain(|reason| told.insert(reason.clone()));
    reasons
}

/// All of a session's, oldest first, each with how it proved; `newest` tells it of the one in force.
pub(crate) fn all_out(compactions: &[Compaction], newest: Option<Proved>) -> Vec<api::Compaction> {
    let told = compactions.iter().filter_map(|later| detail_of(later).proved);
    let known: Vec<Proved> = told.chain(newest).collect();
    let proved = |id: &str| known.iter().rev().find(|proved| proved.compaction == id);
    compactions
        .iter()
        .map(|compaction| {
            let mut shown = out(compaction);
            shown.fidelity_detail.hindsight =
                proved(&compaction.id.to_string()).map(|proved| hindsight_out(&proved.hindsight));
            shown
        })
        .collect()
}

fn hindsight_out(hindsight: &Hindsight) -> api::Hindsight {
    let Hindsight { score, names, kept, lost } = hindsight.clone();
    api::Hindsight { score, names, kept, lost }
}
