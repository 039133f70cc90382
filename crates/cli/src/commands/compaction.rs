//! `bethink compact`, `compactions`, `undo`, `expand`.

use std::pin::pin;

use bethink_api::{CompactRequest, Compaction};
use bethink_client::Client;
use serde_json::json;
use uuid::Uuid;

use super::Done;
use crate::app::{self, App};
use crate::args::{Compact, Expand, Which};
use crate::draw::compaction as draw;
use crate::draw::event;
use crate::draw::message::{self, Extent};
use crate::failure::Failure;
use crate::screen::words::{ago, count};
use crate::screen::{Align, Table, Text, Tone};

/// Lines of a summary shown after a compaction.
const SUMMARY_LINES: usize = 12;

pub(crate) async fn compact(app: &mut App, how: Compact) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    let Compact { instructions, level, summary_tokens } = how;
    let request = CompactRequest { instructions, level, summary_tokens };
    let compaction = made(app, &client, session.id, &request).await?;
    show(app, &compaction, session.model.context_window)?;
    app.screen.note(
        Text::new().dim("  bethink undo takes it back, bethink expand shows what it covers"),
    )?;
    Ok(())
}

/// Tells what a model does meanwhile: a summary may take minutes.
async fn made(
    app: &mut App,
    client: &Client,
    session: Uuid,
    request: &CompactRequest,
) -> Result<Compaction, Failure> {
    let mut events = client.events(session, None).await?;
    let mut asked = pin!(client.compact(session, request));
    loop {
        tokio::select! {
            // What happened before the answer is told before it.
            biased;
            event = events.next() => match event? {
                Some(event) if event.kind == "model" => {
                    if let Some(line) = event::event(&event.kind, &event.data, app.screen.look) {
                        app.screen.note(line)?;
                    }
                }
                Some(_) => {}
                None => return Ok(asked.await?),
            },
            done = &mut asked => return Ok(done?),
        }
    }
}

fn show(app: &mut App, compaction: &Compaction, window: u64) -> Done {
    if app.screen.json {
        return Ok(app.screen.value(compaction)?);
    }
    if app.screen.quiet {
        return Ok(app.screen.line(compaction.id.to_string())?);
    }
    let look = app.screen.look;
    app.screen.line(
        Text::new()
            .strong(format!("{} compaction, {}", compaction.trigger, compaction.level))
            .dim(format!("  {}", compaction.id)),
    )?;
    app.screen.lines(draw::panel(compaction, window, look))?;
    app.screen.lines(draw::summary(compaction, SUMMARY_LINES, look))?;
    Ok(())
}

pub(crate) async fn list(app: &mut App) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    let compactions = client.compactions(session.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&compactions)?);
    }
    if compactions.compactions.is_empty() {
        return Ok(app.screen.note("no compaction so far")?);
    }
    let ids: Vec<_> = compactions.compactions.iter().map(|one| one.id).collect();
    let mut table = Table::new(&[
        ("messages", Align::Left),
        ("level", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("fidelity", Align::Right),
        ("when", Align::Left),
    ]);
    for one in &compactions.compactions {
        let when = match one.undone_at {
            Some(_) => Text::new().put(Tone::Warn, "undone"),
            None => Text::from(ago(&one.created_at, app.now)),
        };
        table.row(vec![
            format!("{}–{}", one.covers.first_seq, one.covers.last_seq).into(),
            format!("{} ({})", one.level, one.trigger).into(),
            count(one.tokens_before).into(),
            count(one.tokens_after).into(),
            format!("{:.2}", one.fidelity).into(),
            when,
        ]);
    }
    let mut lines = table.lines(app.screen.look.width).into_iter();
    app.screen.lines(lines.next())?;
    // An id below its row: beside it, no figure would have room in 80 columns.
    for (line, id) in lines.zip(app::short_ids(&ids)) {
        app.screen.lines([line, Text::from("  ").dim(id)])?;
    }
    Ok(())
}

pub(crate) async fn undo(app: &mut App, which: &Which) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    let all = client.compactions(session.id).await?.compactions;
    let chosen = app::compaction(which.compaction.as_deref(), all)?;
    let undone = client.undo(session.id, chosen.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&undone)?);
    }
    let covers = &undone.covers;
    app.screen.line(format!(
        "undone: the prompt shows messages {}–{} again instead of their summary",
        covers.first_seq, covers.last_seq
    ))?;
    Ok(())
}

pub(crate) async fn expand(app: &mut App, how: &Expand) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    let behind = behind(&client, session.id, how.compaction.as_deref()).await?;
    let extent = if how.full { Extent::Whole } else { Extent::Beginning };
    let (mut cursor, mut messages) = (None, Vec::new());
    loop {
        let (query, from) = (how.search.as_deref(), cursor.as_deref());
        let page = match behind {
            Behind::Summary(id) => client.expand(session.id, id, query, from).await?,
            Behind::Span(id) => client.expand_collapse(session.id, id, query, from).await?,
        };
        match app.screen.json {
            true => messages.extend(page.messages),
            false => {
                for one in &page.messages {
                    let lines = message::message(one, extent, app.screen.look, app.now);
                    app.screen.lines(lines)?;
                }
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if app.screen.json {
        app.screen.value(&match behind {
            Behind::Summary(id) => json!({ "compaction": id, "messages": messages }),
            Behind::Span(id) => json!({ "collapse": id, "messages": messages }),
        })?;
    }
    Ok(())
}

/// What stands for the messages that are asked for.
#[derive(Clone, Copy)]
enum Behind {
    Summary(Uuid),
    Span(Uuid),
}

/// A compaction by its id or the beginning of one; a collapsed span where no compaction has it.
async fn behind(client: &Client, session: Uuid, named: Option<&str>) -> Result<Behind, Failure> {
    let all = client.compactions(session).await?.compactions;
    let chosen = app::compaction(named, all);
    let Some(beginning) = named.filter(|_| chosen.is_err()) else {
        return chosen.map(|one| Behind::Summary(one.id));
    };
    let spans = client.collapses(session).await?.collapses;
    if spans.iter().any(|span| span.id.to_string().starts_with(beginning)) {
        return Ok(Behind::Span(app::collapse(beginning, spans)?.id));
    }
    chosen.map(|one| Behind::Summary(one.id))
}
