//! `bethink replay`: plays a recorded session through the daemon and measures.

use bytes::Bytes;

use super::Done;
use super::played::Played;
use crate::app::App;
use crate::args::Replay;
use crate::drive::{Drive, Plan};
use crate::failure::Failure;
use crate::question::question;
use crate::recording::Recording;
use crate::screen::Text;
use crate::screen::progress::Progress;
use crate::screen::words::plural;

pub(crate) async fn replay(app: &mut App, how: &Replay) -> Done {
    let file =
        std::fs::read(&how.file).map_err(|error| Failure::file("read", &how.file, &error))?;
    let recording = Recording::read(Bytes::from(file));
    if recording.messages.is_empty() {
        return Err(Failure::hinted(
            format!("{} holds no message of a main thread", how.file.display()),
            "a session file has one JSON record a line, as Claude Code writes them",
        ));
    }
    let client = app.client().await?;
    let title = how.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let label = how.file.file_stem().unwrap_or_default().to_string_lossy();
    let progress = Progress::new(&app.screen, &label);
    let plan = Plan {
        project_dir: app.project.display().to_string(),
        title,
        window: how.window,
        max_output: how.max_output,
        every: how.every,
    };
    let mut drive = Drive::begin(&client, &recording, plan).await?;
    let (mut turns, mut compactions) = (0, 0);
    while let Some(step) = drive.step().await? {
        if let Some(report) = &step.report {
            turns += 1;
            compactions += u64::from(report.compacted.is_some());
            progress.say(&so_far(turns, compactions));
        }
        progress.at(step.done as u64, recording.messages.len() as u64);
    }
    let told = !app.screen.json && !app.screen.quiet;
    let question = if told { question(&recording) } else { None };
    let played = Played::look(&client, drive, question).await?;
    drop(progress);
    show(app, &played, how.window)?;
    match played.outcome.invalid_prompts + played.outcome.overruns {
        0 => Ok(()),
        _ => Err(Failure::Said),
    }
}

fn so_far(turns: u64, compactions: u64) -> String {
    let turns = plural(turns, "turn", "turns");
    match compactions {
        0 => turns,
        n => format!("{turns}, {}", plural(n, "compaction", "compactions")),
    }
}

fn show(app: &mut App, played: &Played, window: u64) -> Done {
    let id = played.outcome.session_id;
    if app.screen.json {
        return Ok(app.screen.value(&played.outcome)?);
    }
    if app.screen.quiet {
        return Ok(app.screen.line(id.to_string())?);
    }
    played.show_notes(&mut app.screen)?;
    played.show_summary(&mut app.screen)?;
    played.show_found(&mut app.screen)?;
    played.show_figures(&mut app.screen, window)?;
    app.screen.note(Text::new().dim(format!(
        "\n the session is kept as {id}\n bethink context --session {id} shows its window\n bethink session rm {id} deletes it"
    )))?;
    Ok(())
}
