//! `bethink todo`: the session's todo list.

use bethink_api::{TodoPriority, TodoStatus};
use bethink_terminal::{StyledText, Tone};

use crate::app::CliApp;
use crate::failure::Done;

pub(crate) async fn todo(app: &mut CliApp) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    let todos = client.todos(session.id).await?;
    let Some(screen) = app.screen.unless_json(&todos)? else { return Ok(()) };
    if todos.todos.is_empty() {
        return Ok(screen.note("the todo list is empty")?);
    }
    for todo in &todos.todos {
        let (mark, tone) = match todo.status {
            TodoStatus::Completed => ("[x]", Tone::Dim),
            TodoStatus::InProgress => ("[>]", Tone::Accent),
            TodoStatus::Pending => ("[ ]", Tone::Plain),
        };
        let high = if todo.priority == TodoPriority::High { "  high" } else { "" };
        let line = StyledText::from(" ").put(tone, mark).plain(" ").put(tone, todo.content.clone());
        screen.flowing(line.put(Tone::Warn, high), 5)?;
    }
    Ok(())
}
