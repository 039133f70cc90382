//! Attaches notes to the end of a prompt, once, when a session is resumed.

use bethink_compactor::SummaryLevel;
use bethink_context::Attachment;
use bethink_service::{Result, if_found};
use bethink_sessions::LoadedSession;
use bethink_store::SessionRecord;
use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::service::NotesService;

/// The kind of an attachment with notes.
const WHAT: &str = "notes";

impl NotesService {
    /// Returns the notes to attach to the next prompt: the parent's if the session begins without history, or the
    /// session's own if it was idle for so long that the provider's cache has expired.
    pub(crate) async fn notes_to_attach(
        &self,
        loaded: &LoadedSession,
        now: UnixMicros,
    ) -> Result<Option<Attachment>> {
        if loaded.state.last_prompt.is_some() {
            return Ok(None);
        }
        let known = loaded.state.decisions.attachments();
        let is_attached = |id: &SessionId| {
            let name = id.to_string();
            known.iter().any(|a| a.what == WHAT && a.name == name)
        };
        let session = &loaded.session;
        if let Some(parent) = continued_parent(loaded).filter(|id| !is_attached(id))
            && let Some(parent) = if_found(self.cx.store().session(parent).await)?
        {
            return self.attachment(&parent, session.last_seq, "the previous session").await;
        }
        let idle = self.cx.settings().context.microcompact_idle_minutes;
        let idle = i64::try_from(idle).unwrap_or(i64::MAX).saturating_mul(60_000_000);
        let was_idle =
            loaded.state.last_activity().is_some_and(|at| now.0.saturating_sub(at.0) >= idle);
        if !was_idle || summarized_by_notes(loaded) {
            return Ok(None);
        }
        let own = self.attachment(session, session.last_seq, "this session").await?;
        Ok(own.filter(|new| !known.iter().any(|old| old.text == new.text)))
    }

    async fn attachment(
        &self,
        of: &SessionRecord,
        after: Seq,
        whose: &str,
    ) -> Result<Option<Attachment>> {
        let Some(notes) = self.notes_now(of).await? else { return Ok(None) };
        let text = format!(
            "<system-reminder>Notes of {whose}, up to date through message {} (`bethink notes show \
             --session {}`). Later messages are above this reminder.\n\n{}\n</system-reminder>",
            notes.through,
            of.id,
            notes.text.trim_end()
        );
        Ok(Some(Attachment::new(after, WHAT, of.id.to_string(), text)))
    }
}

/// Returns the parent of a session that began without the parent's history. `None` for a fork, which has that history, and
/// after a compaction.
fn continued_parent(loaded: &LoadedSession) -> Option<SessionId> {
    let begins = loaded.state.decisions.boundary.is_none();
    loaded.session.parent.filter(|_| begins && loaded.session.forked_at.is_none())
}

/// Whether the boundary's summary was made from the notes.
fn summarized_by_notes(loaded: &LoadedSession) -> bool {
    let level = SummaryLevel::SessionMemory.as_str();
    loaded.last_compaction.as_ref().is_some_and(|compaction| compaction.level == level)
}
