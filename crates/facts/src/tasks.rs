//! The todo list of an agent whose tools change it item by item.

use bethink_transcript::todos::{Todo, TodoPriority, TodoStatus};
use serde::Deserialize;

/// The input of a tool that changes one item.
#[derive(Debug, Deserialize)]
struct TaskChange {
    #[serde(alias = "taskId", alias = "task_id")]
    id: Option<String>,
    subject: Option<String>,
    status: Option<String>,
}

const CREATES: [&str; 2] = ["TaskCreate", "task_create"];
const UPDATES: [&str; 2] = ["TaskUpdate", "task_update"];
/// Maximum number of items: a longer list is not a todo list.
const MAX_ITEMS: usize = 200;

/// Changes `list` as a tool call asks; returns whether it changed.
pub(crate) fn apply(list: &mut Vec<Todo>, tool: &str, input: &str) -> bool {
    if CREATES.contains(&tool) {
        return create(list, input);
    }
    UPDATES.contains(&tool) && update(list, input)
}

fn create(list: &mut Vec<Todo>, input: &str) -> bool {
    let Some(TaskChange { subject: Some(content), .. }) = read(input) else { return false };
    if list.len() >= MAX_ITEMS {
        return false;
    }
    // The tool numbers items in order of creation.
    let last = list.iter().filter_map(|todo| todo.id.parse::<u64>().ok()).max().unwrap_or(0);
    let id = (last + 1).to_string();
    list.push(Todo { id, content, status: TodoStatus::Pending, priority: TodoPriority::Medium });
    true
}

fn update(list: &mut Vec<Todo>, input: &str) -> bool {
    let Some(TaskChange { id: Some(id), subject, status }) = read(input) else { return false };
    if status.as_deref() == Some("deleted") {
        let before = list.len();
        list.retain(|todo| todo.id != id);
        return list.len() < before;
    }
    let Some(todo) = list.iter_mut().find(|todo| todo.id == id) else { return false };
    if let Some(subject) = subject {
        todo.content = subject;
    }
    match status.as_deref() {
        Some("completed") => todo.status = TodoStatus::Completed,
        Some("in_progress") => todo.status = TodoStatus::InProgress,
        Some("pending") => todo.status = TodoStatus::Pending,
        _ => {}
    }
    true
}

fn read(input: &str) -> Option<TaskChange> {
    serde_json::from_str(input).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_kept_item_by_item() {
        let mut list = Vec::new();
        assert!(apply(&mut list, "TaskCreate", r#"{"subject":"write","description":"d"}"#));
        assert!(apply(&mut list, "TaskCreate", r#"{"subject":"test"}"#));
        assert!(apply(&mut list, "TaskUpdate", r#"{"taskId":"1","status":"completed"}"#));
        assert!(apply(&mut list, "TaskUpdate", r#"{"taskId":"2","status":"in_progress"}"#));
        let shown: Vec<_> = list.iter().map(|t| (t.content.as_str(), t.status)).collect();
        assert_eq!(shown, [("write", TodoStatus::Completed), ("test", TodoStatus::InProgress)]);
        assert!(apply(&mut list, "TaskUpdate", r#"{"taskId":"1","status":"deleted"}"#));
        assert!(!apply(&mut list, "TaskUpdate", r#"{"taskId":"9","status":"completed"}"#));
        assert!(!apply(&mut list, "TaskCreate", "not JSON"));
        assert!(!apply(&mut list, "Bash", r#"{"command":"ls"}"#));
        assert_eq!(list.len(), 1);
    }
}
