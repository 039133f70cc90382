//! Todos: read from the agent's own calls, and written as reminders.

pub use bethink_api::{Todo, TodoPriority, TodoStatus};
use serde_json::Value;

use crate::text::shorten;
use crate::tool_kind::ToolKind;
use crate::{Message, Role};

/// The list, and what the prompt already shows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TodoList {
    pub items: Vec<Todo>,
    /// Whether the current list still has to be shown.
    pub changed: bool,
    /// Number of short reminders since the whole list was last shown.
    pub short: u32,
}

impl TodoList {
    pub fn set(&mut self, items: Vec<Todo>) {
        self.changed |= items != self.items;
        self.items = items;
    }

    /// Changes the list as the agent's own calls in `message` request.
    pub fn follow(&mut self, message: &Message) {
        match apply(&mut self.items, message) {
            Some(TodoChange::Whole) => (self.changed, self.short) = (false, 0),
            Some(TodoChange::Items) => self.changed = true,
            None => {}
        }
    }
}

/// What a message's calls did to a todo list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoChange {
    /// A call set the whole list, and so shows it.
    Whole,
    /// Calls changed single items.
    Items,
}

/// Maximum number of items that are read from calls: a longer list is not a todo list.
const MAX_ITEMS: usize = 1_000;

/// Changes `list` as the todo calls in `message` request; returns `None` if no such call can be read.
pub fn apply(list: &mut Vec<Todo>, message: &Message) -> Option<TodoChange> {
    if message.role == Role::User {
        return number(list, message);
    }
    let mut change = None;
    for (_, name, block) in message.tool_uses() {
        let Some(kind) = ToolKind::of(name) else { continue };
        if !matches!(kind, ToolKind::TodoList | ToolKind::TodoAdd | ToolKind::TodoChange) {
            continue;
        }
        let Ok(input) = serde_json::from_str::<Value>(block.input()) else { continue };
        let of_call = match kind {
            ToolKind::TodoList => set(list, &input),
            ToolKind::TodoAdd => add(list, &input),
            _ => change_one(list, &input),
        };
        change = of_call.or(change);
    }
    change
}

/// Names that agents give the member with the items.
const LISTS: [&str; 4] = ["todos", "plan", "todoList", "items"];
/// Names that agents give the member with an item's text.
const CONTENTS: [&str; 6] = ["content", "step", "title", "subject", "description", "text"];

fn set(list: &mut Vec<Todo>, input: &Value) -> Option<TodoChange> {
    let given = LISTS.iter().find_map(|name| input.get(name))?;
    let decoded;
    let items = match given {
        Value::Array(items) => items,
        // Some models encode the list twice; Roo writes it as Markdown.
        Value::String(text) => {
            decoded = serde_json::from_str(text).unwrap_or_else(|_| checklist(text));
            &decoded
        }
        _ => return None,
    };
    let todos: Vec<Todo> = items.iter().take(MAX_ITEMS).filter_map(todo).collect();
    if todos.is_empty() && !items.is_empty() {
        return None;
    }
    if input.get("merge").and_then(Value::as_bool) == Some(true) {
        for todo in todos {
            match list.iter_mut().find(|known| !todo.id.is_empty() && known.id == todo.id) {
                Some(known) => *known = todo,
                None => list.push(todo),
            }
        }
        list.truncate(MAX_ITEMS);
        return Some(TodoChange::Items);
    }
    *list = todos;
    for (i, todo) in list.iter_mut().enumerate().filter(|(_, todo)| todo.id.is_empty()) {
        todo.id = (i + 1).to_string();
    }
    Some(TodoChange::Whole)
}

/// Reads `- [x] done` lines.
fn checklist(text: &str) -> Vec<Value> {
    let item = |line: &str| {
        let (mark, content) =
            line.trim().trim_start_matches("- ").strip_prefix('[')?.split_once(']')?;
        let status = match mark {
            "x" | "X" => "completed",
            "-" | ">" | "~" => "in_progress",
            _ => "pending",
        };
        Some(serde_json::json!({ "content": content.trim(), "status": status }))
    };
    text.lines().filter_map(item).collect()
}

/// Reads an item leniently, because one that a client has extended must not make the list unreadable.
fn todo(item: &Value) -> Option<Todo> {
    let content = match item {
        Value::String(text) => text.clone(),
        item => text_of(item, &CONTENTS)?,
    };
    if content.trim().is_empty() {
        return None;
    }
    let word = text_of(item, &["status", "state"]).unwrap_or_default();
    let mut todo = Todo {
        id: text_of(item, &["id"]).unwrap_or_default(),
        content,
        status: TodoStatus::Pending,
        priority: priority(item),
    };
    set_status(&mut todo, &word);
    Some(todo)
}

/// Returns the first of these members that is a text or a number.
fn text_of(item: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match item.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

fn priority(item: &Value) -> TodoPriority {
    match item.get("priority").and_then(Value::as_str) {
        Some("high") => TodoPriority::High,
        Some("low") => TodoPriority::Low,
        _ => TodoPriority::Medium,
    }
}

/// Sets the status that a client's word stands for. An unknown word counts as pending.
fn set_status(todo: &mut Todo, word: &str) {
    let word = word.to_ascii_lowercase().replace(['-', ' '], "_");
    todo.status = match word.as_str() {
        "completed" | "complete" | "done" | "finished" => TodoStatus::Completed,
        "in_progress" | "inprogress" | "active" | "started" => TodoStatus::InProgress,
        "cancelled" | "canceled" | "abandoned" | "skipped" => {
            // Nobody should do it, and nobody should take it for done.
            todo.content.push_str(" (cancelled)");
            TodoStatus::Completed
        }
        _ => TodoStatus::Pending,
    };
}

fn add(list: &mut Vec<Todo>, input: &Value) -> Option<TodoChange> {
    let content = text_of(input, &["subject", "content", "title"])?;
    if list.len() >= MAX_ITEMS {
        return None;
    }
    // The tool numbers items in order of creation; its result has the number.
    let last = list.iter().filter_map(|todo| todo.id.parse::<u64>().ok()).max().unwrap_or(0);
    let id = last.saturating_add(1).to_string();
    list.push(Todo { id, content, status: TodoStatus::Pending, priority: priority(input) });
    Some(TodoChange::Items)
}

fn change_one(list: &mut Vec<Todo>, input: &Value) -> Option<TodoChange> {
    let id = text_of(input, &["taskId", "task_id", "id"])?;
    let status = text_of(input, &["status"]);
    if status.as_deref() == Some("deleted") {
        let before = list.len();
        list.retain(|todo| todo.id != id);
        return (list.len() < before).then_some(TodoChange::Items);
    }
    let todo = list.iter_mut().find(|todo| todo.id == id)?;
    if let Some(subject) = text_of(input, &["subject"]) {
        todo.content = subject;
    }
    if let Some(status) = status {
        set_status(todo, &status);
    }
    Some(TodoChange::Items)
}

/// Gives new items the numbers that results name: `Task #3 created successfully: Write the test`.
fn number(list: &mut [Todo], message: &Message) -> Option<TodoChange> {
    if list.is_empty() {
        return None;
    }
    for (_, _, block) in message.tool_results() {
        if !block.as_str().contains("Task #") {
            continue;
        }
        let text = block.text();
        let named =
            text.strip_prefix("Task #").and_then(|t| t.split_once(" created successfully: "));
        let Some((id, subject)) = named else { continue };
        if id.parse::<u64>().is_ok()
            && let Some(todo) = list.iter_mut().rfind(|todo| todo.content == subject.trim())
        {
            id.clone_into(&mut todo.id);
        }
    }
    None
}

/// Maximum number of open items in a short reminder.
const NAMED: usize = 40;

/// Returns the reminder after a tool round: the whole list if it changed, otherwise all open items and the number of
/// the others. Its rows have at most `bytes` bytes. If some do not fit, those in progress come first and the completed ones last,
/// and the rest is counted.
pub fn reminder(todos: &[Todo], changed: bool, bytes: usize) -> Option<String> {
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Completed).count();
    if todos.is_empty() || (!changed && open == 0) {
        return None;
    }
    let mut rows: Vec<&Todo> = todos.iter().collect();
    let size: usize = todos.iter().map(|todo| row(todo).len()).sum();
    if !changed || size > bytes {
        rows.sort_by_key(|todo| match todo.status {
            TodoStatus::InProgress => 0,
            TodoStatus::Pending => 1,
            TodoStatus::Completed => 2,
        });
    }
    if !changed {
        rows.truncate(open);
    }
    let most = if changed { rows.len() } else { NAMED };
    let (mut shown, mut left) = (Vec::new(), bytes);
    for todo in rows.iter().take(most) {
        let row = shorten(&row(todo), bytes / LARGEST_ROW);
        let Some(after) = left.checked_sub(row.len()) else { break };
        left = after;
        shown.push(row);
    }
    let more = match rows.len() - shown.len() {
        0 => String::new(),
        more => format!("and {more} more"),
    };
    let head =
        format!("<system-reminder>Todo list, {} of {} done", todos.len() - open, todos.len());
    if !more.is_empty() {
        shown.push(more);
    }
    Some(match changed {
        true => format!("{head}:\n{}\n</system-reminder>", shown.join("\n")),
        false => format!("{head}; open: {}</system-reminder>", shown.join(" ")),
    })
}

/// A row takes at most this part of a reminder.
const LARGEST_ROW: usize = 4;

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
    use serde_json::json;

    use super::*;
    use crate::message::MessageSource;
    use crate::{MessageId, MessageMeta, Seq, UnixMicros};

    fn todo(content: &str, status: TodoStatus) -> Todo {
        Todo { id: "1".into(), content: content.into(), status, priority: TodoPriority::Medium }
    }

    fn message(body: &Value) -> Message {
        let meta = MessageMeta {
            seq: Seq(1),
            id: MessageId::new("m").unwrap(),
            created_at: UnixMicros::default(),
        };
        Message::parse(meta, body.to_string().into(), MessageSource::Client).unwrap()
    }

    fn call(tool: &str, input: &Value) -> Message {
        let block = json!({ "type": "tool_use", "id": "t", "name": tool, "input": input });
        message(&json!({ "role": "assistant", "content": [block] }))
    }

    /// Applies a call to `list`, and returns the list as the reminder shows it.
    fn after(list: &mut Vec<Todo>, tool: &str, input: &Value) -> (Option<TodoChange>, String) {
        let change = apply(list, &call(tool, input));
        (change, list.iter().map(row).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_list_of_every_agent_is_read() {
        let check = |tool: &str, input: Value, expect: &str| {
            let (change, shown) = after(&mut Vec::new(), tool, &input);
            assert_eq!((change, shown.as_str()), (Some(TodoChange::Whole), expect), "{tool}");
        };
        let items = json!([{ "content": "a", "status": "completed", "activeForm": "A" },
            { "content": "b", "status": "in_progress", "priority": "high" }]);
        check("TodoWrite", json!({ "todos": items }), "[x] a [>] b (high)");
        check("TodoWrite", json!({ "todos": items.to_string() }), "[x] a [>] b (high)");
        let plan = json!([{ "step": "a", "status": "in_progress" }, { "step": "b" }]);
        check("update_plan", json!({ "explanation": "x", "plan": plan }), "[>] a [ ] b");
        let items = json!([{ "description": "a", "status": "cancelled" }, { "description": "b", "status": "blocked" }]);
        check("write_todos", json!({ "todos": items }), "[x] a (cancelled) [ ] b");
        let items = json!([{ "id": 1, "title": "a", "description": "d", "status": "not-started" },
            { "id": 2, "title": "b", "status": "in-progress" }, { "odd": true }]);
        check("manage_todo_list", json!({ "todoList": items }), "[ ] a [>] b");
        check("update_todo_list", json!({ "todos": "[x] a\n[-] b\n[ ] c" }), "[x] a [>] b [ ] c");
        check("todowrite", json!({ "todos": [] }), "");
    }

    #[test]
    fn what_is_not_a_list_changes_nothing() {
        let mut list = vec![todo("kept", TodoStatus::Pending)];
        for input in [json!({}), json!({ "todos": 3 }), json!({ "todos": [{ "x": 1 }] })] {
            assert_eq!(after(&mut list, "TodoWrite", &input), (None, "[ ] kept".to_owned()));
        }
        assert_eq!(after(&mut list, "Bash", &json!({ "todos": [] })).0, None);
    }

    #[test]
    fn a_list_kept_item_by_item() {
        let mut list = Vec::new();
        let created = |id: &str, subject: &str| {
            let text = format!("Task #{id} created successfully: {subject}");
            let block = json!({ "type": "tool_result", "tool_use_id": "t", "content": text });
            message(&json!({ "role": "user", "content": [block] }))
        };
        after(&mut list, "TaskCreate", &json!({ "subject": "write", "description": "d" }));
        after(&mut list, "TaskCreate", &json!({ "subject": "test" }));
        after(&mut list, "TaskUpdate", &json!({ "taskId": "1", "status": "completed" }));
        let (change, shown) =
            after(&mut list, "TaskUpdate", &json!({ "taskId": "2", "status": "in_progress" }));
        assert_eq!((change, shown.as_str()), (Some(TodoChange::Items), "[x] write [>] test"));
        assert_eq!(after(&mut list, "TaskUpdate", &json!({ "taskId": "9" })).0, None);
        // The tool does not use the number of a deleted item again.
        after(&mut list, "TaskUpdate", &json!({ "taskId": "2", "status": "deleted" }));
        after(&mut list, "TaskCreate", &json!({ "subject": "ship" }));
        apply(&mut list, &created("3", "ship"));
        let (_, shown) =
            after(&mut list, "TaskUpdate", &json!({ "taskId": "3", "status": "completed" }));
        assert_eq!(shown, "[x] write [x] ship");
        let items = json!([{ "id": "1", "content": "rewrite", "status": "pending" }]);
        let (change, shown) =
            after(&mut list, "todo_write", &json!({ "merge": true, "todos": items }));
        assert_eq!((change, shown.as_str()), (Some(TodoChange::Items), "[ ] rewrite [x] ship"));
    }

    #[test]
    fn the_reminder_is_whole_when_it_is_news_and_lists_what_is_open_after() {
        let todos = [todo("read", TodoStatus::Completed), todo("write", TodoStatus::InProgress)];
        assert_eq!(
            reminder(&todos, true, 1_000).unwrap(),
            "<system-reminder>Todo list, 1 of 2 done:\n[x] read\n[>] write\n</system-reminder>"
        );
        assert_eq!(
            reminder(&todos, false, 1_000).unwrap(),
            "<system-reminder>Todo list, 1 of 2 done; open: [>] write</system-reminder>"
        );
        let many: Vec<Todo> =
            (0..9).map(|n| todo(&format!("item {n}"), TodoStatus::Pending)).collect();
        let short = reminder(&many, false, 10_000).unwrap();
        assert!((0..9).all(|n| short.contains(&format!("item {n}"))), "{short}");
        let statuses = [TodoStatus::Completed, TodoStatus::Pending, TodoStatus::InProgress];
        let long: Vec<Todo> = (0..9).map(|n| todo(&format!("item {n}"), statuses[n % 3])).collect();
        assert_eq!(
            reminder(&long, true, 50).unwrap(),
            "<system-reminder>Todo list, 3 of 9 done:\n[>] item 2\n[>] item 5\n[>] item 8\n[ ] item 1\n[ ] item 4\n\
             and 4 more\n</system-reminder>"
        );
        assert!(
            reminder(&[todo(&"x".repeat(9_000), TodoStatus::Pending)], true, 100).unwrap().len()
                < 100
        );
        let mut list = TodoList::default();
        list.follow(&call("TodoWrite", &json!({ "todos": ["plan"] })));
        assert!(!list.changed, "the call shows the list");
        list.follow(&call("TaskCreate", &json!({ "subject": "test" })));
        assert!(list.changed, "the call shows one item");
        assert_eq!(reminder(&[todo("read", TodoStatus::Completed)], false, 1_000), None);
        assert_eq!(reminder(&[], true, 1_000), None);
    }
}
