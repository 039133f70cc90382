//! What sessions teach: looked for now, or taken back.

use bethink_api::{ExtractRequest, Extracted, ForgetRequest, Forgotten, LearntMemory};
use bethink_client::Client;
use uuid::Uuid;

use super::project;
use crate::app::App;
use crate::args::{ExtractMemory, ForgetMemory};
use crate::commands::Done;
use crate::screen::words::plural;
use crate::screen::{Text, Tone};

pub(super) async fn extract(app: &mut App, client: &Client, how: &ExtractMemory) -> Done {
    let session = app.session(client, None).await?;
    let request = ExtractRequest { dry_run: how.dry_run, all: how.all };
    let done = client.extract(session.id, &request).await?;
    if app.screen.json {
        return Ok(app.screen.value(&done)?);
    }
    for memory in &done.memories {
        app.screen.line(learnt(memory))?;
    }
    if !app.screen.quiet {
        for dropped in done.dropped.iter().filter(|dropped| !dropped.statement.is_empty()) {
            let told = format!("not written, {}: {}", dropped.reason, dropped.statement);
            app.screen.note(Text::new().dim(told))?;
        }
        for words in &done.forget {
            let told = format!("asked to forget: {words}; bethink memory rm NAME removes a topic");
            app.screen.note(Text::new().put(Tone::Warn, told))?;
        }
    }
    Ok(app.screen.note(Text::new().dim(sum(&done, how.all)))?)
}

fn learnt(memory: &LearntMemory) -> Text {
    let kind = memory.kind.as_ref().map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let team = if memory.scope == super::TEAM { "team/" } else { "" };
    let said = memory.statement.as_ref().or(memory.description.as_ref());
    let place = memory.seq.map(|seq| format!("  message {seq}")).unwrap_or_default();
    Text::new()
        .put(Tone::Good, format!("{} ", memory.outcome))
        .strong(format!("{team}{}", memory.name))
        .dim(kind)
        .plain(format!(": {}", said.map_or("", String::as_str)))
        .dim(place)
}

fn sum(done: &Extracted, all: bool) -> String {
    if done.statements == 0 && done.by_agent == 0 {
        let hint = if all { "" } else { "; --all looks from the beginning" };
        return format!("nothing new was said since the last extraction{hint}");
    }
    let looked = plural(done.statements, "statement was", "statements were");
    let agent = match done.by_agent {
        0 => String::new(),
        count => format!(", {count} left to what the agent wrote itself"),
    };
    let by = if done.strategy == "model" { "by the model" } else { "by rules" };
    let dry = if done.dry_run { "; nothing was written" } else { "" };
    format!("{looked} looked at {by}{agent}{dry}")
}

pub(super) async fn forget(app: &mut App, client: &Client, what: &ForgetMemory) -> Done {
    // One that was deleted is known by its whole id alone.
    let (project_dir, session_id) = match Uuid::parse_str(&what.which) {
        Ok(id) => (project(app), id),
        Err(_) => {
            let session = app.session(client, Some(&what.which)).await?;
            (session.project_dir, session.id)
        }
    };
    let request = ForgetRequest { project_dir, session_id, dry_run: what.dry_run };
    let done = client.forget_session(&request).await?;
    if app.screen.json {
        return Ok(app.screen.value(&done)?);
    }
    for file in &done.files {
        app.screen
            .line(Text::new().strong(file.name.clone()).dim(format!("  {}", file.outcome)))?;
        for line in &file.lines {
            app.screen.line(Text::new().put(Tone::Bad, format!("- {line}")))?;
        }
    }
    Ok(app.screen.note(Text::new().dim(told(&done)))?)
}

fn told(done: &Forgotten) -> String {
    match (done.files.is_empty(), done.dry_run) {
        (true, _) => "nothing stands there that the session taught".to_owned(),
        (false, true) => "nothing was changed; without --dry-run these lines go".to_owned(),
        (false, false) => {
            "forgotten, and not learnt again; bethink memory restore NAME brings one back"
                .to_owned()
        }
    }
}
