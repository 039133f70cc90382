//! A session's view in an exported file: its compactions and other decisions, its model and the todo list that a client set,
//! so that the session has the same prompt after an import.

use bethink_api::ModelSpec;
use bethink_service::{Result, ServiceError};
use bethink_store::{CompactionRecord, DecisionRecord, NewDecision};
use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::catalog::model_of;
use crate::decisions::read_decision;
use crate::kept_state::{ClientTodos, KeptState, check_todos};
use crate::service::SessionService;

/// The decisions of an exported session, in order. The session's messages have the same numbers after an import.
#[derive(Debug, Serialize, Deserialize)]
pub struct CarriedView {
    /// Number of messages that the session had.
    messages: u64,
    entries: Vec<CarriedEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    todos: Option<ClientTodos>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CarriedEntry {
    Decision { kind: String, data: String, made_after: Seq, created_at: UnixMicros },
    Compaction(CompactionRecord),
}

impl CarriedView {
    /// Reads the view of a file with this many messages. Returns `None` if the view belongs to other messages or cannot
    /// be read. The file's own boundaries are then used instead.
    pub fn read(json: &str, messages: u64) -> Option<Self> {
        let mut view: Self = serde_json::from_str(json).ok()?;
        let through = view.messages;
        view.todos.take_if(|todos| todos.after.0 > through || check_todos(&todos.items).is_err());
        let fits = through <= messages && view.entries.iter().all(|e| view.has(e));
        fits.then_some(view)
    }

    /// Returns the state of an imported session with this view, as it is stored; `None` if there is none.
    pub fn take_state(&mut self) -> Option<String> {
        let todos = Some(self.todos.take()?);
        serde_json::to_string(&KeptState { todos, ..KeptState::default() }).ok()
    }

    /// Whether the entry can be read, and only concerns messages of the session.
    fn has(&self, entry: &CarriedEntry) -> bool {
        match entry {
            CarriedEntry::Compaction(row) => {
                let through = row.made_after;
                let ends = [row.first_seq, row.last_seq, Seq(row.kept_from.0.saturating_sub(1))];
                through.0 <= self.messages && ends.iter().all(|end| *end <= through)
            }
            CarriedEntry::Decision { kind, data, made_after, created_at } => {
                let record = DecisionRecord {
                    id: 0,
                    kind: kind.clone(),
                    data: data.clone(),
                    made_after: *made_after,
                    created_at: *created_at,
                };
                made_after.0 <= self.messages && is_carried(kind) && read_decision(&record).is_ok()
            }
        }
    }
}

/// Whether decisions of this kind are exported. Compactions are exported with their rows; collapsed spans are not
/// exported.
fn is_carried(kind: &str) -> bool {
    !matches!(kind, "compacted" | "undone" | "collapsed")
}

impl SessionService {
    /// Returns the view of a session as JSON; `None` if an import of its messages alone makes the same session.
    pub async fn carried_view(&self, id: SessionId) -> Result<Option<String>> {
        let session = self.cx.store().session(id).await?;
        let rows = self.cx.store().compactions(id).await?;
        let mut rows = rows.into_iter().filter(|row| row.undone_at.is_none()).peekable();
        let mut entries = Vec::new();
        for record in self.cx.store().decisions(id).await? {
            if record.kind == "compacted" {
                // Both are in the order in which they were made; undone ones have no row here.
                let row = rows.next_if(|row| record.data.contains(&row.id.to_string()));
                let row = row.filter(|row| row.level != "recorded");
                entries.extend(row.map(CarriedEntry::Compaction));
            } else if is_carried(&record.kind) {
                let DecisionRecord { kind, data, made_after, created_at, .. } = record;
                entries.push(CarriedEntry::Decision { kind, data, made_after, created_at });
            }
        }
        let is_shown = |entry: &CarriedEntry| matches!(entry, CarriedEntry::Decision { kind, .. } if kind == "shown");
        let (model, todos) = (model_of(&session), KeptState::parse(&session.state).todos);
        let default = ModelSpec { name: model.name.clone(), ..self.model_or_default(None)? };
        // If nothing has changed since the import, the export has the same bytes as the imported file.
        let is_as_imported = session.content_hash.is_some() && model == default && todos.is_none();
        if is_as_imported && entries.iter().all(is_shown) {
            return Ok(None);
        }
        let view = CarriedView { messages: session.last_seq.0, entries, model: Some(model), todos };
        serde_json::to_string(&view).map(Some).map_err(ServiceError::internal)
    }

    /// Gives an imported session the view that it was exported with.
    pub async fn add_carried_view(&self, id: SessionId, view: CarriedView) -> Result<()> {
        // Decisions name the compaction after which they were made. Here it has another id, because the exported session may
        // still exist.
        let mut ids: Vec<(String, String)> = Vec::new();
        for entry in view.entries {
            match entry {
                CarriedEntry::Compaction(row) => {
                    let new = CompactionId(Uuid::now_v7());
                    ids.push((row.id.to_string(), new.to_string()));
                    let row = CompactionRecord { id: new, session: id, undone_at: None, ..row };
                    self.add_compaction(row).await?;
                }
                CarriedEntry::Decision { kind, data, made_after, created_at } => {
                    let renamed =
                        |data: String, (old, new): &(String, String)| data.replace(old, new);
                    let data = ids.iter().fold(data, renamed);
                    let new = NewDecision { kind, data, made_after, created_at };
                    self.cx.store().add_decisions(id, vec![new]).await?;
                }
            }
        }
        Ok(())
    }
}
