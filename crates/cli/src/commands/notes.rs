//! `bethink notes …`: what a session keeps of itself, to read and to edit.

use bethink_api::Session;
use bethink_client::Client;
use bethink_terminal::{StyledText, Tone};
use serde_json::json;

use super::editor;
use crate::app::CliApp;
use crate::args::NotesCommand;
use crate::failure::Done;

/// The slug of a refusal because of `If-Match`.
const STALE: &str = "stale";

pub(crate) async fn run(app: &mut CliApp, command: NotesCommand) -> Done {
    let (client, session) = app.client_and_session(None).await?;
    match command {
        NotesCommand::Show => show(app, &client, &session).await,
        NotesCommand::Edit => edit(app, &client, &session).await,
        NotesCommand::Update => update(app, &client, &session).await,
    }
}

async fn show(app: &mut CliApp, client: &Client, session: &Session) -> Done {
    let notes = client.notes(session.id).await?;
    let told = json!({
        "session_id": session.id, "text": notes.text, "etag": notes.etag,
        "through_seq": notes.through_seq, "faults": notes.faults,
    });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.prose(notes.text.trim_end())?;
    for fault in &notes.faults {
        let text = StyledText::new().put(Tone::Warn, "the default is used: ").plain(fault.clone());
        screen.note(text)?;
    }
    if notes.through_seq == 0 {
        screen.note("nothing is noted yet; bethink notes update does it now")?;
    } else if notes.through_seq < session.last_seq {
        let behind = session.last_seq - notes.through_seq;
        screen.hint(format!("{behind} messages came since"))?;
    }
    Ok(())
}

async fn update(app: &mut CliApp, client: &Client, session: &Session) -> Done {
    let done = client.update_notes(session.id).await?;
    let Some(screen) = app.screen.unless_json(&done)? else { return Ok(()) };
    let told = format!("noted through message {}, {} bytes", done.through_seq, done.bytes);
    Ok(screen.note(told)?)
}

/// The person's text is never lost: what can't be put stays in its file, and the file is named.
async fn edit(app: &mut CliApp, client: &Client, session: &Session) -> Done {
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
        Err(error) => {
            let newer = "look at the newer notes with bethink notes show and edit again";
            Err(draft.kept(&error, STALE, newer))
        }
    }
}
