//! Decisions that make prompts differ from the history: stored, loaded, and shown to clients.

use bethink_api::{self as api, DecisionKind};
use bethink_context::{Attachment, Decision};
use bethink_service::{Result, ServiceError, rfc3339};
use bethink_store::{self as store, NewDecision};
use bethink_tokens::text_tokens;
use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::loaded::LoadedSession;
use crate::service::SessionService;

/// Maximum number of decisions in a list. If there are more, the newest are listed.
const MAX_LISTED: usize = 5_000;
/// Maximum number of messages listed for one decision.
const MAX_SEQS: usize = 1_000;

impl SessionService {
    /// Lists decisions, oldest first. Leaves out decisions that only record what was shown, as well as collapsed spans
    /// and compactions, which have their own lists.
    pub async fn decisions(&self, id: SessionId) -> Result<api::DecisionList> {
        self.cx.store().session(id).await?;
        let records = self.cx.store().decisions(id).await?;
        let mut decisions = Vec::new();
        for record in records.iter().rev() {
            decisions.extend(shown(record)?);
            if decisions.len() == MAX_LISTED {
                break;
            }
        }
        decisions.reverse();
        Ok(api::DecisionList { decisions })
    }
}

fn shown(record: &store::DecisionRecord) -> Result<Option<api::DecidedView>> {
    let view = |kind| api::DecidedView {
        kind,
        after_seq: record.made_after.0,
        what: None,
        name: None,
        tokens: None,
        seqs: Vec::new(),
        at: rfc3339(record.created_at),
    };
    Ok(match read_decision(record)? {
        Decision::Shown { .. }
        | Decision::Collapsed(_)
        | Decision::Compacted(_)
        | Decision::Undone { .. } => None,
        Decision::Attached(attachment) => Some(attached(view(DecisionKind::Attached), attachment)),
        Decision::Instructed { attachment, .. } => {
            Some(attached(view(DecisionKind::Instructed), attachment))
        }
        Decision::Replaced(result) => Some(touching(view(DecisionKind::Replaced), [result.seq])),
        Decision::Cleared { results, .. } => {
            Some(touching(view(DecisionKind::Cleared), results.into_iter().map(|one| one.seq)))
        }
        Decision::Snipped { results, .. } => {
            Some(touching(view(DecisionKind::Snipped), results.into_iter().map(|one| one.seq)))
        }
        Decision::Stripped { from, through, .. } => {
            Some(touching(view(DecisionKind::Stripped), (from.0..=through.0).map(Seq)))
        }
    })
}

fn attached(view: api::DecidedView, attachment: Attachment) -> api::DecidedView {
    api::DecidedView {
        after_seq: attachment.after.0,
        what: Some(attachment.what),
        name: Some(attachment.name).filter(|name| !name.is_empty()),
        tokens: Some(u64::from(attachment.tokens)),
        ..view
    }
}

fn touching(view: api::DecidedView, seqs: impl IntoIterator<Item = Seq>) -> api::DecidedView {
    let seqs = seqs.into_iter().take(MAX_SEQS).map(|seq| seq.0).collect();
    api::DecidedView { seqs, ..view }
}

/// Converts decisions to rows for the store.
pub(crate) fn new_decisions(
    loaded: &LoadedSession,
    records: &[Decision],
    now: UnixMicros,
) -> Result<Vec<NewDecision>> {
    let made_after = loaded.session.last_seq;
    records.iter().map(|record| new_decision(record, made_after, now)).collect()
}

pub(crate) fn new_decision(
    record: &Decision,
    made_after: Seq,
    created_at: UnixMicros,
) -> Result<NewDecision> {
    let data = serde_json::to_string(record).map_err(ServiceError::internal)?;
    Ok(NewDecision { kind: record.kind().to_owned(), data, made_after, created_at })
}

/// Reads a stored decision. If that fails, the error names the decision. A decision is never skipped, because prompts
/// without it would differ from those that were already sent.
pub(crate) fn read_decision(record: &store::DecisionRecord) -> Result<Decision> {
    let read = serde_json::from_str(&record.data).map_err(|error| {
        let detail =
            format!("could not read decision {} ({}): {error}", record.id, record.kind);
        ServiceError::internal(detail)
            .hint("a newer version of bethink may have written it; start that version, or fork the session from an earlier message")
    })?;
    Ok(match read {
        // A migrated entry has no token count.
        Decision::Compacted(mut compacted) if compacted.boundary.tokens == 0 => {
            compacted.boundary.tokens = text_tokens(&compacted.boundary.summary);
            Decision::Compacted(compacted)
        }
        read => read,
    })
}
