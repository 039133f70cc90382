//! `bethink notes …`: shows, edits and updates the notes of a session.

use bethink_api::{Session, Strategy};
use bethink_client::Client;
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, Tone};
use serde_json::json;

use super::compaction::with_model_steps;
use super::editor;
use crate::app::CliApp;
use crate::args::NotesCommand;
use crate::failure::Done;

/// Type of the problem if the notes have changed since they were read.
const STALE: &str = "stale";

pub(crate) async fn run(app: &mut CliApp, command: NotesCommand) -> Done {
    let client = app.client().await?;
    let session = match command {
        NotesCommand::Show => app.session(&client, None).await?,
        NotesCommand::Edit | NotesCommand::Update => app.session_to_change(&client, None).await?,
    };
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
    match screen.look.live {
        true => screen.prose(&without_descriptions(&notes.text))?,
        false => screen.prose(notes.text.trim_end())?,
    }
    for fault in &notes.faults {
        let text = StyledText::new().put(Tone::Warn, fault.clone()).plain("; using the default");
        screen.note(text)?;
    }
    if notes.through_seq == 0 && !has_statements(&notes.text) {
        screen.note("there are no notes yet; run `bethink notes update` to write them now")?;
    } else if notes.through_seq < session.last_seq {
        let behind = session.last_seq - notes.through_seq;
        let newer = plural(behind, "message is", "messages are");
        screen.hint(format!(
            "{newer} newer than these notes; run `bethink notes update` to update the notes"
        ))?;
    }
    Ok(())
}

/// Returns whether notes say something. Those that were never updated may still have a person's text.
fn has_statements(notes: &str) -> bool {
    without_descriptions(notes).lines().any(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the notes for a person: without the line in italics below each heading, which tells the writer what belongs
/// there.
pub(super) fn without_descriptions(notes: &str) -> String {
    let mut below_heading = false;
    let read = notes.trim_end().lines().filter(|line| {
        let is_description = below_heading && line.starts_with('_') && line.ends_with('_');
        below_heading = line.starts_with("# ");
        !is_description
    });
    read.collect::<Vec<_>>().join("\n")
}

async fn update(app: &mut CliApp, client: &Client, session: &Session) -> Done {
    let done = with_model_steps(app, client, session.id, client.update_notes(session.id)).await?;
    let Some(screen) = app.screen.unless_json(&done)? else { return Ok(()) };
    let by = match done.strategy {
        Strategy::Model => "",
        Strategy::Embedded => ", without a model",
    };
    let told =
        format!("updated the notes up to message {} ({} bytes){by}", done.through_seq, done.bytes);
    Ok(screen.note(told)?)
}

/// Edits the notes. If they cannot be saved, the text stays in its file, and the error names the file.
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
            Ok(app.screen.note("saved the notes; later updates keep your changes")?)
        }
        Err(error) => {
            let newer = "run `bethink notes show` to see the newer notes, then edit again";
            Err(draft.not_saved(&error, STALE, newer))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_hidden_and_italics_elsewhere_stay() {
        let notes = "# State\n_What is open._\n- _urgent_\n_mine_\n\n# Next\n";
        assert_eq!(without_descriptions(notes), "# State\n- _urgent_\n_mine_\n\n# Next");
    }

    #[test]
    fn a_template_says_nothing_until_a_person_adds_text() {
        let template = "# State\n_What is open._\n\n# Next\n_What comes next._\n";
        assert!(!has_statements(template));
        assert!(has_statements(&format!("{template}- Mend the tide job.\n")));
    }
}
