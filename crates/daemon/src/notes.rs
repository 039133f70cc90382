//! Notes: kept beside the work, in a file that a person may edit at any time.
//!
//! An update is leased work, begun when it is quiet: facts → draft → merge with the file → row → file.
//! The row is committed first. It tells what the file is to hold and what it held before, so that a
//! daemon killed between the two knows its own unwritten lines from a person's.
//!
//! Reading order: `gate` (when) → `update` → `fork` (by a model) → `files` (row and file as one) → `outline` (a person's
//! template and instruction) → `waiting` (for a compaction) → `resume` (back into a prompt).

mod files;
mod fork;
mod gate;
mod outline;
mod resume;
#[cfg(test)]
mod tests;
mod update;
mod waiting;

use bethink_api as api;
use bethink_session_memory::{Draft, NotesBudget, Template, Written};
use bethink_store::{Notes, Session, StoreError};
use bethink_transcript::{Seq, SessionId};

use crate::clock::rfc3339;
use crate::hot::ESTIMATOR;
use crate::sessions::model_of;
use crate::{Daemon, Kind, Refusal, Result};

pub use files::MAX_NOTES_BYTES;
pub(crate) use gate::Meter;
pub(crate) use waiting::Flights;

/// Work of this module, by the name under which it is leased.
pub(crate) const NOTES: &str = "notes";

/// What the notes of all sessions share.
#[derive(Debug, Default)]
pub(crate) struct NotesDesk {
    pub(crate) flights: Flights,
    /// One writer at a time: the worker, or a person over HTTP.
    writing: tokio::sync::Mutex<()>,
    /// What of a person's configuration is broken, as it was found last.
    faults: std::sync::Mutex<Vec<String>>,
}

/// The notes of a session as a client sees them.
#[derive(Clone, Debug)]
pub struct NotesFile {
    pub text: String,
    /// Changes whenever the text does.
    pub etag: String,
    /// Newest message that the daemon's own lines cover; 0 before the first update.
    pub through: u64,
    /// What of a person's template or instruction is broken.
    pub faults: Vec<String>,
}

impl Daemon {
    /// The file as it stands; the bare template before anything was noted.
    pub async fn notes(&self, id: SessionId) -> Result<NotesFile> {
        self.store().session(id).await?;
        let outline = self.outline().await;
        let standing = {
            let _one = self.notes_desk().writing.lock().await;
            self.standing(id).await?
        };
        let through = standing.row.as_ref().map_or(0, |row| row.through.0);
        let text = standing.shown(&outline.template);
        Ok(NotesFile { etag: files::etag(&text), text, through, faults: outline.faults })
    }

    /// A person's own text. It counts as an edit of the file: later updates respect it.
    pub async fn put_notes(
        &self,
        id: SessionId,
        text: String,
        if_match: Option<String>,
    ) -> Result<NotesFile> {
        let actual = text.len() as u64;
        if actual > MAX_NOTES_BYTES {
            let detail = format!("notes have at most {MAX_NOTES_BYTES} bytes");
            return Err(Refusal::new(Kind::TooLarge, detail).bounded(MAX_NOTES_BYTES, actual));
        }
        self.store().session(id).await?;
        let template = self.outline().await.template;
        {
            let _one = self.notes_desk().writing.lock().await;
            let standing = self.standing(id).await?;
            let etag = files::etag(&standing.shown(&template));
            if if_match.is_some_and(|wanted| !files::matches(&wanted, &etag)) {
                return Err(Refusal::new(
                    Kind::Stale,
                    "the notes have changed since they were read",
                )
                .hint("read them again, bring the two together, and put the result"));
            }
            self.write_notes_file(id, text).await?;
        }
        let through = self.store().notes(id).await?.map_or(Seq::ZERO, |row| row.through);
        self.tell_notes(id, through, "person");
        self.notes(id).await
    }

    /// Brings the notes up to date now, whatever the gate says.
    pub async fn update_notes(&self, id: SessionId) -> Result<api::NotesUpdate> {
        let session = self.store().session(id).await?;
        if session.last_seq == Seq::ZERO {
            return Err(Refusal::new(Kind::Conflict, "the session has no messages yet")
                .hint("append the user's first message, then ask for notes"));
        }
        let row = self.update(id, None).await?;
        Ok(api::NotesUpdate {
            through_seq: row.through.0,
            bytes: row.text.len() as u64,
            strategy: row.strategy,
            updated_at: rfc3339(row.updated_at),
        })
    }

    /// A fork begins with a copy. Where it goes on from an earlier message than the notes cover, it
    /// gets what a person wrote, and the rest is noted anew.
    pub(crate) async fn copy_notes(&self, from: SessionId, to: SessionId, at: Seq) -> Result<()> {
        let standing = {
            let _one = self.notes_desk().writing.lock().await;
            self.standing(from).await?
        };
        let Some(row) = standing.row else { return Ok(()) };
        let text = standing.text.unwrap_or_default();
        let mut copy = Notes { session: to, replaced: String::new(), ..row };
        copy.text.clone_from(&text);
        if copy.through > at {
            let template = self.outline().await.template;
            let last: Written = serde_json::from_str(&copy.written).unwrap_or_default();
            let bare = bethink_session_memory::update(
                &template,
                Draft::default(),
                &last,
                Some(&text),
                &NotesBudget::default(),
                &ESTIMATOR,
            );
            copy.written = serde_json::to_string(&bare.written).map_err(Refusal::internal)?;
            (copy.text, copy.through, copy.tokens) = (bare.text, Seq::ZERO, 0);
        }
        let _one = self.notes_desk().writing.lock().await;
        let text = copy.text.clone();
        self.store().put_notes(copy).await?;
        self.write_notes_file(to, text).await
    }

    /// What a compaction may put in place of messages: the notes within the window's budget, and the
    /// newest message that they cover; `None` if nothing was noted.
    pub(crate) async fn notes_now(&self, session: &Session) -> Result<Option<(String, Seq)>> {
        let outline = self.outline().await;
        let standing = {
            let _one = self.notes_desk().writing.lock().await;
            self.standing(session.id).await?
        };
        let Some(row) = standing.row.as_ref().filter(|row| row.through > Seq::ZERO) else {
            return Ok(None);
        };
        let Some(text) = standing.text.filter(|text| !outline.template.is_bare(text)) else {
            return Ok(None);
        };
        Ok(Some((self.cut_notes(session, &outline.template, &text), row.through)))
    }

    /// Notes as a prompt shows them.
    fn cut_notes(&self, session: &Session, template: &Template, text: &str) -> String {
        let budget = NotesBudget::for_window(model_of(session).context_window);
        let place = format!("`bethink notes show --session {}`", session.id);
        budget.cut(text, template, &place, &ESTIMATOR)
    }

    fn tell_notes(&self, id: SessionId, through: Seq, by: &str) {
        let data = serde_json::json!({ "through_seq": through, "by": by });
        self.hub().publish(id, "notes", through, &data);
    }
}

/// The row of a session that may be gone by now.
async fn row_of(daemon: &Daemon, id: SessionId) -> Result<Option<Notes>> {
    match daemon.store().notes(id).await {
        Ok(row) => Ok(row),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
