//! `bethink store …`: copies and checks databases, without a daemon.

mod place;

use std::path::PathBuf;

use bethink_store_copy::{CopyPhase, CopyReport, CopyRequest, CopyStep, StorePlace, check, copy};
use bethink_terminal::ProgressLine;
use bethink_terminal::words::{bytes, count, plural, span};
use bethink_transcript::UnixMicros;
use serde_json::json;

use self::place::{find_place, has_password, own_place, without_password};
use crate::app::CliApp;
use crate::args::StoreCommand;
use crate::failure::{CliFailure, Done};

pub(crate) async fn run(app: &mut CliApp, command: StoreCommand) -> Done {
    match command {
        StoreCommand::Copy { from, to, home } => copy_store(app, &from, &to, home).await,
        StoreCommand::Check { place } => check_store(app, place.as_deref()).await,
    }
}

async fn copy_store(app: &mut CliApp, from: &str, to: &str, home: Option<PathBuf>) -> Done {
    let now = UnixMicros(app.now.as_microsecond());
    let (from, place) = (find_place(from).await?, find_place(to).await?);
    let request = CopyRequest { from, to: place, home, now };
    let mut copying = Some(ProgressLine::new(&app.screen, "copying"));
    let verifying = ProgressLine::new(&app.screen, "verifying");
    let mut progress = |step: CopyStep| match step.phase {
        CopyPhase::Copying => {
            if let Some(line) = &copying {
                line.at(step.done, step.total);
            }
        }
        CopyPhase::Verifying => {
            // One bar is shown at a time.
            drop(copying.take());
            verifying.at(step.done, step.total);
        }
    };
    let report = copy(&request, &mut progress).await?;
    drop((copying, verifying));
    let url = match request.to {
        StorePlace::Database(_) => without_password(to),
        StorePlace::Home(_) => String::new(),
    };
    let tables: Vec<_> =
        report.tables.iter().map(|(table, rows)| json!({ "table": table, "rows": rows })).collect();
    let told = json!({
        "from": report.from,
        "to": report.to,
        "rows": report.rows,
        "bytes": report.bytes,
        "seconds": report.took.as_secs_f64(),
        "tables": tables,
        "resumed": report.is_resumed,
        "already_complete": report.was_complete,
        "unreadable_rows": report.unread,
        "other_homes": report.other_homes,
        "store_url": url,
    });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.flowing(summary(&report), 0)?;
    for note in notes(&report) {
        screen.note(note)?;
    }
    screen.hint(match request.to {
        StorePlace::Database(_) => {
            let password = match has_password(to) {
                true => {
                    ", then write the password to a file and set store.password_file to its path"
                }
                false => "",
            };
            format!("to use it, run `bethink config set store.url '{url}'`{password}")
        }
        StorePlace::Home(home) => format!(
            "to use it, start the daemon with BETHINK_HOME={} and no [store] url in the settings",
            home.display()
        ),
    })?;
    Ok(())
}

fn summary(report: &CopyReport) -> String {
    let CopyReport { to, rows, bytes: size, took, is_resumed, was_complete, .. } = report;
    let (rows, size) = (plural(*rows, "row", "rows"), bytes(*size));
    if *was_complete {
        return format!("{to} is already a complete copy: all {rows} ({size}) are the same");
    }
    let did = if *is_resumed { "continued the copy of" } else { "copied" };
    let took = span(took.as_secs().max(1));
    format!("{did} {rows} ({size}) in {took}, and compared them: {to} is complete")
}

fn notes(report: &CopyReport) -> Vec<String> {
    let mut notes = Vec::new();
    if report.unread > 0 {
        let rows = plural(report.unread, "row", "rows");
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

async fn check_store(app: &mut CliApp, place: Option<&str>) -> Done {
    let place = match place {
        Some(place) => find_place(place).await?,
        None => own_place(&app.places.home).await?,
    };
    let found = check(&place).await?;
    let told = json!({
        "place": place.to_string(),
        "ok": found.damage.is_none(),
        "damage": found.damage,
        "messages": found.messages,
        "lines": found.lines,
    });
    if let Some(screen) = app.screen.unless_json(&told)? {
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
        if found.damage.is_some() {
            screen.hint(match place {
                StorePlace::Home(_) => {
                    "restart its daemon, which keeps a copy and recovers the intact rows"
                }
                StorePlace::Database(_) => "restore the database from a backup",
            })?;
        }
    }
    if found.damage.is_some() { Err(CliFailure::Printed) } else { Ok(()) }
}
