//! The notes of a session as others use them: a client reads and writes them, a fork copies them, and a compaction and a
//! prompt include them.

use bethink_api::{self as api, NotesAuthor};
use bethink_compactor::SessionNotes as NotesSummary;
use bethink_service::{ErrorKind, Event, Result, ServiceError, rfc3339};
use bethink_session_memory::{NotesBudget, NotesDraft, update};
use bethink_sessions::model_of;
use bethink_store::{NotesRecord, SessionRecord};
use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::files::{self, MAX_NOTES_BYTES};
use crate::service::NotesService;
use crate::update::strategy_of;

/// The notes of a session as a client sees them.
#[derive(Clone, Debug)]
pub struct NotesFile {
    pub text: String,
    /// Changes whenever the text changes.
    pub etag: String,
    /// The newest message that the daemon's updates have covered; 0 before the first update.
    pub through: u64,
    /// Errors in a person's template or instruction.
    pub faults: Vec<String>,
}

impl NotesService {
    /// Returns the file's text, or the empty template before the first update.
    pub async fn notes(&self, id: SessionId) -> Result<NotesFile> {
        self.cx.store().session(id).await?;
        let outline = self.outline().await;
        let stored = self.stored_notes(id).await?;
        let through = stored.row.as_ref().map_or(0, |row| row.through.0);
        let text = stored.text_or_template(&outline.template);
        Ok(NotesFile { etag: files::etag(&text), text, through, faults: outline.faults })
    }

    /// Replaces the notes with a person's text, which later updates respect like any edit of the file.
    pub async fn put_notes(
        &self,
        id: SessionId,
        text: String,
        if_match: Option<String>,
    ) -> Result<NotesFile> {
        let actual = text.len() as u64;
        if actual > MAX_NOTES_BYTES {
            let detail = format!("notes may have at most {MAX_NOTES_BYTES} bytes");
            return Err(
                ServiceError::new(ErrorKind::TooLarge, detail).bounded(MAX_NOTES_BYTES, actual)
            );
        }
        self.cx.store().session(id).await?;
        let template = self.outline().await.template;
        // The daemon that has the session merges what it writes with this text.
        let _held = self.sessions.hold_session(id).await?;
        let through = {
            let _writing = self.inner.writing.lock().await;
            let stored = self.stored_notes_locked(id).await?;
            let current = stored.text_or_template(&template);
            let etag = files::etag(&current);
            if if_match.is_some_and(|wanted| !files::matches(&wanted, &etag)) {
                let detail = "the notes were changed after they were read";
                let both = api::BothVersions {
                    current: Some(current),
                    etag: Some(etag),
                    yours: Some(text),
                };
                return Err(ServiceError {
                    versions: Some(Box::new(both)),
                    ..ServiceError::new(ErrorKind::Stale, detail)
                        .hint("combine both versions, and write again with the new ETag")
                });
            }
            self.write_notes_file(id, text.clone()).await?;
            // Other machines have the record, and not the file.
            let row = stored.row.unwrap_or_else(|| never_updated(id));
            let replaced = files::hash(&text);
            let row = NotesRecord { text, replaced, updated_at: self.cx.now(), ..row };
            let through = row.through;
            self.cx.store().put_notes(row).await?;
            through
        };
        self.publish_notes(id, through, NotesAuthor::Person);
        self.notes(id).await
    }

    /// Updates the notes now, even if no update is due.
    pub async fn update_notes(&self, id: SessionId) -> Result<api::NotesUpdate> {
        let session = self.cx.store().session(id).await?;
        if session.last_seq == Seq::ZERO {
            return Err(ServiceError::conflict("the session has no messages yet")
                .hint("append the user's first message, then update the notes"));
        }
        let row = self.update(id, None).await?;
        Ok(api::NotesUpdate {
            through_seq: row.through.0,
            bytes: row.text.len() as u64,
            strategy: strategy_of(&row),
            updated_at: rfc3339(row.updated_at),
        })
    }

    /// Copies the notes to a fork. If the fork starts before the last message that the notes cover, it gets only a
    /// person's lines, and the fork's next update writes the other lines.
    pub(crate) async fn copy_notes(&self, from: SessionId, to: SessionId, at: Seq) -> Result<()> {
        let stored = self.stored_notes(from).await?;
        let last = stored.written();
        let Some(row) = stored.row else { return Ok(()) };
        let text = stored.text.unwrap_or_default();
        let mut copy = NotesRecord { session: to, replaced: String::new(), ..row };
        copy.text.clone_from(&text);
        if copy.through > at {
            let template = self.outline().await.template;
            let (none, budget) = (NotesDraft::default(), NotesBudget::default());
            let bare = update(&template, none, &last, Some(&text), &budget);
            copy.written = serde_json::to_string(&bare.written).map_err(ServiceError::internal)?;
            // The number of tokens stays: an update is due when the fork has grown as its parent would have.
            (copy.text, copy.through) = (bare.text, Seq::ZERO);
        }
        let _writing = self.inner.writing.lock().await;
        let text = copy.text.clone();
        self.cx.store().put_notes(copy).await?;
        self.write_notes_file(to, text).await
    }

    /// Returns the notes for a prompt or a compaction, within the window's budget; `None` if they are empty.
    pub async fn notes_now(&self, session: &SessionRecord) -> Result<Option<NotesSummary>> {
        let outline = self.outline().await;
        let stored = self.stored_notes(session.id).await?;
        let noted = stored.row.map(|row| row.through).filter(|through| *through > Seq::ZERO);
        let text = stored.text.filter(|text| !outline.template.is_bare(text));
        Ok(noted.zip(text).map(|(through, text)| {
            let budget = NotesBudget::for_window(model_of(session).context_window);
            let place = format!("`bethink notes show --session {}`", session.id);
            NotesSummary { text: budget.cut(&text, &outline.template, &place), through }
        }))
    }

    pub(crate) fn publish_notes(&self, id: SessionId, through: Seq, by: NotesAuthor) {
        self.cx.hub().publish(id, through, &Event::Notes { through_seq: through, by });
    }
}

/// Returns the record of notes that the daemon has not updated yet.
fn never_updated(session: SessionId) -> NotesRecord {
    NotesRecord {
        session,
        text: String::new(),
        replaced: String::new(),
        written: String::new(),
        through: Seq::ZERO,
        tokens: 0,
        strategy: String::new(),
        updated_at: UnixMicros(0),
    }
}
