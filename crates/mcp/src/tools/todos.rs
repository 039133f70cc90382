//! `todos`: reads or replaces the todo list of a session, always as a whole.

use bethink_api as api;
use rmcp::model::Tool;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::client::McpClient;
use crate::untrusted::{fenced, line};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TodosInput {
    /// The whole new list; omit it to read the list
    todos: Option<Vec<TodoInput>>,
    /// A session ID, or "last": the newest in this worktree
    session_id: Option<String>,
    /// Absolute path of a project other than the client's
    project_dir: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct TodoInput {
    #[serde(default)]
    id: String,
    content: String,
    #[schemars(schema_with = "statuses")]
    status: api::TodoStatus,
    #[serde(default)]
    #[schemars(schema_with = "priorities")]
    priority: api::TodoPriority,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TodosOutput {
    session_id: String,
    todos: Vec<TodoInput>,
}

fn statuses(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["pending", "in_progress", "completed"] })
}

fn priorities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["high", "medium", "low"] })
}

pub(crate) fn described() -> Tool {
    tool::<TodosInput, TodosOutput>(
        "todos",
        "Todos",
        Effect::Replaces,
        "Read a session's todo list, or replace it. The list survives compactions.",
    )
}

pub(crate) async fn call(client: McpClient, input: TodosInput) -> Answered<TodosOutput> {
    let id = client.session(input.session_id, input.project_dir).await?;
    let list = match input.todos {
        Some(todos) => {
            let todos = api::Todos { todos: todos.into_iter().map(Into::into).collect() };
            client.daemon.sessions.put_todos(id, todos).await?
        }
        None => client.daemon.sessions.todos(id).await?,
    };
    let todos: Vec<TodoInput> = list.todos.into_iter().map(Into::into).collect();
    let text = match todos.is_empty() {
        true => "The todo list is empty.".to_owned(),
        false => fenced(&todos.iter().map(shown).collect::<Vec<_>>().join("\n")),
    };
    Ok(ToolAnswer::new(TodosOutput { session_id: id.to_string(), todos }, text))
}

fn shown(todo: &TodoInput) -> String {
    let mark = match todo.status {
        api::TodoStatus::Pending => " ",
        api::TodoStatus::InProgress => ">",
        api::TodoStatus::Completed => "x",
    };
    let priority = match todo.priority {
        api::TodoPriority::High => " (high)",
        api::TodoPriority::Medium => "",
        api::TodoPriority::Low => " (low)",
    };
    format!("[{mark}] {}{priority}", todo.content)
}

impl From<TodoInput> for api::Todo {
    fn from(todo: TodoInput) -> Self {
        let TodoInput { id, content, status, priority } = todo;
        Self { id, content, status, priority }
    }
}

impl From<api::Todo> for TodoInput {
    fn from(todo: api::Todo) -> Self {
        let api::Todo { status, priority, .. } = todo;
        Self { id: line(&todo.id), content: line(&todo.content), status, priority }
    }
}
