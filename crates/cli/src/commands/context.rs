//! `bethink context`: what fills the window.

use bethink_client::Client;
use uuid::Uuid;

use super::Done;
use crate::app::App;
use crate::draw::window;
use crate::screen::{Text, words};

pub(crate) async fn context(app: &mut App, count: bool) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    if count {
        return counted(app, &client, session.id).await;
    }
    let report = client.report(session.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&report)?);
    }
    let look = app.screen.look;
    if !app.screen.quiet {
        let title = session.title.as_deref().unwrap_or("untitled session");
        let id = session.id.to_string();
        let title = Text::from(" ").strong(title);
        let model = Text::new().dim(format!("  {}", session.model.name));
        app.screen.line(title.then(model).fitted(look.width))?;
        app.screen.line(Text::new().dim(format!(" {id}")))?;
        app.screen.gap()?;
    }
    app.screen.lines(window::picture(&report, look, app.now))?;
    Ok(())
}

/// What the provider says that the prompt has.
async fn counted(app: &mut App, client: &Client, session: Uuid) -> Done {
    let counted = client.count(session).await?;
    if app.screen.json {
        return Ok(app.screen.value(&counted)?);
    }
    let tokens = words::count(counted.tokens);
    if app.screen.quiet {
        return Ok(app.screen.line(counted.tokens.to_string())?);
    }
    let estimated = words::count(counted.estimated);
    let line = Text::from(format!("{tokens} tokens"))
        .dim(format!("  as {} counts them; {estimated} were estimated", counted.model));
    Ok(app.screen.line(line)?)
}
