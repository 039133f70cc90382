//! Notes by a model: a fork of the session that may edit exactly the notes file, and nothing else.
//!
//! The fork edits a copy in memory. What it left is merged with the file like any draft, so that a person's
//! lines stay, also those that were written while the model was thinking.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_agent::{Call, Done, Permit, Tool};
use bethink_session_memory::edit::{EditCall, EditShape, NotesEdit, text_edits};
use bethink_session_memory::instruction::EditWay;
use bethink_session_memory::model::STRATEGY;
use bethink_session_memory::{NotesBudget, Written};
use bethink_store::Session;
use bethink_transcript::Seq;
use serde_json::json;

use super::outline::Outline;
use crate::hot::{ESTIMATOR, Slot};
use crate::models::{Errand, Prefix, Purpose};
use crate::sessions::model_of;
use crate::{Daemon, Kind, Refusal, Result};

/// Edits, a look at what they answered, more edits, and a last word.
const TURNS: u32 = 4;

/// The notes as a model left them, and the newest message that it saw.
pub(super) struct Edited {
    pub(super) before: String,
    pub(super) text: String,
    /// What the daemon knew of the file when the model was given it.
    pub(super) last: Written,
    pub(super) budget: NotesBudget,
    pub(super) through: Seq,
}

impl Daemon {
    /// `None` where no model is asked, or none answered: the embedded strategy goes on. What a model wrote
    /// before is not given up for one failure: then the notes stay, and the next gate tries again.
    pub(super) async fn edit_by_model(
        &self,
        session: &Session,
        slot: &Slot,
        outline: &Outline,
    ) -> Result<Option<Edited>> {
        let Some(model) = self.model_for(Purpose::Notes, &model_of(session).name) else {
            return Ok(None);
        };
        if let Some(reason) = self.model_rests(session.id, Purpose::Notes) {
            tracing::info!(session = %session.id, %reason, "the notes are embedded");
            return Ok(None);
        }
        let standing = {
            let _one = self.notes_desk().writing.lock().await;
            self.standing(session.id).await?
        };
        let (last, strategy) =
            standing.row.map(|row| (row.written, row.strategy)).unwrap_or_default();
        let last: Written = serde_json::from_str(&last).unwrap_or_default();
        let budget = NotesBudget::for_window(model_of(session).context_window);
        let path = self.notes_path(session.id).display().to_string();
        let file = standing.text.as_deref();
        let notes = NotesEdit::open(&path, &outline.template, &last, file, &budget, &ESTIMATOR);
        let prefix = slot.lock(self).await?.prefix()?;
        let through = prefix.through;
        let before = notes.before().to_owned();
        let text = self.edit(session, outline, model, &path, notes, &budget, prefix).await?;
        if text.is_none()
            && strategy == STRATEGY
            && self.model_rests(session.id, Purpose::Notes).is_none()
        {
            return Err(Refusal::new(
                Kind::Conflict,
                "the model did not change the notes; they stay as they were",
            )
            .hint("it is asked again when the session has gone on"));
        }
        Ok(text.map(|text| Edited { before, text, last, budget, through }))
    }

    /// The notes as they were left, if anything was changed.
    #[allow(clippy::too_many_arguments)]
    async fn edit(
        &self,
        session: &Session,
        outline: &Outline,
        model: String,
        path: &str,
        notes: NotesEdit,
        budget: &NotesBudget,
        prefix: Prefix,
    ) -> Result<Option<String>> {
        let shape = EditShape::find(&String::from_utf8_lossy(&prefix.tools));
        let way = shape.as_ref().map_or(EditWay::Blocks, EditWay::Tool);
        let before = notes.before();
        let instruction =
            outline.instruction.render(&outline.template, before, path, way, budget, &ESTIMATOR);
        let request = prefix.request(model, &instruction, self.settings().model.max_output)?;
        let tool = shape.map(|shape| EditTool { notes: Mutex::new(notes.clone()), shape });
        let tools: Vec<&dyn Tool> = tool.iter().map(|tool| tool as &dyn Tool).collect();
        let errand = Errand {
            session: Some(session.id),
            purpose: Purpose::Notes,
            request: &request,
            tools: &tools,
            turns: TURNS,
        };
        let Ok(finished) = self.ask(errand).await.ended else { return Ok(None) };
        let notes = match tool {
            Some(tool) => tool.notes.into_inner().unwrap_or_else(PoisonError::into_inner),
            None => self.edit_by_blocks(errand, path, notes, &finished.text),
        };
        let changed = notes.edits() > 0;
        self.judged(session.id, Purpose::Notes, changed);
        Ok(changed.then(|| notes.text().to_owned()))
    }

    fn edit_by_blocks(
        &self,
        errand: Errand<'_>,
        path: &str,
        mut notes: NotesEdit,
        answer: &str,
    ) -> NotesEdit {
        for (old, new) in text_edits(answer) {
            if let Err(error) = notes.apply(path, &old, &new, false) {
                let reason = error.to_string();
                let step = json!({ "step": "denied", "tool": "edit", "reason": reason });
                self.tell_model(errand, &step);
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

impl EditTool {
    fn notes(&self) -> MutexGuard<'_, NotesEdit> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tool for EditTool {
    fn name(&self) -> &str {
        &self.shape.tool
    }

    fn permit(&self, call: Call<'_>) -> Permit {
        let edit = EditCall::from_json(&self.shape, call.input);
        match edit.and_then(|edit| self.notes().permits(&edit.path)) {
            Ok(()) => Permit::Allow,
            Err(reason) => Permit::Deny(reason),
        }
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Done<'a> {
        Box::pin(async move {
            let edit = EditCall::from_json(&self.shape, call.input)?;
            let done = self.notes().apply(&edit.path, &edit.old, &edit.new, edit.replace_all);
            done.map_err(|error| error.to_string())
        })
    }
}
