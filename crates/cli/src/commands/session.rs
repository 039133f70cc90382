//! `bethink session …`.

use std::io;
use std::path::Path;

use bethink_api::{
    AgentSession, CreateSession, ForkRequest, ModelSpec, PatchSession, Session, TodoStatus,
};
use bethink_client::{Client, MessageQuery, SessionQuery};
use bethink_terminal::words::{ago, count, plural};
use bethink_terminal::{Screen, StyledText, TextTable, Tone};
use jiff::Timestamp;
use serde_json::json;

use crate::app::CliApp;
use crate::args::{ListSessions, NewSessionArgs, SessionCommand};
use crate::commands::notes::without_descriptions;
use crate::failure::{CliFailure, Done};
use crate::picker;
use bethink_render::facts;
use bethink_render::message::{self, MessageExtent};
use bethink_render::{short_id, short_ids};

/// Model name of a session that was created with a window but without a model.
const UNNAMED_MODEL: &str = "unknown";
/// Number of messages that `handover` shows.
const RECENT: u64 = 4;
/// Width of the project column, which leaves room for titles in 80 columns.
const PROJECT_COLUMNS: usize = 20;

pub(crate) async fn run(app: &mut CliApp, command: SessionCommand) -> Done {
    let client = app.client().await?;
    match command {
        SessionCommand::New(what) => new(app, &client, what).await,
        SessionCommand::Ls(what) => ls(app, &client, what).await,
        SessionCommand::Show { which } => {
            let session = app.session(&client, which.as_deref()).await?;
            show(app, &session)
        }
        SessionCommand::Rename { which, title } => {
            let session = app.session(&client, Some(&which)).await?;
            let patch = PatchSession { title: Some(title), ..PatchSession::default() };
            show(app, &client.patch_session(session.id, &patch).await?)
        }
        SessionCommand::Tag { which, add, remove } => {
            let Session { id, mut tags, .. } = app.session(&client, Some(&which)).await?;
            tags.retain(|tag| !remove.contains(tag));
            for tag in add {
                if !tags.contains(&tag) {
                    tags.push(tag);
                }
            }
            let patch = PatchSession { tags: Some(tags), ..PatchSession::default() };
            show(app, &client.patch_session(id, &patch).await?)
        }
        SessionCommand::Fork { which, at, title } => {
            let session = app.session_to_change(&client, which.as_deref()).await?;
            let request = ForkRequest { at_seq: at, title };
            show_id(app, &client.fork(session.id, &request).await?)
        }
        SessionCommand::Handover { which } => handover(app, &client, which.as_deref()).await,
        SessionCommand::Rm { sessions, yes } => rm(app, &client, &sessions, yes).await,
    }
}

async fn new(app: &mut CliApp, client: &Client, what: NewSessionArgs) -> Done {
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
    let project_dir = app.project_dir();
    let request = CreateSession { project_dir, title: what.title, tags: what.tags, parent, model };
    show_id(app, &client.create_session(&request).await?)
}

/// Prints only the new session's id, for scripts.
fn show_id(app: &mut CliApp, session: &Session) -> Done {
    let Some(screen) = app.screen.unless_json(session)? else { return Ok(()) };
    Ok(screen.line(session.id.to_string())?)
}

async fn ls(app: &mut CliApp, client: &Client, what: ListSessions) -> Done {
    let project_dir = match what.all {
        true => None,
        false => Some(app.listed_dir(client).await?.unwrap_or_else(|| app.project_dir())),
    };
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
    let told = json!({ "sessions": sessions, "next_cursor": cursor });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    if let Some(format) = &what.format {
        return Ok(sessions.iter().try_for_each(|one| screen.block(format.text(one)))?);
    }
    if screen.quiet {
        return Ok(screen.lines(sessions.iter().map(|one| one.id.to_string().into()))?);
    }
    match &query.project_dir {
        Some(dir) if sessions.is_empty() && (query.q.is_some() || query.tag.is_some()) => {
            screen
                .note(format!("no sessions in {dir} match; add `--all` to search all projects"))?;
        }
        Some(dir) if sessions.is_empty() => {
            let hint = "run `bethink session ls --all` to list the sessions of all projects";
            screen.note(format!("there are no sessions in {dir}; {hint}"))?;
        }
        None if sessions.is_empty() && (query.q.is_some() || query.tag.is_some()) => {
            screen.note("no sessions match")?;
        }
        None if sessions.is_empty() => {
            screen
                .note("there are no sessions yet; `bethink import` imports those of your agents")?;
        }
        _ => screen.lines(table(
            &sessions,
            query.project_dir.as_deref(),
            screen.look.width,
            app.now,
        ))?,
    }
    if more {
        screen.hint(format!("there are more: `-n {}` shows twice as many", what.limit * 2))?;
    }
    Ok(())
}

/// Shows the directories if some sessions did not begin in `here`.
fn table(
    sessions: &[Session],
    here: Option<&str>,
    width: usize,
    now: Timestamp,
) -> Vec<StyledText> {
    let ids: Vec<_> = sessions.iter().map(|one| one.id).collect();
    let has_dirs = sessions.iter().any(|one| here != Some(&one.project_dir));
    let mut table = match has_dirs {
        true => TextTable::new(&["session", ">messages", "changed", "project", "title"]),
        false => TextTable::new(&["session", ">messages", "changed", "title"]),
    };
    for (session, id) in sessions.iter().zip(short_ids(&ids)) {
        let tags: String = session.tags.iter().map(|tag| format!("  #{tag}")).collect();
        let shared = if session.shared.is_some() { "shared  " } else { "" };
        let child = if session.parent.is_some() { "↳ " } else { "" };
        let title = session.title.clone().unwrap_or_else(|| "untitled".into());
        let mut row = vec![
            StyledText::new().put(Tone::Accent, id),
            count(session.messages).into(),
            StyledText::new().dim(ago(&session.updated_at, now)),
            StyledText::new().dim(child).put(Tone::Warn, shared).plain(title).dim(tags),
        ];
        if has_dirs {
            let name = short_dir(&session.project_dir, sessions);
            row.insert(row.len() - 1, StyledText::from(name).fitted(PROJECT_COLUMNS));
        }
        table.row(row);
    }
    table.lines(width)
}

/// Returns the name of a directory, with that of its parent if another directory in the list has the same name.
fn short_dir(dir: &str, listed: &[Session]) -> String {
    let path = Path::new(dir);
    let name = path.file_name().unwrap_or(path.as_os_str());
    let has_name = |one: &Session| Path::new(&one.project_dir).file_name() == path.file_name();
    let is_unique = !listed.iter().any(|one| one.project_dir != dir && has_name(one));
    let parent = path.parent().and_then(Path::file_name).filter(|_| !is_unique);
    parent.map_or(name.into(), |parent| Path::new(parent).join(name)).display().to_string()
}

fn show(app: &mut CliApp, session: &Session) -> Done {
    let Some(screen) = app.screen.unless_json(session)? else { return Ok(()) };
    Ok(describe(screen, session, app.now)?)
}

fn describe(screen: &mut Screen, session: &Session, now: Timestamp) -> io::Result<()> {
    if screen.quiet {
        return screen.line(session.id.to_string());
    }
    let model = &session.model;
    let mut rows = vec![
        ("session", session.id.to_string()),
        ("title", session.title.clone().unwrap_or_else(|| "untitled".into())),
        ("project", session.project_dir.clone()),
        ("messages", count(session.messages)),
        ("model", format!("{}, window {}", model.name, count(model.context_window))),
        ("created", ago(&session.created_at, now)),
        ("changed", ago(&session.updated_at, now)),
    ];
    if !session.tags.is_empty() {
        rows.push(("tags", session.tags.join(", ")));
    }
    if let Some(project) = &session.shared {
        rows.push(("shared", format!("with {project}")));
    }
    if let Some(parent) = session.parent {
        let at = session.forked_at_seq.map(|seq| format!(", forked at message {seq}"));
        rows.push(("parent", format!("{parent}{}", at.unwrap_or_default())));
    }
    let line = |(name, value)| StyledText::new().dim(format!(" {name:<10}")).plain(value);
    screen.lines(rows.into_iter().map(line))
}

/// Shows what is needed to continue a session: how full the window is, the todos, the notes and the last messages.
async fn handover(app: &mut CliApp, client: &Client, named: Option<&str>) -> Done {
    let session = app.session(client, named).await?;
    let report = client.report(session.id).await?;
    let todos = client.todos(session.id).await?.todos;
    let notes = client.notes(session.id).await?;
    let after_seq = Some(session.last_seq.saturating_sub(RECENT));
    let recent =
        client.messages(session.id, &MessageQuery { after_seq, ..MessageQuery::default() }).await?;
    let told = json!({
        "session": session, "report": report, "todos": todos, "recent": recent.messages,
        "notes": notes.text, "notes_through_seq": notes.through_seq,
    });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    describe(screen, &session, app.now)?;
    if screen.quiet {
        return Ok(());
    }
    let (tone, level) = facts::level(report.level);
    screen.line(StyledText::new().dim(" window    ").put(tone, level).plain(format!(
        ", {} of {} tokens",
        count(report.tokens),
        count(report.thresholds.window)
    )))?;
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Completed);
    for todo in open {
        screen.flowing(StyledText::new().dim(" to do     ").plain(todo.content.clone()), 11)?;
    }
    if notes.through_seq > 0 {
        screen.gap()?;
        screen.prose(&without_descriptions(&notes.text))?;
    }
    screen.gap()?;
    for one in &recent.messages {
        screen.lines(message::message(one, MessageExtent::Beginning, screen.look, app.now))?;
    }
    screen.hint(match session.agent.as_ref().and_then(resume_command) {
        Some(command) => format!("`{command}` continues this session in the agent"),
        None => format!(
            "`bethink continue AGENT` continues this work in an agent; programs can add messages \
             with POST /v1/sessions/{}/messages",
            session.id
        ),
    })?;
    Ok(())
}

/// Returns the command that resumes an agent's session; `None` if bethink knows no such command for the agent, or the id is
/// invalid.
fn resume_command(agent: &AgentSession) -> Option<String> {
    let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let id = Some(agent.id.as_str()).filter(|id| is_id(id) && !id.starts_with('-'))?;
    match agent.name.as_str() {
        "claude-code" => Some(format!("claude --resume {id}")),
        "codex" => Some(format!("codex resume {id}")),
        _ => None,
    }
}

async fn rm(app: &mut CliApp, client: &Client, named: &[String], yes: bool) -> Done {
    if named.iter().any(|named| named == "last") {
        let why = "give the id of the session to delete: `last` may mean another session by now";
        return Err(CliFailure::Use(why.into()));
    }
    // Find all of them before deleting the first.
    let mut sessions = Vec::new();
    for named in named {
        sessions.push(app.session(client, Some(named)).await?);
    }
    if !yes {
        confirm(app, &sessions)?;
    }
    for session in &sessions {
        client.delete_session(session.id).await?;
        let title = session.title.as_deref().unwrap_or("untitled");
        let messages = plural(session.messages, "message", "messages");
        app.screen.note(format!("deleted {}: {title}, {messages}", session.id))?;
    }
    if app.screen.json {
        let ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
        app.screen.value(&json!({ "deleted": ids }))?;
    }
    Ok(())
}

/// Asks before deleting. Without a terminal, `--yes` is required.
fn confirm(app: &mut CliApp, sessions: &[Session]) -> Done {
    picker::check_can_ask(app, "nothing was deleted; add --yes to delete without asking")?;
    for session in sessions {
        let title = session.title.as_deref().unwrap_or("untitled");
        let messages = plural(session.messages, "message", "messages");
        app.screen.complain(format!("  {}: {title}, {messages}", short_id(session.id)))?;
    }
    let sessions = plural(sessions.len() as u64, "session", "sessions");
    let question = format!("Delete {sessions}? This cannot be undone.");
    picker::confirm(app, &question, "nothing was deleted")
}
