//! `bethink compact`, `compactions`, `collapses`, `undo`, `expand`.

use std::pin::pin;

use bethink_api::{CompactRequest, Compaction, ExpandQuery, Session};
use bethink_client::{Client, ClientError};
use bethink_render::short_ids;
use bethink_terminal::words::{ago, count};
use bethink_terminal::{Screen, StyledText, TerminalLook, TextTable, Tone};
use serde_json::json;
use uuid::Uuid;

use crate::app::{self, CliApp};
use crate::args::{Compact, Expand};
use crate::failure::{CliFailure, Done};
use bethink_render::compaction as render;
use bethink_render::event;
use bethink_render::message::{self, MessageExtent};

const SUMMARY_LINES: usize = 12;

pub(crate) async fn compact(app: &mut CliApp, how: Compact) -> Done {
    let client = app.client().await?;
    let session = app.session_to_change(&client, None).await?;
    let Compact { instructions, level, summary_tokens } = how;
    let request = CompactRequest { instructions, level, summary_tokens, dry_run: false };
    let compaction = made(app, &client, session.id, &request).await?;
    show(app, &compaction, &session)?;
    let hint =
        "`bethink undo` undoes the compaction; `bethink expand` shows the summarized messages";
    Ok(app.screen.hint(hint)?)
}

/// Compacts, and shows what the model is doing while it writes the summary, which may take minutes.
async fn made(
    app: &mut CliApp,
    client: &Client,
    session: Uuid,
    request: &CompactRequest,
) -> Result<Compaction, CliFailure> {
    let done = with_model_steps(app, client, session, client.compact(session, request));
    tokio::select! {
        done = done => done,
        _ = tokio::signal::ctrl_c() => Err(CliFailure::hinted(
            "interrupted, but the daemon still compacts the session",
            "`bethink compactions` shows when it is done, and `bethink undo` undoes it",
        )),
    }
}

/// Waits for an answer, and shows what the model does for the session until then.
pub(super) async fn with_model_steps<T>(
    app: &mut CliApp,
    client: &Client,
    session: Uuid,
    asked: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, CliFailure> {
    let mut events = client.events(session, None).await?;
    let mut asked = pin!(asked);
    // A note is wrapped, so a reason is shown in full.
    let look = TerminalLook { width: usize::MAX, ..app.screen.look };
    loop {
        tokio::select! {
            // Events that arrived before the answer are shown before it.
            biased;
            event = events.next() => match event? {
                Some(event) if event.kind == "model" => {
                    if let Some(line) = event::event(&event.kind, &event.data, look) {
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

fn show(app: &mut CliApp, compaction: &Compaction, session: &Session) -> Done {
    let Some(screen) = app.screen.unless_json(compaction)? else { return Ok(()) };
    if screen.quiet {
        return Ok(screen.line(compaction.id.to_string())?);
    }
    let look = screen.look;
    screen.line(
        StyledText::new()
            .strong(format!("{} compaction, {}", compaction.trigger, compaction.level))
            .dim(format!("  {}", compaction.id)),
    )?;
    let window = session.model.context_window;
    screen.lines(render::panel(compaction, window, Some(session.last_seq), look))?;
    Ok(screen.lines(render::summary(compaction, SUMMARY_LINES, look))?)
}

pub(crate) async fn list(app: &mut CliApp) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    let compactions = client.compactions(session.id).await?;
    let Some(screen) = app.screen.unless_json(&compactions)? else { return Ok(()) };
    if compactions.compactions.is_empty() {
        return Ok(screen.note("this session has no compactions")?);
    }
    let ids: Vec<_> = compactions.compactions.iter().map(|one| one.id).collect();
    let mut table =
        TextTable::new(&["messages", "level", ">before", ">after", ">fidelity", "when"]);
    for one in &compactions.compactions {
        let when = match one.undone_at {
            Some(_) => StyledText::new().put(Tone::Warn, "undone"),
            None => StyledText::from(ago(&one.created_at, app.now)),
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
    with_ids(screen, &table, &ids)
}

pub(crate) async fn collapses(app: &mut CliApp) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    let spans = client.collapses(session.id).await?;
    let Some(screen) = app.screen.unless_json(&spans)? else { return Ok(()) };
    if spans.collapses.is_empty() {
        let none =
            "this session has no collapsed spans; to allow them, set `context.collapse` to true";
        return Ok(screen.note(none)?);
    }
    let ids: Vec<_> = spans.collapses.iter().map(|one| one.id).collect();
    let mut table =
        TextTable::new(&["messages", "state", ">tokens", ">shortened", "written by", "when"]);
    for one in &spans.collapses {
        let (tone, at) = match &one.committed_at {
            Some(at) => (Tone::Good, at),
            None => (Tone::Dim, &one.staged_at),
        };
        table.row(vec![
            format!("{}–{}", one.covers.first_seq, one.covers.last_seq).into(),
            StyledText::new().put(tone, one.state.to_string()),
            count(one.tokens_before).into(),
            count(one.tokens).into(),
            one.strategy.to_string().into(),
            ago(at, app.now).into(),
        ]);
    }
    with_ids(screen, &table, &ids)
}

/// Prints a table with the id of each row on the line below it, because a row with its id would not fit into 80
/// columns.
fn with_ids(screen: &mut Screen, table: &TextTable, ids: &[Uuid]) -> Done {
    let mut lines = table.lines(screen.look.width).into_iter();
    screen.lines(lines.next())?;
    for (line, id) in lines.zip(short_ids(ids)) {
        screen.lines([line, StyledText::from("  ").dim(id)])?;
    }
    Ok(())
}

pub(crate) async fn undo(app: &mut CliApp, named: Option<&str>) -> Done {
    let client = app.client().await?;
    let session = app.session_to_change(&client, None).await?;
    let all = client.compactions(session.id).await?.compactions;
    let chosen = app::compaction(named, all)?;
    let undone = client.undo(session.id, chosen.id).await?;
    let Some(screen) = app.screen.unless_json(&undone)? else { return Ok(()) };
    let covers = &undone.covers;
    screen.line(format!(
        "undone: the prompt shows messages {}–{} again instead of their summary",
        covers.first_seq, covers.last_seq
    ))?;
    Ok(())
}

pub(crate) async fn expand(app: &mut CliApp, how: &Expand) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    let behind = behind(&client, session.id, how.compaction.as_deref()).await?;
    let extent = if how.full { MessageExtent::Whole } else { MessageExtent::Beginning };
    let mut query = ExpandQuery { q: how.search.clone(), ..ExpandQuery::default() };
    let mut messages = Vec::new();
    loop {
        let page = match behind {
            Behind::Summary(id) => client.expand(session.id, id, &query).await?,
            Behind::Span(id) => client.expand_collapse(session.id, id, &query).await?,
        };
        match app.screen.json {
            true => messages.extend(page.messages),
            false => {
                for one in &page.messages {
                    app.screen.lines(message::message(one, extent, app.screen.look, app.now))?;
                }
            }
        }
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
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

/// What the prompt shows instead of messages.
#[derive(Clone, Copy)]
enum Behind {
    Summary(Uuid),
    Span(Uuid),
}

/// Finds the compaction, or else the collapsed span, whose id begins or ends with `named`.
async fn behind(client: &Client, session: Uuid, named: Option<&str>) -> Result<Behind, CliFailure> {
    let all = client.compactions(session).await?.compactions;
    let chosen = app::compaction(named, all).map(|one| Behind::Summary(one.id));
    let (Some(part), Err(_)) = (named, &chosen) else { return chosen };
    let spans = client.collapses(session).await?.collapses;
    match spans.iter().any(|span| app::is_short_form(part, span.id)) {
        true => {
            app::one_of(part, "collapsed span", spans, |one| one.id).map(|one| Behind::Span(one.id))
        }
        false => chosen,
    }
}
