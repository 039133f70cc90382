//! `bethink usage`: the model calls that bethink made for its own purposes, and their costs, by session.

use bethink_api::UsageBy;
use bethink_client::UsageQuery;
use bethink_terminal::StyledText;
use uuid::Uuid;

use super::search::time;
use crate::app::CliApp;
use crate::failure::Done;
use bethink_render::usage;

pub(crate) async fn usage(app: &mut CliApp, since: Option<&str>) -> Done {
    let client = app.client().await?;
    // A full id may belong to a deleted session.
    let session = match app.session.as_deref().map(Uuid::parse_str) {
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => Some(app.session(&client, None).await?.id),
        None => None,
    };
    let since = since.map(|text| time("--since", text, app.now)).transpose()?;
    let query = UsageQuery { session, since, by: Some(UsageBy::Session) };
    let told = client.usage(&query).await?;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    if told.totals.calls == 0 {
        return Ok(screen.note("no model calls")?);
    }
    screen.lines(usage::by_session(&told.rows, screen.look.width, app.now))?;
    if screen.quiet {
        return Ok(());
    }
    screen.gap()?;
    screen.line(StyledText::new().dim("  total     ").plain(usage::total(&told.totals)))?;
    screen.line(StyledText::new().dim("  today     ").then(usage::today(&told.today)))?;
    if let Some(unpriced) = usage::unpriced(told.totals.unpriced) {
        screen.hint(unpriced)?;
    }
    if told.more {
        let hidden = "the oldest rows are not shown, but the totals include them";
        screen.hint(match session {
            Some(_) => hidden.to_owned(),
            None => format!("{hidden}; to see one session's rows, use --session"),
        })?;
    }
    Ok(())
}
