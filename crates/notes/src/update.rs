//! Makes one update: facts, draft, merge, row, file.

use bethink_api::{Strategy, parse_word};
use bethink_service::{
    ErrorKind, JobHandler, JobOutput, JobRunner, JobStart, Result, ServiceError, at_low_priority,
    job_payload, job_session,
};
use bethink_session_memory::{
    EmbeddedWriter, ModelWriter, NotesBudget, NotesDraft, NotesRequest, NotesWriter, Template,
    WriterError,
};
use bethink_sessions::model_of;
use bethink_store::{JobRecord, NotesRecord, SessionRecord};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use crate::files::{self, hash};
use crate::meter::Meter;
use crate::service::NotesService;

pub(crate) const NOTES: &str = "notes";

/// Maximum number of attempts to merge: if a person saves the file in the meantime, the draft is merged again.
const MERGES: usize = 4;

impl NotesService {
    async fn run_notes(&self, job: &JobRecord) -> Result<Value> {
        let payload: Value = job_payload(job)?;
        let id = job_session(job)?;
        self.inner.updates.begin(id, self.cx.now());
        let asked = payload["through"].as_u64().zip(payload["tokens"].as_u64());
        let updated = self.update(id, asked.map(|(through, tokens)| (Seq(through), tokens))).await;
        self.inner.updates.leave(id);
        match updated {
            Ok(row) => Ok(json!({ "through_seq": row.through, "bytes": row.text.len() })),
            // The session was deleted meanwhile.
            Err(error) if error.kind == ErrorKind::NotFound => Ok(json!({ "bytes": 0 })),
            Err(error) => {
                metrics::counter!("bethink_notes_failed_total").increment(1);
                tracing::warn!(session = %id, reason = %error.detail, "could not update the notes; trying again when the next update is due");
                Err(error)
            }
        }
    }

    /// Updates the notes so that they cover the newest message. `asked` contains the newest message, and the number of tokens
    /// in the history, at the time of the request.
    pub(crate) async fn update(
        &self,
        id: SessionId,
        asked: Option<(Seq, u64)>,
    ) -> Result<NotesRecord> {
        let session = self.cx.store().session(id).await?;
        let handle = self.sessions.handle(id).await?;
        let outline = self.outline().await;
        // The model is asked first, because no lock may be held during a model call.
        let edited = self.edit_by_model(&session, &handle, &outline).await?;
        let meter = handle.feature::<Meter>();
        let (through, tokens, at_hand) = match handle.glance() {
            Some((through, messages)) => (through, meter.state().growth.tokens(), messages),
            // The session is in use, perhaps by a compaction that waits for these notes.
            None => {
                let (through, tokens) =
                    asked.unwrap_or((session.last_seq, meter.state().growth.tokens()));
                (through.max(session.last_seq), tokens, Vec::new())
            }
        };
        let facts = self.sessions.facts_through(&handle, through, at_hand).await?;
        let template = outline.template.clone();
        let (title, dir) = (session.title.clone(), session.project_dir.clone());
        let titled = session.titled;
        // The facts stay locked for these few milliseconds.
        let write = move || {
            let request = NotesRequest {
                facts: &facts,
                template: &template,
                title: title.as_deref().filter(|_| titled),
                project_dir: &dir,
            };
            write(&request, edited.as_ref())
        };
        let drafted = at_low_priority(write).await?.map_err(ServiceError::internal)?;
        let tokens = tokens.max(asked.map_or(0, |(_, tokens)| tokens));
        let row = self.merge_and_write(&session, &outline.template, drafted, tokens).await?;
        if session.title.is_none()
            && let Some(title) = outline.template.title_in(&row.text)
        {
            self.sessions.suggest_title(id, title).await?;
        }
        meter.state().growth.noted(tokens);
        metrics::counter!("bethink_notes_updates_total", "strategy" => row.strategy.clone())
            .increment(1);
        self.publish_notes(id, row.through, strategy_of(&row).into());
        Ok(row)
    }

    async fn merge_and_write(
        &self,
        session: &SessionRecord,
        template: &Template,
        drafted: DraftedNotes,
        tokens: u64,
    ) -> Result<NotesRecord> {
        let DraftedNotes { draft, through, strategy } = drafted;
        let id = session.id;
        let budget = NotesBudget::for_window(model_of(session).context_window);
        let _writing = self.inner.writing.lock().await;
        for _ in 0..MERGES {
            let stored = self.stored_notes_locked(id).await?;
            let replaced = stored.hash();
            let last = stored.written();
            let (template, draft) = (template.clone(), draft.clone());
            let merge = move || {
                let file = stored.text.as_deref();
                bethink_session_memory::update(&template, draft, &last, file, &budget)
            };
            let merged = at_low_priority(merge).await?;
            let row = NotesRecord {
                session: id,
                text: merged.text,
                replaced: replaced.clone(),
                written: serde_json::to_string(&merged.written).map_err(ServiceError::internal)?,
                through,
                tokens,
                strategy: strategy.to_owned(),
                updated_at: self.cx.now(),
            };
            files::check_size(row.text.len() as u64)?;
            let found = self.read_notes_file(id).await?.as_deref().map_or_else(String::new, hash);
            if found != replaced {
                continue;
            }
            self.cx.store().put_notes(row.clone()).await?;
            self.write_notes_file(id, row.text.clone()).await?;
            return Ok(row);
        }
        Err(ServiceError::conflict(
            "could not update the notes: the file was changed during every attempt to merge it",
        ))
    }
}

impl JobHandler for NotesService {
    fn kind(&self) -> &'static str {
        NOTES
    }

    fn start(&self) -> JobStart {
        JobStart::WhenIdle
    }

    fn waits_for_model(&self) -> bool {
        self.cx.settings().model.notes_by_model()
    }

    fn run<'a>(&'a self, job: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.run_notes(job))
    }

    fn left(&self, job: &JobRecord) {
        if let Some(session) = job.session {
            self.inner.updates.leave(session);
        }
    }
}

/// Returns the strategy with which the notes were last written.
pub(crate) fn strategy_of(row: &NotesRecord) -> Strategy {
    parse_word(&row.strategy).unwrap_or_default()
}

/// A draft, the newest message that it covers, and its strategy.
struct DraftedNotes {
    draft: NotesDraft,
    through: Seq,
    strategy: &'static str,
}

/// Returns the model's draft if it is usable, or else the embedded draft.
fn write(
    request: &NotesRequest<'_>,
    edited: Option<&(ModelWriter, Seq)>,
) -> std::result::Result<DraftedNotes, WriterError> {
    if let Some((writer, through)) = edited {
        match writer.write(request) {
            Ok(draft) => {
                return Ok(DraftedNotes { draft, through: *through, strategy: writer.strategy() });
            }
            Err(error) => tracing::warn!(%error, "writing the notes without a model"),
        }
    }
    let draft = EmbeddedWriter.write(request)?;
    let strategy = EmbeddedWriter.strategy();
    Ok(DraftedNotes { draft, through: request.facts.through, strategy })
}
