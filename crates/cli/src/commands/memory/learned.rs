//! Extracts memories from a session, and removes those that were learned from one.

use bethink_api::{
    Candidate, ExtractRequest, Extracted, ForgetRequest, Forgotten, LearnedMemory, Strategy,
};
use bethink_client::Client;
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, Tone};
use uuid::Uuid;

use crate::app::CliApp;
use crate::failure::Done;

pub(super) async fn extract(app: &mut CliApp, client: &Client, all: bool, dry_run: bool) -> Done {
    let session = app.session_to_change(client, None).await?;
    let done = client.extract(session.id, &ExtractRequest { dry_run, all }).await?;
    let Some(screen) = app.screen.unless_json(&done)? else { return Ok(()) };
    for memory in &done.memories {
        screen.flowing(memory_line(memory), 2)?;
    }
    for one in &done.candidates {
        screen.flowing(candidate_line(one), 2)?;
    }
    for dropped in done.dropped.iter().filter(|dropped| !dropped.statement.is_empty()) {
        screen.hint(format!("skipped ({}): {}", dropped.reason, dropped.statement))?;
    }
    for words in &done.forget {
        let told = format!(
            "the user asked to forget: {words}; run `bethink memory rm NAME` to remove a topic"
        );
        screen.note(StyledText::new().put(Tone::Warn, told))?;
    }
    Ok(screen.hint(sum(&done, all))?)
}

fn memory_line(memory: &LearnedMemory) -> StyledText {
    let kind = memory.kind.as_ref().map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let team = memory.scope.prefix();
    let said = memory.statement.as_ref().or(memory.description.as_ref());
    let place = memory.seq.map(|seq| format!("  message {seq}")).unwrap_or_default();
    StyledText::new()
        .put(Tone::Good, format!("{} ", memory.outcome))
        .strong(format!("{team}{}", memory.name))
        .dim(kind)
        .plain(format!(": {}", said.map_or("", String::as_str)))
        .dim(place)
}

fn candidate_line(one: &Candidate) -> StyledText {
    StyledText::new()
        .put(Tone::Warn, "candidate ")
        .dim(format!("[{}]", one.kind))
        .plain(format!(": {}", one.sentence))
        .dim(format!("  message {}", one.seq))
}

fn sum(done: &Extracted, all: bool) -> String {
    if done.statements == 0 && done.by_agent == 0 {
        let hint = if all { "" } else { "; `--from-start` checks the whole session" };
        return format!("there are no new statements to check{hint}");
    }
    let looked = plural(done.statements, "statement was", "statements were");
    let agent = match done.by_agent {
        0 => String::new(),
        1 => ", 1 skipped, because the agent saved it as a memory itself".to_owned(),
        count => format!(", {count} skipped, because the agent saved them as memories itself"),
    };
    let by = if done.strategy == Some(Strategy::Model) {
        "by the model"
    } else {
        "by rules, without a model"
    };
    let dry = if done.dry_run { "; nothing was written" } else { "" };
    format!("{looked} checked {by}{agent}{dry}")
}

pub(super) async fn forget(app: &mut CliApp, client: &Client, which: &str, dry_run: bool) -> Done {
    // A deleted session can only be found by its full id.
    let (project_dir, session_id) = match Uuid::parse_str(which) {
        Ok(id) => (app.project_dir(), id),
        Err(_) => {
            let session = app.session(client, Some(which)).await?;
            (session.project_dir, session.id)
        }
    };
    let request = ForgetRequest { project_dir, session_id, dry_run };
    let done = client.forget_session(&request).await?;
    let Some(screen) = app.screen.unless_json(&done)? else { return Ok(()) };
    for file in &done.files {
        screen
            .line(StyledText::new().strong(file.name.clone()).dim(format!("  {}", file.outcome)))?;
        for line in &file.lines {
            screen.flowing(StyledText::new().put(Tone::Bad, format!("- {line}")), 2)?;
        }
    }
    for statement in &done.candidates {
        screen.flowing(StyledText::new().put(Tone::Bad, format!("- candidate: {statement}")), 2)?;
    }
    Ok(screen.hint(told(&done))?)
}

fn told(done: &Forgotten) -> String {
    match (done.files.is_empty() && done.candidates.is_empty(), done.dry_run) {
        (true, _) => "the memory contains nothing from this session".to_owned(),
        (false, true) => {
            "nothing was changed; without `--dry-run`, everything listed above would be removed".to_owned()
        }
        (false, false) => {
            "removed, and will not be learned again; run `bethink memory restore NAME` to restore a topic"
                .to_owned()
        }
    }
}
