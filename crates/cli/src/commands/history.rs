//! `bethink history`: the messages of a session, including summarized ones.

use bethink_api::{HistoryMessage, Session, TextQuery};
use bethink_client::{Client, MessageQuery, SseEvent};
use serde_json::{Value, json};

use crate::app::CliApp;
use crate::args::HistoryArgs;
use crate::failure::{CliFailure, Done};
use bethink_render::event;
use bethink_render::message::{self, MessageExtent};
use bethink_render::short_id;
use bethink_terminal::StyledText;

const PAGE: usize = 100;

const REFILL: &str = "if you have the session's Claude Code file, run `bethink import FILE`: it becomes a new session";

pub(crate) async fn history(app: &mut CliApp, how: &HistoryArgs) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    if let Some(number) = how.message {
        if how.bytes.is_some() || how.lines.is_some() || how.call.is_some() {
            return part(app, &client, &session, number, how).await;
        }
        return one(app, &client, &session, number).await;
    }
    // Subscribing before the first read makes sure that no message is missed in between.
    let events = match how.follow {
        true => Some(client.events(session.id, None).await?),
        false => None,
    };
    let first = if how.last == 0 { 0 } else { session.last_seq.saturating_sub(how.last) };
    let Some(mut events) = events else {
        let messages = after(&client, &session, first).await?;
        return match app.screen.unless_json(&json!({ "messages": messages }))? {
            Some(screen) if messages.is_empty() => Ok(screen.note(match session.last_seq {
                0 => format!("session {} has no messages", short_id(session.id)),
                last => missing(first + 1, last),
            })?),
            Some(_) => show_each(app, how, &messages),
            None => Ok(()),
        };
    };
    let mut seen = first;
    loop {
        let messages = after(&client, &session, seen).await?;
        seen = messages.last().map_or(seen, |last| last.seq);
        show_each(app, how, &messages)?;
        let Some(event) = events.next().await? else {
            return Err(CliFailure::hinted(
                "the daemon closed the event stream",
                "run the command again",
            ));
        };
        show_event(app, &event)?;
    }
}

async fn one(app: &mut CliApp, client: &Client, session: &Session, number: u64) -> Done {
    let after_seq = Some(number.saturating_sub(1));
    let query = MessageQuery { after_seq, limit: Some(1), ..MessageQuery::default() };
    let page = client.messages(session.id, &query).await?;
    let Some(found) = page.messages.iter().find(|m| m.seq == number) else {
        if (1..=session.last_seq).contains(&number) {
            let next = page.messages.first().map_or(session.last_seq, |next| next.seq - 1);
            return Err(CliFailure::hinted(missing(number, next), REFILL));
        }
        return Err(CliFailure::hinted(
            format!("there is no message {number} in this session"),
            match session.last_seq {
                0 => "the session has no messages".to_owned(),
                last => format!("its messages are numbered 1 to {last}"),
            },
        ));
    };
    let Some(screen) = app.screen.unless_json(found)? else { return Ok(()) };
    let lines = message::message(found, MessageExtent::Whole, screen.look, app.now);
    Ok(screen.lines(lines)?)
}

/// Says that messages with these numbers, which were assigned, are gone.
fn missing(first: u64, last: u64) -> String {
    let which = match first == last {
        true => format!("message {first} is"),
        false => format!("messages {first} to {last} are"),
    };
    format!("{which} missing because the database was damaged")
}

/// Shows a part of a message's text, and says how to read the next part.
async fn part(
    app: &mut CliApp,
    client: &Client,
    session: &Session,
    seq: u64,
    how: &HistoryArgs,
) -> Done {
    let HistoryArgs { call, bytes, lines, .. } = how;
    let (call, bytes, lines) = (call.clone(), bytes.clone(), lines.clone());
    let query = TextQuery { seq, call, bytes, lines };
    let part = client.message_text(session.id, &query).await?;
    let Some(screen) = app.screen.unless_json(&part)? else { return Ok(()) };
    let mut lines: Vec<StyledText> =
        part.text.lines().map(|line| StyledText::from(line.to_owned())).collect();
    if let Some(next) = part.next_byte {
        let (first, bytes) = (part.first_byte, part.bytes);
        let more = format!("[Bytes {first} to {next} of {bytes}. Continue with --bytes {next}..]");
        lines.push(StyledText::new().dim(more));
    }
    Ok(screen.lines(lines)?)
}

async fn after(
    client: &Client,
    session: &Session,
    mut seq: u64,
) -> Result<Vec<HistoryMessage>, CliFailure> {
    let mut all = Vec::new();
    loop {
        let query =
            MessageQuery { after_seq: Some(seq), limit: Some(PAGE), ..MessageQuery::default() };
        let page = client.messages(session.id, &query).await?;
        let Some(last) = page.messages.last() else { return Ok(all) };
        seq = last.seq;
        all.extend(page.messages);
        if page.next_cursor.is_none() {
            return Ok(all);
        }
    }
}

fn show_event(app: &mut CliApp, event: &SseEvent) -> Done {
    if !app.screen.json {
        let line = event::event(&event.kind, &event.data, app.screen.look);
        return Ok(app.screen.lines(line.into_iter().collect::<Vec<_>>())?);
    }
    match serde_json::from_str::<Value>(&event.data) {
        Ok(data) if event.kind != "message" => {
            Ok(app.screen.record(&json!({ "event": event.kind, "data": data }))?)
        }
        _ => Ok(()),
    }
}

/// Shows messages; with `--json` as one object per line, because a stream has no end.
fn show_each(app: &mut CliApp, how: &HistoryArgs, messages: &[HistoryMessage]) -> Done {
    let extent = if how.full { MessageExtent::Whole } else { MessageExtent::Beginning };
    for one in messages {
        match app.screen.json {
            true => app.screen.record(one)?,
            false => {
                app.screen.lines(message::message(one, extent, app.screen.look, app.now))?;
            }
        }
    }
    Ok(())
}
