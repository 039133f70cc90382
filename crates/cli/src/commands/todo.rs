//! `bethink todo`: the session's list as it stands.

use bethink_api::{TodoPriority, TodoStatus};

use super::Done;
use crate::app::App;
use crate::screen::{Text, Tone};

pub(crate) async fn todo(app: &mut App) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    let todos = client.todos(session.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&todos)?);
    }
    if todos.todos.is_empty() {
        return Ok(app.screen.note("nothing to do")?);
    }
    for todo in &todos.todos {
        let (mark, tone) = match todo.status {
            TodoStatus::Completed => ("[x]", Tone::Dim),
            TodoStatus::InProgress => ("[>]", Tone::Accent),
            TodoStatus::Pending => ("[ ]", Tone::Plain),
        };
        let high = if todo.priority == TodoPriority::High { "  high" } else { "" };
        let line = Text::from(" ").put(tone, mark).plain(" ").put(tone, todo.content.clone());
        app.screen.line(line.put(Tone::Warn, high))?;
    }
    Ok(())
}
