//! `bethink replay`: replays a recorded session turn by turn, and reports prompt sizes, compactions and faults.

use bethink_api::REPLAY_TAG;
use bethink_replay::{Player, Recording, ReplayPlan, question};
use bethink_terminal::ProgressLine;
use bethink_terminal::words::plural;
use bytes::Bytes;

use super::played::Played;
use crate::app::CliApp;
use crate::args::Replay;
use crate::failure::{CliFailure, Done};

pub(crate) async fn replay(app: &mut CliApp, how: &Replay) -> Done {
    let file =
        std::fs::read(&how.file).map_err(|error| CliFailure::file("read", &how.file, &error))?;
    let recording = Recording::read(Bytes::from(file));
    if recording.messages.is_empty() {
        return Err(CliFailure::hinted(
            format!("{} contains no conversation", how.file.display()),
            "use a Claude Code session file: one JSON record per line",
        ));
    }
    let client = app.client().await?;
    let title = how.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let label = how.file.file_stem().unwrap_or_default().to_string_lossy();
    let progress = ProgressLine::new(&app.screen, &label);
    let plan = ReplayPlan {
        project_dir: app.project_dir(),
        title,
        tags: vec![REPLAY_TAG.to_owned()],
        window: how.window,
        max_output: how.max_output,
        every: how.every,
    };
    let mut drive = Player::begin(&client, &recording, plan).await?;
    let (mut turns, mut compactions) = (0, 0);
    while let Some(step) = drive.step().await? {
        if let Some(report) = &step.report {
            turns += 1;
            compactions += u64::from(report.compacted.is_some());
            progress.say(&so_far(turns, compactions));
        }
        progress.at(step.done as u64, recording.messages.len() as u64);
    }
    let question = if app.screen.is_terse() { None } else { question(&recording) };
    let played = Played::look(&client, drive, question).await?;
    drop(progress);
    show(app, &played, how.window)?;
    match played.outcome.invalid_prompts + played.outcome.overruns {
        0 => Ok(()),
        _ => Err(CliFailure::Printed),
    }
}

fn so_far(turns: u64, compactions: u64) -> String {
    let turns = plural(turns, "turn", "turns");
    match compactions {
        0 => turns,
        n => format!("{turns}, {}", plural(n, "compaction", "compactions")),
    }
}

fn show(app: &mut CliApp, played: &Played, window: u64) -> Done {
    let id = played.outcome.session_id;
    let Some(screen) = app.screen.unless_json(&played.outcome)? else { return Ok(()) };
    if screen.quiet {
        return Ok(screen.line(id.to_string())?);
    }
    played.show_notes(screen)?;
    played.show_summary(screen)?;
    played.show_found(screen)?;
    played.show_figures(screen, window)?;
    screen.hint(format!(
        "\n the session is kept as {id}\n `bethink context --session {id}` shows its window\n `bethink session rm {id}` deletes it"
    ))?;
    Ok(())
}
