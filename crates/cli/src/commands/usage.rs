//! `bethink usage`: what models were asked, session by session, and what it cost.

use bethink_client::UsageQuery;
use uuid::Uuid;

use super::Done;
use super::search::time;
use crate::app::App;
use crate::args::Usage;
use crate::draw::usage;
use crate::screen::Text;

pub(crate) async fn usage(app: &mut App, how: &Usage) -> Done {
    let client = app.client().await?;
    // A whole id may be of a session that was deleted since.
    let session = match app.session.as_deref().map(Uuid::parse_str) {
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => Some(app.session(&client, None).await?.id),
        None => None,
    };
    let since = how.since.as_deref().map(|text| time("--since", text, app.now)).transpose()?;
    let query = UsageQuery { session, since, by_session: true };
    let told = client.usage(&query).await?;
    if app.screen.json {
        return Ok(app.screen.value(&told)?);
    }
    if told.totals.calls == 0 {
        return Ok(app.screen.note("no model was asked")?);
    }
    let lines = usage::by_session(&told.rows, app.screen.look.width, app.now);
    app.screen.lines(lines)?;
    if app.screen.quiet {
        return Ok(());
    }
    app.screen.gap()?;
    app.screen.line(Text::new().dim("  in all    ").plain(usage::total(&told.totals)))?;
    app.screen.line(Text::new().dim("  today     ").then(usage::today(&told.today)))?;
    if let Some(unpriced) = usage::unpriced(told.totals.unpriced) {
        app.screen.note(Text::new().dim(unpriced))?;
    }
    if told.more {
        app.screen
            .note(Text::new().dim("there are older ones; --session or --json narrows it down"))?;
    }
    Ok(())
}
