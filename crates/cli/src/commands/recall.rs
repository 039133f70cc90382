//! `bethink recall`: what the project remembers about something.

use bethink_api::RecallRequest;

use super::Done;
use super::memory::{block, project};
use crate::app::App;
use crate::args::Recall;
use crate::draw::recalled;
use crate::screen::Text;
use crate::screen::words::plural;

pub(crate) async fn recall(app: &mut App, how: &Recall) -> Done {
    let client = app.client().await?;
    // Of a session that is named, what it was told already is left out.
    let session_id = match app.session.is_some() {
        true => Some(app.session(&client, None).await?.id),
        false => None,
    };
    let request = RecallRequest {
        project_dir: project(app),
        query: how.query.join(" "),
        session_id,
        recent_tools: None,
        limit: how.limit,
    };
    let found = client.recall(&request).await?;
    if app.screen.json {
        return Ok(app.screen.value(&found)?);
    }
    if app.screen.quiet {
        let names = found.memories.into_iter().map(|memory| memory.name.into());
        return Ok(app.screen.lines(names)?);
    }
    for (at, memory) in found.memories.iter().enumerate() {
        if at > 0 {
            app.screen.gap()?;
        }
        let width = app.screen.look.width;
        app.screen.lines(recalled::head(memory, width))?;
        match how.full {
            true => block(app, memory.content.trim_end())?,
            false => app.screen.lines(recalled::beginning(memory, width))?,
        }
    }
    let topics = plural(found.searched, "topic", "topics");
    let said = match found.memories.len() {
        0 if found.searched == 0 => "nothing is remembered yet".to_owned(),
        0 => format!("none of {topics} fits"),
        _ => format!("of {topics}, chosen by the {} ranking", found.strategy),
    };
    if !found.memories.is_empty() {
        app.screen.gap()?;
    }
    Ok(app.screen.note(Text::new().dim(said))?)
}
