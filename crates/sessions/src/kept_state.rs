//! State that must survive a compaction or a restart: plan, skills, agents, tools, files, instructions, hooks, todos.
//!
//! Stored as one JSON object in the session's row; each kind is replaced as a whole.

use std::collections::HashSet;

use bethink_api as api;
use bethink_api::StateKind;
use bethink_compactor::{Breakers, RestorableText};
use bethink_context::Attachment;
use bethink_service::{ErrorKind, Event, Result, ServiceError};
use bethink_store::SessionRecord;
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::last_prompt::ProviderWindow;
use crate::loaded::LoadedSession;
use crate::service::SessionService;

/// Maximum number of todos in a list.
const MAX_TODOS: usize = 1_000;
/// Maximum size of the body of `PUT …/state/{kind}`, in bytes.
const MAX_STATE_BYTES: usize = 8 * 1024 * 1024;

/// The state that clients set, as it is stored. State of a kind that no client set is read from the history.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<api::Plan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skills: Option<api::Skills>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agents: Option<api::Agents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<api::Tools>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<api::Files>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<api::Instructions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hooks: Option<api::Instructions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) todos: Option<ClientTodos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<ProviderWindow>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) breakers: Breakers,
}

fn is_default(breakers: &Breakers) -> bool {
    *breakers == Breakers::default()
}

/// A todo list that a client set.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClientTodos {
    /// The newest message when the client set the list. A later todo call by the agent replaces the list.
    pub(crate) after: Seq,
    pub(crate) items: Vec<api::Todo>,
}

impl KeptState {
    pub(crate) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }
}

impl SessionService {
    /// Stores the breakers and the window if they have changed, so that they survive a restart.
    pub(crate) async fn keep_remembered(&self, loaded: &mut LoadedSession) -> Result<()> {
        let mut kept = KeptState::parse(&loaded.session.state);
        let breakers = loaded.breakers.clone().after_turns(None);
        if kept.breakers == breakers && kept.window == loaded.window {
            return Ok(());
        }
        (kept.breakers, kept.window) = (breakers, loaded.window.clone());
        self.keep_state(loaded, &kept).await
    }

    pub async fn put_state(&self, id: SessionId, kind: StateKind, body: Bytes) -> Result<Bytes> {
        if body.len() > MAX_STATE_BYTES {
            let detail = format!("each kind of state is limited to {MAX_STATE_BYTES} bytes");
            return Err(ServiceError::new(ErrorKind::TooLarge, detail)
                .bounded(MAX_STATE_BYTES as u64, body.len() as u64));
        }
        let handle = self.handle(id).await?;
        let mut loaded = self.lock(&handle).await?;
        let mut state = KeptState::parse(&loaded.session.state);
        match kind {
            StateKind::Plan => state.plan = Some(read(&body)?),
            StateKind::Skills => state.skills = Some(read(&body)?),
            StateKind::Agents => state.agents = Some(read(&body)?),
            StateKind::Tools => state.tools = Some(read(&body)?),
            StateKind::Files => state.files = Some(read(&body)?),
            StateKind::Instructions => state.instructions = Some(read(&body)?),
            StateKind::Hooks => state.hooks = Some(read(&body)?),
        }
        self.keep_state(&mut loaded, &state).await?;
        show(&state, kind)
    }

    /// Stores the state. The session in memory keeps its own newest message: the store may already have a newer one
    /// that has not been delivered yet.
    pub(crate) async fn keep_state(
        &self,
        loaded: &mut LoadedSession,
        state: &KeptState,
    ) -> Result<()> {
        let json = serde_json::to_string(state).map_err(ServiceError::internal)?;
        let change = bethink_store::SessionChange {
            state: Some(json),
            updated_at: self.cx.now(),
            ..Default::default()
        };
        let stored = self.cx.store().update_session(loaded.session.id, change).await?;
        loaded.session = SessionRecord { last_seq: loaded.session.last_seq, ..stored };
        Ok(())
    }

    pub async fn state(&self, id: SessionId, kind: StateKind) -> Result<Bytes> {
        let session = self.cx.store().session(id).await?;
        show(&KeptState::parse(&session.state), kind)
    }

    pub async fn todos(&self, id: SessionId) -> Result<api::Todos> {
        let handle = self.handle(id).await?;
        let loaded = self.lock(&handle).await?;
        Ok(api::Todos { todos: loaded.state.todos.items.clone() })
    }

    pub async fn put_todos(&self, id: SessionId, todos: api::Todos) -> Result<api::Todos> {
        let taken = check_todos(&todos.todos)?;
        let handle = self.handle(id).await?;
        let mut loaded = self.lock(&handle).await?;
        let mut list = todos.todos;
        let mut free = (1..).map(|n: usize| n.to_string()).filter(|id| !taken.contains(id));
        for todo in list.iter_mut().filter(|todo| todo.id.is_empty()) {
            todo.id = free.next().unwrap_or_default();
        }
        let after = loaded.session.last_seq;
        let mut state = KeptState::parse(&loaded.session.state);
        state.todos = Some(ClientTodos { after, items: list.clone() });
        self.keep_state(&mut loaded, &state).await?;
        loaded.state.todos.set(list);
        let event = Event::Todos { items: loaded.state.todos.items.len() };
        self.cx.hub().publish(id, Seq::ZERO, &event);
        Ok(api::Todos { todos: loaded.state.todos.items.clone() })
    }
}

/// Checks a todo list, and returns the ids in it.
pub(crate) fn check_todos(todos: &[api::Todo]) -> Result<HashSet<String>> {
    if todos.len() > MAX_TODOS {
        let detail = format!("must have at most {MAX_TODOS} entries");
        return Err(
            ServiceError::invalid("todos", detail).bounded(MAX_TODOS as u64, todos.len() as u64)
        );
    }
    let mut taken = HashSet::new();
    for (i, todo) in todos.iter().enumerate() {
        if todo.content.trim().is_empty() {
            let detail = "a todo must not be empty";
            return Err(ServiceError::invalid(format!("todos[{i}].content"), detail));
        }
        if !todo.id.is_empty() && !taken.insert(todo.id.clone()) {
            let detail = "the id occurs twice in the list";
            return Err(ServiceError::invalid(format!("todos[{i}].id"), detail));
        }
    }
    Ok(taken)
}

/// Returns the text that corrects what the newest text about plan mode tells the model, if a client has turned plan mode on
/// or off since.
pub(crate) fn plan_mode_change(loaded: &LoadedSession) -> Option<Attachment> {
    let mut newest_first = loaded.state.decisions.attachments().iter().rev();
    let told = newest_first.find(|a| a.name == RestorableText::PLAN_MODE)?;
    let plan = KeptState::parse(&loaded.session.state).plan?;
    let text = match plan.active {
        true => RestorableText::plan_mode(),
        false => RestorableText::plan_mode_ended(),
    };
    text.attachment(loaded.state.last_seq).filter(|now| now.text != told.text)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|e| {
        ServiceError::invalid("body", format!("the body is not valid for this kind of state: {e}"))
            .hint("see `/openapi.json` for the schema of each kind")
    })
}

fn show(state: &KeptState, kind: StateKind) -> Result<Bytes> {
    let json = match kind {
        StateKind::Plan => show_kind(state.plan.as_ref()),
        StateKind::Skills => show_kind(state.skills.as_ref()),
        StateKind::Agents => show_kind(state.agents.as_ref()),
        StateKind::Tools => show_kind(state.tools.as_ref()),
        StateKind::Files => show_kind(state.files.as_ref()),
        StateKind::Instructions => show_kind(state.instructions.as_ref()),
        StateKind::Hooks => show_kind(state.hooks.as_ref()),
    };
    json.map(Bytes::from).map_err(ServiceError::internal)
}

/// Serializes the state that a client set, or an empty state if no client set one.
fn show_kind<T: Default + Serialize>(set: Option<&T>) -> serde_json::Result<Vec<u8>> {
    match set {
        Some(set) => serde_json::to_vec(set),
        None => serde_json::to_vec(&T::default()),
    }
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use bethink_service::parse_stored;
    use bethink_store::{Append, NewMessage, SeqRange};
    use serde_json::json;

    use super::*;
    use crate::tests::home::SessionsHome;

    /// While a client stores state, a message can be committed but not yet delivered.
    #[tokio::test]
    async fn state_that_is_stored_during_an_append_hides_no_message() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[json!({ "role": "user", "content": "one" })]).await;
        let handle = home.sessions.handle(id).await.unwrap();
        drop(home.sessions.lock(&handle).await.unwrap());
        let first = home.cx.store().messages(id, SeqRange::all()).await.unwrap().remove(0);
        let second = NewMessage {
            id: bethink_transcript::MessageId::new("second").unwrap(),
            role: first.role,
            raw: first.raw,
            recorded: false,
            created_at: first.created_at,
        };
        let at = home.cx.now();
        let append =
            Append { session: id, messages: vec![second], only_new: false, receipt: None, at };
        home.cx.store().append(append).await.unwrap();
        let plan = Bytes::from_static(br#"{"content":"dig, then sow"}"#);
        home.sessions.put_state(id, StateKind::Plan, plan).await.unwrap();
        let stored = home.cx.store().messages(id, SeqRange::all()).await.unwrap().remove(1);
        handle.deliver([std::sync::Arc::new(parse_stored(stored).unwrap())]);
        assert_eq!(home.sessions.lock(&handle).await.unwrap().messages().len(), 2);
        home.close().await;
    }
}
