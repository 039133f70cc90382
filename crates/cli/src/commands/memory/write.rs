//! Adds, edits, moves, shares and removes topics.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::Path;

use bethink_api::{MemoryKind, MemoryOutcome, MemoryScope, MemoryWritten, Remember, ShareMemory};
use bethink_client::Client;
use bethink_client::memories::{Over, TopicRef};

use super::named::{find, flag, named_scope, scope, topic};
use super::warn::warn;
use crate::app::CliApp;
use crate::args::{self, AddMemory, AllowSecret, OfTeam, OneMemory};
use crate::commands::editor::{self, EditorFile};
use crate::failure::{CliFailure, Done, text_of};
use bethink_render::memory as render;
use bethink_terminal::StyledText;

/// Type of the problem if the file has changed since it was read.
const CONFLICT: &str = "conflict";

/// Runs `bethink remember`.
pub(in crate::commands) async fn remember(app: &mut CliApp, what: args::RememberArgs) -> Done {
    let text = text_of(&what.text, "text")?;
    let client = app.client().await?;
    let request = Remember {
        project_dir: app.project_dir(),
        text,
        name: what.name,
        description: what.description,
        questions: what.questions.question,
        kind: what.kind,
        scope: named_scope(what.team, what.me),
        session_id: app.named_session(&client).await?,
        allow_secret: what.allow.allow_secret,
    };
    show(app, &client.remember(&request).await?)?;
    match what.team && !app.screen.json {
        true => Ok(app
            .screen
            .note("if the team uses git, run `bethink team sync` to share the memory")?),
        false => Ok(()),
    }
}

pub(super) async fn add(app: &mut CliApp, client: &Client, what: &AddMemory) -> Done {
    let given = match &what.from {
        Some(file) if file.as_os_str() == "-" => Some(stdin()?),
        Some(file) => {
            let read = fs::read_to_string(file);
            Some(read.map_err(|error| CliFailure::file("read", file, &error))?)
        }
        None if !std::io::stdin().is_terminal() => {
            Some(stdin()?).filter(|text| !text.trim().is_empty())
        }
        None => None,
    };
    match given {
        Some(text) => {
            let done = put_new(app, client, what, text).await?;
            show(app, &done)
        }
        None => added_in_editor(app, client, what).await,
    }
}

/// Stores text that has front matter unchanged. The daemon adds front matter to other text.
async fn put_new(
    app: &CliApp,
    client: &Client,
    what: &AddMemory,
    text: String,
) -> Result<MemoryWritten, CliFailure> {
    if text.trim().is_empty() {
        return Err(CliFailure::new("the text is empty"));
    }
    let has_header = text.trim_start_matches('\u{feff}').trim_start().starts_with("---");
    let is_described = what.description.is_some() || !what.questions.question.is_empty();
    if has_header && (what.kind.is_some() || is_described) {
        let hint = "set these fields in the front matter, or leave out `--type`, `--description` and `--question`";
        return Err(CliFailure::hinted("the text already has front matter", hint));
    }
    if has_header {
        let topic = topic(app, scope(&what.one.of), &what.one.name);
        return Ok(client
            .put_topic(&topic, text, &Over::Nothing, &what.allow.allow_secret)
            .await?);
    }
    let new = Remember {
        project_dir: app.project_dir(),
        text,
        name: Some(what.one.name.clone()),
        description: what.description.clone(),
        questions: what.questions.question.clone(),
        kind: what.kind,
        scope: Some(scope(&what.one.of)),
        session_id: None,
        allow_secret: what.allow.allow_secret.clone(),
    };
    Ok(client.remember(&new).await?)
}

async fn added_in_editor(app: &mut CliApp, client: &Client, what: &AddMemory) -> Done {
    let begun = format!(
        "---\nname: {}\ndescription: {}\ntype: {}\n---\n\n",
        what.one.name,
        what.description.as_deref().unwrap_or_default(),
        what.kind.map_or("", MemoryKind::as_str),
    );
    let (draft, text) = editor::edited(app, &what.one.name, &begun)?;
    if text == begun || text.trim().is_empty() {
        draft.discard();
        return Ok(app.screen.note("no text entered; nothing was added")?);
    }
    let topic = topic(app, scope(&what.one.of), &what.one.name);
    put(app, client, &topic, (draft, text), &Over::Nothing, &what.allow).await
}

pub(super) async fn edit(
    app: &mut CliApp,
    client: &Client,
    what: &OneMemory,
    allow: &AllowSecret,
) -> Done {
    editor::check()?;
    let (topic, before) = find(app, client, what).await?;
    let (draft, text) = editor::edited(app, &topic.name, &before.text)?;
    // A finding can be allowed without changing the text.
    if text == before.text && allow.allow_secret.is_empty() {
        draft.discard();
        return Ok(app.screen.note("nothing was changed")?);
    }
    put(app, client, &topic, (draft, text), &Over::Tag(before.etag), allow).await
}

/// Saves edited text. If that fails, the text stays in its file, and the error names the file.
async fn put(
    app: &mut CliApp,
    client: &Client,
    topic: &TopicRef,
    (draft, text): (EditorFile, String),
    over: &Over,
    allow: &AllowSecret,
) -> Done {
    match client.put_topic(topic, text, over, &allow.allow_secret).await {
        Ok(done) => {
            draft.discard();
            show(app, &done)
        }
        Err(error) => {
            let newer = format!("run `bethink memory show {}{}`", topic.name, flag(topic.scope));
            let newer = format!("{newer} to see the newer version");
            Err(draft.not_saved(&error, CONFLICT, &format!("{newer}, then edit again")))
        }
    }
}

pub(super) async fn rm(app: &mut CliApp, client: &Client, names: Vec<String>, of: &OfTeam) -> Done {
    let mut removed = Vec::new();
    for name in names {
        let (topic, _) = find(app, client, &OneMemory { name, of: of.clone() }).await?;
        let done = client.remove_topic(&topic).await?;
        if !app.screen.json {
            let flag = flag(topic.scope);
            let back = format!("run `bethink memory restore {}{flag}` to restore it", topic.name);
            app.screen.note(format!("removed {}; {back}", done.path))?;
            warn(&mut app.screen, &done.warnings)?;
        }
        removed.push(done);
    }
    if app.screen.json {
        app.screen.value(&serde_json::json!({ "removed": removed }))?;
    }
    Ok(())
}

/// Runs `bethink memory share`.
pub(super) async fn share(app: &mut CliApp, client: &Client, name: String) -> Done {
    let request = ShareMemory { project_dir: app.project_dir(), name };
    let told = client.share(&request).await?;
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.line(StyledText::from("proposed ").strong(told.proposal.name))?;
    let id = bethink_render::short_ids(&[told.proposal.id]).pop().unwrap_or_default();
    Ok(screen.note(format!(
        "run `bethink team approve {id}` to add it to the team's memory and remove the private topic"
    ))?)
}

/// Moves a topic between the person's memory and the project's. The copy is written before the original is removed, so
/// a crash cannot lose it.
pub(super) async fn mv(app: &mut CliApp, client: &Client, name: &str, me: bool) -> Done {
    let (from, to) = match me {
        true => (MemoryScope::Private, MemoryScope::Person),
        false => (MemoryScope::Person, MemoryScope::Private),
    };
    let (from, to) = (topic(app, from, name), topic(app, to, name));
    let text = client.topic(&from).await?.text;
    let done = client.put_topic(&to, text, &Over::Nothing, &[]).await?;
    client.remove_topic(&from).await?;
    show_as(app, &done, "moved to")
}

fn show(app: &mut CliApp, done: &MemoryWritten) -> Done {
    let verb = match done.outcome {
        MemoryOutcome::Created => "remembered as",
        _ => "changed",
    };
    show_as(app, done, verb)
}

pub(super) fn show_as(app: &mut CliApp, done: &MemoryWritten, verb: &str) -> Done {
    let Some(screen) = app.screen.unless_json(done)? else { return Ok(()) };
    match done.outcome {
        MemoryOutcome::Same => screen.note(format!("{} already says that", done.path))?,
        _ if screen.quiet => screen.line(done.name.clone())?,
        _ => {
            screen.line(render::written(verb, done))?;
            screen.hint(done.path.clone())?;
        }
    }
    warn(screen, &done.warnings)
}

fn stdin() -> Result<String, CliFailure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| CliFailure::file("read", Path::new("stdin"), &error))?;
    Ok(text)
}
