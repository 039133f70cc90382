//! One update: facts, draft, merge, row, file.

use std::sync::Arc;

use bethink_session_memory::{
    Draft, EmbeddedWriter, ModelWriter, NotesBudget, NotesRequest, NotesWriter, Template,
    WriterError, Written,
};
use bethink_store::{Job, Notes, Session};
use bethink_transcript::{Message, Seq, SessionId};
use serde_json::{Value, json};

use super::files::{self, hash};
use super::fork::Edited;
use crate::hot::{ESTIMATOR, Slot};
use crate::quiet::quietly;
use crate::sessions::model_of;
use crate::{Daemon, Kind, Refusal, Result, jobs};

/// A person may save the file while it is merged; then it is merged again.
const MERGES: usize = 4;

impl Daemon {
    pub(crate) async fn run_notes(&self, job: &Job) -> Result<Value> {
        let payload = jobs::payload(job)?;
        let id = payload["session"].as_str().and_then(|id| id.parse().ok()).map(SessionId);
        let id = id.ok_or_else(|| Refusal::internal("notes without a session"))?;
        self.notes_desk().flights.begin(id, self.now());
        let asked = payload["through"].as_u64().zip(payload["tokens"].as_u64());
        let updated = self.update(id, asked.map(|(through, tokens)| (Seq(through), tokens))).await;
        self.notes_desk().flights.leave(id);
        match updated {
            Ok(row) => Ok(json!({ "through_seq": row.through, "bytes": row.text.len() })),
            // Deleted since.
            Err(refusal) if refusal.kind == Kind::NotFound => Ok(json!({ "bytes": 0 })),
            Err(refusal) => {
                metrics::counter!("bethink_notes_failed_total").increment(1);
                tracing::warn!(session = %id, reason = %refusal.detail, "no notes; tried again at the next gate");
                Err(refusal)
            }
        }
    }

    /// Brings the notes up to date: through the newest message, and at least through `asked` with the
    /// tokens of history that it had.
    pub(super) async fn update(&self, id: SessionId, asked: Option<(Seq, u64)>) -> Result<Notes> {
        let session = self.store().session(id).await?;
        let slot = self.hot(id).await?;
        let outline = self.outline().await;
        // First of all: nothing is held while a model thinks.
        let edited = self.edit_by_model(&session, &slot, &outline).await?;
        let (through, tokens, at_hand) = match glance(&slot) {
            Some(glance) => glance,
            None => {
                let (through, tokens) = asked.unwrap_or((session.last_seq, slot.meter.tokens()));
                (through.max(session.last_seq), tokens, Vec::new())
            }
        };
        let facts = self.facts_through(&slot, through, at_hand).await?;
        let template = outline.template.clone();
        let (title, dir) = (session.title.clone(), session.project_dir.clone());
        let titled = session.titled;
        // The lock goes along: who needs the facts next waits for these few milliseconds.
        let write = move || {
            let request = NotesRequest {
                facts: &facts,
                template: &template,
                title: title.as_deref().filter(|_| titled),
                project_dir: &dir,
            };
            write(&request, edited.as_ref())
        };
        let drawn = quietly(write).await?.map_err(Refusal::internal)?;
        let tokens = tokens.max(asked.map_or(0, |(_, tokens)| tokens));
        let row = self.merge_and_write(&session, &outline.template, drawn, tokens).await?;
        slot.meter.noted(tokens);
        metrics::counter!("bethink_notes_updates_total", "strategy" => row.strategy.clone())
            .increment(1);
        self.tell_notes(id, row.through, &row.strategy);
        Ok(row)
    }

    async fn merge_and_write(
        &self,
        session: &Session,
        template: &Template,
        drawn: Drawn,
        tokens: u64,
    ) -> Result<Notes> {
        let Drawn { draft, through, strategy } = drawn;
        let id = session.id;
        let budget = NotesBudget::for_window(model_of(session).context_window);
        let _one = self.notes_desk().writing.lock().await;
        for _ in 0..MERGES {
            let standing = self.standing(id).await?;
            let replaced = standing.hash();
            let last = standing.row.map(|row| row.written).unwrap_or_default();
            let last: Written = serde_json::from_str(&last).unwrap_or_default();
            let (template, draft) = (template.clone(), draft.clone());
            let merge = move || {
                let file = standing.text.as_deref();
                bethink_session_memory::update(&template, draft, &last, file, &budget, &ESTIMATOR)
            };
            let merged = quietly(merge).await?;
            let row = Notes {
                session: id,
                text: merged.text,
                replaced: replaced.clone(),
                written: serde_json::to_string(&merged.written).map_err(Refusal::internal)?,
                through,
                tokens,
                strategy: strategy.to_owned(),
                updated_at: self.now(),
            };
            // It could not be read again.
            files::check_size(row.text.len() as u64)?;
            let found = self.read_notes_file(id).await?.as_deref().map_or_else(String::new, hash);
            if found != replaced {
                continue;
            }
            self.store().put_notes(row.clone()).await?;
            self.write_notes_file(id, row.text.clone()).await?;
            return Ok(row);
        }
        Err(Refusal::new(Kind::Conflict, "the notes were changed each time they were merged"))
    }
}

/// A draft, the newest message that it speaks of, and who wrote it.
struct Drawn {
    draft: Draft,
    through: Seq,
    strategy: &'static str,
}

/// The model's where it can be used, the embedded one otherwise.
fn write(
    request: &NotesRequest<'_>,
    edited: Option<&Edited>,
) -> std::result::Result<Drawn, WriterError> {
    if let Some(edited) = edited {
        let writer = ModelWriter {
            before: &edited.before,
            edited: &edited.text,
            last: &edited.last,
            budget: &edited.budget,
            estimator: &ESTIMATOR,
        };
        match writer.write(request) {
            Ok(draft) => {
                let strategy = writer.strategy();
                return Ok(Drawn { draft, through: edited.through, strategy });
            }
            Err(error) => tracing::warn!(%error, "the notes are embedded"),
        }
    }
    let draft = EmbeddedWriter.write(request)?;
    let strategy = EmbeddedWriter.strategy();
    Ok(Drawn { draft, through: request.facts.through(), strategy })
}

/// The newest message, the tokens of history, and the messages in memory; `None` while somebody else
/// works with the session, who may be waiting for these notes.
fn glance(slot: &Slot) -> Option<(Seq, u64, Vec<Arc<Message>>)> {
    let (through, messages) = slot.glance()?;
    Some((through, slot.meter.tokens(), messages))
}
