//! `todos`: a session's list, always whole.

use bethink_api as api;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Answered, Effect};
use crate::desk::Desk;
use crate::told::{fenced, line};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The whole new list; without it the list is read
    #[serde(default)]
    #[schemars(with = "Vec<Todo>")]
    todos: Option<Vec<Todo>>,
    /// A session's id, or "last"
    #[serde(default)]
    #[schemars(with = "String")]
    session_id: Option<String>,
    /// Absolute path, if not the client's own project
    #[serde(default)]
    #[schemars(with = "String")]
    project_dir: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Todo {
    #[serde(default)]
    id: String,
    content: String,
    status: Status,
    #[serde(default)]
    priority: Priority,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Status {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Priority {
    High,
    #[default]
    Medium,
    Low,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    session_id: String,
    todos: Vec<Todo>,
}

pub(crate) fn tool() -> Tool {
    Tool::new(
        "todos",
        "Read a session's todo list, or replace it. It survives compactions.",
        rmcp::model::JsonObject::new(),
    )
    .with_input_schema::<Input>()
    .with_output_schema::<Output>()
    .with_annotations(Effect::Replaces.annotations("Todos"))
}

pub(crate) async fn call(desk: Desk, input: Input) -> Answered<Output> {
    let id = desk.session(input.session_id, input.project_dir).await?;
    let list = match input.todos {
        Some(todos) => {
            let todos = api::Todos { todos: todos.into_iter().map(Into::into).collect() };
            desk.daemon.put_todos(id, todos).await?
        }
        None => desk.daemon.todos(id).await?,
    };
    let todos: Vec<Todo> = list.todos.into_iter().map(Into::into).collect();
    let text = match todos.is_empty() {
        true => "The list is empty.".to_owned(),
        false => fenced(&todos.iter().map(shown).collect::<Vec<_>>().join("\n")),
    };
    Ok(Answer::new(Output { session_id: id.to_string(), todos }, text))
}

fn shown(todo: &Todo) -> String {
    let mark = match todo.status {
        Status::Pending => " ",
        Status::InProgress => ">",
        Status::Completed => "x",
    };
    let priority = match todo.priority {
        Priority::High => " (high)",
        Priority::Medium => "",
        Priority::Low => " (low)",
    };
    format!("[{mark}] {}{priority}", todo.content)
}

impl From<Todo> for api::Todo {
    fn from(todo: Todo) -> Self {
        Self {
            id: todo.id,
            content: todo.content,
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
}

impl From<api::Todo> for Todo {
    fn from(todo: api::Todo) -> Self {
        Self {
            id: line(&todo.id),
            content: line(&todo.content),
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
}
