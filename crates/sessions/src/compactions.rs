//! Makes, lists, undoes and expands compactions.
//!
//! Reading order: `make` (prepare, generate, commit) → `full` (summaries by a model) → `disk` (files that are read again)
//! → `record` (the stored record, and its forms for views and clients).

mod disk;
mod full;
mod make;
mod restorable;

use bethink_api as api;
use bethink_compactor::{SummaryLevel, Trigger};
use bethink_context::Decision;
use bethink_model::Figures;
use bethink_models::ClientModel;
use bethink_service::{ErrorKind, Receipt, Result, ServiceError};
use bethink_store::CompactionRecord;
use bethink_transcript::{CompactionId, SessionId};

use crate::catalog::id_for;
use crate::decisions::new_decision;
use crate::record::{
    MeasuredCompaction, all_out, compacted_entry, compaction_event, compaction_out, measured,
    redone,
};
use crate::service::SessionService;

#[derive(Clone, Debug)]
pub(crate) struct CompactionRequest {
    /// The id of the compaction.
    pub(crate) id: CompactionId,
    pub(crate) trigger: Trigger,
    pub(crate) focus: Option<String>,
    pub(crate) level: Option<SummaryLevel>,
    pub(crate) summary_tokens: Option<u64>,
    /// Boundary of the view that was too large. If the session has a different boundary by now, nothing is done.
    pub(crate) seen: Option<String>,
    /// Figures from the provider's error, if it refused the prompt as too long.
    pub(crate) refused: Option<Figures>,
    /// The client's own model, if it writes the summary.
    pub(crate) client_model: Option<ClientModel>,
    /// Whether to return the compaction without applying it.
    pub(crate) is_dry_run: bool,
}

impl CompactionRequest {
    pub(crate) fn new(trigger: Trigger) -> Self {
        Self {
            id: CompactionId(id_for(None)),
            trigger,
            focus: None,
            level: None,
            summary_tokens: None,
            seen: None,
            refused: None,
            client_model: None,
            is_dry_run: false,
        }
    }

    pub(crate) fn allows(&self, level: SummaryLevel) -> bool {
        self.level.is_none_or(|wanted| wanted == level)
    }

    /// Whether the notes may serve as the summary. Notes cannot follow focus instructions or a requested size.
    pub(crate) fn takes_notes(&self) -> bool {
        let plain = self.focus.is_none() && self.summary_tokens.is_none();
        self.level == Some(SummaryLevel::SessionMemory) || (self.level.is_none() && plain)
    }
}

impl SessionService {
    /// Compacts a session. A request that is repeated with its key gets the compaction that it made.
    pub async fn compact(
        &self,
        id: SessionId,
        request: api::CompactRequest,
        key: Option<Receipt>,
    ) -> Result<api::Compaction> {
        let compaction = CompactionId(id_for(key.as_ref()));
        let request = CompactionRequest { id: compaction, ..read_request(request)? };
        if key.is_some() {
            let all = self.cx.store().compactions(id).await?;
            if let Some(done) = all.iter().find(|done| done.id == compaction) {
                return compaction_out(done);
            }
        }
        let handle = self.handle(id).await?;
        compaction_out(&Box::pin(self.compact_handle(&handle, request)).await?)
    }

    /// Lists all compactions, oldest first. The fidelity of the compaction in force is measured from the messages that
    /// follow it.
    pub async fn compactions(&self, id: SessionId) -> Result<api::Compactions> {
        self.cx.store().session(id).await?;
        let all = self.cx.store().compactions(id).await?;
        let newest = if all.is_empty() { None } else { self.measured_by_now(id).await? };
        Ok(api::Compactions { compactions: all_out(&all, newest)? })
    }

    async fn measured_by_now(&self, id: SessionId) -> Result<Option<MeasuredCompaction>> {
        let handle = self.handle(id).await?;
        let loaded = self.lock(&handle).await?;
        let facts = self.facts_through(&handle, loaded.session.last_seq, loaded.messages()).await?;
        Ok(tokio::task::block_in_place(|| measured(&loaded, &facts)))
    }

    /// Stores a compaction in one transaction: its entry in the log, and the row for lists.
    pub(crate) async fn add_compaction(&self, compaction: CompactionRecord) -> Result<()> {
        let entry = compacted_entry(&compaction)?;
        let (made_after, created_at) = (compaction.made_after, compaction.created_at);
        let with = vec![new_decision(&entry, made_after, created_at)?];
        Ok(self.cx.store().add_compaction(compaction, with).await?)
    }

    /// Undoes a compaction: prompts show the messages that it covers again.
    pub async fn undo(&self, id: SessionId, compaction: CompactionId) -> Result<api::Compaction> {
        let handle = self.handle(id).await?;
        let all = self.cx.store().compactions(id).await?;
        let in_force = || all.iter().filter(|c| c.undone_at.is_none());
        if in_force().any(|c| c.id == compaction)
            && let Some(newest) = in_force().next_back().filter(|newest| newest.id != compaction)
        {
            let detail = "the session has been compacted again since then";
            return Err(ServiceError::new(ErrorKind::NotCompactable, detail)
                .hint(format!("undo the newer compaction first: {}", newest.id)));
        }
        let (session, now) = (self.cx.store().session(id).await?, self.cx.now());
        let entry = Decision::Undone { compaction: compaction.to_string() };
        let with = vec![new_decision(&entry, session.last_seq, now)?];
        let undone = self.cx.store().undo_compaction(id, compaction, now, with).await?;
        handle.cache.watch().compacted();
        handle.unload().await;
        self.cx.hub().publish(id, undone.made_after, &compaction_event(&undone)?);
        compaction_out(&undone)
    }

    /// Redoes the newest compaction after it was undone, with the same summary. Messages that were appended in the
    /// meantime follow the summary.
    pub async fn redo(
        &self,
        id: SessionId,
        compaction: CompactionId,
        key: Option<Receipt>,
    ) -> Result<api::Compaction> {
        let new_id = CompactionId(id_for(key.as_ref()));
        let handle = self.handle(id).await?;
        let _compacting = handle.compacting.lock().await;
        let all = self.cx.store().compactions(id).await?;
        let Some(undone) = all.iter().find(|c| c.id == compaction) else {
            return Err(ServiceError::not_found(format!("compaction {compaction} not found")));
        };
        if let Some(done) = all.iter().find(|c| c.id == new_id) {
            return compaction_out(done);
        }
        if undone.undone_at.is_none() {
            let detail = "only a compaction that was undone can be redone";
            return Err(ServiceError::new(ErrorKind::NotCompactable, detail));
        }
        if all.last().is_some_and(|newest| newest.id != compaction) {
            let detail = "the session has been compacted again since then";
            return Err(ServiceError::new(ErrorKind::NotCompactable, detail));
        }
        let loaded = self.lock(&handle).await?;
        let again = CompactionRecord { id: new_id, ..redone(undone, &loaded, self.cx.now())? };
        drop(loaded);
        self.add_compaction(again.clone()).await?;
        handle.cache.watch().compacted();
        handle.unload().await;
        self.cx.hub().publish(id, again.made_after, &compaction_event(&again)?);
        compaction_out(&again)
    }

    /// Returns the messages that a summary covers: all, those to which one of its lines refers, or those that match a
    /// query.
    pub async fn expand(
        &self,
        id: SessionId,
        compaction: CompactionId,
        query: api::ExpandQuery,
    ) -> Result<api::Expanded> {
        let all = self.cx.store().compactions(id).await?;
        let Some(found) = all.iter().find(|c| c.id == compaction) else {
            return Err(ServiceError::not_found(format!("compaction {compaction} not found")));
        };
        self.expand_covered(id, (found.first_seq, found.last_seq), query).await
    }
}

fn read_request(request: api::CompactRequest) -> Result<CompactionRequest> {
    const MIN: u64 = 200;
    const MAX: u64 = 200_000;
    if let Some(tokens) = request.summary_tokens
        && !(MIN..=MAX).contains(&tokens)
    {
        return Err(ServiceError::invalid(
            "summary_tokens",
            format!("must be from {MIN} to {MAX} tokens"),
        )
        .bounded(tokens.clamp(MIN, MAX), tokens));
    }
    let focus = request.instructions.filter(|text| !text.trim().is_empty());
    let manual = CompactionRequest::new(Trigger::Manual);
    let (level, summary_tokens) = (request.level, request.summary_tokens);
    Ok(CompactionRequest { focus, level, summary_tokens, is_dry_run: request.dry_run, ..manual })
}
