//! Topics added, edited and removed.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::Path;

use bethink_api::{MemoryWritten, Remember};
use bethink_client::memories::{Over, TopicRef};
use bethink_client::{Client, ClientError};

use super::{find, project, scope, topic};
use crate::app::App;
use crate::args::{AddMemory, OneMemory, RemoveMemories};
use crate::commands::{Done, editor};
use crate::draw::memory as draw;
use crate::failure::Failure;
use crate::screen::Text;

/// The slug of a refusal because the file is no longer what was read.
const CONFLICT: &str = "conflict";

pub(super) async fn add(app: &mut App, client: &Client, what: &AddMemory) -> Done {
    let given = match &what.from {
        Some(file) if file.as_os_str() == "-" => Some(stdin()?),
        Some(file) => Some(read(file)?),
        None if !std::io::stdin().is_terminal() => {
            Some(stdin()?).filter(|text| !text.trim().is_empty())
        }
        None => None,
    };
    match given {
        Some(text) => {
            let done = put_new(app, client, what, text).await?;
            told(app, &done)
        }
        None => added_in_editor(app, client, what).await,
    }
}

/// With front matter of its own as it is; else the daemon writes some.
async fn put_new(
    app: &App,
    client: &Client,
    what: &AddMemory,
    text: String,
) -> Result<MemoryWritten, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new("there is nothing in it to remember"));
    }
    let has_header = text.trim_start_matches('\u{feff}').trim_start().starts_with("---");
    if has_header && (what.kind.is_some() || what.description.is_some()) {
        let hint = "write type and description there, or leave --type and --description out";
        return Err(Failure::hinted("the text has front matter of its own", hint));
    }
    if has_header {
        let topic = topic(app, scope(&what.one.of), &what.one.name);
        return Ok(client.put_topic(&topic, text, &Over::Nothing).await?);
    }
    let new = Remember {
        project_dir: project(app),
        text,
        name: Some(what.one.name.clone()),
        description: what.description.clone(),
        kind: what.kind.clone(),
        scope: Some(scope(&what.one.of).to_owned()),
        session_id: None,
    };
    Ok(client.remember(&new).await?)
}

async fn added_in_editor(app: &mut App, client: &Client, what: &AddMemory) -> Done {
    let begun = format!(
        "---\nname: {}\ndescription: {}\ntype: {}\n---\n\n",
        what.one.name,
        what.description.as_deref().unwrap_or_default(),
        what.kind.as_deref().unwrap_or_default(),
    );
    let (draft, text) = editor::edited(app, &what.one.name, &begun)?;
    if text == begun || text.trim().is_empty() {
        draft.discard();
        return Ok(app.screen.note("nothing was written, so nothing is added")?);
    }
    let topic = topic(app, scope(&what.one.of), &what.one.name);
    match client.put_topic(&topic, text, &Over::Nothing).await {
        Ok(done) => {
            draft.discard();
            told(app, &done)
        }
        Err(error) => Err(kept(draft.file(), &topic, &error)),
    }
}

/// The person's text is never lost: what can't be put stays in its file, and the file is named.
pub(super) async fn edit(app: &mut App, client: &Client, what: &OneMemory) -> Done {
    editor::check()?;
    let (topic, before) = find(app, client, what).await?;
    let (draft, text) = editor::edited(app, &topic.name, &before.text)?;
    if text == before.text {
        draft.discard();
        return Ok(app.screen.note("nothing was changed")?);
    }
    match client.put_topic(&topic, text, &Over::Tag(before.etag)).await {
        Ok(done) => {
            draft.discard();
            told(app, &done)
        }
        Err(error) => Err(kept(draft.file(), &topic, &error)),
    }
}

fn kept(file: &Path, topic: &TopicRef, error: &ClientError) -> Failure {
    let file = file.display();
    let hint = match error.problem().is_some_and(|problem| problem.kind == CONFLICT) {
        true => format!(
            "your text is kept in {file}; bethink memory show {} shows the newer one, and edit \
             begins again from it",
            topic.name
        ),
        false => format!("your text is kept in {file}"),
    };
    Failure::hinted(error.to_string(), hint)
}

pub(super) async fn rm(app: &mut App, client: &Client, what: &RemoveMemories) -> Done {
    let mut removed = Vec::new();
    for name in &what.names {
        let one = OneMemory { name: name.clone(), of: what.of.clone() };
        let (topic, _) = find(app, client, &one).await?;
        let done = client.remove_topic(&topic).await?;
        if !app.screen.json {
            let back = format!("bethink memory restore {} brings it back", topic.name);
            app.screen.note(format!("removed {}; {back}", done.path))?;
            draw::warnings(&mut app.screen, &done.warnings)?;
        }
        removed.push(done);
    }
    if app.screen.json {
        app.screen.value(&serde_json::json!({ "removed": removed }))?;
    }
    Ok(())
}

/// What came of a write: where it went, and what its writer should know.
pub(in crate::commands) fn told(app: &mut App, done: &MemoryWritten) -> Done {
    let verb = match done.outcome.as_str() {
        "created" => "remembered as",
        _ => "changed",
    };
    told_as(app, done, verb)
}

pub(super) fn told_as(app: &mut App, done: &MemoryWritten, verb: &str) -> Done {
    if app.screen.json {
        return Ok(app.screen.value(done)?);
    }
    match done.outcome.as_str() {
        "same" => app.screen.note(format!("{} says that already", done.path))?,
        _ if app.screen.quiet => app.screen.line(done.name.clone())?,
        _ => {
            app.screen.line(draw::written(verb, done))?;
            app.screen.note(Text::new().dim(done.path.clone()))?;
        }
    }
    draw::warnings(&mut app.screen, &done.warnings)
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::file("read", file, &error))
}

fn stdin() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::file("read", Path::new("stdin"), &error))?;
    Ok(text)
}
