//! `bethink memory …`: what the project remembers, file by file.

mod care;
mod learnt;
mod past;
mod write;

use bethink_api::{MemoriesPage, Memory};
use bethink_client::memories::{TopicRef, TopicText};
use bethink_client::{Client, ClientError};
use serde_json::json;

use super::Done;
use crate::app::App;
use crate::args::{ListMemories, MemoryCommand, OfTeam, OneMemory, ShowMemory};
use crate::draw::memory as draw;
use crate::failure::Failure;
use crate::screen::Text;
use crate::screen::text::paragraphs;
use crate::screen::words::{bytes, count, plural};

pub(super) use write::told;

pub(super) const PRIVATE: &str = "private";
pub(super) const TEAM: &str = "team";
/// The slug of a refusal because there is no such topic.
const NOT_FOUND: &str = "not_found";

pub(crate) async fn run(app: &mut App, command: MemoryCommand) -> Done {
    let client = app.client().await?;
    match command {
        MemoryCommand::Ls(what) => ls(app, &client, &what).await,
        MemoryCommand::Show(what) => show(app, &client, &what).await,
        MemoryCommand::Add(what) => write::add(app, &client, &what).await,
        MemoryCommand::Edit(what) => write::edit(app, &client, &what).await,
        MemoryCommand::Rm(what) => write::rm(app, &client, &what).await,
        MemoryCommand::Index(of) => index(app, &client, &of).await,
        MemoryCommand::History(what) => past::history(app, &client, &what).await,
        MemoryCommand::Restore(what) => past::restore(app, &client, &what).await,
        MemoryCommand::Lint(of) => care::lint(app, &client, &of).await,
        MemoryCommand::Rebuild(how) => care::rebuild(app, &client, &how).await,
        MemoryCommand::Extract(how) => learnt::extract(app, &client, &how).await,
        MemoryCommand::Forget(what) => learnt::forget(app, &client, &what).await,
    }
}

async fn ls(app: &mut App, client: &Client, what: &ListMemories) -> Done {
    let scope = what.of.team.then_some(TEAM);
    let mut memories = all(client, &project(app), scope).await?;
    memories.retain(|memory| what.kind.is_none() || memory.kind == what.kind);
    if app.screen.json {
        let page = MemoriesPage { memories, next_cursor: None };
        return Ok(app.screen.value(&page)?);
    }
    if app.screen.quiet {
        let names = memories.into_iter().map(|memory| memory.name.into());
        return Ok(app.screen.lines(names)?);
    }
    if memories.is_empty() {
        let told = match what.kind.is_some() {
            true => "no topic has this type",
            false => "nothing is remembered yet; bethink remember TEXT begins it",
        };
        return Ok(app.screen.note(told)?);
    }
    let lines = draw::list(&memories, app.screen.look.width, app.now);
    app.screen.lines(lines)?;
    let topics = plural(memories.len() as u64, "topic", "topics");
    Ok(app.screen.note(Text::new().dim(format!("{topics}; bethink memory show NAME shows one")))?)
}

/// All pages.
async fn all(
    client: &Client,
    project_dir: &str,
    scope: Option<&str>,
) -> Result<Vec<Memory>, Failure> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = client.memories(project_dir, scope, cursor.as_deref()).await?;
        all.extend(page.memories);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn show(app: &mut App, client: &Client, what: &ShowMemory) -> Done {
    let (topic, text) = match what.version {
        None => find(app, client, &what.one).await?,
        Some(version) => {
            let topic = known(app, client, &what.one).await?;
            let text = client.topic_version(&topic, version).await?;
            (topic, text)
        }
    };
    if app.screen.json {
        return Ok(app.screen.value(&json!({
            "scope": topic.scope, "name": topic.name, "etag": text.etag.trim_matches('"'),
            "text": text.text,
        }))?);
    }
    block(app, text.text.trim_end_matches('\n'))?;
    if what.version.is_some() {
        let told = format!("bethink memory restore {} --version N puts one back", topic.name);
        app.screen.note(Text::new().dim(told))?;
    }
    Ok(())
}

async fn index(app: &mut App, client: &Client, of: &OfTeam) -> Done {
    let index = client.memory_index(&project(app), scope(of)).await?;
    if app.screen.json {
        return Ok(app.screen.value(&index)?);
    }
    if index.content.trim().is_empty() {
        return Ok(app.screen.note(format!("no index yet in {}", index.dir))?);
    }
    block(app, index.content.trim_end())?;
    let size = format!("{} lines, {}", count(index.lines), bytes(index.bytes));
    let place = match index.cut_by.as_deref() {
        Some(cap) => format!("{size}, cut by the cap on {cap}; in {}", index.dir),
        None => format!("{size}, all of it in the prompt; in {}", index.dir),
    };
    app.screen.note(Text::new().dim(place))?;
    draw::warnings(&mut app.screen, &index.warnings)
}

/// As it is for another program; for a reader broken between words.
pub(super) fn block(app: &mut App, text: &str) -> Done {
    match app.screen.look.live {
        true => app.screen.block(paragraphs(text, app.screen.look.width))?,
        false => app.screen.block(text.to_owned())?,
    }
    Ok(())
}

pub(super) fn project(app: &App) -> String {
    app.project.display().to_string()
}

pub(super) fn scope(of: &OfTeam) -> &'static str {
    if of.team { TEAM } else { PRIVATE }
}

fn topic(app: &App, scope: &str, name: &str) -> TopicRef {
    TopicRef { project_dir: project(app), scope: scope.to_owned(), name: name.to_owned() }
}

/// A topic by its name: one's own before the team's, unless the team's is asked for.
async fn find(
    app: &App,
    client: &Client,
    one: &OneMemory,
) -> Result<(TopicRef, TopicText), Failure> {
    let own = topic(app, scope(&one.of), &one.name);
    let missing = match client.topic(&own).await {
        Ok(text) => return Ok((own, text)),
        Err(error) => error,
    };
    if one.of.team || !is_missing(&missing) {
        return Err(missing.into());
    }
    let shared = topic(app, TEAM, &one.name);
    match client.topic(&shared).await {
        Ok(text) => Ok((shared, text)),
        Err(error) if is_missing(&error) => Err(unknown(app, client, &one.name).await?),
        Err(error) => Err(error.into()),
    }
}

/// The same for a topic that may be gone: its versions are still there.
async fn known(app: &App, client: &Client, one: &OneMemory) -> Result<TopicRef, Failure> {
    match find(app, client, one).await {
        Ok((topic, _)) => Ok(topic),
        Err(_) => Ok(topic(app, scope(&one.of), &one.name)),
    }
}

fn is_missing(error: &ClientError) -> bool {
    error.problem().is_some_and(|problem| problem.kind == NOT_FOUND)
}

/// With the names that are like it.
async fn unknown(app: &App, client: &Client, name: &str) -> Result<Failure, Failure> {
    let wanted = name.trim_end_matches(".md").to_lowercase();
    let names = all(client, &project(app), None).await?;
    let like = |memory: &&Memory| {
        let known = memory.name.to_lowercase();
        known.contains(&wanted) || wanted.contains(&known)
    };
    let names: Vec<_> = names.iter().filter(like).map(|memory| memory.name.clone()).collect();
    let hint = match names.as_slice() {
        [] => "bethink memory ls lists the topics".to_owned(),
        some => format!("did you mean {}?", some[..some.len().min(3)].join(", ")),
    };
    Ok(Failure::hinted(format!("no topic is called {name:?}"), hint))
}
