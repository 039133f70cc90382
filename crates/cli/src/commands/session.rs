//! `bethink session …`.

use bethink_api::{CreateSession, ForkRequest, ModelSpec, PatchSession, Session, TodoStatus};
use bethink_client::{Client, MessageQuery, SessionQuery};
use serde_json::json;

use super::Done;
use crate::app::{App, short_ids};
use crate::args::{ForkSession, ListSessions, NewSession, SessionCommand, TagSession};
use crate::draw::facts;
use crate::draw::message::{self, Extent};
use crate::failure::Failure;
use crate::screen::words::{ago, count, plural};
use crate::screen::{Align, Table, Text, Tone};

/// Model of a session of which only the window is told.
const UNNAMED_MODEL: &str = "unknown";
/// Messages shown when a session is resumed.
const RECENT: u64 = 4;

pub(crate) async fn run(app: &mut App, command: SessionCommand) -> Done {
    let client = app.client().await?;
    match command {
        SessionCommand::New(what) => new(app, &client, what).await,
        SessionCommand::Ls(what) => ls(app, &client, what).await,
        SessionCommand::Show { session } => {
            let session = app.session(&client, session.as_deref()).await?;
            show(app, &session)
        }
        SessionCommand::Rename { session, title } => {
            let patch = PatchSession { title: Some(title), ..PatchSession::default() };
            change(app, &client, &session, |_| patch).await
        }
        SessionCommand::Tag(what) => tag(app, &client, what).await,
        SessionCommand::Fork(what) => fork(app, &client, what).await,
        SessionCommand::Resume { session } => resume(app, &client, session.as_deref()).await,
        SessionCommand::Rm { sessions } => rm(app, &client, &sessions).await,
    }
}

async fn new(app: &mut App, client: &Client, what: NewSession) -> Done {
    let parent = match &what.parent {
        Some(parent) => Some(app.session(client, Some(parent)).await?.id),
        None => None,
    };
    let model = what.window.map(|context_window| ModelSpec {
        name: what.model.unwrap_or_else(|| UNNAMED_MODEL.to_owned()),
        context_window,
        max_output_tokens: what.max_output,
        preserved_thinking: None,
    });
    let project_dir = app.project.display().to_string();
    let request = CreateSession { project_dir, title: what.title, tags: what.tags, parent, model };
    let session = client.create_session(&request).await?;
    made(app, &session)
}

/// A new session's id alone on a line, so that a script can take it.
fn made(app: &mut App, session: &Session) -> Done {
    match app.screen.json {
        true => app.screen.value(session)?,
        false => app.screen.line(session.id.to_string())?,
    }
    Ok(())
}

async fn ls(app: &mut App, client: &Client, what: ListSessions) -> Done {
    let project_dir = (!what.all).then(|| app.project.display().to_string());
    let of_project = project_dir.is_some();
    let query =
        SessionQuery { project_dir, q: what.search, tag: what.tag, ..SessionQuery::default() };
    let mut sessions: Vec<Session> = Vec::new();
    let (mut cursor, mut more) = (None, true);
    while more && sessions.len() < what.limit {
        let limit = Some((what.limit - sessions.len()).min(100));
        let page = client.sessions(&SessionQuery { limit, cursor, ..query.clone() }).await?;
        sessions.extend(page.sessions);
        cursor = page.next_cursor;
        more = cursor.is_some();
    }
    if app.screen.json {
        return Ok(app.screen.value(&json!({ "sessions": sessions, "next_cursor": cursor }))?);
    }
    if app.screen.quiet {
        return Ok(app.screen.lines(sessions.iter().map(|one| one.id.to_string().into()))?);
    }
    table(app, &sessions)?;
    if sessions.is_empty() && of_project {
        let dir = app.project.display().to_string();
        app.screen
            .note(format!("no session of {dir}; bethink session ls --all looks everywhere"))?;
    }
    if more {
        app.screen.note(Text::new().dim("there are more: --limit shows them"))?;
    }
    Ok(())
}

fn table(app: &mut App, sessions: &[Session]) -> Done {
    if sessions.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = sessions.iter().map(|one| one.id).collect();
    let mut table = Table::new(&[
        ("session", Align::Left),
        ("messages", Align::Right),
        ("changed", Align::Left),
        ("title", Align::Left),
    ]);
    for (session, id) in sessions.iter().zip(short_ids(&ids)) {
        let tags: String = session.tags.iter().map(|tag| format!("  #{tag}")).collect();
        let child = if session.parent.is_some() { "↳ " } else { "" };
        let title = session.title.clone().unwrap_or_else(|| "untitled".into());
        table.row(vec![
            Text::new().put(Tone::Accent, id),
            count(session.messages).into(),
            Text::new().dim(ago(&session.updated_at, app.now)),
            Text::new().dim(child).plain(title).dim(tags),
        ]);
    }
    let lines = table.lines(app.screen.look.width);
    Ok(app.screen.lines(lines)?)
}

fn show(app: &mut App, session: &Session) -> Done {
    if app.screen.json {
        return Ok(app.screen.value(session)?);
    }
    if app.screen.quiet {
        return Ok(app.screen.line(session.id.to_string())?);
    }
    let model = &session.model;
    let mut rows = vec![
        ("session", session.id.to_string()),
        ("title", session.title.clone().unwrap_or_else(|| "untitled".into())),
        ("project", session.project_dir.clone()),
        ("messages", count(session.messages)),
        ("model", format!("{}, window {}", model.name, count(model.context_window))),
        ("begun", ago(&session.created_at, app.now)),
        ("changed", ago(&session.updated_at, app.now)),
    ];
    if !session.tags.is_empty() {
        rows.push(("tags", session.tags.join(", ")));
    }
    if let Some(parent) = session.parent {
        let at = session.forked_at_seq.map(|seq| format!(", forked at message {seq}"));
        rows.push(("parent", format!("{parent}{}", at.unwrap_or_default())));
    }
    for (name, value) in rows {
        app.screen.line(Text::new().dim(format!(" {name:<10}")).plain(value))?;
    }
    Ok(())
}

async fn change(
    app: &mut App,
    client: &Client,
    named: &str,
    patch: impl FnOnce(&Session) -> PatchSession,
) -> Done {
    let session = app.session(client, Some(named)).await?;
    let changed = client.patch_session(session.id, &patch(&session)).await?;
    show(app, &changed)
}

async fn tag(app: &mut App, client: &Client, what: TagSession) -> Done {
    let TagSession { session, add, remove } = what;
    let patch = |session: &Session| {
        let mut tags = session.tags.clone();
        tags.retain(|tag| !remove.contains(tag));
        for tag in add {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        PatchSession { tags: Some(tags), ..PatchSession::default() }
    };
    change(app, client, &session, patch).await
}

async fn fork(app: &mut App, client: &Client, what: ForkSession) -> Done {
    let session = app.session(client, what.session.as_deref()).await?;
    let request = ForkRequest { at_seq: what.at, title: what.title };
    let forked = client.fork(session.id, &request).await?;
    made(app, &forked)
}

/// Where the session stands: its notes, what was said last, what is to do, how full the window is.
async fn resume(app: &mut App, client: &Client, named: Option<&str>) -> Done {
    let session = app.session(client, named).await?;
    let report = client.report(session.id).await?;
    let todos = client.todos(session.id).await?.todos;
    let notes = client.notes(session.id).await?;
    let after_seq = Some(session.last_seq.saturating_sub(RECENT));
    let recent =
        client.messages(session.id, &MessageQuery { after_seq, ..MessageQuery::default() }).await?;
    if app.screen.json {
        return Ok(app.screen.value(&json!({
            "session": session, "report": report, "todos": todos, "recent": recent.messages,
            "notes": notes.text, "notes_through_seq": notes.through_seq,
        }))?);
    }
    show(app, &session)?;
    if app.screen.quiet {
        return Ok(());
    }
    let (tone, level) = facts::level(&report.level);
    app.screen.line(Text::new().dim(" window    ").put(tone, level).plain(format!(
        ", {} of {} tokens",
        count(report.tokens),
        count(report.thresholds.window)
    )))?;
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Completed);
    for todo in open {
        app.screen.line(Text::new().dim(" to do     ").plain(todo.content.clone()))?;
    }
    if notes.through_seq > 0 {
        app.screen.gap()?;
        app.screen.block(notes.text.trim_end().to_owned())?;
    }
    app.screen.gap()?;
    for one in &recent.messages {
        let lines = message::message(one, Extent::Beginning, app.screen.look, app.now);
        app.screen.lines(lines)?;
    }
    app.screen.note(Text::new().dim(format!(
        "an agent goes on by appending to POST /v1/sessions/{}/messages",
        session.id
    )))?;
    Ok(())
}

async fn rm(app: &mut App, client: &Client, named: &[String]) -> Done {
    if named.iter().any(|named| named == "last") {
        return Err(Failure::Use(
            "name the session to delete; `last` may be another one by now".into(),
        ));
    }
    // all are found before the first is gone
    let mut sessions = Vec::new();
    for named in named {
        sessions.push(app.session(client, Some(named)).await?);
    }
    for session in &sessions {
        client.delete_session(session.id).await?;
        let title = session.title.as_deref().unwrap_or("untitled");
        if !app.screen.json {
            let told = format!(
                "deleted {} {title}, {}",
                session.id,
                plural(session.messages, "message", "messages")
            );
            app.screen.note(told)?;
        }
    }
    if app.screen.json {
        let ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
        app.screen.value(&json!({ "deleted": ids }))?;
    }
    Ok(())
}
