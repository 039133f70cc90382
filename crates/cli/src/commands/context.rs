//! `bethink context`: what fills the context window.

use bethink_client::Client;
use bethink_terminal::{StyledText, words};
use uuid::Uuid;

use crate::app::CliApp;
use crate::failure::Done;
use bethink_render::window;

pub(crate) async fn context(app: &mut CliApp, count: bool) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    if count {
        return counted(app, &client, session.id).await;
    }
    let report = client.report(session.id).await?;
    let Some(screen) = app.screen.unless_json(&report)? else { return Ok(()) };
    let look = screen.look;
    if !screen.quiet {
        let title = session.title.as_deref().unwrap_or("untitled session");
        let id = session.id.to_string();
        let title = StyledText::from(" ").strong(title);
        let model = StyledText::new().dim(format!("  {}", session.model.name));
        screen.line(title.then(model).fitted(look.width))?;
        screen.line(StyledText::new().dim(format!(" {id}")))?;
        screen.gap()?;
    }
    Ok(screen.lines(window::picture(&report, look, app.now))?)
}

async fn counted(app: &mut CliApp, client: &Client, session: Uuid) -> Done {
    let counted = client.count(session).await?;
    let Some(screen) = app.screen.unless_json(&counted)? else { return Ok(()) };
    let tokens = words::count(counted.tokens);
    if screen.quiet {
        return Ok(screen.line(counted.tokens.to_string())?);
    }
    let estimated = words::count(counted.estimated);
    let line = StyledText::from(format!("{tokens} tokens"))
        .dim(format!("  counted by {}; the estimate was {estimated}", counted.model));
    Ok(screen.line(line)?)
}
