//! How notes take part in sessions: when an update is due, what they add to prompts, and what is copied or
//! removed with a session.

use bethink_compactor::SessionNotes as NotesSummary;
use bethink_session_memory::GateLimits;
use bethink_sessions::{
    Contributed, Contribution, Contributor, LoadedSession, Moment, PromptRequest, SessionEvent,
    SessionHandle,
};
use bethink_store::SessionRecord;
use bethink_transcript::{Role, Seq, SessionId};
use serde_json::json;

use crate::meter::Meter;
use crate::service::NotesService;
use crate::update::NOTES;

impl NotesService {
    /// Counts new messages, and enqueues an update if one is due.
    pub fn observe(&self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::TakenIn { handle, loaded } => {
                handle.feature::<Meter>().observe(loaded.state.history.entries());
            }
            SessionEvent::Settled { handle, loaded }
            | SessionEvent::Prompted { handle, loaded } => {
                self.enqueue_if_due(handle, loaded);
            }
            // Its job moves with it.
            SessionEvent::Released { session } => self.inner.updates.leave(*session),
            SessionEvent::Missed => self.inner.updates.clear(),
            _ => {}
        }
    }

    /// Enqueues an update if one is due. Never waits or fails: the next assistant message checks again.
    fn enqueue_if_due(&self, handle: &SessionHandle, loaded: &LoadedSession) {
        let newest = loaded.state.history.entries().last();
        let settings = &self.cx.settings().session_memory;
        let ended = newest.is_some_and(|entry| entry.message.role == Role::Assistant);
        if !settings.enabled || !ended {
            return;
        }
        let limits = GateLimits::of_profile(&settings.profile);
        let Some(tokens) = handle.feature::<Meter>().due(&limits) else { return };
        let id = handle.id;
        if !self.inner.updates.enter(id) {
            return;
        }
        let (notes, through) = (self.clone(), loaded.session.last_seq);
        let here = handle.use_guard();
        self.cx.spawn(async move {
            let _hold = here;
            let payload = json!({ "session": id.0, "through": through, "tokens": tokens });
            let jobs = notes.cx.jobs();
            if let Err(error) = jobs.enqueue_background(NOTES, Some(id), &payload).await {
                tracing::warn!(session = %id, reason = %error.detail, "could not enqueue an update of the notes");
                notes.inner.updates.leave(id);
            }
            jobs.wake();
        });
    }
}

impl Contributor for NotesService {
    fn contribute<'a>(&'a self, asked: PromptRequest<'a>) -> Contributed<'a, Contribution> {
        Box::pin(async move {
            let mut reminders = Vec::new();
            if asked.moment == (Moment::Begin { reminds: true }) {
                let now = self.cx.now();
                reminders.extend(self.notes_to_attach(asked.loaded, now).await?);
            }
            Ok(Contribution { reminders, ..Contribution::default() })
        })
    }

    fn summary<'a>(&'a self, session: &'a SessionRecord) -> Contributed<'a, Option<NotesSummary>> {
        Box::pin(self.notes_now(session))
    }

    fn settle(&self, session: SessionId) -> Contributed<'_, ()> {
        Box::pin(async move {
            self.inner.updates.wait(session, self.cx.now()).await;
            Ok(())
        })
    }

    fn loaded<'a>(
        &'a self,
        handle: &'a SessionHandle,
        loaded: &'a LoadedSession,
    ) -> Contributed<'a, ()> {
        Box::pin(async move {
            let notes = self.cx.store().notes(handle.id).await?;
            let entries = loaded.state.history.entries();
            let forked_at = loaded.session.forked_at.unwrap_or(Seq::ZERO);
            let copied = entries.partition_point(|entry| entry.message.seq <= forked_at);
            let copied = entries.get(..copied).unwrap_or_default();
            let compaction = loaded.last_compaction.as_ref();
            handle.feature::<Meter>().begin(notes.as_ref(), compaction, copied);
            Ok(())
        })
    }

    fn forked(&self, from: SessionId, to: SessionId, at: Seq) -> Contributed<'_, ()> {
        Box::pin(self.copy_notes(from, to, at))
    }

    fn removed(&self, session: SessionId) -> Contributed<'_, ()> {
        Box::pin(self.remove_notes_file(session))
    }
}
