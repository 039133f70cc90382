//! Conversations come from disk to hand.

use std::sync::Arc;

use bethink_lineage::{Chain, Prefix, Reader, Scope};
use bethink_store::{Lineage, SeqRange};
use bethink_transcript::{Seq, SessionId};

use super::asked::Asked;
use super::desk::Branch;
use super::line::Line;
use crate::hot::STRETCH;
use crate::sessions::model_of;
use crate::{Daemon, Result};

impl Daemon {
    /// Takes a stored session to hand that shares more with the request than those at hand.
    pub(super) async fn load_longer(
        &self,
        asked: &Asked,
        scope: Scope,
    ) -> Result<Option<SessionId>> {
        let at_hand = self.gateway().longest(scope, &asked.marks).map_or(0, |near| near.through);
        let longer = asked.marks.get(at_hand..).unwrap_or_default();
        let Some(first) = asked.marks.first().filter(|_| !longer.is_empty()) else {
            return Ok(None);
        };
        if at_hand == 0 && !self.is_begun(scope, *first).await? {
            return Ok(None);
        }
        let found = self.store().relatives(scope.0, longer.to_vec()).await?;
        let found = found.iter().find(|relative| !self.gateway().knows(relative.session));
        let Some(relative) = found else { return Ok(None) };
        self.load(relative.session, scope, asked.setting()).await?;
        Ok(Some(relative.session))
    }

    /// Most new conversations are told from all stored ones without the disk.
    async fn is_begun(&self, scope: Scope, first: u128) -> Result<bool> {
        if let Some(known) = self.gateway().is_begun(scope, first) {
            return Ok(known);
        }
        self.gateway().begins_with(self.store().beginnings().await?);
        Ok(self.gateway().is_begun(scope, first).unwrap_or(true))
    }

    /// Takes a session to hand that a client names, and tells whose requests continue it.
    pub(super) async fn load_named(&self, id: SessionId, setting: [&str; 2]) -> Result<Scope> {
        if let Some(scope) = self.gateway().scope(id) {
            return Ok(scope);
        }
        let lineage = self.store().lineage(id).await?;
        let own = Scope::of(&["session", &id.to_string()]);
        let scope = lineage.map_or(own, |lineage| Scope(lineage.scope));
        self.load(id, scope, setting).await?;
        Ok(scope)
    }

    pub(super) async fn load(&self, id: SessionId, scope: Scope, setting: [&str; 2]) -> Result<()> {
        let session = self.store().session(id).await?;
        let stored = self.store().lineage(id).await?.map_or_else(Vec::new, |stored| stored.marks);
        let last = usize::try_from(session.last_seq.0).unwrap_or(usize::MAX);
        if stored.len() >= last {
            // Marks are written before their messages; a daemon that was killed in between left some.
            let marks = stored.into_iter().take(last).collect();
            return self.take_in(id, scope, marks, false).await;
        }
        // Somebody else appended, or the session did not come by the gateway.
        let marks = self.marks_of(id, setting).await?;
        self.take_in(id, scope, marks, true).await
    }

    /// Of a session's history, as if a request of this setting had sent it.
    async fn marks_of(&self, id: SessionId, setting: [&str; 2]) -> Result<Vec<u128>> {
        let mut chain = Chain::new(&setting);
        let (mut reader, mut marks, mut after) = (Reader::default(), Vec::new(), Seq::ZERO);
        loop {
            let range = SeqRange { after: Some(after), limit: STRETCH, ..SeqRange::all() };
            let stretch = self.store().messages(id, range).await?;
            let Some(last) = stretch.last() else { return Ok(marks) };
            after = last.seq;
            for message in &stretch {
                // What can't be read is like nothing that a client sends.
                let Ok(reading) = reader.read(&message.raw) else { return Ok(marks) };
                let Prefix(mark) = chain.push(&reading);
                marks.push(mark);
            }
        }
    }

    /// Takes a stored session to hand; `writes` where the store does not have its marks.
    pub(super) async fn take_in(
        &self,
        id: SessionId,
        scope: Scope,
        marks: Vec<u128>,
        writes: bool,
    ) -> Result<()> {
        if writes {
            let lineage = Lineage { session: id, scope: scope.0, marks: marks.clone() };
            self.store().put_lineage(lineage, Seq::ZERO).await?;
        }
        let model = model_of(&self.store().session(id).await?);
        let is_simple = self.shows_itself(id).await?;
        let line = Arc::new(Line::default());
        let branch = Branch { scope, marks, is_simple, model, line, frame: None, touched: 0 };
        self.gateway().insert(id, branch);
        Ok(())
    }

    /// Its prompts show its history as it is.
    async fn shows_itself(&self, id: SessionId) -> Result<bool> {
        let decisions = self.store().decisions(id).await?;
        let compactions = self.store().compactions(id).await?;
        Ok(decisions.iter().all(|decision| decision.kind == "shown")
            && compactions.iter().all(|compaction| compaction.undone_at.is_some()))
    }
}
