//! Todos: read from the agent's own calls, and written as reminders.

pub use bethink_api::{Todo, TodoPriority, TodoStatus};
use serde::Deserialize;

use crate::Message;

/// Tools with which agents set their list.
const TODO_TOOLS: [&str; 3] = ["TodoWrite", "todo_write", "todowrite"];

/// The list, and what the prompt already shows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TodoList {
    pub items: Vec<Todo>,
    /// The current list has not been shown yet.
    pub changed: bool,
    /// Short reminders since the whole list was shown.
    pub short: u32,
}

impl TodoList {
    pub fn set(&mut self, items: Vec<Todo>) {
        self.changed |= items != self.items;
        self.items = items;
    }

    /// Sets a list that the agent's own call already shows.
    pub fn set_by_agent(&mut self, items: Vec<Todo>) {
        *self = Self { items, changed: false, short: 0 };
    }
}

/// The list that `message` sets, if it has a todo call.
pub fn set_by(message: &Message) -> Option<Vec<Todo>> {
    #[derive(Deserialize)]
    struct TodoToolInput {
        todos: Vec<Todo>,
    }
    let calls = message.tool_uses().filter(|(_, name, _)| TODO_TOOLS.contains(name));
    let (_, _, block) = calls.last()?;
    let mut todos = serde_json::from_str::<TodoToolInput>(block.input()).ok()?.todos;
    for (i, todo) in todos.iter_mut().enumerate() {
        if todo.id.is_empty() {
            todo.id = (i + 1).to_string();
        }
    }
    Some(todos)
}

/// How many open items a short reminder lists.
const NAMED: usize = 4;

/// The reminder after a tool round: the whole list if it changed, otherwise a line of open items. The whole
/// list stays readable where it was last shown.
pub fn reminder(todos: &[Todo], changed: bool) -> Option<String> {
    let mut open: Vec<&Todo> = todos.iter().filter(|t| t.status != TodoStatus::Completed).collect();
    if todos.is_empty() || (!changed && open.is_empty()) {
        return None;
    }
    let done = todos.len() - open.len();
    let head = format!("<system-reminder>Todo list, {done} of {} done", todos.len());
    if changed {
        let rows: String = todos.iter().map(|todo| format!("\n{}", row(todo))).collect();
        return Some(format!("{head}:{rows}\n</system-reminder>"));
    }
    open.sort_by_key(|todo| todo.status != TodoStatus::InProgress);
    let named: Vec<String> = open.iter().take(NAMED).map(|todo| row(todo)).collect();
    let more = match open.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{head}; open: {}{more}</system-reminder>", named.join(" ")))
}

fn row(todo: &Todo) -> String {
    let mark = match todo.status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Completed => "[x]",
    };
    let urgent = if todo.priority == TodoPriority::High { " (high)" } else { "" };
    format!("{mark} {}{urgent}", todo.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(content: &str, status: TodoStatus) -> Todo {
        Todo { id: "1".into(), content: content.into(), status, priority: TodoPriority::Medium }
    }

    #[test]
    fn the_reminder_is_whole_when_it_is_news_and_short_after() {
        let todos = [todo("read", TodoStatus::Completed), todo("write", TodoStatus::InProgress)];
        assert_eq!(
            reminder(&todos, true).unwrap(),
            "<system-reminder>Todo list, 1 of 2 done:\n[x] read\n[>] write\n</system-reminder>"
        );
        assert_eq!(
            reminder(&todos, false).unwrap(),
            "<system-reminder>Todo list, 1 of 2 done; open: [>] write</system-reminder>"
        );
        assert_eq!(reminder(&[todo("read", TodoStatus::Completed)], false), None);
        assert_eq!(reminder(&[], true), None);
    }
}
