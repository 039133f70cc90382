//! `bethink store …`: copies and checks databases, without a daemon. The work is done by `bethinkd store`; this module shows its progress and
//! result.

mod program;

use std::process::Command;

use bethink_api::{CopyPhase, CopyReport, StoreCheckReport, StoreCopyReport, StoreOutcome};
use bethink_terminal::ProgressLine;
use bethink_terminal::words::{bytes, count, plural, span};

use self::program::run_to_end;
use crate::app::{CliApp, starter};
use crate::args::StoreCommand;
use crate::failure::{CliFailure, Done};

pub(crate) fn run(app: &mut CliApp, command: StoreCommand) -> Done {
    let mut program = Command::new(starter(&app.program)?.daemon);
    match command {
        StoreCommand::Copy { from, to, home } => {
            program.args(["store", "copy"]);
            if let Some(home) = home {
                program.arg("--home").arg(home);
            }
            program.args(["--", &from, &to]);
        }
        StoreCommand::Check { place } => {
            program.args(["store", "check", "--"]).args(place);
        }
    }
    let mut shown: Option<(CopyPhase, ProgressLine)> = None;
    let outcome = run_to_end(&mut program, &mut |step| {
        // One bar is shown at a time.
        let (_, line) = match shown.take().filter(|(phase, _)| *phase == step.phase) {
            Some(line) => shown.insert(line),
            None => shown.insert((step.phase, ProgressLine::new(&app.screen, label(step.phase)))),
        };
        line.at(step.done, step.total);
    })?;
    drop(shown);
    match outcome {
        StoreOutcome::Copied { report, hint } => show_copied(app, &report, hint),
        StoreOutcome::Checked { found, hint } => show_checked(app, &found, hint),
        StoreOutcome::Failed { detail, hint, is_usage_error: true } => {
            Err(CliFailure::HintedUse { what: detail, hint: hint.unwrap_or_default() })
        }
        StoreOutcome::Failed { detail, hint, is_usage_error: false } => {
            Err(CliFailure::Failed { what: detail, hint })
        }
    }
}

fn label(phase: CopyPhase) -> &'static str {
    match phase {
        CopyPhase::Copying => "copying",
        CopyPhase::Verifying => "verifying",
    }
}

fn show_copied(app: &mut CliApp, copied: &StoreCopyReport, hint: String) -> Done {
    let Some(screen) = app.screen.unless_json(copied)? else { return Ok(()) };
    screen.flowing(summary(&copied.report), 0)?;
    for note in notes(&copied.report) {
        screen.note(note)?;
    }
    Ok(screen.hint(hint)?)
}

fn summary(report: &CopyReport) -> String {
    let CopyReport { to, rows, bytes: size, seconds, .. } = report;
    let (rows, size) = (plural(*rows, "row", "rows"), bytes(*size));
    if report.already_complete {
        return format!("{to} is already a complete copy: all {rows} ({size}) are the same");
    }
    let did = if report.resumed { "continued the copy of" } else { "copied" };
    let took = span((*seconds as u64).max(1));
    format!("{did} {rows} ({size}) in {took}, and compared them: {to} is complete")
}

fn notes(report: &CopyReport) -> Vec<String> {
    let mut notes = Vec::new();
    if report.unreadable_rows > 0 {
        let rows = plural(report.unreadable_rows, "row", "rows");
        let from = &report.from;
        notes.push(format!(
            "{rows} that an earlier update could not convert were not copied; they stayed in {from}"
        ));
    }
    if report.other_homes > 0 {
        let homes = plural(report.other_homes, "other home", "other homes");
        let from = &report.from;
        notes.push(format!(
            "rows about the files of {homes} were not copied; they stayed in the {from}"
        ));
    }
    notes.push("the search index is not copied: the daemon makes it again when it starts".into());
    notes
}

fn show_checked(app: &mut CliApp, found: &StoreCheckReport, hint: Option<String>) -> Done {
    if let Some(screen) = app.screen.unless_json(found)? {
        let place = &found.place;
        screen.flowing(
            match &found.damage {
                Some(damage) => format!("{place} is damaged: {damage}"),
                None => {
                    let messages = plural(found.messages, "message", "messages");
                    let lines = count(found.lines);
                    format!("{place} is intact: {messages} and {lines} lines of imported files have the right checksums")
                }
            },
            0,
        )?;
        if let Some(hint) = hint {
            screen.hint(hint)?;
        }
    }
    if found.ok { Ok(()) } else { Err(CliFailure::Printed) }
}
