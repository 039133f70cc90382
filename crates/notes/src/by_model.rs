//! Updates notes with a model: a fork of the session that may edit the notes file and nothing else.
//!
//! The fork edits a copy in memory. The result is merged with the file like any draft, so a person's lines stay,
//! including those written while the model was working.

use std::sync::{Arc, Mutex};

use bethink_agent::{Done, Permit, Tool, ToolCall};
use bethink_models::{Errand, Purpose};
use bethink_service::{ModelStep, Result, ServiceError, locked};
use bethink_session_memory::edit::{EditCall, EditShape, NotesEdit, text_edits};
use bethink_session_memory::instruction::EditWay;
use bethink_session_memory::model::STRATEGY;
use bethink_session_memory::{ModelWriter, NotesBudget};
use bethink_sessions::{SessionHandle, SessionPrefix, model_of};
use bethink_store::SessionRecord;
use bethink_transcript::Seq;

use crate::outline::Outline;
use crate::service::NotesService;

/// Maximum number of turns: edits, reading their results, more edits, and a final message.
const TURNS: u32 = 4;

impl NotesService {
    /// Returns the notes as edited by a model, and the newest message that it saw. `None` if no model was asked or the
    /// model did not answer. The embedded strategy is used in that case. After a single failure, notes that a model
    /// wrote earlier are kept, and the next update tries again.
    pub(crate) async fn edit_by_model(
        &self,
        session: &SessionRecord,
        handle: &Arc<SessionHandle>,
        outline: &Outline,
    ) -> Result<Option<(ModelWriter, Seq)>> {
        let Some(model) = self.models.model_for(Purpose::Notes, &model_of(session).name) else {
            return Ok(None);
        };
        if let Some(reason) = self.models.model_rests(session.id, Purpose::Notes) {
            tracing::info!(session = %session.id, %reason, "writing the notes without a model");
            return Ok(None);
        }
        let stored = self.stored_notes(session.id).await?;
        let last = stored.written();
        let was_by_model = stored.row.as_ref().is_some_and(|row| row.strategy == STRATEGY);
        let budget = NotesBudget::for_window(model_of(session).context_window);
        let path = self.notes_path(session.id).display().to_string();
        let file = stored.text.as_deref();
        let notes = NotesEdit::open(&path, &outline.template, &last, file, &budget);
        let prefix = self.sessions.lock(handle).await?.prefix()?;
        let through = prefix.through;
        let before = notes.before.clone();
        let edited = self.edit(session, outline, model, notes, &budget, prefix).await?;
        if edited.is_none()
            && was_by_model
            && self.models.model_rests(session.id, Purpose::Notes).is_none()
        {
            return Err(ServiceError::conflict("the model did not change the notes")
                .hint("bethink asks the model again after more messages"));
        }
        Ok(edited.map(|edited| (ModelWriter { before, edited, last, budget }, through)))
    }

    async fn edit(
        &self,
        session: &SessionRecord,
        outline: &Outline,
        model: String,
        notes: NotesEdit,
        budget: &NotesBudget,
        prefix: SessionPrefix,
    ) -> Result<Option<String>> {
        let shape = EditShape::find(&String::from_utf8_lossy(&prefix.tools));
        let way = shape.as_ref().map_or(EditWay::Blocks, EditWay::Tool);
        let (template, before) = (&outline.template, &notes.before);
        let instruction = outline.instruction.render(template, before, &notes.path, way, budget);
        let request = prefix.request(model, &instruction, self.cx.settings().model.max_output)?;
        let tool = shape.map(|shape| EditTool { notes: Mutex::new(notes.clone()), shape });
        let tools: Vec<&dyn Tool> = tool.iter().map(|tool| tool as &dyn Tool).collect();
        let errand = Errand {
            session: Some(session.id),
            purpose: Purpose::Notes,
            request: &request,
            tools: &tools,
            turns: TURNS,
            client: None,
        };
        let Ok(finished) = self.models.ask(errand).await.ended else { return Ok(None) };
        let notes = match &tool {
            Some(tool) => locked(&tool.notes).clone(),
            None => self.edit_by_blocks(errand, notes, &finished.text),
        };
        let changed = notes.edits > 0;
        self.models.judged(session.id, Purpose::Notes, changed);
        if !changed {
            let message = "the model did not change the notes".to_owned();
            self.models.tell_model(errand, ModelStep::Refused { message });
        }
        Ok(changed.then_some(notes.text))
    }

    fn edit_by_blocks(&self, errand: Errand<'_>, mut notes: NotesEdit, answer: &str) -> NotesEdit {
        let path = notes.path.clone();
        for (old, new) in text_edits(answer) {
            if let Err(reason) = notes.apply(&path, &old, &new, false) {
                let step = ModelStep::Denied { tool: "edit".to_owned(), reason };
                self.models.tell_model(errand, step);
            }
        }
        notes
    }
}

/// The session's own edit tool, on a copy of the notes.
struct EditTool {
    notes: Mutex<NotesEdit>,
    shape: EditShape,
}

impl Tool for EditTool {
    fn name(&self) -> &str {
        &self.shape.tool
    }

    fn permit(&self, call: ToolCall<'_>) -> Permit {
        let edit = EditCall::from_json(&self.shape, call.input);
        match edit.and_then(|edit| locked(&self.notes).permits(&edit.path)) {
            Ok(()) => Permit::Allow,
            Err(reason) => Permit::Deny(reason),
        }
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Done<'a> {
        Box::pin(async move {
            let edit = EditCall::from_json(&self.shape, call.input)?;
            locked(&self.notes).apply(&edit.path, &edit.old, &edit.new, edit.replace_all)
        })
    }
}
