//! What makes a session's prompts differ from its history, as clients see it.

use bethink_api as api;
use bethink_context::{Attachment, Decision};
use bethink_store as store;
use bethink_transcript::{Seq, SessionId};

use crate::clock::rfc3339;
use crate::{Daemon, Result};

/// Told of a session; of one with more, the newest.
const MOST: usize = 5_000;
/// Messages named for one decision.
const MOST_SEQS: usize = 1_000;

impl Daemon {
    /// Oldest first. What was merely shown, and collapsed spans, which have a list of their own, are left out.
    pub async fn decisions(&self, id: SessionId) -> Result<api::Decisions> {
        self.store().session(id).await?;
        let records = self.store().decisions(id).await?;
        let mut decisions: Vec<_> = records.iter().rev().filter_map(out).take(MOST).collect();
        decisions.reverse();
        Ok(api::Decisions { decisions })
    }
}

fn out(record: &store::Decision) -> Option<api::DecidedView> {
    // One that is not known was written by a newer bethink; views leave it out, too.
    let decision: Decision = serde_json::from_str(&record.data).ok()?;
    let told = api::DecidedView {
        kind: decision.kind().to_owned(),
        after_seq: record.made_after.0,
        at: rfc3339(record.created_at),
        ..api::DecidedView::default()
    };
    match decision {
        Decision::Shown { .. } | Decision::Collapsed(_) => None,
        Decision::Attached(attachment) | Decision::Instructed { attachment, .. } => {
            Some(attached(told, attachment))
        }
        Decision::Replaced { seq, .. } => Some(touching(told, [seq])),
        Decision::Cleared { results, .. } | Decision::Snipped { results, .. } => {
            Some(touching(told, results.into_iter().map(|result| result.seq)))
        }
        Decision::Stripped { from, through, .. } => {
            Some(touching(told, (from.0..=through.0).map(Seq)))
        }
    }
}

fn attached(told: api::DecidedView, attachment: Attachment) -> api::DecidedView {
    api::DecidedView {
        after_seq: attachment.after.0,
        what: Some(attachment.what),
        name: Some(attachment.name).filter(|name| !name.is_empty()),
        tokens: Some(u64::from(attachment.tokens)),
        ..told
    }
}

fn touching(told: api::DecidedView, seqs: impl IntoIterator<Item = Seq>) -> api::DecidedView {
    let seqs = seqs.into_iter().take(MOST_SEQS).map(|seq| seq.0).collect();
    api::DecidedView { seqs, ..told }
}
