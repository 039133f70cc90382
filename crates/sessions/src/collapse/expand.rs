//! Collapsed spans for clients, and the messages that they cover.

use bethink_api as api;
use bethink_search::MAX_HITS;
use bethink_service::{Result, ServiceError, page_limit, rfc3339};
use bethink_store::{CollapseRecord, SeqRange};
use bethink_transcript::{CollapseId, Seq, SessionId};

use crate::messages::stored_out;
use crate::service::SessionService;

impl SessionService {
    /// Lists staged and committed spans, in the order of their messages.
    pub async fn collapses(&self, id: SessionId) -> Result<api::Collapses> {
        let rows = self.cx.store().collapses(id).await?;
        Ok(api::Collapses { collapses: rows.iter().map(out).collect() })
    }

    /// Returns the messages of a span: all, those to which a line of its text refers, or those that match a query.
    pub async fn expand_collapse(
        &self,
        id: SessionId,
        collapse: CollapseId,
        query: api::ExpandQuery,
    ) -> Result<api::Expanded> {
        let all = self.cx.store().collapses(id).await?;
        let Some(found) = all.iter().find(|row| row.id == collapse) else {
            return Err(ServiceError::not_found(format!("collapse {collapse} not found")));
        };
        self.expand_covered(id, (found.first_seq, found.last_seq), query).await
    }

    /// Returns the messages from `first` to `last`, which a summary or a short text replaces.
    pub(crate) async fn expand_covered(
        &self,
        id: SessionId,
        (first, last): (Seq, Seq),
        query: api::ExpandQuery,
    ) -> Result<api::Expanded> {
        let api::ExpandQuery { q, limit, cursor } = query;
        let limit = page_limit(limit)?;
        let covered = |seq: Seq| seq >= first && seq <= last;
        let after = match cursor {
            None => None,
            Some(text) => Some(Seq(text.parse().map_err(|_| {
                ServiceError::invalid(
                    "cursor",
                    "the cursor is not from this list; start again without one",
                )
            })?)),
        };
        let q = q.filter(|q| !q.trim().is_empty());
        let Some(q) = q else {
            let from = after.unwrap_or(Seq(first.0.saturating_sub(1)));
            let range =
                SeqRange { after: Some(from), before: Some(last.next()), limit, ..SeqRange::all() };
            let stored = self.cx.store().messages(id, range).await?;
            let next_cursor =
                (stored.len() == limit).then(|| stored.last().map(|m| m.seq.to_string())).flatten();
            let messages = stored.into_iter().map(stored_out).collect::<Result<_>>()?;
            return Ok(api::Expanded { messages, next_cursor });
        };
        let mut messages = Vec::new();
        for seq in marks(&q).into_iter().filter(|seq| covered(*seq)).take(limit) {
            let range = SeqRange { limit: 1, ..SeqRange::from(seq) };
            messages.extend(self.cx.store().messages(id, range).await?);
        }
        if messages.is_empty() {
            let hits = self.search.find(id, &q, MAX_HITS).await?;
            let places = hits.into_iter().filter(|seq| covered(*seq)).take(limit);
            let places = places.map(|seq| (id, seq)).collect();
            let found = self.cx.store().messages_at(places).await?;
            messages.extend(found.into_iter().map(|(_, message)| message));
        }
        let messages = messages.into_iter().map(stored_out).collect::<Result<_>>()?;
        Ok(api::Expanded { messages, next_cursor: None })
    }
}

fn out(row: &CollapseRecord) -> api::Collapse {
    api::Collapse {
        id: row.id.0,
        covers: api::Covers { first_seq: row.first_seq.0, last_seq: row.last_seq.0 },
        state: row.state(),
        text: row.text.clone(),
        tokens_before: row.tokens_before,
        tokens: row.tokens,
        strategy: api::parse_word(&row.strategy).unwrap_or_default(),
        staged_at: rfc3339(row.staged_at),
        committed_at: row.committed.map(|(_, at)| rfc3339(at)),
    }
}

/// Returns the message numbers in a line of a summary: `[41]`, or a bare number.
fn marks(line: &str) -> Vec<Seq> {
    if let Ok(seq) = line.trim().parse() {
        return vec![Seq(seq)];
    }
    line.split('[')
        .skip(1)
        .filter_map(|part| part.split_once(']'))
        .filter_map(|(number, _)| number.parse().ok().map(Seq))
        .collect()
}
