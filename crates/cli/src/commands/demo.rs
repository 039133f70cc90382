//! `bethink demo`: what bethink does, seen once from start to finish.
//!
//! Plays a session that the program carries with it into a window that is too small for it, on a
//! daemon and in a home of its own, both gone at the end. The same requests that any agent makes.

use std::process::Child;
use std::time::Duration;

use bethink_api::{Compaction, ContextReport};
use bethink_client::stop::stop;
use bethink_client::{Client, Environment, Places, Starter};
use bytes::Bytes;
use tempfile::TempDir;

use super::Done;
use super::played::Played;
use crate::app::App;
use crate::args::Demo;
use crate::draw::{compaction, facts, window};
use crate::drive::{Drive, Plan};
use crate::failure::Failure;
use crate::question::prose;
use crate::recording::Recording;
use crate::screen::words::{count, first_line};
use crate::screen::{Screen, Text, Tone};

const SESSION: &[u8] = include_bytes!("../../assets/demo.jsonl");
const TITLE: &str = "tidepool: jobs that run twice";
/// Said early in the session, behind the first boundary by the end of it.
const QUESTION: &str = "why monotonic clock for lease expiry";
/// Tokens of one answer; the small window leaves no room for more.
const MAX_OUTPUT: u64 = 4_000;
/// How long the messages take together where somebody watches.
const PLAY: Duration = Duration::from_millis(6_000);
/// Time to read a compaction.
const LOOK: Duration = Duration::from_millis(1_500);
/// Lines of the summary that are shown.
const SUMMARY: usize = 14;
/// How often the bar is printed where nobody watches it move.
const STILLS: usize = 6;

pub(crate) async fn demo(app: &mut App, how: &Demo) -> Done {
    let recording = Recording::read(Bytes::from_static(SESSION));
    let home = tempfile::Builder::new()
        .prefix("bethink-demo-")
        .tempdir()
        .map_err(|error| Failure::file("make a directory in", &std::env::temp_dir(), &error))?;
    let places = Places::at(home.path().to_owned());
    introduce(app, &recording, how)?;
    let child = start(app, &places).await?;
    let told = tokio::select! {
        told = tell(app, &places, &recording, how) => told,
        _ = tokio::signal::ctrl_c() => Err(Failure::new("interrupted")),
    };
    match told.is_ok() && how.keep {
        true => kept(app, home),
        false => tidy(app, &places, child, home, told).await,
    }
}

fn introduce(app: &mut App, recording: &Recording, how: &Demo) -> Done {
    if app.screen.json || app.screen.quiet {
        return Ok(());
    }
    let messages = count(recording.messages.len() as u64);
    app.screen.gap()?;
    app.screen.line(Text::from(" ").strong("bethink demo"))?;
    app.screen.line(format!(
        " A coding agent's session of {messages} messages plays into a window of {} tokens.",
        count(how.window)
    ))?;
    app.screen.line(
        Text::new()
            .dim(" Its own daemon and home: nothing of yours is touched, no model is called."),
    )?;
    app.screen.gap()?;
    Ok(())
}

async fn start(app: &App, places: &Places) -> Result<Option<Child>, Failure> {
    let listen = Some("127.0.0.1:0".to_owned());
    let starter = Starter { listen, environment: Environment::Isolated, ..app.starter()? };
    Ok(starter.start(places).await?.child)
}

async fn tell(app: &mut App, places: &Places, recording: &Recording, how: &Demo) -> Done {
    let client = Client::find(places).await?;
    let plan = Plan {
        project_dir: places.home.display().to_string(),
        title: TITLE.to_owned(),
        window: how.window,
        max_output: MAX_OUTPUT,
        every: 1,
    };
    let mut drive = Drive::begin(&client, recording, plan).await?;
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
            let fresh = all.iter().find(|one| Some(one.id.to_string()) == report.compacted);
            if let Some(fresh) = fresh {
                compacted(&mut app.screen, fresh, how.window, shown)?;
                shown += 1;
                pause(&app.screen, LOOK).await;
            }
        }
        let line = progress(&report, step.done, recording.messages.len(), &app.screen);
        if app.screen.look.live {
            app.screen.live(&line)?;
        } else if step.done >= last_still + still && !app.screen.json && !app.screen.quiet {
            last_still = step.done;
            app.screen.line(line)?;
        }
        pause(&app.screen, pace).await;
    }
    let played = Played::look(&client, drive, Some(QUESTION.to_owned())).await?;
    if app.screen.json {
        let found = played.found.as_ref().and_then(|found| found.hit.as_ref()).map(|hit| hit.seq);
        return Ok(app.screen.value(&serde_json::json!({
            "replay": played.outcome, "question": QUESTION, "boundary_seq": played.boundary(),
            "found_seq": found,
        }))?);
    }
    sum_up(&mut app.screen, &played, how.window)
}

async fn pause(screen: &Screen, time: Duration) {
    if screen.look.live && !screen.json && !screen.quiet {
        tokio::time::sleep(time).await;
    }
}

fn person(screen: &mut Screen, number: usize, said: &str) -> Done {
    if screen.json || screen.quiet {
        return Ok(());
    }
    let line = Text::new()
        .dim(format!(" {number:>4}  "))
        .put(Tone::Accent, "you  ")
        .plain(first_line(said));
    Ok(screen.line(line.fitted(screen.look.width))?)
}

/// The window in one line.
fn progress(report: &ContextReport, done: usize, all: usize, screen: &Screen) -> Text {
    let (tone, level) = facts::level(&report.level);
    let width = screen.look.width.saturating_sub(48).clamp(12, 72);
    Text::new()
        .dim(format!(" {done:>4}/{all}  "))
        .then(window::bar(report, width, screen.look.colour))
        .plain(format!(" {:>6} / {} ", count(report.tokens), count(report.thresholds.window)))
        .put(tone, level)
}

fn compacted(screen: &mut Screen, one: &Compaction, window: u64, before: usize) -> Done {
    if screen.json || screen.quiet {
        return Ok(());
    }
    let look = screen.look;
    if before > 0 {
        return again(screen, one, before);
    }
    screen.gap()?;
    screen.line(
        Text::from(" ")
            .strong("Compaction 1")
            .dim("  the window is nearly full: older messages give way to a summary"),
    )?;
    screen.lines(compaction::panel(one, window, look))?;
    screen.lines(compaction::summary(one, SUMMARY, look))?;
    Ok(screen.gap()?)
}

/// Later compactions in one line: the first one showed what they are.
fn again(screen: &mut Screen, one: &Compaction, before: usize) -> Done {
    let line = Text::from(" ")
        .strong(format!("Compaction {}", before + 1))
        .plain(format!("  {} → {}", count(one.tokens_before), count(one.tokens_after)))
        .dim(format!(
            "  messages 1–{} summarised, fidelity {:.2}",
            count(one.covers.last_seq),
            one.fidelity
        ));
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
    screen.line(Text::from(" ").strong("Next"))?;
    for (command, why) in [
        ("bethink up", "starts your own daemon"),
        ("bethink import ~/.claude/projects/*/", "takes your recorded sessions in"),
        ("bethink context", "shows what fills the newest one"),
    ] {
        screen.line(Text::from("  ").put(Tone::Accent, format!("{command:<38}")).dim(why))?;
    }
    Ok(screen.gap()?)
}

/// Leaves everything for a look around, and says how to be rid of it.
fn kept(app: &mut App, home: TempDir) -> Done {
    let home = home.keep();
    let shown = home.display();
    app.screen.note(
        Text::new().strong(" The demo is still there").dim("  look around, then clean up:"),
    )?;
    for command in [
        format!("export BETHINK_HOME={shown}"),
        "bethink context".to_owned(),
        "bethink compactions".to_owned(),
        format!("bethink down; rm -r {shown}; unset BETHINK_HOME"),
    ] {
        app.screen.note(Text::from("  ").put(Tone::Accent, command))?;
    }
    Ok(())
}

async fn tidy(
    app: &mut App,
    places: &Places,
    child: Option<Child>,
    home: TempDir,
    told: Done,
) -> Done {
    app.screen.settle()?;
    let stopped = stop(places, child).await;
    let path = home.path().to_owned();
    home.close().map_err(|error| Failure::file("remove", &path, &error))?;
    told?;
    stopped?;
    app.screen.note(Text::new().dim(" The demo's daemon is stopped and its home removed."))?;
    Ok(())
}
