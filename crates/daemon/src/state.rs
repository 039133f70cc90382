//! What must survive a compaction: plan, skills, agents, tools, files, instructions, hooks.
//!
//! Kept as one JSON object in the session's row; each kind is replaced whole.

use bethink_api as api;
use bethink_compactor::Restorable;
use bethink_compactor::restore::AgentStatus;
use bethink_transcript::SessionId;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_STATE_BYTES, MAX_TODOS};
use crate::{Daemon, Kind, Refusal, Result};

/// What of a session is kept across compactions by `PUT …/state/{kind}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    Plan,
    Skills,
    Agents,
    Tools,
    Files,
    Instructions,
    Hooks,
}

/// All kinds together, as stored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    pub(crate) plan: api::Plan,
    pub(crate) skills: api::Skills,
    pub(crate) agents: api::Agents,
    pub(crate) tools: api::Tools,
    pub(crate) files: api::Files,
    pub(crate) instructions: api::Instructions,
    pub(crate) hooks: api::Instructions,
}

impl State {
    pub(crate) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// What could be restored, files and the plan's text left out: they are on disk.
    pub(crate) fn restorable(&self) -> Restorable {
        let pairs = |list: &api::Instructions| {
            list.instructions.iter().map(|i| (i.name.clone(), i.text.clone())).collect()
        };
        Restorable {
            skills: self
                .skills
                .skills
                .iter()
                .rev()
                .map(|s| (s.name.clone(), s.content.clone()))
                .collect(),
            agents: self.agents.agents.iter().map(agent_status).collect(),
            tools: self
                .tools
                .tools
                .iter()
                .map(|t| (tool_name(t.get()), t.get().to_owned()))
                .collect(),
            instructions: pairs(&self.instructions),
            hooks: pairs(&self.hooks),
            ..Restorable::default()
        }
    }
}

fn agent_status(agent: &api::Agent) -> AgentStatus {
    AgentStatus {
        name: if agent.name.is_empty() { agent.id.clone() } else { agent.name.clone() },
        status: agent.status.clone(),
        result: agent.result.clone(),
        read: agent.read,
    }
}

fn tool_name(json: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(json).map_or_else(|_| "unnamed".to_owned(), |t| t.name)
}

impl Daemon {
    pub async fn put_state(&self, id: SessionId, kind: StateKind, body: Bytes) -> Result<Bytes> {
        if body.len() > MAX_STATE_BYTES {
            let detail = format!("state of one kind has at most {MAX_STATE_BYTES} bytes");
            return Err(Refusal::new(Kind::TooLarge, detail)
                .bounded(MAX_STATE_BYTES as u64, body.len() as u64));
        }
        let slot = self.hot(id).await?;
        let mut hot = slot.lock(self).await?;
        let mut state = State::parse(&hot.session.state);
        match kind {
            StateKind::Plan => state.plan = read(&body)?,
            StateKind::Skills => state.skills = read(&body)?,
            StateKind::Agents => state.agents = read(&body)?,
            StateKind::Tools => state.tools = read(&body)?,
            StateKind::Files => state.files = read(&body)?,
            StateKind::Instructions => state.instructions = read(&body)?,
            StateKind::Hooks => state.hooks = read(&body)?,
        }
        let json = serde_json::to_string(&state).map_err(Refusal::internal)?;
        let change = bethink_store::SessionChange {
            state: Some(json),
            updated_at: self.now(),
            ..Default::default()
        };
        hot.session = self.store().update_session(id, change).await?;
        show(&state, kind)
    }

    pub async fn state(&self, id: SessionId, kind: StateKind) -> Result<Bytes> {
        let session = self.store().session(id).await?;
        show(&State::parse(&session.state), kind)
    }

    pub async fn todos(&self, id: SessionId) -> Result<api::Todos> {
        let slot = self.hot(id).await?;
        let hot = slot.lock(self).await?;
        Ok(api::Todos { todos: hot.todos.list.iter().map(todo_out).collect() })
    }

    pub async fn put_todos(&self, id: SessionId, todos: api::Todos) -> Result<api::Todos> {
        if todos.todos.len() > MAX_TODOS {
            return Err(Refusal::invalid("todos", format!("at most {MAX_TODOS} todos"))
                .bounded(MAX_TODOS as u64, todos.todos.len() as u64));
        }
        let mut seen = std::collections::HashSet::new();
        for (i, todo) in todos.todos.iter().enumerate() {
            if todo.content.trim().is_empty() {
                return Err(Refusal::invalid(
                    format!("todos[{i}].content"),
                    "a todo says what to do; it may not be empty",
                ));
            }
            if !todo.id.is_empty() && !seen.insert(todo.id.as_str()) {
                return Err(Refusal::invalid(
                    format!("todos[{i}].id"),
                    "the id occurs twice in the list",
                ));
            }
        }
        let slot = self.hot(id).await?;
        let mut hot = slot.lock(self).await?;
        let list = todos.todos.into_iter().enumerate().map(|(i, todo)| todo_in(i, todo)).collect();
        hot.todos.set(list);
        self.tell(Some(id), "todos", &serde_json::json!({ "items": hot.todos.list.len() }));
        Ok(api::Todos { todos: hot.todos.list.iter().map(todo_out).collect() })
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|e| {
        Refusal::invalid("body", format!("the state is not of its kind: {e}"))
            .hint("see /openapi.json for the shape of each kind")
    })
}

fn show(state: &State, kind: StateKind) -> Result<Bytes> {
    let json = match kind {
        StateKind::Plan => serde_json::to_vec(&state.plan),
        StateKind::Skills => serde_json::to_vec(&state.skills),
        StateKind::Agents => serde_json::to_vec(&state.agents),
        StateKind::Tools => serde_json::to_vec(&state.tools),
        StateKind::Files => serde_json::to_vec(&state.files),
        StateKind::Instructions => serde_json::to_vec(&state.instructions),
        StateKind::Hooks => serde_json::to_vec(&state.hooks),
    };
    json.map(Bytes::from).map_err(Refusal::internal)
}

fn todo_in(index: usize, todo: api::Todo) -> bethink_context::todos::Todo {
    use bethink_context::todos::{Priority, Status, Todo};
    Todo {
        id: if todo.id.is_empty() { (index + 1).to_string() } else { todo.id },
        content: todo.content,
        status: match todo.status {
            api::TodoStatus::Pending => Status::Pending,
            api::TodoStatus::InProgress => Status::InProgress,
            api::TodoStatus::Completed => Status::Completed,
        },
        priority: match todo.priority {
            api::TodoPriority::High => Priority::High,
            api::TodoPriority::Medium => Priority::Medium,
            api::TodoPriority::Low => Priority::Low,
        },
    }
}

fn todo_out(todo: &bethink_context::todos::Todo) -> api::Todo {
    use bethink_context::todos::{Priority, Status};
    api::Todo {
        id: todo.id.clone(),
        content: todo.content.clone(),
        status: match todo.status {
            Status::Pending => api::TodoStatus::Pending,
            Status::InProgress => api::TodoStatus::InProgress,
            Status::Completed => api::TodoStatus::Completed,
        },
        priority: match todo.priority {
            Priority::High => api::TodoPriority::High,
            Priority::Medium => api::TodoPriority::Medium,
            Priority::Low => api::TodoPriority::Low,
        },
    }
}
