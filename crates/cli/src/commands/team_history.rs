//! `bethink team history`: history that people share with their team.

use std::path::Path;

use bethink_api as api;
use bethink_client::Client;
use bethink_render::message::{self, MessageExtent};
use bethink_render::{short_id, short_ids};
use bethink_terminal::words::{ago, count, plural};
use bethink_terminal::{Screen, StyledText, TextTable, Tone};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::app::{CliApp, one_of};
use crate::args::TeamHistoryCommand;
use crate::failure::{CliFailure, Done};

/// The SQL that creates the team's tables.
const TABLES: &str = include_str!("../../../../migrations/team/history.sql");
/// Number of sessions or messages that are read at once.
const PAGE: usize = 200;

pub(crate) async fn run(app: &mut CliApp, command: TeamHistoryCommand) -> Done {
    use TeamHistoryCommand as Command;
    if let Command::Setup = command {
        let Some(screen) = app.screen.unless_json(&json!({ "sql": TABLES }))? else {
            return Ok(());
        };
        return Ok(screen.block(TABLES.trim_end())?);
    }
    let client = app.client().await?;
    match command {
        Command::Status => status(app, &client.team_history().await?),
        Command::On { team_project, all } => on(app, &client, team_project, all).await,
        Command::Off => off(app, &client).await,
        Command::Ls { team_project, person, limit } => {
            let scope = api::TeamHistoryScope { project: team_project, person };
            list(app, &client, &scope, limit).await
        }
        Command::Show { id, message } => show(app, &client, &id, message).await,
        Command::Rm { id } => {
            let session = find(&client, &id).await?;
            client.remove_team_session(session.id).await?;
            let Some(screen) = app.screen.unless_json(&json!({ "id": session.id }))? else {
                return Ok(());
            };
            Ok(screen.line(format!("removed {} of {}", short_id(session.id), session.person))?)
        }
        Command::AddMember { person, role, team_project } => {
            let history = client.team_history().await?;
            let project = project_here(app, &history, team_project)?;
            let role = role.or_else(|| role_of(&history, &project, &person));
            let role = Some(role.unwrap_or(api::TeamRole::Contributor));
            set_member(app, &client, api::SetTeamMember { project, person, role }).await
        }
        Command::RemoveMember { person, team_project } => {
            let project = project_here(app, &client.team_history().await?, team_project)?;
            set_member(app, &client, api::SetTeamMember { project, person, role: None }).await
        }
        Command::Setup => Ok(()),
    }
}

fn status(app: &mut CliApp, history: &api::TeamHistory) -> Done {
    let Some(screen) = app.screen.unless_json(history)? else { return Ok(()) };
    if let Some(problem) = &history.problem {
        screen.line("team history is not available")?;
        return Ok(screen.note(problem.clone())?);
    }
    let person = history.person.clone().unwrap_or_default();
    screen.line(StyledText::from("you are ").strong(person.clone()))?;
    for directory in &history.shared {
        shared_directory(screen, directory, app.now)?;
    }
    for project in &history.projects {
        let sessions = plural(project.sessions, "session", "sessions");
        let head = StyledText::from("project  ").strong(project.name.clone());
        screen.line(head.plain(format!(": {sessions}")))?;
        let members = member_names(&project.members, Some(&person));
        screen.flowing(StyledText::from(" ".repeat(9)).plain(members), 9)?;
    }
    if history.shared.is_empty() {
        screen.note(
            "you share no sessions; `bethink team history on` shares those of this project",
        )?;
    }
    Ok(())
}

fn shared_directory(
    screen: &mut Screen,
    directory: &api::SharedDirectory,
    now: Timestamp,
) -> std::io::Result<()> {
    let which = match &directory.since {
        Some(since) => format!("sessions that began after you shared it ({})", ago(since, now)),
        None => "all sessions".to_owned(),
    };
    let head = StyledText::from("shared   ").strong(directory.project_dir.clone());
    screen.line(head)?;
    let with = format!("{}{which}, with {}", " ".repeat(9), directory.project);
    screen.flowing(StyledText::from(with), 9)?;
    if directory.waiting > 0 {
        let waiting = plural(directory.waiting, "session is", "sessions are");
        let text = format!("{}{waiting} not copied yet", " ".repeat(9));
        screen.flowing(StyledText::new().put(Tone::Warn, text), 9)?;
    }
    if let Some(problem) = &directory.problem {
        let text = format!("{}{problem}", " ".repeat(9));
        screen.flowing(StyledText::new().put(Tone::Bad, text), 9)?;
    }
    Ok(())
}

async fn on(app: &mut CliApp, client: &Client, project: Option<String>, all: bool) -> Done {
    if app.session.is_some() {
        return share_session(app, client, true).await;
    }
    let project_dir = directory_to_share(app, client).await?;
    let request = api::ShareHistory { project_dir, project, all };
    let history = client.share_history(&request).await?;
    let Some(screen) = app.screen.unless_json(&history)? else { return Ok(()) };
    let found = |one: &&api::SharedDirectory| one.project_dir == request.project_dir;
    let Some(directory) = history.shared.iter().find(found) else { return Ok(()) };
    shared_directory(screen, directory, app.now)?;
    let project = history.projects.iter().find(|project| project.name == directory.project);
    let members = project.map(|project| &project.members[..]).unwrap_or_default();
    if let [_] = members {
        screen
            .hint("only you can read it: `bethink team history add-member LOGIN` adds a person")?;
    } else {
        let names = member_names(members, history.person.as_deref());
        screen.note(format!("can be read by {names}"))?;
    }
    Ok(())
}

/// Returns the nearest directory with sessions, up to the root of the repository; else that root. Without a repository, or if the
/// directory was named, only that one: a parent may have sessions about anything.
async fn directory_to_share(app: &CliApp, client: &Client) -> Result<String, CliFailure> {
    let root = app.project.ancestors().find(|dir| dir.join(".git").exists());
    let root = root.filter(|_| !app.project_given).unwrap_or(&app.project);
    let dirs = app.project.ancestors().take_while(|dir| dir.starts_with(root));
    let found = app.nearest_with_sessions(client, dirs).await?;
    Ok(found.unwrap_or_else(|| root.display().to_string()))
}

fn member_names(members: &[api::TeamMember], own: Option<&str>) -> String {
    let name = |member: &api::TeamMember| match own == Some(&member.person) {
        true => format!("you ({})", member.role),
        false => format!("{} ({})", member.person, member.role),
    };
    members.iter().map(name).collect::<Vec<_>>().join(", ")
}

async fn off(app: &mut CliApp, client: &Client) -> Done {
    if app.session.is_some() {
        return share_session(app, client, false).await;
    }
    let shared = client.team_history().await?.shared;
    let here = shared_here(app, &shared).map(|one| one.project_dir.clone());
    let project_dir = here.unwrap_or_else(|| app.project_dir());
    let told = client.unshare_history(&project_dir).await?;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let removed = plural(told.removed, "copy was", "copies were");
    Ok(screen.line(format!("{project_dir} is no longer shared; {removed} removed"))?)
}

async fn share_session(app: &mut CliApp, client: &Client, shared: bool) -> Done {
    let session = app.session(client, None).await?;
    let session = client.share_session(session.id, shared).await?;
    let Some(screen) = app.screen.unless_json(&session)? else { return Ok(()) };
    let id = short_id(session.id);
    let told = match &session.shared {
        Some(project) => format!("session {id} is shared with {project}"),
        None => format!("session {id} is now private"),
    };
    Ok(screen.line(told)?)
}

async fn list(
    app: &mut CliApp,
    client: &Client,
    scope: &api::TeamHistoryScope,
    limit: usize,
) -> Done {
    let page = api::PageQuery { limit: Some(limit), cursor: None };
    let page = client.team_sessions(scope, &page).await?;
    let Some(screen) = app.screen.unless_json(&page)? else { return Ok(()) };
    if page.sessions.is_empty() {
        return Ok(screen.note("the team shares no such sessions")?);
    }
    let mut table =
        TextTable::new(&["session", "person", ">messages", "changed", "project", "title"]);
    let ids: Vec<Uuid> = page.sessions.iter().map(|session| session.id).collect();
    for (session, id) in page.sessions.iter().zip(short_ids(&ids)) {
        table.row(vec![
            StyledText::new().put(Tone::Accent, id),
            session.person.clone().into(),
            count(session.messages).into(),
            StyledText::new().dim(ago(&session.updated_at, app.now)),
            last_part(&session.project).into(),
            session.title.clone().unwrap_or_else(|| "untitled".to_owned()).into(),
        ]);
    }
    screen.lines(table.lines(screen.look.width))?;
    if page.next_cursor.is_some() {
        screen.hint(format!("there are more: `-n {}` shows twice as many", limit * 2))?;
    }
    Ok(())
}

fn last_part(project: &str) -> String {
    project.rsplit('/').next().unwrap_or(project).to_owned()
}

async fn show(app: &mut CliApp, client: &Client, id: &str, message: Option<u64>) -> Done {
    let session = find(client, id).await?;
    let mut query = api::MessageQuery { limit: Some(PAGE), ..api::MessageQuery::default() };
    if let Some(number) = message {
        query.after_seq = Some(number.saturating_sub(1));
        query.limit = Some(1);
    }
    let mut messages = Vec::new();
    loop {
        let page = client.team_messages(session.id, &query).await?;
        let last = page.messages.last().map(|last| last.seq);
        messages.extend(page.messages);
        match last.filter(|_| message.is_none() && page.next_cursor.is_some()) {
            Some(last) => query.after_seq = Some(last),
            None => break,
        }
    }
    messages.retain(|one| message.is_none_or(|number| one.seq == number));
    if let Some(number) = message.filter(|_| messages.is_empty()) {
        let last = session.messages;
        return Err(CliFailure::hinted(
            format!("there is no message {number} in this session"),
            format!("its messages are numbered 1 to {last}"),
        ));
    }
    let told = json!({ "session": session, "messages": messages });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let title = session.title.as_deref().unwrap_or("untitled");
    let head = StyledText::new().strong(title.to_owned());
    let when = ago(&session.updated_at, app.now);
    screen.line(head.dim(format!("  {} · {} · {when}", session.person, session.project)))?;
    if session.redacted > 0 {
        let messages = plural(session.redacted, "message", "messages");
        screen.note(format!("secrets were removed from {messages}"))?;
    }
    let extent = match message {
        Some(_) => MessageExtent::Whole,
        None => MessageExtent::Beginning,
    };
    for one in &messages {
        screen.lines(message::message(one, extent, screen.look, app.now))?;
    }
    Ok(())
}

/// Finds a shared session by its id, or by a unique prefix or suffix of it.
async fn find(client: &Client, id: &str) -> Result<api::TeamSession, CliFailure> {
    if let Ok(id) = Uuid::parse_str(id) {
        return Ok(client.team_session(id).await?);
    }
    let mut page = api::PageQuery { limit: Some(PAGE), cursor: None };
    let mut all: Vec<api::TeamSession> = Vec::new();
    loop {
        let listed = client.team_sessions(&api::TeamHistoryScope::default(), &page).await?;
        all.extend(listed.sessions);
        page.cursor = listed.next_cursor;
        if page.cursor.is_none() {
            return one_of(id, "shared session", all, |session| session.id);
        }
    }
}

async fn set_member(app: &mut CliApp, client: &Client, request: api::SetTeamMember) -> Done {
    let history = client.set_team_member(&request).await?;
    let Some(screen) = app.screen.unless_json(&history)? else { return Ok(()) };
    let api::SetTeamMember { project, person, role } = request;
    let told = match role {
        Some(role) => format!("{person} is now {} of {project}", article(role)),
        None => format!("{person} cannot read {project} any more"),
    };
    Ok(screen.line(told)?)
}

fn role_of(history: &api::TeamHistory, project: &str, person: &str) -> Option<api::TeamRole> {
    let project = history.projects.iter().find(|one| one.name == project)?;
    project.members.iter().find(|member| member.person == person).map(|member| member.role)
}

fn article(role: api::TeamRole) -> &'static str {
    match role {
        api::TeamRole::Reader => "a reader",
        api::TeamRole::Contributor => "a contributor",
        api::TeamRole::Admin => "an admin",
    }
}

/// Returns the team project: the given one, or the one that this directory is shared with, or the only one.
fn project_here(
    app: &CliApp,
    history: &api::TeamHistory,
    given: Option<String>,
) -> Result<String, CliFailure> {
    if let Some(given) = given {
        return Ok(given);
    }
    if let Some(shared) = shared_here(app, &history.shared) {
        return Ok(shared.project.clone());
    }
    match &history.projects[..] {
        [only] => Ok(only.name.clone()),
        projects => {
            let names: Vec<_> = projects.iter().map(|project| project.name.as_str()).collect();
            let hint = match names.is_empty() {
                true => "`bethink team history on` shares this directory".to_owned(),
                false => {
                    format!("name the team project with `--team-project`: {}", names.join(", "))
                }
            };
            Err(CliFailure::hinted("this directory is not shared with a team project", hint))
        }
    }
}

/// Returns the nearest directory that is shared: this one, or one above it.
fn shared_here<'a>(
    app: &CliApp,
    shared: &'a [api::SharedDirectory],
) -> Option<&'a api::SharedDirectory> {
    let find = |dir: &Path| shared.iter().find(|one| Path::new(&one.project_dir) == dir);
    app.project.ancestors().find_map(find)
}
