//! Notes back in a prompt: once, at the tail, when a session is taken up again.

use bethink_context::Attachment;
use bethink_store::{Session, StoreError};
use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::hot::{HotSession, tokens};
use crate::turn::last_activity;
use crate::{Daemon, Result};

/// What an attachment of notes is called among the others.
const WHAT: &str = "notes";

impl Daemon {
    /// Notes to be attached to the next prompt: those of the parent of a session that begins without
    /// history, or the session's own when it was left so long that the provider's cache is cold.
    pub(crate) async fn notes_to_bring_back(
        &self,
        hot: &HotSession,
        now: UnixMicros,
    ) -> Result<Option<Attachment>> {
        if hot.last_prompt.is_some() {
            return Ok(None);
        }
        let attached = |name: &str| {
            hot.decisions.attachments().iter().any(|a| a.what == WHAT && a.name == name)
        };
        let session = &hot.session;
        if let Some(parent) = parent_to_go_on_from(hot).filter(|id| !attached(&id.to_string())) {
            match self.store().session(parent).await {
                Ok(parent) => {
                    return self.attachment(&parent, session.last_seq, "the session before").await;
                }
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let idle = self.settings().context.microcompact_idle_minutes;
        let idle = i64::try_from(idle).unwrap_or(i64::MAX).saturating_mul(60_000_000);
        let left = last_activity(hot).is_some_and(|at| now.0.saturating_sub(at.0) >= idle);
        if !left || summarised_by_notes(hot) {
            return Ok(None);
        }
        let own = self.attachment(session, session.last_seq, "this session").await?;
        // The same notes need not stand there twice.
        Ok(own.filter(|new| !hot.decisions.attachments().iter().any(|old| old.text == new.text)))
    }

    async fn attachment(
        &self,
        of: &Session,
        after: Seq,
        whose: &str,
    ) -> Result<Option<Attachment>> {
        let Some((notes, through)) = self.notes_now(of).await? else { return Ok(None) };
        let text = format!(
            "<system-reminder>Notes of {whose}, kept through message {through} (`bethink notes show \
             --session {}`). What was said since comes before them.\n\n{}\n</system-reminder>",
            of.id,
            notes.trim_end()
        );
        let tokens = tokens(&text);
        let name = of.id.to_string();
        Ok(Some(Attachment { after, what: WHAT.to_owned(), name, text, tokens }))
    }
}

/// The parent of a session that was begun anew from it. A fork has its parent's history and notes.
fn parent_to_go_on_from(hot: &HotSession) -> Option<SessionId> {
    let begins = hot.decisions.boundary.is_none();
    hot.session.parent.filter(|_| begins && hot.session.forked_at.is_none())
}

/// The boundary's summary is made of the notes already.
fn summarised_by_notes(hot: &HotSession) -> bool {
    let level = bethink_compactor::Level::SessionMemory.as_str();
    hot.last_compaction.as_ref().is_some_and(|compaction| compaction.level == level)
}
