//! Attaches notes to the end of a prompt, once, when a session is resumed.

use bethink_compactor::SummaryLevel;
use bethink_context::Attachment;
use bethink_service::Result;
use bethink_sessions::LoadedSession;
use bethink_transcript::UnixMicros;

use crate::service::NotesService;

/// The kind of reminder that contains the notes.
const WHAT: &str = "notes";

impl NotesService {
    /// Returns the session's notes if it was idle for so long that the provider's cache has expired.
    pub(crate) async fn notes_to_attach(
        &self,
        loaded: &LoadedSession,
        now: UnixMicros,
    ) -> Result<Option<Attachment>> {
        let known = loaded.state.decisions.attachments();
        let session = &loaded.session;
        let idle = self.cx.settings().context.microcompact_idle_minutes;
        let idle = i64::try_from(idle).unwrap_or(i64::MAX).saturating_mul(60_000_000);
        let was_idle =
            loaded.state.last_activity().is_some_and(|at| now.0.saturating_sub(at.0) >= idle);
        if !was_idle || summarized_by_notes(loaded) {
            return Ok(None);
        }
        let Some(notes) = self.notes_now(session).await? else { return Ok(None) };
        let text = format!(
            "<system-reminder>This session's notes, up to date through message {} (`bethink notes show \
             --session {}`). Later messages are above this reminder.\n\n{}\n</system-reminder>",
            notes.through,
            session.id,
            notes.text.trim_end()
        );
        let new = Attachment::new(session.last_seq, WHAT, session.id.to_string(), text);
        Ok(Some(new).filter(|new| !known.iter().any(|old| old.text == new.text)))
    }
}

/// Whether the boundary's summary was made from the notes.
fn summarized_by_notes(loaded: &LoadedSession) -> bool {
    let level = SummaryLevel::SessionMemory.as_str();
    loaded.last_compaction.as_ref().is_some_and(|compaction| compaction.level == level)
}
