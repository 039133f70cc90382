//! `bethink notes …`: what a session keeps of itself, to read and to edit.

use std::path::Path;

use bethink_api::Session;
use bethink_client::{Client, ClientError};
use serde_json::json;

use super::Done;
use super::editor;
use crate::app::App;
use crate::args::NotesCommand;
use crate::failure::Failure;
use crate::screen::text::paragraphs;
use crate::screen::{Text, Tone};

/// The slug of a refusal because of `If-Match`.
const STALE: &str = "stale";

pub(crate) async fn run(app: &mut App, command: NotesCommand) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    match command {
        NotesCommand::Show => show(app, &client, &session).await,
        NotesCommand::Edit => edit(app, &client, &session).await,
        NotesCommand::Update => update(app, &client, &session).await,
    }
}

async fn show(app: &mut App, client: &Client, session: &Session) -> Done {
    let notes = client.notes(session.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&json!({
            "session_id": session.id, "text": notes.text, "etag": notes.etag,
            "through_seq": notes.through_seq, "faults": notes.faults,
        }))?);
    }
    let text = notes.text.trim_end();
    match app.screen.look.live {
        true => app.screen.block(paragraphs(text, app.screen.look.width))?,
        false => app.screen.block(text.to_owned())?,
    }
    for fault in &notes.faults {
        let text = Text::new().put(Tone::Warn, "the default is used: ").plain(fault.clone());
        app.screen.note(text)?;
    }
    if notes.through_seq == 0 {
        app.screen.note("nothing is noted yet; bethink notes update does it now")?;
    } else if notes.through_seq < session.last_seq {
        let behind = session.last_seq - notes.through_seq;
        app.screen.note(Text::new().dim(format!("{behind} messages came since")))?;
    }
    Ok(())
}

async fn update(app: &mut App, client: &Client, session: &Session) -> Done {
    let done = client.update_notes(session.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&done)?);
    }
    let told = format!("noted through message {}, {} bytes", done.through_seq, done.bytes);
    Ok(app.screen.note(told)?)
}

/// The person's text is never lost: what can't be put stays in its file, and the file is named.
async fn edit(app: &mut App, client: &Client, session: &Session) -> Done {
    editor::check()?;
    let notes = client.notes(session.id).await?;
    let (draft, text) = editor::edited(app, &format!("notes-{}", session.id), &notes.text)?;
    if text == notes.text {
        draft.discard();
        return Ok(app.screen.note("nothing was changed")?);
    }
    match client.put_notes(session.id, text, Some(&notes.etag)).await {
        Ok(()) => {
            draft.discard();
            Ok(app.screen.note("the notes are changed; later updates respect it")?)
        }
        Err(error) => Err(kept(draft.file(), &error)),
    }
}

fn kept(file: &Path, error: &ClientError) -> Failure {
    let hint = match error.problem().is_some_and(|problem| problem.kind == STALE) {
        true => format!(
            "your text is kept in {}; look at the newer notes with bethink notes show and edit again",
            file.display()
        ),
        false => format!("your text is kept in {}", file.display()),
    };
    Failure::hinted(error.to_string(), hint)
}
