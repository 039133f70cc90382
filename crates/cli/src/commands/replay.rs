//! `bethink replay`: plays a recorded session through the daemon and measures.

use bytes::Bytes;

use super::Done;
use crate::app::App;
use crate::args::Replay;
use crate::drive::{Drive, Outcome, Plan};
use crate::failure::Failure;
use crate::recording::Recording;
use crate::screen::progress::Progress;
use crate::screen::words::{count, plural, span};
use crate::screen::{Align, Table, Text, Tone};

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
    let progress = Progress::new(&app.screen, &title);
    let plan = Plan {
        project_dir: app.project.display().to_string(),
        title,
        window: how.window,
        max_output: how.max_output,
        every: how.every,
    };
    let mut drive = Drive::begin(&client, &recording, plan).await?;
    while let Some(step) = drive.step().await? {
        progress.at(step.done as u64, recording.messages.len() as u64);
    }
    drop(progress);
    let (outcome, _) = drive.end().await?;
    show(app, &outcome, how.window)?;
    match outcome.invalid_prompts + outcome.overruns {
        0 => Ok(()),
        _ => Err(Failure::Said),
    }
}

fn show(app: &mut App, outcome: &Outcome, window: u64) -> Done {
    if app.screen.json {
        return Ok(app.screen.value(outcome)?);
    }
    if app.screen.quiet {
        return Ok(app.screen.line(outcome.session_id.to_string())?);
    }
    let mut table = Table::new(&[("", Align::Left), ("", Align::Right), ("", Align::Left)]);
    let mut row = |name: &str, n: u64, tone: Tone, detail: String| {
        table.row(vec![
            Text::new().dim(name),
            Text::new().put(tone, count(n)),
            Text::new().dim(detail),
        ]);
    };
    let good = |n: u64| if n == 0 { Tone::Good } else { Tone::Bad };
    let o = outcome;
    let damaged = match o.damaged_lines {
        0 => String::new(),
        n => format!("{} could not be read", plural(n, "line", "lines")),
    };
    row("messages", o.messages, Tone::Plain, damaged);
    row("turns", o.turns, Tone::Plain, format!("in {}", took(o.wall_ms)));
    row("largest prompt", o.max_prompt_tokens, Tone::Plain, format!("tokens of {}", count(window)));
    row("over the window", o.overruns, good(o.overruns), String::new());
    row("invalid prompts", o.invalid_prompts, good(o.invalid_prompts), o.first_faults.join("; "));
    row("notes updates", o.notes_updates, Tone::Plain, String::new());
    row("compactions", o.compactions.len() as u64, Tone::Plain, String::new());
    for c in &o.compactions {
        let sizes = format!("{} → {}, {}", count(c.tokens_before), count(c.tokens_after), c.level);
        table.row(vec![
            "".into(),
            format!("{:.2}", c.fidelity).into(),
            Text::new().dim(format!("fidelity, {sizes}")),
        ]);
    }
    // the table has no head worth a line
    let lines: Vec<Text> = table.lines(app.screen.look.width).into_iter().skip(1).collect();
    app.screen.lines(lines)?;
    app.screen.note(Text::new().dim(format!(
        "the session is kept as {id}\nbethink context --session {id} shows its window, bethink session rm {id} deletes it",
        id = o.session_id
    )))?;
    Ok(())
}

fn took(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => span(ms / 1000),
    }
}
