//! Finds a topic by the name that the user gives.

use bethink_api::{Memory, MemoryQuery, MemoryScope};
use bethink_client::memories::{TaggedText, TopicRef};
use bethink_client::{Client, ClientError};

use crate::app::CliApp;
use crate::args::{OfTeam, OneMemory};
use crate::failure::CliFailure;

/// Type of the problem if there is no such topic.
const NOT_FOUND: &str = "not_found";

pub(super) async fn all(
    client: &Client,
    project_dir: String,
    scope: Option<MemoryScope>,
) -> Result<Vec<Memory>, CliFailure> {
    let mut query = MemoryQuery { project_dir, scope, ..MemoryQuery::default() };
    let mut all = Vec::new();
    loop {
        let page = client.memories(&query).await?;
        all.extend(page.memories);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

pub(super) fn scope(of: &OfTeam) -> MemoryScope {
    named_scope(of.team, of.me).unwrap_or_default()
}

/// Returns the memory that `--team` or `--me` selects.
pub(super) fn named_scope(team: bool, me: bool) -> Option<MemoryScope> {
    match (team, me) {
        (true, _) => Some(MemoryScope::Team),
        (_, true) => Some(MemoryScope::Person),
        _ => None,
    }
}

/// Returns the option that selects a memory in a command, with a space in front.
pub(super) fn flag(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::Private => "",
        MemoryScope::Team => " --team",
        MemoryScope::Person => " --me",
    }
}

pub(super) fn topic(app: &CliApp, scope: MemoryScope, name: &str) -> TopicRef {
    TopicRef { project_dir: app.project_dir(), scope, name: name.to_owned() }
}

/// Returns the topic that a name refers to. `--team`, `--me` or a prefix `team/` selects the memory.
fn selected(app: &CliApp, one: &OneMemory) -> TopicRef {
    match one.name.strip_prefix("team/").filter(|_| named_scope(one.of.team, one.of.me).is_none()) {
        Some(name) => topic(app, MemoryScope::Team, name),
        None => topic(app, scope(&one.of), &one.name),
    }
}

/// Finds a topic by its name: first in the private memory, then in the person's and the team's; with `--team` or `--me`,
/// only there.
pub(super) async fn find(
    app: &CliApp,
    client: &Client,
    one: &OneMemory,
) -> Result<(TopicRef, TaggedText), CliFailure> {
    let own = selected(app, one);
    let missing = match client.topic(&own).await {
        Ok(text) => return Ok((own, text)),
        Err(error) => error,
    };
    if one.of.team || one.of.me || !is_missing(&missing) {
        return Err(missing.into());
    }
    for scope in [MemoryScope::Person, MemoryScope::Team] {
        let other = topic(app, scope, &one.name);
        match client.topic(&other).await {
            Ok(text) => return Ok((other, text)),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(unknown(app, client, &one.name).await?)
}

/// Finds a topic that may have been removed, because the versions of a removed topic still exist.
pub(super) async fn known(app: &CliApp, client: &Client, one: &OneMemory) -> TopicRef {
    let found = find(app, client, one).await;
    found.map_or_else(|_| selected(app, one), |(topic, _)| topic)
}

fn is_missing(error: &ClientError) -> bool {
    error.problem().is_some_and(|problem| problem.kind == NOT_FOUND)
}

/// Returns the error for an unknown name, with similar names as its hint.
async fn unknown(app: &CliApp, client: &Client, name: &str) -> Result<CliFailure, CliFailure> {
    let wanted = name.trim_end_matches(".md").to_lowercase();
    let names = all(client, app.project_dir(), None).await?;
    let like = |memory: &&Memory| {
        let known = memory.name.to_lowercase();
        known.contains(&wanted) || wanted.contains(&known)
    };
    let names: Vec<_> = names.iter().filter(like).map(|memory| memory.name.clone()).collect();
    let hint = match names.as_slice() {
        [] => "run `bethink memory ls` to list the topics".to_owned(),
        some => format!("did you mean {}?", some[..some.len().min(3)].join(", ")),
    };
    Ok(CliFailure::hinted(format!("there is no topic {name:?}"), hint))
}
