//! `bethink context`: what fills the window.

use super::Done;
use crate::app::App;
use crate::draw::window;
use crate::screen::Text;

pub(crate) async fn context(app: &mut App) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
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
