//! `bethink memory …`: the project's topics.

mod archive;
mod candidates;
mod care;
mod learned;
mod named;
mod tar;
mod transcripts;
mod warn;
mod write;

use bethink_api::{MemoriesPage, MemoryKind, MemorySearch, ScopeQuery};
use bethink_client::Client;
use bethink_terminal::words::plural;
use serde_json::json;

use crate::app::CliApp;
use crate::args::{MemoryCommand, OfTeam, OneMemory};
use crate::failure::{Done, text_of};
use bethink_render::memory as render;

use named::{all, find, flag, known, named_scope, scope};
use warn::warn;
pub(super) use write::remember;
use write::show_as;

/// Maximum number of hits that the daemon returns.
const MAX_HITS: u64 = 200;

pub(crate) async fn run(app: &mut CliApp, command: MemoryCommand) -> Done {
    if let MemoryCommand::Extract { paths, .. } = &command
        && !paths.is_empty()
    {
        return transcripts::extract_from(app, paths);
    }
    let client = app.client().await?;
    match command {
        MemoryCommand::Ls { of, kind } => ls(app, &client, &of, kind).await,
        MemoryCommand::Show { one, version } => show(app, &client, &one, version).await,
        MemoryCommand::Add(what) => write::add(app, &client, &what).await,
        MemoryCommand::Edit { one, allow } => write::edit(app, &client, &one, &allow).await,
        MemoryCommand::Rm { names, of } => write::rm(app, &client, names, &of).await,
        MemoryCommand::Search { query, of, limit } => {
            search(app, &client, &text_of(&query, "query")?, &of, limit).await
        }
        MemoryCommand::Export { to, of } => archive::export(app, &client, &to, &of).await,
        MemoryCommand::Import { from, of } => archive::import(app, &client, &from, &of).await,
        MemoryCommand::Share { name } => write::share(app, &client, name).await,
        MemoryCommand::Index(of) => index(app, &client, &of).await,
        MemoryCommand::History(what) => history(app, &client, &what).await,
        MemoryCommand::Restore { one, version } => restore(app, &client, &one, version).await,
        MemoryCommand::Lint(of) => care::lint(app, &client, &of).await,
        MemoryCommand::Rebuild { of, dry_run } => care::rebuild(app, &client, &of, dry_run).await,
        MemoryCommand::Candidates(what) => candidates::run(app, &client, what).await,
        MemoryCommand::Mv { name, me } => write::mv(app, &client, &name, me).await,
        MemoryCommand::Extract { from_start, dry_run, .. } => {
            learned::extract(app, &client, from_start, dry_run).await
        }
        MemoryCommand::Forget { which, dry_run } => {
            learned::forget(app, &client, &which, dry_run).await
        }
    }
}

async fn ls(app: &mut CliApp, client: &Client, of: &OfTeam, kind: Option<MemoryKind>) -> Done {
    let scope = named_scope(of.team, of.me);
    let mut memories = all(client, app.project_dir(), scope).await?;
    memories.retain(|memory| kind.is_none() || memory.kind == kind);
    if app.screen.json {
        let page = MemoriesPage { memories, next_cursor: None };
        return Ok(app.screen.value(&page)?);
    }
    if app.screen.quiet {
        let names = memories.into_iter().map(|memory| memory.name.into());
        return Ok(app.screen.lines(names)?);
    }
    if memories.is_empty() {
        let told = match kind.is_some() {
            true => "there are no topics of this type".to_owned(),
            false => {
                let flag = scope.map_or("", flag);
                format!(
                    "nothing is remembered yet; run `bethink remember{flag} TEXT` to add something"
                )
            }
        };
        return Ok(app.screen.note(told)?);
    }
    app.screen.lines(render::list(&memories, app.screen.look.width, app.now))?;
    let topics = plural(memories.len() as u64, "topic", "topics");
    Ok(app.screen.hint(format!("{topics}; `bethink memory show NAME` shows a topic"))?)
}

async fn show(app: &mut CliApp, client: &Client, one: &OneMemory, version: Option<i64>) -> Done {
    let (topic, text) = match version {
        None => find(app, client, one).await?,
        Some(version) => {
            let topic = known(app, client, one).await;
            let text = client.topic_version(&topic, version).await?;
            (topic, text)
        }
    };
    let told = json!({
        "scope": topic.scope, "name": topic.name, "etag": text.etag.trim_matches('"'),
        "text": text.text,
    });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.prose(text.text.trim_end_matches('\n'))?;
    if version.is_some() {
        let told = format!(
            "to restore a version, run `bethink memory restore {}{} --version N`",
            topic.name,
            flag(topic.scope)
        );
        screen.hint(told)?;
    }
    Ok(())
}

async fn search(
    app: &mut CliApp,
    client: &Client,
    query: &str,
    of: &OfTeam,
    limit: Option<u64>,
) -> Done {
    let query = MemorySearch {
        project_dir: app.project_dir(),
        q: query.to_owned(),
        scope: named_scope(of.team, of.me),
        limit: limit.and_then(|limit| usize::try_from(limit).ok()),
    };
    let found = client.search_memories(&query).await?;
    let Some(screen) = app.screen.unless_json(&found)? else { return Ok(()) };
    if screen.quiet {
        let names = found.hits.into_iter().map(|hit| hit.name.into());
        return Ok(screen.lines(names)?);
    }
    let width = screen.look.width;
    screen.lines(found.hits.iter().flat_map(|hit| render::hit(hit, width)))?;
    let topics = plural(found.searched, "topic", "topics");
    let shown = found.hits.len() as u64;
    Ok(screen.hint(match found.total {
        0 => format!("no hits in {topics}"),
        total if shown < total && total <= MAX_HITS => {
            format!("{shown} of {total} hits in {topics}; `-n {total}` shows all")
        }
        total if shown < total => {
            format!("{shown} of {total} hits in {topics}; search for rarer words to see the others")
        }
        total => format!("{} in {topics}", plural(total, "hit", "hits")),
    })?)
}

async fn index(app: &mut CliApp, client: &Client, of: &OfTeam) -> Done {
    let query = ScopeQuery { project_dir: app.project_dir(), scope: Some(scope(of)) };
    let index = client.memory_index(&query).await?;
    let Some(screen) = app.screen.unless_json(&index)? else { return Ok(()) };
    if index.content.trim().is_empty() {
        return Ok(screen.note(format!("there is no index in {} yet", index.dir))?);
    }
    screen.prose(index.content.trim_end())?;
    let size = render::index_size(index.lines, index.bytes);
    let place = match index.cut_by {
        Some(cap) => format!(
            "{size}; too many {cap} for a prompt, so prompts contain only the beginning; stored in {}",
            index.dir
        ),
        None if (index.content.lines().count() as u64) < index.lines => format!(
            "{size}; prompts leave out topics that are suppressed, and those with a possible secret that nobody allowed; stored in {}",
            index.dir
        ),
        None => format!("{size}; prompts contain all of it; stored in {}", index.dir),
    };
    screen.hint(place)?;
    warn(screen, &index.warnings)
}

async fn history(app: &mut CliApp, client: &Client, what: &OneMemory) -> Done {
    let topic = known(app, client, what).await;
    let found = client.topic_history(&topic).await?;
    let Some(screen) = app.screen.unless_json(&found)? else { return Ok(()) };
    if found.versions.is_empty() {
        return Ok(screen.note("bethink has not changed this topic, so it has no versions")?);
    }
    screen.lines(render::versions(&found.versions, screen.look.width, app.now))?;
    if let Some(one) = found.versions.iter().find(|one| !one.current && one.bytes.is_some()) {
        let told = format!(
            "to see a version, run `bethink memory show {}{} --version {}`",
            topic.name,
            flag(topic.scope),
            one.version
        );
        screen.hint(told)?;
    }
    Ok(())
}

async fn restore(app: &mut CliApp, client: &Client, one: &OneMemory, version: Option<i64>) -> Done {
    let topic = known(app, client, one).await;
    show_as(app, &client.restore_topic(&topic, version).await?, "restored")
}
