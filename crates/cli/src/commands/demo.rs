//! `bethink demo`: shows what bethink does, from start to finish.
//!
//! Replays a recorded session, which is part of the program, with a context window that is too small for it. The demo has its
//! own daemon and home directory, which it removes at the end, and sends the same requests that any agent sends.

use std::time::Duration;

use bethink_api::{Compaction, ContextReport};
use bethink_client::stop::stop;
use bethink_client::{Client, DaemonPlaces, Environment, Starter};
use bethink_replay::{Player, Recording, ReplayPlan, prose};
use bethink_terminal::words::{count, first_line};
use bethink_terminal::{Screen, StyledText, Tone};
use bytes::Bytes;
use tempfile::TempDir;

use super::played::Played;
use crate::app::{CliApp, starter};
use crate::args::Demo;
use crate::failure::{CliFailure, Done};
use bethink_render::{compaction, facts, window};

const SESSION: &[u8] = include_bytes!("../../assets/demo.jsonl");
const TITLE: &str = "tidepool: jobs that run twice";
/// A question that is answered early in the session, before the first boundary.
const QUESTION: &str = "why monotonic clock for lease expiry";
/// Maximum length of an answer, in tokens. The small window has no room for more.
const MAX_OUTPUT: u64 = 4_000;
/// How long the replay takes on a terminal.
const PLAY: Duration = Duration::from_millis(6_000);
/// How long a compaction stays on the screen before the next message.
const LOOK: Duration = Duration::from_millis(1_500);
const SUMMARY: usize = 14;
/// How many times the progress bar is printed if the output is not a terminal.
const STILLS: usize = 6;

pub(crate) async fn demo(app: &mut CliApp, how: &Demo) -> Done {
    let recording = Recording::read(Bytes::from_static(SESSION));
    let home = tempfile::Builder::new().prefix("bethink-demo-").tempdir().map_err(|error| {
        CliFailure::file("create a directory in", &std::env::temp_dir(), &error)
    })?;
    let places = DaemonPlaces::at(home.path().to_owned());
    introduce(app, &recording, how)?;
    start(app, &places).await?;
    let told = tokio::select! {
        told = tell(app, &places, &recording, how) => told,
        _ = tokio::signal::ctrl_c() => Err(CliFailure::new("interrupted")),
    };
    match told.is_ok() && how.keep {
        true => kept(app, home),
        false => tidy(app, &places, home, told).await,
    }
}

fn introduce(app: &mut CliApp, recording: &Recording, how: &Demo) -> Done {
    if app.screen.is_terse() {
        return Ok(());
    }
    let (messages, window) = (count(recording.messages.len() as u64), count(how.window));
    let what = format!(
        "Replaying a coding agent's session of {messages} messages in a context window of {window} tokens."
    );
    let safe = " The demo has its own daemon and home directory: your data is not touched, and no model is called.";
    app.screen.gap()?;
    app.screen.line(StyledText::from(" ").strong("bethink demo"))?;
    app.screen.flowing(format!(" {what}"), 1)?;
    app.screen.flowing(StyledText::new().dim(safe), 1)?;
    Ok(app.screen.gap()?)
}

async fn start(app: &CliApp, places: &DaemonPlaces) -> Done {
    let listen = Some("127.0.0.1:0".to_owned());
    let starter = Starter { listen, environment: Environment::Isolated, ..starter(&app.program)? };
    starter.start(places).await?;
    Ok(())
}

async fn tell(app: &mut CliApp, places: &DaemonPlaces, recording: &Recording, how: &Demo) -> Done {
    let client = Client::find(places).await?;
    let plan = ReplayPlan {
        project_dir: places.home.path().display().to_string(),
        title: TITLE.to_owned(),
        tags: Vec::new(),
        window: how.window,
        max_output: MAX_OUTPUT,
        every: 1,
    };
    let mut drive = Player::begin(&client, recording, plan).await?;
    let id = drive.session.id;
    let pace = PLAY / u32::try_from(recording.turns().max(1)).unwrap_or(u32::MAX);
    let still = recording.messages.len().div_ceil(STILLS);
    let (mut shown, mut last_still) = (0, 0);
    while let Some(step) = drive.step().await? {
        if let Some(said) = recording.messages.get(step.done - 1).and_then(prose) {
            person(&mut app.screen, step.done, &said)?;
        }
        let Some(report) = step.report else { continue };
        if report.compacted.is_some() {
            let all = client.compactions(id).await?.compactions;
            if let Some(fresh) = all.iter().find(|one| Some(one.id.to_string()) == report.compacted)
            {
                compacted(&mut app.screen, fresh, how.window, shown)?;
                shown += 1;
                pause(&app.screen, LOOK).await;
            }
        }
        let line = progress(&report, step.done, recording.messages.len(), &app.screen);
        if app.screen.look.live {
            app.screen.live(&line)?;
        } else if step.done >= last_still + still && !app.screen.is_terse() {
            last_still = step.done;
            app.screen.line(line)?;
        }
        pause(&app.screen, pace).await;
    }
    let played = Played::look(&client, drive, Some(QUESTION.to_owned())).await?;
    let found = played.found.as_ref().and_then(|found| found.hit.as_ref()).map(|hit| hit.seq);
    let told = serde_json::json!({
        "replay": played.outcome, "question": QUESTION, "boundary_seq": played.boundary(),
        "found_seq": found,
    });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    sum_up(screen, &played, how.window)
}

async fn pause(screen: &Screen, time: Duration) {
    if screen.look.live && !screen.is_terse() {
        tokio::time::sleep(time).await;
    }
}

fn person(screen: &mut Screen, number: usize, said: &str) -> Done {
    if screen.is_terse() {
        return Ok(());
    }
    let line = StyledText::new().dim(format!(" {number:>4}  ")).put(Tone::Accent, "you  ");
    Ok(screen.line(line.plain(first_line(said)).fitted(screen.look.width))?)
}

fn progress(report: &ContextReport, done: usize, all: usize, screen: &Screen) -> StyledText {
    let (tone, level) = facts::level(report.level);
    let width = screen.look.width.saturating_sub(48).clamp(12, 72);
    StyledText::new()
        .dim(format!(" {done:>4}/{all}  "))
        .then(window::bar(report, width, screen.look.colour))
        .plain(format!(" {:>6} / {} ", count(report.tokens), count(report.thresholds.window)))
        .put(tone, level)
}

fn compacted(screen: &mut Screen, one: &Compaction, window: u64, before: usize) -> Done {
    if screen.is_terse() {
        return Ok(());
    }
    let look = screen.look;
    if before > 0 {
        return show_later(screen, one, before);
    }
    screen.gap()?;
    let why = "  the window is nearly full: a summary replaces the older messages";
    screen.line(StyledText::from(" ").strong("Compaction 1").dim(why))?;
    screen.lines(compaction::panel(one, window, None, look))?;
    screen.lines(compaction::summary(one, SUMMARY, look))?;
    Ok(screen.gap()?)
}

/// Shows a later compaction on one line. The first one is shown in detail.
fn show_later(screen: &mut Screen, one: &Compaction, before: usize) -> Done {
    let last = count(one.covers.last_seq);
    let line = StyledText::from(" ")
        .strong(format!("Compaction {}", before + 1))
        .plain(format!("  {} → {}", count(one.tokens_before), count(one.tokens_after)))
        .dim(format!("  messages 1–{last} summarized, fidelity {:.2}", one.fidelity));
    Ok(screen.line(line.fitted(screen.look.width))?)
}

fn sum_up(screen: &mut Screen, played: &Played, window: u64) -> Done {
    if screen.quiet {
        return Ok(());
    }
    screen.gap()?;
    played.show_notes(screen)?;
    played.show_found(screen)?;
    played.show_figures(screen, window)?;
    screen.gap()?;
    screen.line(StyledText::from(" ").strong("Next"))?;
    for (command, why) in [
        ("bethink up", "starts your own daemon"),
        ("bethink import ~/.claude/projects/*/", "imports your Claude Code sessions"),
        ("bethink context", "shows what fills the newest session's window"),
    ] {
        screen.line(StyledText::from("  ").put(Tone::Accent, format!("{command:<38}")).dim(why))?;
    }
    Ok(screen.gap()?)
}

/// Keeps the home and the daemon, and says how to remove them.
fn kept(app: &mut CliApp, home: TempDir) -> Done {
    let home = home.keep();
    let shown = home.display();
    let there = StyledText::new().strong(" The demo's daemon and home are kept");
    app.screen.note(there.dim("  look around, then clean up:"))?;
    for command in [
        format!("export BETHINK_HOME={shown}"),
        "bethink context".to_owned(),
        "bethink compactions".to_owned(),
        format!("bethink down; rm -r {shown}; unset BETHINK_HOME"),
    ] {
        app.screen.note(StyledText::from("  ").put(Tone::Accent, command))?;
    }
    Ok(())
}

async fn tidy(app: &mut CliApp, places: &DaemonPlaces, home: TempDir, told: Done) -> Done {
    app.screen.settle()?;
    let stopped = stop(places).await;
    let path = home.path().to_owned();
    home.close().map_err(|error| CliFailure::file("remove", &path, &error))?;
    told?;
    stopped?;
    Ok(app.screen.hint(" Stopped the demo's daemon and deleted its home directory.")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_of_the_demo_is_whole() {
        let recording = Recording::read(Bytes::from_static(SESSION));
        assert_eq!(recording.damaged, 0);
        assert!(recording.messages.len() >= 160, "{}", recording.messages.len());
        assert!(recording.turns() >= 100, "{}", recording.turns());
    }
}
