//! `bethink notes …`: what a session keeps of itself, to read and to edit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use bethink_api::Session;
use bethink_client::{Client, ClientError};
use serde_json::json;

use super::Done;
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
    let editor = editor(|name| std::env::var(name).ok())?;
    let notes = client.notes(session.id).await?;
    let file = draft(&session.id.to_string(), &notes.text)?;
    let edited = open(&editor, &file).and_then(|()| {
        fs::read_to_string(&file).map_err(|error| Failure::file("read", &file, &error))
    });
    let text = match edited {
        Ok(text) => text,
        Err(failure) => {
            app.screen.note(format!("your text is in {}", file.display()))?;
            return Err(failure);
        }
    };
    if text == notes.text {
        discard(&file);
        return Ok(app.screen.note("nothing was changed")?);
    }
    match client.put_notes(session.id, text, Some(&notes.etag)).await {
        Ok(()) => {
            discard(&file);
            Ok(app.screen.note("the notes are changed; later updates respect it")?)
        }
        Err(error) => Err(kept(&file, &error)),
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

fn editor(env: impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        Failure::hinted(
            "no editor is set",
            "set VISUAL or EDITOR, such as EDITOR=vi, and try again",
        )
    })
}

/// A private file that outlives this program unless it is discarded.
fn draft(session: &str, text: &str) -> Result<PathBuf, Failure> {
    let name = format!("bethink-notes-{session}-");
    let made = tempfile::Builder::new().prefix(&name).suffix(".md").tempfile().and_then(|file| {
        fs::write(file.path(), text)?;
        file.into_temp_path().keep().map_err(|error| error.error)
    });
    made.map_err(|error: io::Error| Failure::file("write", &std::env::temp_dir(), &error))
}

/// The editor may be a command with arguments, so a shell takes it apart; the file is an argument of
/// its own and no part of the command.
fn open(editor: &str, file: &Path) -> Result<(), Failure> {
    let status = Command::new("sh")
        .args(["-c", &format!("exec {editor} \"$1\""), "sh"])
        .arg(file)
        .status()
        .map_err(|error| Failure::new(format!("we could not run {editor}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("{editor} ended with {status}; nothing was changed"))),
    }
}

fn discard(file: &Path) {
    // A leftover in the directory for temporary files harms nobody.
    let _left = fs::remove_file(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visual_comes_before_editor() {
        let check = |vars: &[(&str, &str)], expect: Option<&str>| {
            let env = |name: &str| {
                vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(editor(env).ok().as_deref(), expect, "{vars:?}");
        };
        check(&[("EDITOR", "ed"), ("VISUAL", "vi")], Some("vi"));
        check(&[("EDITOR", "ed -s"), ("VISUAL", " ")], Some("ed -s"));
        check(&[], None);
    }
}
